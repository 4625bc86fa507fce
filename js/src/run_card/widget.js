// The card as an anywidget: one line to Python per model, one card per view.

import { Card } from '../shared/card.js';
import { widget } from '../shared/widget.js';

export default widget((link, model, signal) => {
  const card = new Card(link, String(model.get('run_id')), signal);
  card.update();
  const follow = () => card.follow(String(model.get('run_id')));
  model.on('change:run_id', follow);
  signal.addEventListener('abort', () => model.off('change:run_id', follow));
  return { el: card.el, take: (change) => card.take(change) };
});

// The room view as an anywidget: one line to Python per model, one view of the room per place it is shown in.

import { Link } from '../shared/link.js';
import { browserTime } from '../shared/time.js';
import { widget } from '../shared/widget.js';
import { Talk } from './talk.js';
import { Room } from './view.js';

export default widget(
  (link, model, signal) => {
    const room = new Room(link, /** @type {Talk} */ (link.beside), String(model.get('room') ?? ''), signal);
    room.update();
    return { el: room.el, take: (change) => room.take(change) };
  },
  (model) => new Link(model, browserTime, new Talk()),
);

// The board as an anywidget: one line to Python per model, one board per view.

import { widget } from '../shared/widget.js';
import { Board } from './view.js';

export default widget((link, model, signal) => {
  const board = new Board(link, String(model.get('room') ?? ''), signal);
  board.update();
  return { el: board.el, take: (change) => board.take(change) };
});

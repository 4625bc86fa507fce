// Text that is being made: its last four lines, in a place that is as tall from the first word to the last.

import { attribute, make, say } from './dom.js';

export class Stream {
  #text = make('p');
  el = make('div', { class: 'dvergr-stream', role: 'group', 'aria-live': 'off', 'aria-label': 'Reply so far' }, this.#text);

  /**
   * @param {string | undefined} text nothing hides it
   * @param {boolean} goesOn whether more may come
   */
  draw(text, goesOn) {
    this.el.hidden = !text;
    attribute(this.el, 'data-open', goesOn);
    say(this.#text, text ?? '');
  }
}

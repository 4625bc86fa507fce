// Text that is being made: one line while it fits on one, then its last four, in a place as tall until the end.

import { attribute, make, say } from './dom.js';

/** How many lines a tall one keeps. */
const KEPT = 4;

export class Stream {
  #text = make('p');
  #isTall = false;
  el = make('div', { class: 'dvergr-stream', role: 'group', 'aria-live': 'off', 'aria-label': 'Reply so far' }, this.#text);

  /**
   * @param {string | undefined} text so far, empty where nothing has come; undefined: nothing comes any more
   * @param {boolean} goesOn whether more may come
   */
  draw(text, goesOn) {
    this.#isTall &&= text !== undefined;
    say(this.#text, text ?? '');
    attribute(this.el, 'data-open', goesOn);
    this.el.hidden = !text && !this.#isTall;
    this.fit();
  }

  /** Becomes tall where the text is longer than a line, and says whether lines have left at the top. */
  fit() {
    if (this.el.hidden) return attribute(this.el, 'data-tall', false);
    const lines = this.#lines();
    this.#isTall ||= lines > 1;
    attribute(this.el, 'data-tall', this.#isTall);
    attribute(this.el, 'data-cut', lines > KEPT);
  }

  /** How many lines the text takes; where it is not on the page yet, only its breaks can tell. */
  #lines() {
    const high = this.#text.offsetHeight;
    if (high) return Math.round(high / parseFloat(getComputedStyle(this.#text).lineHeight));
    return (this.#text.textContent ?? '').split('\n').length;
  }
}

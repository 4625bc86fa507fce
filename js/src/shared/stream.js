// Text that is being made: one line while it fits on one, then its last four, in a place as tall until the end.

import { attribute, make, say } from './dom.js';

/** Text taller than this many of its lines needs more than one. */
const ONE = 1.5;

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

  /** Becomes tall where the text is longer than a line; where it is not on the page yet, only breaks can tell. */
  fit() {
    if (!this.el.hidden && !this.#isTall) this.#isTall = this.#text.textContent.includes('\n') || this.#isLong();
    attribute(this.el, 'data-tall', this.#isTall);
  }

  #isLong() {
    const high = this.#text.offsetHeight;
    return high > 0 && high > ONE * parseFloat(getComputedStyle(this.#text).lineHeight);
  }
}

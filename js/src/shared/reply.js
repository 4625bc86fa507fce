// What a Run has said in the end: its first lines, and all of it in a box of its own height when that is asked for.

import { attribute, button, make, say } from './dom.js';
import { some } from './time.js';

/** @typedef {import('./wire.d.ts').RunRow} RunRow */
/** @typedef {import('./link.js').Link} Link */

/** Lines that are shown by themselves, where only their breaks can tell how many there are. */
const LINES = 3;

export class Reply {
  #link;
  #text = make('p', { class: 'dvergr-reply' });
  #note = make('p', { class: 'dvergr-soft' });
  /** @type {HTMLButtonElement} */
  #more;
  #isOpen = false;
  /** @type {RunRow | null} */
  #row = null;
  /** @type {{ text: string, note: string } | null} all of it, once it was asked for */
  #whole = null;
  el;

  /**
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(link, signal) {
    this.#link = link;
    this.#more = button('', 'dvergr-quiet dvergr-more', () => this.#turn(), signal);
    this.el = make('div', {}, this.#text, this.#note, this.#more);
  }

  /** @param {RunRow | null} row whose result it is; null: there is none */
  draw(row) {
    this.el.hidden = !row;
    if (row?.id !== this.#row?.id || row?.result !== this.#row?.result) {
      this.#whole = null;
      this.#isOpen = false;
    }
    this.#row = row;
    if (!row) return say(this.#text, '');
    attribute(this.#text, 'class', row.kind.startsWith('agent') ? 'dvergr-reply' : 'dvergr-reply dvergr-mono');
    this.#drawText(row);
  }

  /** @param {RunRow} row */
  #drawText({ result = '', length, actor }) {
    say(this.#text, (this.#isOpen && this.#whole?.text) || result);
    attribute(this.#text, 'data-open', this.#isOpen);
    attribute(this.#text, 'tabindex', this.#isOpen ? 0 : null);
    attribute(this.#text, 'role', this.#isOpen ? 'group' : null);
    attribute(this.#text, 'aria-label', this.#isOpen ? `All of what ${actor} said` : null);
    const note = this.#isOpen ? (this.#whole?.note ?? (length ? 'Reading all of it.' : '')) : '';
    say(this.#note, note);
    this.#note.hidden = !note;
    this.#more.hidden = !this.#isOpen && !length && !this.#isCut(result);
    attribute(this.#more, 'aria-expanded', String(this.#isOpen));
    const word = this.#isOpen ? 'Show less' : length ? `Show all, ${some(length, 'character')}` : 'Show all';
    say(this.#more, this.#more.hidden ? '' : word);
  }

  /** @param {string} text whether lines of it are not seen */
  #isCut(text) {
    const { scrollHeight, clientHeight } = this.#text;
    return clientHeight ? scrollHeight > clientHeight + 1 : text.split('\n').length > LINES;
  }

  #turn() {
    this.#isOpen = !this.#isOpen;
    const row = this.#row;
    if (!row) return;
    if (this.#isOpen && row.length && !this.#whole) this.#ask(row);
    this.#drawText(row);
  }

  /** @param {RunRow} asked */
  #ask(asked) {
    this.#link.ask({ type: 'reply', run_id: asked.id }, (answer) => {
      const row = this.#row;
      if (row?.id !== asked.id) return;
      if (answer.type === 'reply') this.#whole = { text: answer.text, note: answer.cut ? `The first ${some(answer.text.length, 'character')}; the rest is in the store.` : '' };
      else if (answer.type === 'ack') this.#whole = { text: '', note: `The rest could not be read: ${answer.error ?? 'the kernel does not know it'}.` };
      this.#drawText(row);
    });
  }
}

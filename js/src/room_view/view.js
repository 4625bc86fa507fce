// The room: who takes part, what was said by thread with its turns, and the box for a new message.

import { attribute, button, make, say } from '../shared/dom.js';
import { clock, count, some } from '../shared/time.js';
import { List } from './list.js';
import { Present } from './present.js';
import { Box } from './say.js';

/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('../shared/link.js').Change} Change */
/** @typedef {import('./talk.js').Talk} Talk */

export class Room {
  #link;
  #talk;
  #signal;
  #present;
  #list;
  #box;
  #name;
  #isDrawing = false;

  #title = make('h3', { class: 'dvergr-who' });
  #id = make('span', { class: 'dvergr-soft dvergr-cut' });
  #word = make('span', { class: 'dvergr-word', 'aria-live': 'polite' });
  #many = make('span');
  #asOf = make('span');
  #below;
  el;

  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {string} name of the room
   * @param {AbortSignal} signal
   */
  constructor(link, talk, name, signal) {
    this.#link = link;
    this.#talk = talk;
    this.#name = name;
    this.#signal = signal;
    this.#present = new Present(link);
    this.#list = new List(link, talk, signal, { reply: (thread) => this.#box.reply(thread), moved: () => this.#drawFoot() });
    this.#box = new Box(link, talk, signal, { sent: () => this.#list.toEnd() });
    this.#below = button('', 'dvergr-quiet', () => this.#toEnd(), signal);
    const head = make('header', { class: 'dvergr-head' }, this.#title, this.#id, this.#word);
    const foot = make('footer', { class: 'dvergr-foot' }, this.#many, this.#below, this.#asOf);
    const parts = [head, this.#present.el, this.#list.el, foot, this.#box.el];
    this.el = make('section', { class: 'dvergr dvergr-room', 'aria-label': `Room ${name}` }, ...parts);
  }

  /** @param {Change} change */
  take(change) {
    if (change.details) return;
    if (!change.tick) return this.#drawSoon();
    this.#present.count();
    this.#list.count();
    this.#drawFoot();
  }

  update() {
    const { title, present, others, closed } = this.#talk;
    say(this.#title, title || this.#name);
    say(this.#id, title && title !== this.#name ? `room ${this.#name}` : '');
    say(this.#word, this.#link.presence === 'live' ? (closed ? 'closed' : '') : `kernel ${this.#link.presence}`);
    this.#word.hidden = !this.#word.textContent;
    attribute(this.el, 'data-presence', this.#link.presence);
    this.#present.draw(present, others);
    this.#list.draw();
    this.#box.draw();
    this.#drawFoot();
  }

  /** Many messages may come between two pictures; one of them is drawn. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    this.#link.time.after(16, () => {
      this.#isDrawing = false;
      if (!this.#signal.aborted) this.update();
    });
  }

  #toEnd() {
    this.#list.toEnd();
    this.#drawFoot();
  }

  #drawFoot() {
    const { said, threads, older } = this.#talk;
    const messages = some(said.size, 'message');
    const all = `${older ? 'the last ' : ''}${messages} in ${some(threads.length, 'thread')}`;
    say(this.#many, said.size ? all : 'Nothing was said yet; a message starts a thread.');
    const below = this.#list.isAtEnd ? 0 : this.#list.below;
    this.#below.hidden = !below;
    say(this.#below, below ? `${count(below)} new below` : '');
    say(this.#asOf, this.#asOfText());
  }

  #asOfText() {
    const { presence, at } = this.#link;
    if (!at) return '';
    if (presence === 'gone') return `kernel gone, last seen ${clock(at)}`;
    return presence === 'busy' ? `kernel busy, as of ${clock(at)}` : `as of ${clock(at)}`;
  }
}

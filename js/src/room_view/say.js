// The box for a new message. Its text is kept until Python has taken it.

import { attribute, button, make, say } from '../shared/dom.js';
import { answered } from './talk.js';

/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('./talk.js').Talk} Talk */
/** @typedef {import('./talk.js').Thread} Thread */
/** @typedef {{ id: string, text: string, to: string | null, reply_to: string | null }} Sent */

/** How long a message may be on its way before that is said, in ms. */
const PATIENCE = 1500;
const RULE = '';
const EVERYONE = '*';

export class Box {
  #link;
  #talk;
  #signal;
  #acts;
  /** @type {Thread | null} the thread that is replied in */
  #thread = null;
  /** @type {Sent | null} what Python has not taken yet */
  #sent = null;
  #isSlow = false;
  #error = '';
  #actors = '';

  #where = make('span', { class: 'dvergr-cut' });
  #target = make('p', { class: 'dvergr-reply-to', hidden: true });
  #text = make('textarea', { class: 'dvergr-field', rows: 2, 'aria-label': 'New message', placeholder: 'New message' });
  #to = make('select', { class: 'dvergr-field', 'aria-label': 'To' });
  #note = make('span', { class: 'dvergr-ack', 'aria-live': 'polite' });
  /** @type {HTMLButtonElement} */
  #send;
  el;

  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {AbortSignal} signal
   * @param {{ sent: () => void }} acts
   */
  constructor(link, talk, signal, acts) {
    this.#link = link;
    this.#talk = talk;
    this.#signal = signal;
    this.#acts = acts;
    this.#send = button('Send', 'dvergr-main', () => this.#press(), signal);
    const fresh = button('New thread', 'dvergr-quiet', () => this.#clear(), signal);
    this.#target.append(this.#where, fresh);
    const label = make('span', { class: 'dvergr-soft', 'aria-hidden': 'true' }, 'To');
    const keys = make('span', { class: 'dvergr-soft dvergr-half' }, 'Ctrl+Enter sends');
    const acting = make('div', { class: 'dvergr-sending' }, label, this.#to, this.#send, keys, this.#note);
    this.el = make('div', { class: 'dvergr-say', role: 'group', 'aria-label': 'New message' }, this.#target, this.#text, acting);
    this.el.addEventListener('keydown', (event) => this.#key(event), { signal });
    this.#text.addEventListener('input', () => this.draw(), { signal });
    this.#to.addEventListener('change', () => this.#turnTo(), { signal });
  }

  draw() {
    const { presence } = this.#link;
    this.#drawActors();
    const closed = this.#talk.closed;
    const isOver = presence === 'gone' || closed;
    this.#send.disabled = isOver || !this.#text.value.trim();
    say(this.#note, this.#noteText());
    attribute(this.#note, 'class', `dvergr-ack${this.#error ? ' dvergr-bad' : ''}`);
  }

  /** @param {Thread} thread that messages go to from now on */
  reply(thread) {
    this.#thread = thread;
    this.#target.hidden = false;
    const [head] = thread.said;
    say(this.#where, `Reply in thread: ${head?.text.split('\n', 1)[0] ?? ''}`);
    this.#text.focus();
  }

  #noteText() {
    const { presence } = this.#link;
    if (this.#error) return this.#error;
    if (presence === 'gone') return 'The kernel is gone; nothing can be sent.';
    if (this.#sent && presence === 'busy') return 'Sent; the kernel takes it when its cell ends.';
    if (this.#sent && this.#isSlow) return 'Sent; the kernel has not taken it yet.';
    return this.#talk.closed ? 'The room is closed and admits nothing.' : '';
  }

  /** The choices stay as they are while the same people are there. The rule: the only one there, else everyone. */
  #drawActors() {
    const actors = this.#talk.present.map((each) => each.actor);
    const rule = actors.length === 1 && !this.#talk.others ? `${actors[0]} (the only one here)` : 'everyone (nobody named)';
    const key = JSON.stringify([actors, rule]);
    if (key === this.#actors && this.#to.options.length) return;
    this.#actors = key;
    const chosen = this.#to.value;
    const choices = [[rule, RULE], ['everyone', EVERYONE], ...actors.map((actor) => [actor, actor])];
    this.#to.replaceChildren(...choices.map(([text = '', value = '']) => make('option', { value }, text)));
    this.#to.value = choices.some(([, value]) => value === chosen) ? chosen : RULE;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!this.#send.disabled) this.#press();
    } else if (event.key === 'Escape' && this.#thread) {
      event.stopPropagation();
      event.preventDefault();
      this.#clear();
    }
  }

  #clear() {
    this.#leave();
    this.#text.focus();
  }

  /** Messages begin new threads again. */
  #leave() {
    this.#thread = null;
    this.#target.hidden = true;
  }

  /** What is said to somebody else is no reply to what was said here. */
  #turnTo() {
    const to = this.#to.value;
    if (!this.#thread || to === RULE || to === EVERYONE) return;
    const last = answered(this.#current(this.#thread));
    if (to !== (last.person ? last.to : last.who)) this.#leave();
  }

  /** The same message pressed again is the same act: Python posts it once. */
  #press() {
    const text = this.#text.value;
    if (!text.trim()) return;
    const to = this.#to.value || null;
    const reply_to = this.#thread ? answered(this.#current(this.#thread)).id : null;
    const again = this.#sent && this.#sent.text === text && this.#sent.to === to ? this.#sent : null;
    const message = again ?? { text, to, reply_to };
    this.#error = '';
    this.#isSlow = false;
    const question = /** @type {const} */ ({ type: 'post', text: message.text, to: message.to, reply_to: message.reply_to });
    const id = this.#link.ask(question, (answer) => this.#taken(answer), again?.id);
    this.#sent = { ...question, id };
    this.#link.time.after(PATIENCE, () => this.#slow(id));
    this.draw();
  }

  /** @param {Thread} thread as it is now */
  #current(thread) {
    return this.#talk.threads.find((each) => each.id === thread.id) ?? thread;
  }

  /** @param {string} id */
  #slow(id) {
    if (this.#sent?.id !== id || this.#signal.aborted) return;
    this.#isSlow = true;
    this.draw();
  }

  /** @param {import('../shared/link.js').Answer} answer */
  #taken(answer) {
    if (answer.type !== 'ack' || answer.id !== this.#sent?.id) return;
    const { text } = this.#sent;
    this.#sent = null;
    if (answer.outcome === 'posted') {
      if (this.#text.value.startsWith(text)) this.#text.value = this.#text.value.slice(text.length).trimStart();
      this.#acts.sent();
    } else this.#error = answer.error ?? 'It could not be posted.';
    this.draw();
  }
}

// What nobody will answer by itself: by whom, and a button that has it answered.

import { attribute, button, make, say } from '../shared/dom.js';
import { count } from '../shared/time.js';

/** @typedef {import('../shared/wire.d.ts').UnansweredWire} UnansweredWire */
/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('../shared/link.js').Answer} Answered */

/** Actors that have a line each; the others are counted. */
const LINES = 6;
/** How long a press may stand unheard before it can be repeated, in ms. */
const PATIENCE = 1500;

export class Unanswered {
  #message;
  #link;
  #signal;
  /** @type {Map<string, Line>} by actor */
  #lines = new Map();
  #rest = make('p', { class: 'dvergr-rest' });
  el = make('div', { class: 'dvergr-unanswered', role: 'gridcell', hidden: true });

  /**
   * @param {string} message its id
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(message, link, signal) {
    this.#message = message;
    this.#link = link;
    this.#signal = signal;
  }

  /**
   * @param {UnansweredWire[]} wires
   * @param {boolean} isCurrent whether Tab reaches the message
   */
  draw(wires, isCurrent) {
    const shown = wires.slice(0, LINES);
    const actors = new Set(shown.map((wire) => wire.actor));
    for (const [actor, line] of this.#lines) {
      if (actors.has(actor)) continue;
      line.leave(this.el);
      this.#lines.delete(actor);
    }
    for (const wire of shown) this.#line(wire.actor, isCurrent).draw(wire.here ?? false);
    const others = wires.length - shown.length;
    say(this.#rest, others ? `unanswered by ${count(others)} more` : '');
    if (others) this.el.append(this.#rest);
    else this.#rest.remove();
    this.el.hidden = !shown.length;
  }

  /**
   * @param {string} actor
   * @param {boolean} isCurrent
   */
  #line(actor, isCurrent) {
    const known = this.#lines.get(actor);
    if (known) return known;
    const line = new Line(this.#message, actor, this.#link, this.#signal);
    attribute(line.answer, 'tabindex', isCurrent ? 0 : -1);
    this.#lines.set(actor, line);
    this.el.append(line.el);
    return line;
  }
}

class Line {
  #message;
  #actor;
  #link;
  #signal;
  #isHere = false;
  /** Whether it was asked for a moment ago, or was taken. */
  #isAsked = false;
  /** The id of the press that was not answered yet. */
  #press = '';
  #note = make('span', { class: 'dvergr-cut dvergr-bad', 'aria-live': 'polite', hidden: true });
  answer;
  el;

  /**
   * @param {string} message
   * @param {string} actor
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(message, actor, link, signal) {
    this.#message = message;
    this.#actor = actor;
    this.#link = link;
    this.#signal = signal;
    this.answer = button('Answer', 'dvergr-quiet', () => this.#ask(), signal);
    attribute(this.answer, 'aria-label', `Answer by ${actor}`);
    const text = make('span', { class: 'dvergr-soft dvergr-cut', title: actor }, `unanswered by ${actor}`);
    const news = make('span', { class: 'dvergr-news' }, text, this.answer, this.#note);
    this.el = make('div', { class: 'dvergr-turn' }, make('div', { class: 'dvergr-body' }, news));
  }

  /** @param {boolean} isHere whether the actor takes part */
  draw(isHere) {
    this.#isHere = isHere;
    const hadFocus = document.activeElement === this.answer;
    this.answer.disabled = !isHere || this.#isAsked || this.#link.presence === 'gone';
    attribute(this.answer, 'title', isHere ? null : `${this.#actor} takes no part now`);
    if (hadFocus && this.answer.disabled) this.#toMessage();
  }

  /** @param {HTMLElement} parent */
  leave(parent) {
    if (parent.contains(document.activeElement) && this.el.contains(document.activeElement)) this.#toMessage();
    this.el.remove();
  }

  /** A button that goes takes the focus with it. */
  #toMessage() {
    /** @type {HTMLElement | null} */
    const row = this.el.closest('[role=row]');
    row?.focus({ preventScroll: true });
  }

  /** The same press repeated before it was answered is the same act: Python does it once. */
  #ask() {
    this.#say('');
    this.#isAsked = true;
    const question = /** @type {const} */ ({ type: 'answer', message_id: this.#message, actor: this.#actor });
    const id = this.#link.ask(question, (answered) => this.#taken(answered), this.#press || undefined);
    this.#press = id;
    this.#link.time.after(PATIENCE, () => this.#mayRepeat(id));
    this.draw(this.#isHere);
  }

  /** @param {string} id */
  #mayRepeat(id) {
    if (this.#press !== id || this.#signal.aborted) return;
    this.#isAsked = false;
    this.draw(this.#isHere);
  }

  /** @param {Answered} answered */
  #taken(answered) {
    if (answered.type !== 'ack' || answered.id !== this.#press) return;
    this.#press = '';
    this.#isAsked = answered.outcome !== 'failed';
    this.#say(answered.outcome === 'failed' ? (answered.error ?? 'It could not be done.') : '');
    this.draw(this.#isHere);
  }

  /** @param {string} error */
  #say(error) {
    say(this.#note, error);
    this.#note.hidden = !error;
  }
}

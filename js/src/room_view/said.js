// One message: who, when, what, and below it the turns that it caused.

import { attribute, button, make, say, shape } from '../shared/dom.js';
import { spent } from '../shared/money.js';
import { isLive, isTurn, state, unsaid, word } from '../shared/status.js';
import { Stream } from '../shared/stream.js';
import { clock, count, duration, running, some } from '../shared/time.js';
import { named } from './talk.js';
import { Unanswered } from './unanswered.js';

/** @typedef {import('../shared/wire.d.ts').SaidWire} SaidWire */
/** @typedef {import('../shared/wire.d.ts').RunRow} RunRow */
/** @typedef {import('../shared/wire.d.ts').UnansweredWire} UnansweredWire */
/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('./talk.js').Thread} Thread */

/** Turns of one message that have a line each; the others are counted. */
const LINES = 6;
/** In which order their states matter to who reads. */
const RANK = ['waiting', 'running', 'cancelling', 'queued', 'failed', 'cancelled', 'completed'];

/**
 * @typedef {object} Place of a message in the list
 * @property {RunRow[]} runs that it caused
 * @property {Set<string>} replied Runs that have replied
 * @property {UnansweredWire[]} unanswered by whom it will not be answered by itself
 * @property {Map<string, number>} queue places of queued turns, counted from 1
 * @property {Thread | null} thread the thread that it heads
 * @property {boolean} isOpen whether that thread is open
 */

/** @typedef {{ toggle: () => void, reply: () => void, whole: () => void }} Acts */

export class Said {
  #link;
  #signal;
  #acts;
  #said;
  #text = make('p', { class: 'dvergr-text' });
  /** @type {HTMLButtonElement | null} */
  #more = null;
  /** @type {HTMLButtonElement | null} */
  #fold = null;
  /** @type {HTMLButtonElement | null} */
  #reply = null;
  #shape = shape();
  #ends = make('span', { class: 'dvergr-ends', role: 'gridcell' });
  #runs = make('div', { class: 'dvergr-runs', role: 'gridcell' });
  /** @type {Map<string, Line>} */
  #lines = new Map();
  #rest = make('p', { class: 'dvergr-rest' });
  #unanswered;
  /** @type {string | null} all of it, where it was asked for */
  #whole = null;
  #isLong = false;
  #isCurrent = false;
  /** @type {unknown[]} what was drawn last */
  #drawn = [];
  el;

  /**
   * @param {SaidWire} said
   * @param {Link} link
   * @param {AbortSignal} signal
   * @param {Acts} acts
   */
  constructor(said, link, signal, acts) {
    this.#said = said;
    this.#link = link;
    this.#signal = signal;
    this.#acts = acts;
    this.#unanswered = new Unanswered(said.id, link, signal);
    const at = make('span', { class: 'dvergr-num dvergr-soft', role: 'gridcell' }, clock(said.at));
    const body = make('div', { class: 'dvergr-body', role: 'gridcell' }, this.#text);
    if (said.length) {
      this.#more = button('', 'dvergr-quiet', () => this.turn(), signal);
      body.append(this.#more);
    }
    const line = make('div', { class: 'dvergr-line' }, this.#shape, from(said), body, this.#ends, at);
    this.el = make('div', { class: 'dvergr-message', role: 'row', 'data-id': said.id, tabindex: -1 }, line, this.#runs, this.#unanswered.el);
    attribute(this.el, 'data-person', said.person ?? null);
    this.#drawText();
  }

  get id() {
    return this.#said.id;
  }

  /** @param {Place} place */
  update(place) {
    if (!this.#isNews(place)) return;
    const { thread, isOpen, runs } = place;
    attribute(this.el, 'aria-level', thread ? 1 : 2);
    attribute(this.el, 'aria-expanded', thread && thread.said.length + runs.length > 1 ? String(isOpen) : null);
    attribute(this.el, 'data-folded', thread !== null && !isOpen);
    this.#drawEnds(thread, isOpen);
    this.#drawRuns(isOpen || !thread ? runs : [], place);
    this.#unanswered.draw(isOpen || !thread ? place.unanswered : [], this.#isCurrent);
    this.#drawState(thread && !isOpen ? runs : []);
  }

  /**
   * Rows are replaced when they change, so most of a long list is known to be as it was.
   * @param {Place} place
   */
  #isNews({ runs, replied, unanswered, queue, thread, isOpen }) {
    const { presence, cancelling, refusals } = this.#link;
    const facts = runs.flatMap((row) => [row, queue.get(row.id), replied.has(row.id), cancelling.has(row.id), refusals.get(row.id)]);
    const drawn = [presence, thread?.said.length, isOpen, ...unanswered, ...facts];
    const isNews = drawn.length !== this.#drawn.length || drawn.some((fact, index) => fact !== this.#drawn[index]);
    this.#drawn = drawn;
    return isNews;
  }

  /** What changes by itself: digits. */
  count() {
    for (const line of this.#lines.values()) line.count(this.#link);
  }

  /** @param {boolean} isCurrent whether Tab reaches it */
  mark(isCurrent) {
    this.#isCurrent = isCurrent;
    attribute(this.el, 'tabindex', isCurrent ? 0 : -1);
    for (const node of this.el.querySelectorAll('button')) attribute(node, 'tabindex', isCurrent ? 0 : -1);
  }

  /** Shows all of a long text, or its beginning again. */
  turn() {
    if (!this.#said.length) return;
    this.#isLong = !this.#isLong;
    if (this.#isLong && this.#whole === null) this.#acts.whole();
    this.#drawText();
  }

  /** @param {string | null} text all of it; null: it could not be read */
  show(text) {
    this.#whole = text;
    this.#isLong &&= text !== null;
    this.#drawText();
  }

  #drawText() {
    const { text, length = 0 } = this.#said;
    const isWhole = this.#isLong && this.#whole !== null;
    say(this.#text, isWhole ? (this.#whole ?? '') : text);
    if (!this.#more) return;
    attribute(this.#more, 'aria-expanded', String(this.#isLong));
    const reading = this.#isLong && this.#whole === null;
    say(this.#more, reading ? 'reading' : this.#isLong ? 'less' : `more, ${some(length, 'character')}`);
  }

  /**
   * @param {Thread | null} thread
   * @param {boolean} isOpen
   */
  #drawEnds(thread, isOpen) {
    if (!thread) return;
    this.#fold ??= this.#add('', () => this.#acts.toggle());
    this.#reply ??= this.#add('Reply', () => this.#acts.reply());
    const others = thread.said.length - 1;
    this.#fold.hidden = !others;
    say(this.#fold, isOpen ? some(others, 'reply').replace('replys', 'replies') : `${count(others)} more`);
    attribute(this.#fold, 'aria-expanded', String(isOpen));
    const title = this.#said.text.split('\n', 1)[0]?.slice(0, 60) ?? '';
    attribute(this.#reply, 'aria-label', `Reply in thread: ${title}`);
  }

  /**
   * @param {string} label
   * @param {() => void} act
   */
  #add(label, act) {
    const node = button(label, 'dvergr-quiet', act, this.#signal);
    attribute(node, 'tabindex', this.#isCurrent ? 0 : -1);
    this.#ends.append(node);
    return node;
  }

  /**
   * Of a folded thread the shape alone says how its turns stand.
   * @param {RunRow[]} runs
   */
  #drawState(runs) {
    const [first] = [...runs].sort(byRank);
    attribute(this.el, 'data-state', first ? state(first, this.#link.presence) : null);
    this.#shape.hidden = !first;
  }

  /**
   * @param {RunRow[]} runs
   * @param {Place} place
   */
  #drawRuns(runs, { queue, replied }) {
    const shown = runs.length > LINES ? [...runs].sort(byRank).slice(0, LINES) : runs;
    const ids = new Set(shown.map((row) => row.id));
    for (const [id, line] of this.#lines) {
      if (ids.has(id)) continue;
      line.el.remove();
      this.#lines.delete(id);
    }
    for (const row of shown) this.#line(row).update(row, this.#link, queue.get(row.id) ?? 0, replied.has(row.id));
    const others = runs.filter((row) => !ids.has(row.id));
    say(this.#rest, others.length ? `${count(others.length)} more: ${summed(others)}` : '');
    if (others.length) this.#runs.append(this.#rest);
    else this.#rest.remove();
    this.#runs.hidden = !shown.length;
  }

  /** @param {RunRow} row */
  #line(row) {
    const known = this.#lines.get(row.id);
    if (known) return known;
    const line = new Line(() => this.#link.cancel(row.id), () => this.el.focus({ preventScroll: true }), this.#signal);
    attribute(line.cancel, 'tabindex', this.#isCurrent ? 0 : -1);
    this.#lines.set(row.id, line);
    this.#runs.append(line.el);
    return line;
  }
}

/** One turn below the message that caused it. */
class Line {
  #who = make('span', { class: 'dvergr-cut dvergr-soft' });
  #word = make('span', { class: 'dvergr-word' });
  #took = make('span', { class: 'dvergr-soft' });
  #money = make('span', { class: 'dvergr-soft' });
  #doing = make('span', { class: 'dvergr-doing dvergr-cut' });
  #note = make('span', { class: 'dvergr-cut' });
  #stream = new Stream();
  #leave;
  cancel;
  el;

  /**
   * @param {() => void} cancel
   * @param {() => void} leave
   * @param {AbortSignal} signal
   */
  constructor(cancel, leave, signal) {
    this.#leave = leave;
    this.cancel = button('Cancel', 'dvergr-quiet', cancel, signal);
    const news = make('span', { class: 'dvergr-news' }, this.#word, this.#took, this.#money, this.#doing, this.#note, this.cancel);
    this.el = make('div', { class: 'dvergr-turn' }, shape(), this.#who, make('div', { class: 'dvergr-body' }, news, this.#stream.el));
  }

  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {number} place in its actor's queue, 0 where it is not queued
   * @param {boolean} hasReplied
   */
  update(row, link, place, hasReplied) {
    attribute(this.el, 'data-state', state(row, link.presence));
    attribute(this.el, 'data-run', row.id);
    say(this.#who, row.actor);
    attribute(this.#who, 'title', row.actor);
    const named = word(row, link.presence);
    say(this.#word, named === 'queued' && place ? `queued, ${ordinal(place)}` : named);
    const error = link.refusals.get(row.id) ?? (row.status === 'failed' ? row.error : undefined) ?? '';
    const note = error || (row.status === 'completed' && isTurn(row) && !hasReplied ? unsaid(row) : '');
    say(this.#note, note);
    this.#note.hidden = !note;
    attribute(this.#note, 'class', `dvergr-cut ${error ? 'dvergr-bad' : 'dvergr-soft'}`);
    const { amount, rest, isLow } = spent(row);
    say(this.#money, amount + rest);
    this.#money.hidden = !amount;
    attribute(this.#money, 'class', isLow ? 'dvergr-low' : 'dvergr-soft');
    say(this.#doing, isLive(row) && row.doing ? `uses ${row.doing}` : '');
    this.#doing.hidden = !this.#doing.textContent;
    this.#stream.draw(isLive(row) ? (row.said ?? '') : undefined, link.presence === 'live');
    this.#drawCancel(row, link);
    this.#row = row;
    this.count(link);
  }

  /** @type {RunRow | null} */
  #row = null;

  /** @param {Link} link */
  count(link) {
    const row = this.#row;
    if (!row) return;
    say(this.#took, tookText(row, link));
    this.#took.hidden = !this.#took.textContent;
    this.#stream.fit();
  }

  /**
   * @param {RunRow} row
   * @param {Link} link
   */
  #drawCancel(row, link) {
    const hadFocus = document.activeElement === this.cancel;
    this.cancel.hidden = !isLive(row) && row.status !== 'waiting';
    this.cancel.disabled = link.presence === 'gone' || row.status === 'cancelling' || link.cancelling.has(row.id);
    attribute(this.cancel, 'aria-label', `Cancel ${row.actor}`);
    if (hadFocus && (this.cancel.hidden || this.cancel.disabled)) this.#leave();
  }
}

/**
 * Who said it, and to whom where that is not everyone and not who asked; in one line, whole in its title.
 * @param {SaidWire} said
 */
function from(said) {
  const who = said.person ? { name: 'you', isProgram: false } : named(said.who);
  const to = said.to && said.to !== 'user' ? `to ${named(said.to).name}` : '';
  const name = make('span', { class: who.isProgram ? 'dvergr-cut dvergr-soft' : 'dvergr-cut' }, who.name);
  const title = [who.name, to].filter(Boolean).join(' ');
  return make('span', { class: 'dvergr-from', role: 'gridcell', title }, name, to && make('span', { class: 'dvergr-to dvergr-cut' }, to));
}

/**
 * @param {RunRow} one
 * @param {RunRow} other
 */
const byRank = (one, other) => RANK.indexOf(one.status) - RANK.indexOf(other.status) || one.created - other.created;

/**
 * `3 running, 190 completed`.
 * @param {RunRow[]} runs
 */
function summed(runs) {
  const words = RANK.map((status) => ({ status, many: runs.filter((row) => row.status === status).length }));
  return words.flatMap(({ status, many }) => (many ? `${count(many)} ${status}` : [])).join(', ');
}

/**
 * @param {RunRow} row
 * @param {Link} link
 */
function tookText(row, link) {
  if (isLive(row) && link.presence === 'gone') return `last seen ${clock(link.at)}`;
  const seconds = link.took(row);
  return seconds === null ? '' : isLive(row) ? running(seconds) : duration(seconds);
}

const ENDINGS = /** @type {Record<string, string>} */ ({ one: 'st', two: 'nd', few: 'rd', other: 'th' });
const ordinals = new Intl.PluralRules('en-US', { type: 'ordinal' });

/** @param {number} place */
const ordinal = (place) => `${count(place)}${ENDINGS[ordinals.select(place)]}`;

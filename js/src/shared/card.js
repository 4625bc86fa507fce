// The card of one Run: head, one line of news, facts, and what Details opens.

import { attribute, button, make, measure, say, shape } from './dom.js';
import { Money } from './money.js';
import { Reply } from './reply.js';
import { isLive, isTurn, state, unsaid, word } from './status.js';
import { Stream } from './stream.js';
import { Timeline } from './timeline.js';
import { clock, count, duration, left, percent, running, some } from './time.js';
import { Uses } from './use.js';

/** @typedef {import('./wire.d.ts').RunRow} RunRow */
/** @typedef {import('./link.js').Link} Link */
/** @typedef {import('./link.js').Change} Change */

/** How often the details of a Run that lives are asked for again, in ms. */
const REFRESH = 2000;
/** How long a cancel request may stand before the card explains it, in seconds. */
const EXPLAIN_AFTER = 1;
/** Facts are joined by a no-break space, a middle dot and a space. */
const DOT = '\u00a0· ';

export class Card {
  #link;
  #id;
  #open = false;
  #askedAt = -Infinity;
  #hasLived = false;
  /** @type {string | null} */
  #shownEnd = null;
  #pace = new Pace();

  #shape = shape();
  #who = make('h3', { class: 'dvergr-who' });
  #word = make('span', { class: 'dvergr-word', 'aria-live': 'polite' });
  #took = make('span', { class: 'dvergr-took' });
  #label = make('p', { class: 'dvergr-soft dvergr-cut' });
  #doing = make('span', { class: 'dvergr-doing dvergr-cut' });
  #money = new Money();
  #slot;
  #facts = make('p', { class: 'dvergr-facts' });
  #timeline;
  /** @type {HTMLButtonElement} */
  #cancel;
  /** @type {HTMLButtonElement} */
  #toggle;
  el;

  /**
   * @param {Link} link
   * @param {string} id of the Run
   * @param {AbortSignal} signal
   * @param {boolean} [open] whether the details are open from the start
   */
  constructor(link, id, signal, open = false) {
    this.#link = link;
    this.#id = id;
    this.#slot = new Slot(new Reply(link, signal));
    this.#timeline = new Timeline(signal, new Uses((use, answered) => this.#askUse(use, answered)));
    this.#cancel = button('Cancel', '', () => link.cancel(this.#id), signal);
    this.#toggle = button('Details', 'dvergr-quiet', () => this.#turn(!this.#open), signal);
    const acts = make('span', { class: 'dvergr-acts' }, this.#cancel, this.#toggle);
    const push = make('span', { class: 'dvergr-push' });
    const head = make('header', { class: 'dvergr-head' }, this.#shape, this.#who, this.#word, this.#took, this.#doing, push, this.#money.el, acts);
    this.el = make('section', { class: 'dvergr dvergr-run-card' }, head, this.#label, this.#slot.el, this.#facts, this.#timeline.el);
    this.#turn(open);
  }

  get #row() {
    return this.#link.rows.get(this.#id);
  }

  /** @param {string} id of another Run, whose card this is from now on */
  follow(id) {
    this.#id = id;
    this.#hasLived = false;
    this.#shownEnd = null;
    this.#slot.draw({}, false, null);
    this.update();
    this.#turn(this.#open);
  }

  /** @param {Change} change */
  take(change) {
    if (change.details === this.#id) this.#drawDetails();
    if (change.tick) return this.#count();
    if (change.presence || !change.rows || change.rows.includes(this.#id)) this.update();
  }

  update() {
    const row = this.#row;
    if (!row) return;
    const { presence } = this.#link;
    const named = isTurn(row) ? `Run of ${row.actor}` : `Run: ${row.name}`;
    attribute(this.el, 'data-state', state(row, presence));
    attribute(this.el, 'aria-label', named);
    say(this.#who, row.name);
    say(this.#label, isTurn(row) ? row.label : '');
    this.#label.hidden = !this.#label.textContent;
    say(this.#word, word(row, presence));
    this.#pace.note(row, this.#link.now());
    const doing = isLive(row) && presence !== 'gone' && row.doing ? `uses ${row.doing}` : '';
    say(this.#doing, doing);
    this.#doing.hidden = !doing;
    this.#money.draw(row);
    this.#hasLived ||= isLive(row);
    this.#drawCancel(row);
    this.#drawFacts(row);
    this.#count();
    this.#keepDetails(row);
  }

  /** What changes by itself: digits. */
  #count() {
    const row = this.#row;
    if (!row) return;
    const { presence } = this.#link;
    say(this.#took, tookText(row, this.#link));
    this.#slot.draw(news(row, this.#link, this.#pace), this.#hasLived, row);
    if (this.#open && presence !== 'gone') this.#timeline.grow(isLive(row) ? this.#link.took(row) : null);
  }

  /** @param {RunRow} row */
  #drawCancel(row) {
    const hadFocus = document.activeElement === this.#cancel;
    this.#cancel.hidden = !isLive(row) && row.status !== 'waiting';
    this.#cancel.disabled = this.#link.presence === 'gone' || row.status === 'cancelling' || this.#link.cancelling.has(row.id);
    if (hadFocus && (this.#cancel.hidden || this.#cancel.disabled)) this.#toggle.focus({ preventScroll: true });
  }

  /** @param {RunRow} row */
  #drawFacts(row) {
    const id = this.#facts.lastElementChild ?? make('span', { class: 'dvergr-mono' });
    say(id, row.short);
    const text = [...facts(row), ''].join(DOT);
    if (this.#facts.firstChild?.textContent !== text) this.#facts.replaceChildren(text, id);
  }

  /** @param {boolean} open */
  #turn(open) {
    this.#open = open;
    attribute(this.#toggle, 'aria-expanded', String(open));
    this.#timeline.el.hidden = !open;
    if (!open) return;
    this.#ask();
    this.#drawDetails();
  }

  /**
   * @param {string} useId
   * @param {import('./use.js').Answered} answered
   */
  #askUse(useId, answered) {
    this.#link.ask({ type: 'use', run_id: this.#id, use_id: useId }, answered);
    return this.#link.presence === 'gone' ? EXCUSES.gone : '';
  }

  #ask() {
    this.#askedAt = this.#link.time.now();
    this.#link.details(this.#id);
  }

  /**
   * Asks again while it lives, not often, and once when it has ended.
   * @param {RunRow} row
   */
  #keepDetails(row) {
    const end = isLive(row) ? null : `${row.status} ${row.ended ?? ''}`;
    const ended = end !== null && end !== this.#shownEnd;
    this.#shownEnd = end;
    if (!this.#open) return;
    if (ended || (end === null && this.#link.time.now() - this.#askedAt > REFRESH)) this.#ask();
    if (!this.#link.timelines.has(this.#id)) this.#drawDetails();
  }

  #drawDetails() {
    if (!this.#open) return;
    const timeline = this.#link.timelines.get(this.#id);
    if (timeline) this.#timeline.draw(timeline);
    else this.#timeline.excuse(this.#link.excuses.get(this.#id) ?? EXCUSES[this.#link.presence]);
    this.#count();
  }
}

const EXCUSES = {
  live: 'Reading what happened.',
  busy: 'The kernel is busy; the details come when its cell ends.',
  gone: 'The kernel is gone; the details are in the store, and %card in the next kernel shows them.',
};

/**
 * @typedef {{ step?: { label: string, fraction: number | null, note: string, done?: number, total?: number }, said?: string,
 *   sentence?: string, soft?: boolean, error?: string, reply?: boolean, stream?: string, open?: boolean }} News
 */

/** The line between head and facts. Its parts stay, so that a bar grows instead of being drawn anew. */
class Slot {
  #label = make('span', { class: 'dvergr-cut' });
  #fill = make('i');
  #bar = make('span', { class: 'dvergr-progress', role: 'progressbar', 'aria-valuemin': 0 }, this.#fill);
  #note = make('span', { class: 'dvergr-soft' });
  #said = make('span', { class: 'dvergr-said dvergr-mono dvergr-cut' });
  #step = make('div', { class: 'dvergr-step' }, this.#label, this.#bar, this.#note, this.#said);
  #sentence = make('p');
  #error = make('p', { class: 'dvergr-error dvergr-cut' });
  #reply;
  #stream = new Stream();
  el;

  /** @param {Reply} reply */
  constructor(reply) {
    this.#reply = reply;
    this.el = make('div', { class: 'dvergr-slot' }, this.#step, this.#sentence, this.#error, reply.el, this.#stream.el);
  }

  /**
   * @param {News} news
   * @param {boolean} kept whether the line stays where there is nothing to say
   * @param {RunRow | null} row
   */
  draw(news, kept, row) {
    this.#line(this.#sentence, news.sentence);
    attribute(this.#sentence, 'class', news.soft ? 'dvergr-soft' : null);
    this.#line(this.#error, news.error);
    this.#reply.draw(news.reply ? row : null);
    this.#stream.draw(news.stream, news.open ?? false);
    this.#step.hidden = !news.step && !news.said;
    this.#line(this.#said, news.said);
    this.#line(this.#label, news.step?.label);
    this.#line(this.#note, news.step?.note);
    this.#drawBar(news.step);
    this.el.hidden = !kept && !Object.keys(news).length;
  }

  /**
   * @param {HTMLElement} node
   * @param {string | undefined} text
   */
  #line(node, text) {
    node.hidden = !text;
    say(node, text ?? '');
  }

  /** @param {News['step']} step */
  #drawBar(step) {
    const fraction = step?.fraction ?? null;
    this.#bar.hidden = fraction === null;
    if (!step || fraction === null) return;
    measure(this.#fill, '--done', fraction * 100);
    attribute(this.#bar, 'aria-label', step.label || 'progress');
    attribute(this.#bar, 'aria-valuemax', step.total);
    attribute(this.#bar, 'aria-valuenow', step.done);
  }
}

/** How fast a fraction grows, seen from here. */
class Pace {
  #fraction = -1;
  #at = 0;

  /**
   * @param {RunRow} row
   * @param {number} now
   */
  note(row, now) {
    const fraction = row.progress?.fraction ?? -1;
    if (fraction === this.#fraction) return;
    this.#fraction = fraction;
    this.#at = now;
  }

  /**
   * Seconds left at the pace so far, null where it cannot be told yet.
   * @param {RunRow} row
   * @param {number} now
   */
  left(row, now) {
    const spent = (this.#at - row.started) / 1000;
    if (this.#fraction < 0.02 || this.#fraction >= 1 || spent < 2) return null;
    const rest = (spent * (1 - this.#fraction)) / this.#fraction - (now - this.#at) / 1000;
    return rest > 0 ? rest : null;
  }
}

/**
 * @param {RunRow} row
 * @param {Link} link
 */
function tookText(row, link) {
  if (isLive(row) && link.presence === 'gone') return `last seen ${clock(link.at)}`;
  const seconds = link.took(row);
  if (seconds === null) return '';
  return isLive(row) ? running(seconds) : duration(seconds);
}

/**
 * @param {RunRow} row
 * @param {Link} link
 * @param {Pace} pace
 * @returns {News}
 */
function news(row, link, pace) {
  const refused = link.refusals.get(row.id);
  if (refused) return { error: refused };
  if (!isLive(row)) return ended(row, link.timelines.get(row.id));
  const sentence = expected(row, link);
  /** @type {News} */
  const found = {};
  if (isTurn(row)) Object.assign(found, { stream: row.said ?? '', open: link.presence === 'live' });
  if (sentence) return { ...found, sentence };
  if (row.progress) found.step = step(row, link, pace);
  if (row.said && !isTurn(row)) found.said = row.said;
  return found;
}

/**
 * @param {RunRow} row
 * @param {import('./wire.d.ts').TimelineWire} [timeline]
 * @returns {News}
 */
function ended(row, timeline) {
  if (row.error && row.status === 'failed') return { error: row.error };
  if (row.reason === 'attention-suspended') return { sentence: SUSPENDED };
  if (row.result) return { reply: true };
  if (isTurn(row)) {
    if (row.status !== 'completed') return {};
    const isMute = row.reason || row.mute || (timeline && !timeline.lives && !timeline.result);
    if (isMute) return { sentence: unsaid(row), soft: true };
    return row.said ? { stream: row.said } : {};
  }
  return row.said ? { said: row.said } : {};
}

const SUSPENDED = 'It stopped for a message that it attended to. A new message in this thread starts a new Run.';

/**
 * What is so and what happens next, where a person waits for something.
 * @param {RunRow} row
 * @param {Link} link
 */
function expected(row, link) {
  if (link.presence === 'gone') {
    if (row.status === 'queued') return 'Was queued. It had not begun, so nothing of it was stored.';
    return `Was ${row.status}, ${running(link.took(row) ?? 0)}. The next kernel that opens this store marks it failed, orphaned.`;
  }
  if (row.status === 'queued' && isTurn(row) && link.now() - row.created > EXPLAIN_AFTER * 1000) {
    return `${row.actor} works on something else; this begins when that has ended.`;
  }
  if (link.cancelling.has(row.id) && link.presence === 'busy') return 'Cancel was sent; the kernel takes it when its cell ends.';
  if (row.asked === undefined) return null;
  const ago = (link.now() - row.asked) / 1000;
  if (ago < EXPLAIN_AFTER) return null;
  const since = `Cancel requested ${running(ago)} ago`;
  if (row.checks === false) return `${since}; the function does not check. It ends when the function returns.`;
  return `${since}. It ends at its next check.`;
}

/**
 * @param {RunRow} row
 * @param {Link} link
 * @param {Pace} pace
 * @returns {NonNullable<News['step']>}
 */
function step(row, link, pace) {
  const { label = '', done, total, fraction = null } = row.progress ?? {};
  const figures = done === undefined ? '' : total === undefined ? count(done) : `${count(done)} of ${count(total)}`;
  const rest = fraction === null ? null : pace.left(row, link.now());
  const note = [fraction === null ? '' : percent(fraction), rest === null ? '' : left(rest)];
  /** @type {NonNullable<News['step']>} */
  const found = { label: label || figures, fraction, note: note.filter(Boolean).join(', ') };
  if (fraction === null && label && figures) found.note = figures;
  if (done !== undefined) found.done = done;
  if (total !== undefined) found.total = total;
  return found;
}

/**
 * The facts of a Run in one line, without its id.
 * @param {RunRow} row
 */
function facts(row) {
  const kind = row.kind === 'workflow' ? 'job' : row.kind.replaceAll('-', ' ');
  const what = isTurn(row) ? (row.steps ? some(row.steps, 'round') : '') : `${kind} of ${row.actor}`;
  const place = row.place === 'thread' && isLive(row) ? 'worker thread' : '';
  const reason = row.status === 'failed' && row.reason === 'error' ? 'error' : '';
  const messages = !row.activities ? '' : some(row.activities, 'correlated activity message');
  return [row.profile ?? '', row.program ?? '', what, place, reason, messages, ...(row.tags ?? [])].filter(Boolean);
}

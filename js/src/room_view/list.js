// The messages by thread. One tab stop; arrows move, Enter opens and folds, Escape leaves. Of a folded thread only its head exists.

import { button, make } from '../shared/dom.js';
import { isLive } from '../shared/status.js';
import { Order } from './order.js';
import { Said } from './said.js';
import { lastOf } from './talk.js';

/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('../shared/wire.d.ts').RunRow} RunRow */
/** @typedef {import('../shared/wire.d.ts').SaidWire} SaidWire */
/** @typedef {import('../shared/wire.d.ts').UnansweredWire} UnansweredWire */
/** @typedef {{ runs: Map<string, RunRow[]>, queue: Map<string, number>, replied: Set<string>, unanswered: Map<string, UnansweredWire[]> }} Facts what is known of messages and Runs, by id */
/** @typedef {import('./talk.js').Talk} Talk */
/** @typedef {import('./talk.js').Thread} Thread */

/** How many of the newest threads are open unless a person has folded or opened them. */
const OPEN = 8;
/** How near to its end a list counts as read to the end, in px. */
const NEAR = 8;
/** How many messages a page key moves over. */
const PAGE = 10;

export class List {
  #link;
  #talk;
  #signal;
  #acts;
  #order = new Order();
  /** @type {Map<string, boolean>} threads that a person has opened or folded */
  #chosen = new Map();
  /** @type {Map<string, Said>} messages that exist */
  #rows = new Map();
  /** @type {Map<string, HTMLElement>} */
  #groups = new Map();
  /** @type {string | null} the message that Tab reaches */
  #current = null;
  /** The newest message when the list was last read to its end, in ms since 1970. */
  #readTo = 0;
  #isAsking = false;
  #wasAtEnd = true;

  #older;
  #grid = make('div', { class: 'dvergr-threads', role: 'treegrid', 'aria-label': 'Messages by thread' });
  #scroller;

  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {AbortSignal} signal
   * @param {{ reply: (thread: Thread) => void, moved: () => void }} acts
   */
  constructor(link, talk, signal, acts) {
    this.#link = link;
    this.#talk = talk;
    this.#signal = signal;
    this.#acts = acts;
    this.#older = button('Show older messages', 'dvergr-quiet', () => this.#askOlder(), signal);
    this.#scroller = make('div', { class: 'dvergr-talk', tabindex: -1 }, this.#older, this.#grid);
    this.#scroller.addEventListener('scroll', () => this.#scrolled(), { signal, passive: true });
    this.#grid.addEventListener('keydown', (event) => this.#key(event), { signal });
    this.#grid.addEventListener('focusin', (event) => this.#focused(event), { signal });
    this.#grid.addEventListener('click', (event) => this.#clicked(event), { signal });
    this.#followWidth();
  }

  /** Text that wraps anew is taller; who read the end goes on reading it. */
  #followWidth() {
    if (!('ResizeObserver' in globalThis)) return;
    const watch = new ResizeObserver(() => this.#wasAtEnd && !this.#hasFocus && this.toEnd());
    watch.observe(this.#scroller);
    this.#signal.addEventListener('abort', () => watch.disconnect());
  }

  get el() {
    return this.#scroller;
  }

  /** How many messages came since the list was read to its end. */
  get below() {
    let many = 0;
    for (const said of this.#talk.said.values()) if (said.at > this.#readTo) many += 1;
    return many;
  }

  draw() {
    const { isAtEnd } = this;
    const isHeld = !isAtEnd || this.#hasFocus;
    const threads = this.#order.settle(this.#talk.threads, isHeld);
    const newest = new Set([...threads].sort(byNews).slice(0, OPEN).map((thread) => thread.id));
    const facts = { runs: this.#runsByTrigger(), queue: this.#queue(), replied: this.#replied(), unanswered: this.#unanswered() };
    this.#older.hidden = !this.#talk.older;
    this.#older.disabled = this.#isAsking || this.#link.presence === 'gone';
    const kept = new Set();
    const groups = threads.map((thread) => this.#drawThread(thread, newest, facts, kept));
    for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id);
    for (const id of this.#groups.keys()) if (!this.#talk.said.has(id) && !threads.some((each) => each.id === id)) this.#groups.delete(id);
    place(this.#grid, groups);
    this.count();
    if (!this.#current || !this.#rows.has(this.#current)) this.#setCurrent([...this.#rows.keys()].at(-1) ?? null);
    if (isAtEnd && !this.#hasFocus) this.toEnd();
  }

  /** What changes by itself: digits. */
  count() {
    for (const row of this.#rows.values()) row.count();
  }

  toEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#wasAtEnd = true;
    this.#readAll();
  }

  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    return scrollTop + clientHeight >= scrollHeight - NEAR;
  }

  get #hasFocus() {
    return this.#grid.contains(document.activeElement);
  }

  #readAll() {
    for (const said of this.#talk.said.values()) this.#readTo = Math.max(this.#readTo, said.at);
  }

  #scrolled() {
    this.#wasAtEnd = this.isAtEnd;
    if (this.#wasAtEnd) this.#readAll();
    this.#acts.moved();
  }

  /** @returns {Map<string, RunRow[]>} */
  #runsByTrigger() {
    /** @type {Map<string, RunRow[]>} */
    const runs = new Map();
    for (const row of this.#link.rows.values()) {
      if (!row.trigger) continue;
      const same = runs.get(row.trigger);
      if (same) same.push(row);
      else runs.set(row.trigger, [row]);
    }
    for (const same of runs.values()) same.sort((one, other) => one.created - other.created);
    return runs;
  }

  /** @returns {Map<string, number>} */
  #queue() {
    const places = this.#talk.present.flatMap(({ queued = [] }) => queued.map((id, index) => /** @type {const} */ ([id, index + 1])));
    return new Map(places);
  }

  /** @returns {Set<string>} */
  #replied() {
    return new Set([...this.#talk.said.values()].flatMap(({ run = [] }) => run));
  }

  /** @returns {Map<string, UnansweredWire[]>} by message */
  #unanswered() {
    /** @type {Map<string, UnansweredWire[]>} */
    const found = new Map();
    for (const wire of this.#talk.unanswered) found.set(wire.message, [...(found.get(wire.message) ?? []), wire]);
    return found;
  }

  /**
   * @param {Thread} thread
   * @param {Set<string>} newest
   * @param {Facts} facts
   * @param {Set<string>} kept
   */
  #drawThread(thread, newest, { runs, queue, replied, unanswered }, kept) {
    const calls = thread.said.some((said) => unanswered.has(said.id) || runs.get(said.id)?.some(isLive));
    const isOpen = this.#chosen.get(thread.id) ?? (newest.has(thread.id) || calls);
    const group = this.#groups.get(thread.id) ?? make('div', { class: 'dvergr-thread', role: 'rowgroup' });
    this.#groups.set(thread.id, group);
    const [head, ...others] = thread.said;
    const shown = isOpen ? [/** @type {SaidWire} */ (head), ...others] : [/** @type {SaidWire} */ (head)];
    const all = isOpen ? [] : thread.said.flatMap((said) => runs.get(said.id) ?? []);
    const nodes = shown.map((said, index) => {
      const row = this.#row(said, thread);
      kept.add(said.id);
      const own = isOpen ? (runs.get(said.id) ?? []) : all;
      row.update({ runs: own, replied, unanswered: unanswered.get(said.id) ?? [], queue, thread: index ? null : thread, isOpen });
      return row.el;
    });
    place(group, nodes);
    return group;
  }

  /**
   * @param {SaidWire} said
   * @param {Thread} thread
   */
  #row(said, thread) {
    const known = this.#rows.get(said.id);
    if (known) return known;
    const row = new Said(said, this.#link, this.#signal, {
      toggle: () => this.#toggle(thread.id),
      reply: () => this.#acts.reply(this.#talk.threads.find((each) => each.id === thread.id) ?? thread),
      whole: () => this.#askWhole(said.id),
    });
    this.#rows.set(said.id, row);
    return row;
  }

  /** @param {string} id of a thread */
  #toggle(id) {
    const head = this.#groups.get(id)?.querySelector('[aria-level="1"]');
    this.#chosen.set(id, head?.getAttribute('data-folded') !== null);
    const focused = this.#groups.get(id)?.contains(document.activeElement);
    this.draw();
    if (focused && !this.#hasFocus) this.#focus(/** @type {HTMLElement} */ (head));
    this.#acts.moved();
  }

  #askOlder() {
    this.#isAsking = true;
    const from = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    this.#link.ask({ type: 'older' }, () => {
      this.#isAsking = false;
      this.#link.time.after(100, () => {
        if (this.#signal.aborted) return;
        this.draw();
        this.#scroller.scrollTop = this.#scroller.scrollHeight - from;
      });
    });
    this.draw();
  }

  /** @param {string} id */
  #askWhole(id) {
    this.#link.ask({ type: 'whole', message_id: id }, (answer) => this.#rows.get(id)?.show(answer.type === 'whole' ? answer.text : null));
  }

  /** @param {string | null} id */
  #setCurrent(id) {
    if (this.#current) this.#rows.get(this.#current)?.mark(false);
    this.#current = id;
    if (id) this.#rows.get(id)?.mark(true);
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const id = /** @type {HTMLElement} */ (event.target).closest('[data-id]')?.getAttribute('data-id');
    if (id && id !== this.#current) this.#setCurrent(id);
  }

  /**
   * A click beside what can be pressed opens a folded thread.
   * @param {MouseEvent} event
   */
  #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const head = target.closest('button') ? null : target.closest('[data-folded]');
    if (head) this.#toggle(this.#threadOf(head) ?? '');
  }

  /** @param {Element} row */
  #threadOf(row) {
    return this.#talk.said.get(row.getAttribute('data-id') ?? '')?.thread;
  }

  /** @param {HTMLElement} row */
  #focus(row) {
    row.focus({ preventScroll: true });
    row.scrollIntoView?.({ block: 'nearest' });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {HTMLElement | null} */ (target.closest('[role=row]'));
    if (event.ctrlKey || event.metaKey || event.altKey || !row) return;
    const moved = this.#move(event.key, row);
    if (moved) this.#focus(moved);
    else if (event.key === 'Enter' && target === row) this.#enter(row);
    else if (event.key === 'ArrowRight') this.#right(row, target);
    else if (event.key === 'ArrowLeft') this.#left(row, target);
    else return;
    event.preventDefault();
  }

  /**
   * The row that a key leads to; null where it leads nowhere.
   * @param {string} key
   * @param {HTMLElement} row
   */
  #move(key, row) {
    const rows = /** @type {HTMLElement[]} */ ([...this.#grid.querySelectorAll('[role=row]')]);
    const at = rows.indexOf(row);
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + PAGE, PageUp: at - PAGE, Home: 0, End: rows.length - 1 };
    const to = moves[key];
    return to === undefined ? null : (rows[Math.min(rows.length - 1, Math.max(0, to))] ?? null);
  }

  /** @param {HTMLElement} row */
  #enter(row) {
    const id = row.getAttribute('data-id') ?? '';
    if (row.hasAttribute('aria-expanded')) this.#toggle(this.#threadOf(row) ?? '');
    else this.#rows.get(id)?.turn();
  }

  /**
   * Opens what is folded, else goes to the next button of the row.
   * @param {HTMLElement} row
   * @param {HTMLElement} target
   */
  #right(row, target) {
    if (row.getAttribute('aria-expanded') === 'false' && target === row) return this.#toggle(this.#threadOf(row) ?? '');
    const buttons = [...row.querySelectorAll('button')].filter((node) => !node.hidden && !node.disabled);
    const next = buttons[buttons.findIndex((node) => node === target) + 1];
    next?.focus({ preventScroll: true });
  }

  /**
   * Back to the row, then to the head of its thread, then folds that.
   * @param {HTMLElement} row
   * @param {HTMLElement} target
   */
  #left(row, target) {
    if (target !== row) return this.#focus(row);
    if (row.getAttribute('aria-expanded') === 'true') return this.#toggle(this.#threadOf(row) ?? '');
    const head = /** @type {HTMLElement | null} */ (row.parentElement?.querySelector('[aria-level="1"]') ?? null);
    if (head) this.#focus(head);
  }
}

/**
 * @param {Thread} one
 * @param {Thread} other
 */
const byNews = (one, other) => lastOf(other).at - lastOf(one).at;

/**
 * Gives a node exactly these children, and moves none that stands where it should: what is moved loses its focus.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} wanted
 */
function place(parent, wanted) {
  const keep = new Set(/** @type {Node[]} */ (wanted));
  for (const node of [...parent.childNodes]) if (!keep.has(node)) node.remove();
  let at = parent.firstChild;
  for (const node of wanted) {
    if (at !== node && at?.nextSibling === node) at = node; // what stood here stands further down: it is moved in its turn
    if (at === node) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
}

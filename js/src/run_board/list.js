// The rows: only those in view exist. One tab stop; arrows move, Enter opens, Escape leaves.

import { attribute, make, measure } from '../shared/dom.js';
import { isLive } from '../shared/status.js';
import { Row, heads } from './row.js';

/** @typedef {import('../shared/link.js').Link} Link */

/** Rows in view. */
const VIEW = 14;
/** Rows that exist above and below the view, so that scrolling finds them drawn. */
const SPARE = 3;

export class List {
  #link;
  #signal;
  #acts;
  /** @type {string[]} */
  #ids = [];
  /** @type {Map<string, number>} */
  #places = new Map();
  /** @type {Map<string, Row>} rows that exist */
  #rows = new Map();
  /** @type {string | null} the row that Tab reaches */
  #current = null;
  /** @type {string | null} */
  #opened = null;
  /** Where the list was scrolled to, in px, when the rows in view were last made. */
  #top = 0;

  #body = make('div', { class: 'dvergr-body', role: 'rowgroup' });
  #scroller = make('div', { class: 'dvergr-scroller', tabindex: -1 }, this.#body);
  #thumb = make('i', { class: 'dvergr-thumb', 'aria-hidden': 'true' });
  #window = make('div', { class: 'dvergr-window' }, this.#scroller, this.#thumb);
  el = make('div', { class: 'dvergr-rows', role: 'grid', 'aria-label': 'Runs' }, heads(), this.#window);

  /**
   * @param {Link} link
   * @param {AbortSignal} signal
   * @param {{ open: (id: string) => void, moved: () => void }} acts
   */
  constructor(link, signal, acts) {
    this.#link = link;
    this.#signal = signal;
    this.#acts = acts;
    this.#scroller.addEventListener('scroll', () => this.#scrolled(), { signal, passive: true });
    this.#body.addEventListener('keydown', (event) => this.#key(event), { signal });
    this.#body.addEventListener('focusin', (event) => this.#focused(event), { signal });
    this.#body.addEventListener('focusout', () => link.time.after(0, () => acts.moved()), { signal });
    this.#thumb.addEventListener('pointerdown', (event) => this.#drag(event), { signal });
  }

  /** Whether the order must not change: a row has focus, or the list is scrolled. */
  get isHeld() {
    return this.#scroller.scrollTop > 1 || this.#body.contains(document.activeElement);
  }

  /** First and last row in view, counted from 1: never a row that is not drawn yet, which the foot would name. */
  get range() {
    const first = Math.min(this.#ids.length, Math.floor(this.#top / this.#height + 0.5) + 1);
    return { first, last: Math.min(this.#ids.length, first + VIEW - 1) };
  }

  get opened() {
    return this.#opened;
  }

  /** The row whose details are open. */
  set opened(id) {
    const before = this.#opened;
    this.#opened = id;
    for (const each of [before, id]) if (each) this.#rows.get(each)?.mark(each === id);
  }

  /** A row's height in px, of the sizes in use. */
  get #height() {
    const size = Number.parseFloat(getComputedStyle(this.el).getPropertyValue('font-size')) || 13;
    return (size * 24) / 13;
  }

  /** @param {string[]} ids */
  draw(ids) {
    if (ids !== this.#ids) {
      this.#ids = ids;
      this.#places = new Map(ids.map((id, index) => [id, index]));
      if (!this.#current || !this.#places.has(this.#current)) this.#current = ids[0] ?? null;
      attribute(this.el, 'aria-rowcount', ids.length + 1);
      measure(this.el, '--rows', ids.length);
      measure(this.el, '--view', Math.min(VIEW, Math.max(1, ids.length)));
    }
    for (const [id, row] of this.#rows) this.#fill(id, row);
    this.#mount();
    this.#drawThumb();
  }

  /** What changes by itself: digits. */
  count() {
    for (const [id, row] of this.#rows) {
      const data = this.#link.rows.get(id);
      if (data && isLive(data)) row.count(data, this.#link);
    }
  }

  toTop() {
    this.#scroller.scrollTop = 0;
  }

  focusFirst() {
    const [first] = this.#ids;
    if (first) this.focus(first);
  }

  /** @param {string} id */
  focus(id) {
    if (!this.#places.has(id)) return;
    this.#setCurrent(id);
    this.#reveal(id);
    this.#scrolled();
    this.#rows.get(id)?.el.focus({ preventScroll: true });
  }

  #scrolled() {
    this.#mount();
    this.#drawThumb();
    this.#acts.moved();
  }

  /** Makes the rows in view and those near it, keeps the one that has focus, and lets the others go. */
  #mount() {
    this.#top = this.#scroller.scrollTop;
    const top = Math.floor(this.#top / this.#height);
    const wanted = new Set(this.#ids.slice(Math.max(0, top - SPARE), top + VIEW + 1 + SPARE));
    if (this.#current) wanted.add(this.#current);
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.el.remove();
      this.#rows.delete(id);
    }
    for (const id of wanted) if (!this.#rows.has(id)) this.#add(id);
  }

  /** @param {string} id */
  #add(id) {
    const row = new Row(id, this.#signal, { open: () => this.#acts.open(id), cancel: () => this.#link.cancel(id) });
    this.#rows.set(id, row);
    row.mark(id === this.#opened);
    this.#fill(id, row);
    const place = this.#places.get(id) ?? 0;
    const next = [...this.#body.children].find((node) => Number(node.getAttribute('aria-rowindex')) > place + 2);
    this.#body.insertBefore(row.el, next ?? null);
  }

  /**
   * @param {string} id
   * @param {Row} row
   */
  #fill(id, row) {
    const data = this.#link.rows.get(id);
    if (data) row.update(data, this.#link, this.#places.get(id) ?? 0, id === this.#current);
  }

  #drawThumb() {
    const share = VIEW / Math.max(1, this.#ids.length);
    this.#thumb.hidden = share >= 1;
    const whole = this.#height * this.#ids.length;
    const view = this.#height * VIEW;
    const most = Math.max(1, whole - view);
    const done = Math.min(1, this.#scroller.scrollTop / most);
    const length = Math.max(24, view * share);
    measure(this.#thumb, '--top', done * (view - length));
    measure(this.#thumb, '--length', length);
    attribute(this.#window, 'data-long', share < 1);
    attribute(this.#window, 'data-more', share < 1 && done < 0.9999);
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    event.preventDefault();
    const from = { y: event.clientY, top: this.#scroller.scrollTop };
    const view = this.#height * VIEW;
    const length = Math.max(24, (view * VIEW) / this.#ids.length);
    const ratio = (this.#height * this.#ids.length - view) / Math.max(1, view - length);
    const ending = new AbortController();
    const stop = () => ending.abort();
    /** @param {PointerEvent} moved */
    const move = (moved) => {
      this.#scroller.scrollTop = from.top + (moved.clientY - from.y) * ratio;
    };
    window.addEventListener('pointermove', move, { signal: AbortSignal.any([ending.signal, this.#signal]) });
    window.addEventListener('pointerup', stop, { signal: ending.signal });
    window.addEventListener('pointercancel', stop, { signal: ending.signal });
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const id = /** @type {HTMLElement} */ (event.target).closest('[data-id]')?.getAttribute('data-id');
    if (id) this.#setCurrent(id);
  }

  /** @param {string} id */
  #setCurrent(id) {
    const before = this.#current;
    this.#current = id;
    for (const each of [before, id]) {
      const row = each && this.#rows.get(each);
      if (each && row) this.#fill(each, row);
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#current) return;
    const row = this.#rows.get(this.#current);
    const at = this.#places.get(this.#current) ?? 0;
    const to = target(event.key, at, this.#ids.length);
    if (to !== null) {
      const id = this.#ids[to];
      if (id) this.focus(id);
    } else if (event.key === 'Enter' && event.target === row?.el) this.#acts.open(this.#current);
    else if (event.key === 'ArrowRight') row?.focusCancel();
    else if (event.key === 'ArrowLeft') row?.el.focus();
    else return;
    event.preventDefault();
  }

  /** @param {string} id */
  #reveal(id) {
    const height = this.#height;
    const at = (this.#places.get(id) ?? 0) * height;
    const top = this.#scroller.scrollTop;
    if (at < top) this.#scroller.scrollTop = at;
    else if (at + height > top + VIEW * height) this.#scroller.scrollTop = at + height - VIEW * height;
  }
}

/**
 * Where a key leads in a list of that length; null where it leads nowhere.
 * @param {string} key
 * @param {number} at
 * @param {number} length
 */
function target(key, at, length) {
  /** @type {Record<string, number>} */
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + VIEW, PageUp: at - VIEW, Home: 0, End: length - 1 };
  const to = moves[key];
  return to === undefined ? null : Math.min(length - 1, Math.max(0, to));
}

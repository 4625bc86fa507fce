// Which rows are shown and in which order: newest first, and never moved under a person who reads them.

import { group } from '../shared/status.js';

/** @typedef {import('../shared/wire.d.ts').RunRow} RunRow */
/** @typedef {import('../shared/status.js').Group} Group */

export class Order {
  /** @type {string[]} ids in the order shown */
  shown = [];
  /** @type {string[]} ids that would stand above */
  waiting = [];
  /** @type {Group | 'all'} */
  only = 'all';
  /** Whether something was held back from a person who reads. */
  isBehind = false;
  #text = '';
  #isStale = true;
  #known = new Set();

  /** Whether nothing is filtered. */
  get isWhole() {
    return this.only === 'all' && !this.#text;
  }

  /**
   * @param {Group | 'all'} only
   * @param {string} text that actor, label, room or a tag must hold
   */
  filter(only, text) {
    this.only = only;
    this.#text = text.trim().toLowerCase();
    this.shown = [];
    this.#isStale = true;
  }

  /**
   * All rows may be others.
   * @param {Map<string, RunRow>} rows
   */
  keep(rows) {
    this.shown = this.shown.filter((id) => rows.has(id));
    this.#isStale = true;
  }

  /**
   * Some rows changed or left. Only a row that comes, leaves, or changes its group can change the list.
   * @param {string[]} changed
   * @param {string[]} gone
   * @param {Map<string, RunRow>} rows
   */
  take(changed, gone, rows) {
    if (gone.length) this.keep(rows);
    this.#isStale ||= !this.isWhole || changed.some((id) => !this.#known.has(id));
  }

  /**
   * Brings the list up to date; where it is held, what is new waits above, and what no longer fits stays.
   * @param {Map<string, RunRow>} rows
   * @param {boolean} isHeld
   */
  settle(rows, isHeld) {
    if (!this.#isStale && (isHeld || !this.isBehind)) return;
    this.#isStale = false;
    this.#known = new Set(rows.keys());
    const fitting = [...rows.values()].filter((row) => this.#fits(row)).sort(newestFirst).map((row) => row.id);
    this.isBehind = isHeld && this.shown.length > 0;
    if (!this.isBehind) {
      this.shown = fitting;
      this.waiting = [];
      return;
    }
    const here = new Set(this.shown);
    const lowest = fitting.findLastIndex((id) => here.has(id));
    this.waiting = fitting.filter((id, index) => !here.has(id) && index < lowest);
    this.shown = [...this.shown, ...fitting.filter((id, index) => !here.has(id) && index > lowest)];
  }

  /** @param {RunRow} row */
  #fits(row) {
    if (this.only !== 'all' && group(row) !== this.only) return false;
    if (!this.#text) return true;
    const fields = [row.actor, row.label, row.room, row.short, ...(row.tags ?? [])];
    return fields.some((field) => field.toLowerCase().includes(this.#text));
  }
}

/**
 * @param {RunRow} one
 * @param {RunRow} other
 */
function newestFirst(one, other) {
  return other.created - one.created || (one.id < other.id ? 1 : -1);
}

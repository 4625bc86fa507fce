// One row of the board, and the heads above.

import { attribute, button, make, measure, say, shape } from '../shared/dom.js';
import { inColumn } from '../shared/money.js';
import { isLive, listWord, state } from '../shared/status.js';
import { clock, count, duration, percent, running } from '../shared/time.js';

/** @typedef {import('../shared/wire.d.ts').RunRow} RunRow */
/** @typedef {import('../shared/link.js').Link} Link */

/** @type {[string, string][]} name and classes of each column */
const COLUMNS = [
  ['state', ''],
  ['actor', 'dvergr-half'],
  ['label', ''],
  ['done', 'dvergr-half'],
  ['steps', 'dvergr-num dvergr-wide'],
  ['cost', 'dvergr-num dvergr-half dvergr-cost'],
  ['took', 'dvergr-num'],
  ['began', 'dvergr-num dvergr-wide'],
  ['', 'dvergr-half'],
];

export function heads() {
  const cells = COLUMNS.map(([name, classes]) => make('span', { class: classes || null, role: 'columnheader' }, name));
  return make('div', { class: 'dvergr-row dvergr-heads', role: 'row', 'aria-rowindex': 1 }, ...cells);
}

/** @param {string} classes */
const cell = (classes) => make('span', { class: classes, role: 'gridcell' });

export class Row {
  #word = make('span', { class: 'dvergr-word dvergr-cut' });
  #actor = cell('dvergr-cut dvergr-half');
  #label = cell('dvergr-cut');
  #fill = make('i');
  #bar = make('span', { class: 'dvergr-progress dvergr-meter dvergr-wide', 'aria-hidden': 'true' }, this.#fill);
  #percent = make('span', { class: 'dvergr-num' });
  #steps = cell('dvergr-num dvergr-wide');
  #cost = cell('dvergr-num dvergr-half dvergr-cost');
  #took = cell('dvergr-num');
  #began = cell('dvergr-num dvergr-soft dvergr-wide');
  /** @type {HTMLButtonElement} */
  #cancel;
  el;

  /**
   * @param {string} id
   * @param {AbortSignal} signal
   * @param {{ open: () => void, cancel: () => void }} acts
   */
  constructor(id, signal, acts) {
    this.#cancel = button('Cancel', 'dvergr-quiet', acts.cancel, signal);
    const named = make('span', { class: 'dvergr-state', role: 'gridcell' }, shape(), this.#word);
    const share = make('span', { class: 'dvergr-share dvergr-half', role: 'gridcell' }, this.#bar, this.#percent);
    const last = make('span', { class: 'dvergr-num dvergr-half', role: 'gridcell' }, this.#cancel);
    const cells = [named, this.#actor, this.#label, share, this.#steps, this.#cost, this.#took, this.#began, last];
    this.el = make('div', { class: 'dvergr-row', role: 'row', 'data-id': id }, ...cells);
    /** @param {MouseEvent} event */
    const click = (event) => {
      if (!this.#cancel.contains(/** @type {Node} */ (event.target))) acts.open();
    };
    this.el.addEventListener('click', click, { signal });
  }

  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {number} place counted from 0
   * @param {boolean} isCurrent whether Tab reaches it
   */
  update(row, link, place, isCurrent) {
    attribute(this.el, 'data-state', state(row, link.presence));
    attribute(this.el, 'aria-rowindex', place + 2);
    attribute(this.el, 'tabindex', isCurrent ? 0 : -1);
    measure(this.el, '--place', place);
    say(this.#word, listWord(row, link.presence));
    say(this.#actor, row.actor);
    say(this.#label, row.label);
    this.#drawShare(row.progress?.fraction);
    say(this.#steps, row.steps ? count(row.steps) : '');
    say(this.#cost, inColumn(row));
    say(this.#began, row.status === 'queued' ? '' : clock(row.started));
    this.#drawCancel(row, link, isCurrent);
    this.count(row, link);
  }

  /**
   * @param {RunRow} row
   * @param {Link} link
   */
  count(row, link) {
    const seconds = link.took(row);
    say(this.#took, seconds === null ? '' : isLive(row) ? running(seconds) : duration(seconds));
  }

  /** @param {boolean} isOpen whether its details are open */
  mark(isOpen) {
    attribute(this.el, 'aria-selected', isOpen ? 'true' : null);
  }

  focusCancel() {
    if (!this.#cancel.hidden && !this.#cancel.disabled) this.#cancel.focus();
  }

  /** @param {number | undefined} fraction */
  #drawShare(fraction) {
    this.#bar.hidden = fraction === undefined;
    say(this.#percent, fraction === undefined ? '' : percent(fraction));
    measure(this.#fill, '--done', (fraction ?? 0) * 100);
  }

  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {boolean} isCurrent
   */
  #drawCancel(row, link, isCurrent) {
    const hadFocus = document.activeElement === this.#cancel;
    this.#cancel.hidden = !isLive(row) && row.status !== 'waiting';
    this.#cancel.disabled = link.presence === 'gone' || row.status === 'cancelling' || link.cancelling.has(row.id);
    attribute(this.#cancel, 'tabindex', isCurrent ? 0 : -1);
    attribute(this.#cancel, 'aria-label', `Cancel ${row.name}`);
    if (hadFocus && (this.#cancel.hidden || this.#cancel.disabled)) this.el.focus({ preventScroll: true });
  }
}

// The board: counts that filter, the list, its foot, and the details of the row that was opened.

import { Card } from '../shared/card.js';
import { attribute, button, make, say, shape } from '../shared/dom.js';
import { hasSpent } from '../shared/money.js';
import { group } from '../shared/status.js';
import { clock, count } from '../shared/time.js';
import { List } from './list.js';
import { Order } from './order.js';

/** @typedef {import('../shared/link.js').Link} Link */
/** @typedef {import('../shared/link.js').Change} Change */
/** @typedef {import('../shared/status.js').Group} Group */

/** @type {{ label: string, groups: Group[] }[]} */
const CHIPS = [
  { label: 'Open', groups: ['queued', 'running', 'waiting', 'stopped'] },
  { label: 'Ended', groups: ['failed', 'cancelled', 'completed'] },
];

export class Board {
  #link;
  #signal;
  #order = new Order();
  #list;
  /** @type {Map<Group | 'all', { node: HTMLButtonElement, count: HTMLElement }>} */
  #chips = new Map();
  /** @type {AbortController | null} ends the card of the opened row */
  #opening = null;
  /** @type {Card | null} */
  #card = null;
  #isDrawing = false;
  /** Whether anything was spent: from then on there is a column for it. */
  #hasSpent = false;

  #field = make('input', { class: 'dvergr-field', type: 'search', placeholder: 'Actor, label or tag', 'aria-label': 'Filter' });
  #range = make('span');
  #above;
  #asOf = make('span');
  #details = make('div', { class: 'dvergr-below' });
  el;

  /**
   * @param {Link} link
   * @param {string} room whose Runs it shows, empty for all
   * @param {AbortSignal} signal
   */
  constructor(link, room, signal) {
    this.#link = link;
    this.#signal = signal;
    this.#above = button('', 'dvergr-quiet', (event) => this.#showNew(event.detail === 0), signal);
    this.#list = new List(link, signal, { open: (id) => this.#toggle(id), moved: () => this.#moved() });
    const foot = make('footer', { class: 'dvergr-foot' }, this.#range, this.#above, this.#asOf);
    this.el = make(
      'section',
      { class: 'dvergr dvergr-run-board', 'aria-label': room ? `Runs of room ${room}` : 'Runs' },
      make('header', { class: 'dvergr-bar' }, ...CHIPS.map((each, index) => this.#makeChips(each, index)), this.#field),
      this.#list.el,
      foot,
      this.#details,
    );
    this.el.addEventListener('keydown', (event) => this.#leaveDetails(event), { signal });
    this.#field.addEventListener('input', () => this.#filter(), { signal });
    this.#field.addEventListener('keydown', (event) => this.#leaveField(event), { signal });
  }

  /** @param {Change} change */
  take(change) {
    this.#card?.take(change);
    if (change.tick) {
      this.#list.count();
      return this.#drawFoot();
    }
    if (change.details) return;
    if (change.rows === null) this.#order.keep(this.#link.rows);
    else this.#order.take(change.rows ?? [], change.gone ?? [], this.#link.rows);
    this.#drawSoon();
  }

  update() {
    this.#order.keep(this.#link.rows);
    this.#draw();
  }

  /** Many messages may come between two pictures; one of them is drawn. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    this.#link.time.after(16, () => {
      this.#isDrawing = false;
      if (!this.#signal.aborted) this.#draw();
    });
  }

  #draw() {
    this.#order.settle(this.#link.rows, this.#list.isHeld);
    this.#hasSpent ||= [...this.#link.rows.values()].some(hasSpent);
    attribute(this.el, 'data-money', this.#hasSpent);
    this.#list.draw(this.#order.shown);
    this.#drawChips();
    this.#drawFoot();
  }

  #moved() {
    if (this.#order.isBehind && !this.#list.isHeld) this.#draw();
    else this.#drawFoot();
  }

  /** @param {boolean} byKey whether the keyboard pressed it, which then goes on at the first row */
  #showNew(byKey) {
    this.#order.settle(this.#link.rows, false);
    this.#list.toTop();
    this.#list.draw(this.#order.shown);
    if (byKey) this.#list.focusFirst();
    this.#drawFoot();
  }

  #filter() {
    this.#order.filter(this.#order.only, this.#field.value);
    this.#list.toTop();
    this.#draw();
  }

  /** @param {KeyboardEvent} event */
  #leaveField(event) {
    if (event.key !== 'Escape' || !this.#field.value) return;
    event.stopPropagation();
    event.preventDefault();
    this.#field.value = '';
    this.#filter();
  }

  /**
   * @param {{ label: string, groups: Group[] }} chips
   * @param {number} index
   */
  #makeChips({ label, groups }, index) {
    const box = make('span', { class: 'dvergr-chips', role: 'group', 'aria-label': label });
    if (index === 0) box.append(this.#makeChip('all'));
    for (const name of groups) box.append(this.#makeChip(name));
    return box;
  }

  /** @param {Group | 'all'} name */
  #makeChip(name) {
    const node = button('', '', () => this.#press(name), this.#signal);
    const counted = make('span', { class: 'dvergr-count' });
    if (name !== 'all') attribute(node, 'data-state', name);
    node.append(...(name === 'all' ? [] : [shape()]), make('span', {}, name), counted);
    this.#chips.set(name, { node, count: counted });
    return node;
  }

  /** @param {Group | 'all'} name */
  #press(name) {
    this.#order.filter(name === this.#order.only ? 'all' : name, this.#field.value);
    this.#list.toTop();
    this.#draw();
  }

  #drawChips() {
    /** @type {Map<Group | 'all', number>} */
    const counts = new Map([['all', this.#link.rows.size]]);
    for (const row of this.#link.rows.values()) counts.set(group(row), (counts.get(group(row)) ?? 0) + 1);
    for (const [name, chip] of this.#chips) {
      const pressed = name === this.#order.only;
      say(chip.count, count(counts.get(name) ?? 0));
      attribute(chip.node, 'aria-pressed', String(pressed));
      chip.node.hidden = name !== 'all' && !counts.get(name) && !pressed;
    }
    for (const { node } of this.#chips.values()) {
      const box = /** @type {HTMLElement} */ (node.parentElement);
      box.hidden = [...box.children].every((chip) => /** @type {HTMLElement} */ (chip).hidden);
    }
  }

  #drawFoot() {
    const { first, last } = this.#list.range;
    const total = this.#order.shown.length;
    const isNewest = this.#link.cut && this.#order.isWhole;
    const of = `${isNewest ? 'the newest ' : ''}${count(total)}`;
    say(this.#range, total ? `rows ${count(first)} to ${count(last)} of ${of}, newest first` : this.#empty());
    const above = this.#order.waiting.length;
    this.#above.hidden = !above;
    say(this.#above, above ? `${count(above)} new above` : '');
    say(this.#asOf, this.#asOfText());
  }

  #empty() {
    return this.#link.rows.size ? 'No Run is like that.' : 'No Runs yet; one that starts appears here.';
  }

  #asOfText() {
    const { presence, at } = this.#link;
    if (!at) return '';
    if (presence === 'gone') return `kernel gone, last seen ${clock(at)}`;
    return presence === 'busy' ? `kernel busy, as of ${clock(at)}` : `as of ${clock(at)}`;
  }

  /** @param {string} id */
  #toggle(id) {
    const wasOpen = this.#list.opened === id;
    this.#close();
    if (wasOpen) return;
    this.#opening = new AbortController();
    this.#card = new Card(this.#link, id, this.#opening.signal, true);
    this.#card.update();
    this.#details.append(this.#card.el);
    this.#card.el.scrollIntoView?.({ block: 'nearest' });
    this.#list.opened = id;
  }

  #close() {
    this.#opening?.abort();
    this.#card?.el.remove();
    this.#card = null;
    this.#list.opened = null;
  }

  /**
   * Escape leaves the details first, then the board.
   * @param {KeyboardEvent} event
   */
  #leaveDetails(event) {
    const id = this.#list.opened;
    if (event.key !== 'Escape' || !id) return;
    event.stopImmediatePropagation();
    this.#close();
    this.#list.focus(id);
  }
}

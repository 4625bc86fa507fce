// What a Run has cost and may cost, in words first.

import { attribute, make, measure, say } from './dom.js';
import { percent, some } from './time.js';
import { isLive } from './status.js';

/** @typedef {import('./wire.d.ts').RunRow} RunRow */

const MICRO = 1_000_000;
/** From which share of its budget on a Run says how much is gone. */
const LOW = 0.75;

/**
 * An amount as people read it: cents, and below a dollar four digits or six, so that a round is not lost: `$0.0123`, `$1.00`.
 * @param {number} amount in micro-dollars
 */
export function dollars(amount) {
  const digits = amount >= MICRO || amount % 10_000 === 0 ? 2 : amount >= 1_000 ? 4 : 6;
  return `$${(amount / MICRO).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** @typedef {{ cost?: number, unpriced?: number | boolean }} Paid */

/**
 * The same in a column, empty where nothing was spent. What has calls of unknown price is more than it says: `$0.012+`.
 * @param {Paid} paid
 */
export function inColumn({ cost = 0, unpriced }) {
  if (!cost) return unpriced ? 'unknown' : '';
  const more = unpriced ? '+' : '';
  if (cost < 500) return `<$0.001${more}`;
  return `$${(cost / MICRO).toLocaleString('en-US', { minimumFractionDigits: 3, maximumFractionDigits: 3 })}${more}`;
}

/** @param {RunRow} row */
export const hasSpent = (row) => Boolean(row.cost || row.unpriced);

/**
 * How much of its budget is gone, null where it has none. What it gave on to others is gone too, while it lives.
 * @param {RunRow} row
 */
function gone({ budget, balance, cost = 0, ...row }) {
  if (!budget) return null;
  return (isLive(/** @type {RunRow} */ (row)) && balance !== undefined ? budget - balance : cost) / budget;
}

/**
 * What was spent, of what, and how much of that is gone where little is left. Empty for what has called no model.
 * @param {RunRow} row
 */
export function spent(row) {
  const { cost = 0, unpriced = 0, budget } = row;
  if (!cost && !unpriced) return { amount: '', rest: '', share: null, isLow: false };
  const share = gone(row);
  const isLow = share !== null && share >= LOW;
  const of = cost && budget ? ` of ${dollars(budget)}` : '';
  const others = cost && unpriced ? ` + ${some(unpriced, 'call')} of unknown price` : '';
  const left = isLow ? (share >= 1 ? ', all spent' : `, ${percent(share)} spent`) : '';
  return { amount: cost ? dollars(cost) : 'price unknown', rest: of + others + left, share, isLow };
}

/** What stands in a card's head. */
export class Money {
  #amount = make('span', { class: 'dvergr-amount' });
  #rest = make('span');
  #fill = make('i');
  #meter = make('span', { class: 'dvergr-progress dvergr-meter', 'aria-hidden': 'true' }, this.#fill);
  el = make('span', { class: 'dvergr-money' }, make('span', {}, this.#amount, this.#rest), this.#meter);

  /** @param {RunRow} row */
  draw(row) {
    const { amount, rest, share, isLow } = spent(row);
    this.el.hidden = !amount;
    attribute(this.el, 'data-low', isLow);
    say(this.#amount, amount);
    say(this.#rest, rest);
    this.#meter.hidden = share === null;
    measure(this.#fill, '--done', Math.min(100, (share ?? 0) * 100));
  }
}

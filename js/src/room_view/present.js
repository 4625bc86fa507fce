// Who takes part: a shape, a name, a word, what answers for it, and what waits.

import { attribute, make, say, shape } from '../shared/dom.js';
import { isLive, state } from '../shared/status.js';
import { running } from '../shared/time.js';

/** @typedef {import('../shared/wire.d.ts').PresentWire} PresentWire */
/** @typedef {import('../shared/link.js').Link} Link */

/** What answers is said where it is no program of a person's own. */
const PLAIN = new Set(['function', '']);

export class Present {
  #link;
  /** @type {Map<string, One>} */
  #ones = new Map();
  #others = make('li', { class: 'dvergr-soft' });
  #nobody = make('li', { class: 'dvergr-soft' }, 'Nobody takes part yet; room.join(actor, handler) has somebody answer.');
  el = make('ul', { class: 'dvergr-present', 'aria-label': 'Who takes part' });

  /** @param {Link} link */
  constructor(link) {
    this.#link = link;
  }

  /**
   * @param {PresentWire[]} present
   * @param {number} others how many more there are
   */
  draw(present, others) {
    const here = new Set(present.map((each) => each.actor));
    for (const actor of this.#ones.keys()) if (!here.has(actor)) this.#ones.delete(actor);
    const nodes = present.map((each) => this.#one(each).el);
    say(this.#others, others ? `and ${others} more, idle` : '');
    const wanted = [...nodes, ...(others ? [this.#others] : []), ...(present.length ? [] : [this.#nobody])];
    if (wanted.length !== this.el.children.length || wanted.some((node, index) => this.el.children[index] !== node)) {
      this.el.replaceChildren(...wanted);
    }
  }

  /** What changes by itself: digits. */
  count() {
    for (const one of this.#ones.values()) one.count(this.#link);
  }

  /** @param {PresentWire} each */
  #one(each) {
    const one = this.#ones.get(each.actor) ?? new One(each.actor);
    this.#ones.set(each.actor, one);
    one.update(each, this.#link);
    return one;
  }
}

class One {
  /** @type {PresentWire} */
  #wire;
  #word = make('span', { class: 'dvergr-word', 'aria-live': 'polite' });
  #took = make('span', { class: 'dvergr-soft' });
  #waits = make('span', { class: 'dvergr-soft' });
  #program = make('span', { class: 'dvergr-soft' });
  el;

  /** @param {string} actor */
  constructor(actor) {
    this.#wire = { actor, program: '' };
    const name = make('span', { class: 'dvergr-who', title: actor }, actor);
    this.el = make('li', { class: 'dvergr-state' }, shape(), name, this.#program, this.#word, this.#took, this.#waits);
  }

  /**
   * @param {PresentWire} wire
   * @param {Link} link
   */
  update(wire, link) {
    this.#wire = wire;
    const queued = wire.queued?.length ?? 0;
    const { look, word } = this.#state(link);
    attribute(this.el, 'data-state', look);
    say(this.#word, word);
    say(this.#program, PLAIN.has(wire.program) ? '' : wire.program);
    this.#program.hidden = !this.#program.textContent;
    say(this.#waits, queued && word !== 'queued' ? `queued ${queued}` : queued > 1 ? String(queued) : '');
    this.#waits.hidden = !this.#waits.textContent;
    this.count(link);
  }

  /** @param {Link} link */
  count(link) {
    const row = this.#wire.working ? link.rows.get(this.#wire.working) : undefined;
    const seconds = row && isLive(row) && link.presence === 'live' ? link.took(row) : null;
    say(this.#took, seconds === null ? '' : running(seconds));
    this.#took.hidden = seconds === null;
  }

  /** @param {Link} link */
  #state(link) {
    const { working, queued } = this.#wire;
    if (link.presence === 'gone') return { look: 'gone', word: 'kernel gone' };
    if (!working && !queued?.length) return { look: 'idle', word: 'idle' };
    if (link.presence === 'busy') return { look: 'busy', word: 'kernel busy' };
    if (!working) return { look: 'queued', word: 'queued' };
    const row = link.rows.get(working);
    return row && isLive(row) && row.status !== 'queued' ? { look: state(row, 'live'), word: row.status } : { look: 'running', word: 'running' };
  }
}

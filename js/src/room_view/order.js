// In which order threads stand: the newest activity last, and never moved under a person who reads them.

import { lastOf } from './talk.js';

/** @typedef {import('./talk.js').Thread} Thread */

export class Order {
  /** @type {string[]} ids in the order shown */
  #shown = [];

  /**
   * @param {Thread[]} threads
   * @param {boolean} isHeld whether what stands must stay where it is
   * @returns {Thread[]}
   */
  settle(threads, isHeld) {
    const byId = new Map(threads.map((thread) => [thread.id, thread]));
    const sorted = [...threads].sort((one, other) => lastOf(one).at - lastOf(other).at).map((thread) => thread.id);
    this.#shown = isHeld ? this.#held(sorted, byId) : sorted;
    return this.#shown.flatMap((id) => byId.get(id) ?? []);
  }

  /**
   * What is older than all that stands comes before it, what is newer after it.
   * @param {string[]} sorted
   * @param {Map<string, Thread>} byId
   */
  #held(sorted, byId) {
    const standing = this.#shown.filter((id) => byId.has(id));
    const here = new Set(standing);
    const first = sorted.findIndex((id) => here.has(id));
    const before = sorted.slice(0, Math.max(0, first));
    return [...before, ...standing, ...sorted.filter((id, index) => !here.has(id) && index > first)];
  }
}

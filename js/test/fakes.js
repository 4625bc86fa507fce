// A page, a host and a clock that the tests move by hand.

import { JSDOM } from 'jsdom';

const page = new JSDOM('<!doctype html><div id="notebook" tabindex="0"><div id="cell"></div></div>', { pretendToBeVisual: true });
for (const name of ['document', 'HTMLElement', 'Node', 'Event', 'KeyboardEvent', 'MouseEvent', 'AbortController', 'AbortSignal', 'getComputedStyle']) {
  Object.defineProperty(globalThis, name, { value: page.window[name], configurable: true });
}

/** @typedef {import('../src/shared/wire.d.ts').RunRow} RunRow */

export class FakeTime {
  at = 1_700_000_000_000;
  /** @type {{ due: number, fn: () => void }[]} */
  timers = [];

  now() {
    return this.at;
  }

  /**
   * @param {number} ms
   * @param {() => void} fn
   */
  after(ms, fn) {
    const timer = { due: this.at + ms, fn };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((each) => each !== timer));
  }

  /** Lets that many ms pass, timers included. @param {number} ms */
  pass(ms) {
    const end = this.at + ms;
    for (;;) {
      const next = this.timers.filter((each) => each.due <= end).sort((one, other) => one.due - other.due)[0];
      if (!next) break;
      this.timers = this.timers.filter((each) => each !== next);
      this.at = Math.max(this.at, next.due);
      next.fn();
    }
    this.at = end;
  }
}

export class FakeModel {
  /** @type {any[]} */
  sent = [];
  /** @type {Record<string, ((message: any) => void)[]>} */
  listeners = {};
  isDead = false;
  /** @type {boolean | undefined} */
  open = true;
  widget_manager = { get_model: async () => ({ comm_live: this.open ?? false }) };

  /** @param {Record<string, unknown>} [traits] */
  constructor(traits = {}) {
    /** @type {Record<string, unknown>} */
    this.traits = { own_id: 'model', snapshot: '', run_id: '', room: '', ...traits };
  }

  /** @param {string} name */
  get(name) {
    return this.traits[name];
  }

  /** @param {any} message */
  send(message) {
    if (this.isDead) throw new Error('Cannot send');
    this.sent.push(message);
  }

  /**
   * @param {string} name
   * @param {(message: any) => void} listener
   */
  on(name, listener) {
    (this.listeners[name] ??= []).push(listener);
  }

  off() {}

  /**
   * @param {string} name
   * @param {any} [message]
   */
  fire(name, message) {
    for (const listener of this.listeners[name] ?? []) listener(message);
  }

  /** A message from Python. @param {any} message */
  say(message) {
    this.fire('msg:custom', message);
  }
}

/**
 * @param {number} number
 * @param {Partial<RunRow>} [fields]
 * @returns {RunRow}
 */
export function run(number, fields = {}) {
  const id = `0198f3c2-0000-7000-8000-${String(number).padStart(12, '0')}`;
  const status = fields.status ?? 'running';
  const started = 1_700_000_000_000 - 68_000;
  const base = { id, short: id.slice(-8), name: `job ${number}`, label: `job ${number}`, actor: 'dvergr', kind: 'workflow', room: 'main' };
  const ended = ['running', 'queued', 'cancelling'].includes(status) ? {} : { ended: started + 41_300 };
  return { ...base, status, created: started + number, started, activities: 3, ...ended, ...fields };
}

/**
 * @param {RunRow[]} rows
 * @param {number} [rev]
 * @param {number} [at]
 */
export const snapshot = (rows, rev = 1, at = 1_700_000_000_000) => ({ type: 'snapshot', rev, at, rows, cut: false });

/**
 * @param {RunRow[]} rows
 * @param {number} rev
 * @param {string[]} [gone]
 */
export const patch = (rows, rev, gone = []) => ({ type: 'patch', rev, at: 1_700_000_000_000, rows, gone, cut: false });

/** Where a view is drawn: inside a cell of a notebook that listens to keys. */
export function cell() {
  const el = document.createElement('div');
  const around = /** @type {HTMLElement} */ (document.getElementById('cell'));
  around.replaceChildren(el);
  return el;
}

/**
 * @param {Element} node
 * @param {string} key
 */
export function press(node, key) {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
  node.dispatchEvent(event);
}

/** Lets promises that are settled be heard. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

// The line to Python: rows by id, kept whole over lost messages, and what is known of the kernel.

import { browserTime } from './time.js';
import { isLive } from './status.js';

/** @typedef {import('./wire.d.ts').RunRow} RunRow */
/** @typedef {import('./wire.d.ts').TimelineWire} TimelineWire */
/** @typedef {import('./wire.d.ts').FromRoom} FromPython */
/** @typedef {import('./wire.d.ts').UseTold | import('./wire.d.ts').ReplyTold} Told */
/** @typedef {import('./wire.d.ts').Whole | import('./wire.d.ts').Ack | Told} Answer */
/** @typedef {import('./wire.d.ts').Post | import('./wire.d.ts').Older | import('./wire.d.ts').AskWhole | import('./wire.d.ts').Answer} AskedOfRoom */
/** @typedef {AskedOfRoom | import('./wire.d.ts').AskUse | import('./wire.d.ts').AskReply} Asked */
/** @typedef {Asked extends infer Each ? Each extends Asked ? Omit<Each, 'id'> : never : never} Question an act without its id */
/** @typedef {import('./wire.d.ts').Snapshot | import('./wire.d.ts').RoomSnapshot} Snapshot */
/** @typedef {import('./wire.d.ts').Patch | import('./wire.d.ts').RoomPatch} Patch */
/** @typedef {import('./model.d.ts').Model} Model */
/** @typedef {import('./status.js').Presence} Presence */

/**
 * What a view is told: rows that changed (null: any may have), ids that left, whether only time went by.
 * @typedef {{ rows?: string[] | null, gone?: string[], presence?: boolean, details?: string, tick?: boolean }} Change
 */

/**
 * What a view shows besides Runs, kept as whole as they are.
 * @typedef {{ load: (message: Snapshot) => void, patch: (message: Patch) => void }} Beside
 */

/** How many beats may be missing before Python is asked. */
const MISSING = 2;
/** How long what already waits in the browser is given a turn, and Python time to answer, in ms. */
const GRACE = 400;
/** How long an unanswered request for a snapshot stands, in ms. */
const PATIENCE = 2000;
/** How many times of the kernel are kept to tell how far its clock is from ours. */
const SAMPLES = 8;

export class Link {
  /** @type {Map<string, RunRow>} */
  rows = new Map();
  /** @type {Map<string, TimelineWire>} */
  timelines = new Map();
  /** @type {Map<string, string>} why a Run could not be cancelled, by its id */
  refusals = new Map();
  /** @type {Map<string, string>} why the details of a Run could not be read, until they can */
  excuses = new Map();
  /** @type {Set<string>} Runs whose Cancel was sent and not answered by their row yet */
  cancelling = new Set();
  /** @type {Presence} */
  presence = 'live';
  /** Whether the store holds more Runs than the rows. */
  cut = false;
  rev = -1;
  /** The kernel's time of the last message, in ms since 1970. */
  at = 0;

  /** @type {Set<(change: Change) => void>} */
  #views = new Set();
  /** @type {Map<string, { type: 'cancel' | 'details', runId: string }>} acts that Python has not answered */
  #acts = new Map();
  /** @type {Map<string, (answer: Answer) => void>} what to do with the answer to an act */
  #answers = new Map();
  /** @type {number[]} */
  #skews = [];
  #every = 1;
  #heard = 0;
  #last;
  #suspects = false;
  #askedAt = -Infinity;
  /** @type {(() => void) | null} */
  #stopTicking = null;

  /**
   * @param {Model} model
   * @param {import('./model.d.ts').Time} [time]
   * @param {Beside | null} [beside]
   */
  constructor(model, time = browserTime, beside = null) {
    this.model = model;
    this.time = time;
    this.beside = beside;
    this.#last = time.now();
    model.on('msg:custom', (message) => this.#hear(message));
    model.on('change:snapshot', () => this.#restore());
    model.on('comm_live_update', () => void this.#judge(true));
    this.#restore();
    void this.#judge(false);
  }

  /**
   * Registers a view; it is drawn from the rows as they are, so Python is asked for the newest.
   * @param {(change: Change) => void} view
   * @param {AbortSignal} signal
   */
  watch(view, signal) {
    this.#views.add(view);
    signal.addEventListener('abort', () => this.#views.delete(view));
    this.resync();
    this.#tickOn();
  }

  /** The kernel's time now, in ms, as far as it can be told. */
  now() {
    return this.time.now() + (this.#skews.length ? Math.max(...this.#skews) : 0);
  }

  /**
   * Seconds that a Run has taken; up to when it was last heard of, where the kernel is gone. Null before it began.
   * @param {RunRow} row
   */
  took(row) {
    if (row.status === 'queued') return null;
    const end = row.ended ?? (this.presence === 'gone' ? this.at : this.now());
    return Math.max(0, end - row.started) / 1000;
  }

  /** @param {string} runId */
  cancel(runId) {
    this.refusals.delete(runId);
    this.cancelling.add(runId);
    this.#act('cancel', runId);
    this.#tell({ rows: [runId] });
  }

  /** @param {string} runId */
  details(runId) {
    this.#act('details', runId);
  }

  /**
   * Sends an act of another kind; `answered` hears what became of it. With the id of an act that was sent it is the same act.
   * @param {Question} question
   * @param {(answer: Answer) => void} answered
   * @param {string} [id]
   */
  ask(question, answered, id = newId()) {
    this.#answers.set(id, answered);
    this.#send({ ...question, id });
    return id;
  }

  resync() {
    this.#askedAt = this.time.now();
    this.#send({ type: 'resync', have: this.rev });
  }

  /**
   * @param {'cancel' | 'details'} type
   * @param {string} runId
   */
  #act(type, runId) {
    const id = newId();
    this.#acts.set(id, { type, runId });
    this.#send({ type, id, run_id: runId });
  }

  /** @param {import('./wire.d.ts').FromRoomView} message */
  #send(message) {
    try {
      this.model.send(message);
    } catch {
      this.#become('gone');
    }
  }

  /** @param {Change} change */
  #tell(change) {
    for (const view of [...this.#views]) view(change);
  }

  /** @param {Presence} presence */
  #become(presence) {
    if (this.presence === presence) return;
    this.presence = presence;
    this.#tell({ presence: true, rows: null });
  }

  /** The coarse state that is saved with the notebook; messages, where they come, are newer. */
  #restore() {
    const saved = parsed(this.model.get('snapshot'));
    if (saved && saved.rev > this.rev) this.#load(saved);
  }

  /** @param {Snapshot} message */
  #load(message) {
    this.beside?.load(message);
    this.rows = new Map(message.rows.map((row) => [row.id, row]));
    this.rev = message.rev;
    this.at = message.at;
    this.cut = message.cut;
    this.#settle(message.rows);
    this.#tell({ rows: null });
    this.#tickOn();
  }

  /** @param {FromPython} message */
  #hear(message) {
    this.#heard += 1;
    this.#last = this.time.now();
    this.#skews = [...this.#skews, message.at - this.#last].slice(-SAMPLES);
    this.at = Math.max(this.at, message.at);
    this.#take(message);
    this.#become('live');
  }

  /** @param {FromPython} message */
  #take(message) {
    switch (message.type) {
      case 'snapshot':
        this.#askedAt = -Infinity;
        return this.#load(message);
      case 'patch':
        return this.#patch(message);
      case 'beat':
        this.#every = message.every_s;
        return this.#compare(message.rev);
      case 'rest':
        return this.#compare(message.rev);
      case 'details':
        this.#acts.delete(message.id);
        this.excuses.delete(message.run_id);
        this.timelines.set(message.run_id, message.timeline);
        return this.#tell({ details: message.run_id });
      case 'whole':
      case 'use':
      case 'reply':
      case 'ack':
        return this.#answer(message);
    }
  }

  /** @param {Patch} message */
  #patch(message) {
    if (message.rev <= this.rev) return;
    const gap = message.rev !== this.rev + 1;
    this.beside?.patch(message);
    for (const row of message.rows) this.rows.set(row.id, row);
    for (const id of message.gone) this.rows.delete(id);
    this.rev = message.rev;
    this.cut = message.cut;
    this.#settle(message.rows);
    this.#tell({ rows: message.rows.map((row) => row.id), gone: message.gone });
    this.#tickOn();
    if (gap) this.#askAgain();
  }

  /** @param {number} rev */
  #compare(rev) {
    if (rev > this.rev) this.#askAgain();
  }

  #askAgain() {
    if (this.time.now() - this.#askedAt > PATIENCE) this.resync();
  }

  /** @param {Answer} message */
  #answer(message) {
    const answered = this.#answers.get(message.id);
    this.#answers.delete(message.id);
    if (answered || message.type !== 'ack') return answered?.(message);
    const act = this.#acts.get(message.id);
    if (act === undefined) return;
    this.#acts.delete(message.id);
    const { type, runId } = act;
    if (type === 'details') {
      this.excuses.set(runId, message.error ?? 'This Run is not shown here any more.');
      return this.#tell({ details: runId });
    }
    if (message.outcome === 'requested') return;
    this.cancelling.delete(runId);
    if (message.outcome === 'failed') this.refusals.set(runId, message.error ?? 'it could not be done');
    this.#tell({ rows: [runId] });
  }

  /** @param {RunRow[]} rows */
  #settle(rows) {
    for (const row of rows) if (row.asked !== undefined || !isLive(row)) this.cancelling.delete(row.id);
  }

  get #lives() {
    for (const row of this.rows.values()) if (isLive(row)) return true;
    return false;
  }

  #tickOn() {
    if (this.#stopTicking || !this.#views.size || !this.#lives) return;
    this.#stopTicking = this.time.after(1000, () => {
      this.#stopTicking = null;
      this.#tick();
      this.#tickOn();
    });
  }

  /** Judged by what lives here: Python may have said that nothing does just before something began. */
  #tick() {
    const silent = this.time.now() - this.#last;
    if (this.presence === 'live' && this.#lives && silent > (MISSING + 1) * this.#every * 1000) this.#suspect();
    if (this.presence !== 'gone') this.#tell({ tick: true });
  }

  /** A late timer proves nothing: what is queued here gets its turn and Python is asked, then silence counts. */
  #suspect() {
    if (this.#suspects) return;
    this.#suspects = true;
    const heard = this.#heard;
    this.#send({ type: 'ping' });
    this.time.after(GRACE, () => {
      this.time.after(0, () => {
        this.#suspects = false;
        if (this.#heard === heard && this.presence === 'live') this.#become('busy');
      });
    });
  }

  /**
   * Asks the host whether the line to the kernel is open.
   * @param {boolean} told whether the host has just said that this changed
   */
  async #judge(told) {
    const heard = this.#heard;
    const open = await isOpen(this.model);
    if (this.#heard === heard && (open === false || (told && open === undefined))) this.#become('gone');
  }
}

/**
 * Whether the model has a live comm; undefined where the host does not say.
 * @param {Model} model
 */
async function isOpen(model) {
  const id = model.get('own_id');
  if (typeof id !== 'string' || !id) return undefined;
  try {
    return (await model.widget_manager?.get_model?.(id))?.comm_live;
  } catch {
    return undefined;
  }
}

/**
 * @param {unknown} text
 * @returns {Snapshot | null}
 */
function parsed(text) {
  return typeof text === 'string' && text ? JSON.parse(text) : null;
}

/** A name for one press of a button, the same however often its message arrives. */
function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

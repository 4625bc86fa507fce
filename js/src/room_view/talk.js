// What was said in a room and who is there, kept whole beside its turns.

/** @typedef {import('../shared/wire.d.ts').SaidWire} SaidWire */
/** @typedef {import('../shared/wire.d.ts').PresentWire} PresentWire */
/** @typedef {import('../shared/wire.d.ts').RoomWire} RoomWire */
/** @typedef {import('../shared/wire.d.ts').UnansweredWire} UnansweredWire */
/** @typedef {import('../shared/link.js').Snapshot} Snapshot */
/** @typedef {import('../shared/link.js').Patch} Patch */
/** @typedef {{ id: string, said: SaidWire[] }} Thread its messages, oldest first; there is at least one */

export class Talk {
  title = '';
  closed = false;
  /** @type {PresentWire[]} */
  present = [];
  /** How many more take part than are named. */
  others = 0;
  /** Whether the store holds messages before the first one. */
  older = false;
  /** @type {Map<string, SaidWire>} */
  said = new Map();
  /** @type {UnansweredWire[]} */
  unanswered = [];
  #keep = Infinity;
  /** @type {Thread[] | null} */
  #threads = null;

  /** @param {Snapshot} message */
  load(message) {
    if (!('room' in message)) return;
    this.said = new Map();
    this.#take(message.room);
  }

  /** @param {Patch} message */
  patch(message) {
    if ('room' in message && message.room) this.#take(message.room);
  }

  /** Threads by their first known message; each ends with its newest. */
  get threads() {
    return (this.#threads ??= this.#sorted());
  }

  /** @param {RoomWire} news */
  #take(news) {
    this.title = news.title ?? this.title;
    this.closed = news.closed ?? this.closed;
    this.present = news.present ?? this.present;
    this.others = news.others ?? this.others;
    this.older = news.older ?? this.older;
    this.unanswered = news.unanswered ?? this.unanswered;
    this.#keep = news.keep ?? this.#keep;
    if (!news.said) return;
    for (const said of news.said) this.said.set(said.id, said);
    this.#forget();
    this.#threads = null;
  }

  /** Python does the same: what is too much is let go, the oldest first. */
  #forget() {
    if (this.said.size <= this.#keep) return;
    const kept = [...this.said.values()].sort(oldestFirst).slice(-this.#keep);
    this.said = new Map(kept.map((said) => [said.id, said]));
    this.older = true;
  }

  #sorted() {
    /** @type {Map<string, Thread>} */
    const threads = new Map();
    for (const said of [...this.said.values()].sort(oldestFirst)) {
      const thread = threads.get(said.thread);
      if (thread) thread.said.push(said);
      else threads.set(said.thread, { id: said.thread, said: [said] });
    }
    return [...threads.values()];
  }
}

/**
 * @param {SaidWire} one
 * @param {SaidWire} other
 */
function oldestFirst(one, other) {
  return one.at - other.at || (one.id < other.id ? -1 : 1);
}

/** The address of a program that asked exists for one question; its name says nothing. */
const ASKER = /^_ask-/;

/**
 * How somebody is called.
 * @param {string} address
 */
export function named(address) {
  const isProgram = ASKER.test(address);
  return { name: isProgram ? 'a program' : address, isProgram };
}

/** @param {Thread} thread */
export const lastOf = (thread) => /** @type {SaidWire} */ (thread.said.at(-1));

/**
 * The message that a reply in the thread answers: the last one that somebody else has said, else the last.
 * @param {Thread} thread
 */
export const answered = (thread) => thread.said.findLast((said) => !said.person) ?? lastOf(thread);

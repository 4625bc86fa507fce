// What a Run's status is called, and which shape it has.

/** @typedef {import('./wire.d.ts').RunRow} RunRow */
/** @typedef {'live' | 'busy' | 'gone'} Presence what is known of the kernel */
/** @typedef {'queued' | 'running' | 'waiting' | 'stopped' | 'failed' | 'cancelled' | 'completed'} Group */

const LIVE = new Set(['queued', 'running', 'cancelling']);
const PAUSES = new Set(['approval', 'result-review', 'once-effect']);

/** Reasons that add nothing to the status: most Runs that fail or are cancelled have them. */
const PLAIN = new Set(['error', 'cancel-requested']);

/** Where the first word of a reason is too little, or all of it too much, for a column. */
const SHORT = new Map([
  ['budget-exhausted', 'budget'],
  ['attention-suspended', 'attention'],
  ['result-review', 'review'],
  ['reply-emission-failed', 'reply'],
  ['participant-left', 'left'],
  ['structured-cancellation', 'structured'],
]);

/**
 * Whether it is queued, running or cancelling.
 * @param {RunRow} row
 */
export const isLive = (row) => LIVE.has(row.status);

/** @param {RunRow} row */
export const isTurn = (row) => row.kind === 'agent-turn';

/**
 * The group that counts it; cancelling counts as running.
 * @param {RunRow} row
 * @returns {Group}
 */
export function group(row) {
  if (row.status === 'cancelling') return 'running';
  if (row.status === 'waiting') return PAUSES.has(row.reason ?? '') ? 'waiting' : 'stopped';
  return /** @type {Group} */ (row.status);
}

/**
 * The state whose shape it has: its group, or cancelling, or, while it lives, what is known of the kernel.
 * @param {RunRow} row
 * @param {Presence} presence
 */
export function state(row, presence) {
  if (isLive(row) && presence !== 'live') return presence;
  return row.status === 'cancelling' ? 'cancelling' : group(row);
}

/** @param {string} reason */
const words = (reason) => reason.replaceAll('-', ' ');

/**
 * The word of a card: `running`, `stopped, budget exhausted`, `waiting for approval`, `kernel busy`. Why a completed turn
 * gave no reply is said by `unsaid`.
 * @param {RunRow} row
 * @param {Presence} presence
 */
export function word(row, presence) {
  if (isLive(row)) return presence === 'live' ? row.status : `kernel ${presence}`;
  const name = group(row);
  if (!row.reason || PLAIN.has(row.reason) || (isTurn(row) && name === 'completed')) return name;
  return name === 'waiting' ? `waiting for ${words(row.reason)}` : `${name}, ${words(row.reason)}`;
}

const UNSAID = new Map([
  ['', 'ended without a reply'],
  ['silent', 'stayed silent'],
  ['withheld', 'the reply was withheld'],
]);

/**
 * What is said of a turn that completed without a reply.
 * @param {RunRow} row
 */
export function unsaid({ reason = '' }) {
  return UNSAID.get(reason) ?? `no reply, ${words(reason)}`;
}

/**
 * The word of a list: the same, with the reason in one word or two.
 * @param {RunRow} row
 * @param {Presence} presence
 */
export function listWord(row, presence) {
  if (isLive(row)) return word(row, presence);
  const name = group(row);
  if (!row.reason || row.reason === 'cancel-requested') return name;
  return `${name}, ${SHORT.get(row.reason) ?? words(row.reason)}`;
}

// Made from dvergr_nb/records/wire.py by: python -m tests.records.wire_types > js/src/shared/wire.d.ts
// Times are milliseconds since 1970; offsets and lengths are seconds.

/** How far a body says it is; `fraction` is between 0 and 1. */
export interface ProgressWire {
  label: string;
  done?: number;
  total?: number;
  fraction?: number;
}

/** One Run as a view shows it. */
export interface RunRow {
  id: string;
  short: string;
  name: string;
  label: string;
  actor: string;
  kind: string;
  room: string;
  status: string;
  created: number;
  started: number;
  ended?: number;
  reason?: string;
  error?: string;
  result?: string;
  tags?: string[];
  parent?: string;
  activities?: number;
  steps?: number;
  place?: string;
  checks?: boolean;
  asked?: number;
  progress?: ProgressWire;
  said?: string;
}

/** One bar, dot or tick; offsets and lengths in seconds. */
export interface MarkWire {
  shape: 'phase' | 'tool' | 'failed' | 'cut' | 'said' | 'tick' | 'bad';
  at: number;
  took?: number;
  text?: string;
  title?: string;
}

/** One line of the chart. */
export interface LaneWire {
  name: string;
  marks: MarkWire[];
  count: number;
  took?: number;
}

/** One line of the list. */
export interface EntryWire {
  key: string;
  who: string;
  at: number;
  text: string;
  took?: number;
  goes_on?: boolean;
  tone?: 'person' | 'bad';
  more?: string;
}

/** One Run from its beginning to `took` seconds after it. */
export interface TimelineWire {
  began: number;
  took: number;
  lives: boolean;
  lanes: LaneWire[];
  entries: EntryWire[];
  left_out: number;
  activities: number;
  result?: string;
  error?: string;
}

/** The whole state. `cut`: the store holds more Runs than the rows. */
export interface Snapshot {
  type: 'snapshot';
  rev: number;
  at: number;
  rows: RunRow[];
  cut: boolean;
}

/** Rows that are new or changed, and ids that left. `rev` is one more than that of the message before. */
export interface Patch {
  type: 'patch';
  rev: number;
  at: number;
  rows: RunRow[];
  gone: string[];
  cut: boolean;
}

/** The kernel's loop comes round; the next beat is due in `every_s` seconds. */
export interface Beat {
  type: 'beat';
  rev: number;
  at: number;
  every_s: number;
}

/** Nothing lives: no more beats until something does. */
export interface Rest {
  type: 'rest';
  rev: number;
  at: number;
}

/** The answer to `AskDetails`. */
export interface Details {
  type: 'details';
  id: string;
  run_id: string;
  at: number;
  timeline: TimelineWire;
}

/** What became of an act: `requested`, `over` (nothing to cancel any more), `unknown`, or `failed` with an error. */
export interface Ack {
  type: 'ack';
  id: string;
  at: number;
  outcome: 'requested' | 'over' | 'unknown' | 'failed';
  error?: string;
}

/** A view was drawn, or missed a message: asks for a snapshot. */
export interface Resync {
  type: 'resync';
  have: number;
}

/** A beat is overdue: asks for one. */
export interface Ping {
  type: 'ping';
}

/** A person pressed Cancel. `id` names the press, so that a message that comes twice acts once. */
export interface Cancel {
  type: 'cancel';
  id: string;
  run_id: string;
}

/** A person opened Details. */
export interface AskDetails {
  type: 'details';
  id: string;
  run_id: string;
}

export type FromPython = Snapshot | Patch | Beat | Rest | Details | Ack;

export type FromView = Resync | Ping | Cancel | AskDetails;

// Made from dvergr_nb/records/wire*.py by: python -m tests.records.wire_types > js/src/shared/wire.d.ts
// Times are milliseconds since 1970; offsets and lengths are seconds.

/** One bar, dot or tick; offsets and lengths in seconds. */
export interface MarkWire {
  shape: 'phase' | 'round' | 'tool' | 'failed' | 'cut' | 'said' | 'tick' | 'bad';
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

/** One line of the list. `cost` in micro-dollars; `unpriced`: something of it has no known price. `use`: a use of a tool, whose arguments and result may be asked for by the key. */
export interface EntryWire {
  key: string;
  who: string;
  at: number;
  text: string;
  took?: number;
  goes_on?: boolean;
  tone?: 'person' | 'bad';
  more?: string;
  cost?: number;
  unpriced?: boolean;
  use?: boolean;
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

/** What a tool gave besides text. `picture`: a data: URL, where it may be shown; else `size` in bytes has to do. */
export interface BlobWire {
  media_type: string;
  size: number;
  picture?: string;
}

/** A person asked for arguments and result of a use of a tool. */
export interface AskUse {
  type: 'use';
  id: string;
  run_id: string;
  use_id: string;
}

/** The answer to `AskUse`. `cut`: what there is more of than is shown. */
export interface UseTold {
  type: 'use';
  id: string;
  run_id: string;
  use_id: string;
  at: number;
  arguments: string;
  result: string;
  cut?: ('arguments' | 'result')[];
  blobs?: BlobWire[];
}

/** A person asked for all of a long reply. */
export interface AskReply {
  type: 'reply';
  id: string;
  run_id: string;
}

/** The answer to `AskReply`: all of it, or as much as is ever shown; then it is `cut`. */
export interface ReplyTold {
  type: 'reply';
  id: string;
  run_id: string;
  at: number;
  text: string;
  cut?: boolean;
}

/** How far a body says it is; `fraction` is between 0 and 1. */
export interface ProgressWire {
  label: string;
  done?: number;
  total?: number;
  fraction?: number;
}

/** One Run as a view shows it. `mute`: a turn that is known to have completed without a reply. Money is in micro-dollars; `unpriced` counts calls of models whose price nobody knows. `doing`: the tools at work now. `length`: how many characters `result` has, where it is only its beginning. */
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
  mute?: boolean;
  tags?: string[];
  parent?: string;
  program?: string;
  trigger?: string;
  activities?: number;
  steps?: number;
  place?: string;
  checks?: boolean;
  asked?: number;
  progress?: ProgressWire;
  said?: string;
  doing?: string;
  profile?: string;
  cost?: number;
  unpriced?: number;
  budget?: number;
  balance?: number;
  length?: number;
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

/** What became of an act: `requested`, `posted`, `over` (nothing to do any more), `unknown`, or `failed` with an error. */
export interface Ack {
  type: 'ack';
  id: string;
  at: number;
  outcome: 'requested' | 'posted' | 'over' | 'unknown' | 'failed';
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

/** One participant: the Run it works on, and those that wait for it, in the order in which they will begin. */
export interface PresentWire {
  actor: string;
  program: string;
  working?: string;
  queued?: string[];
}

/** One message. Where `text` is only its beginning, `length` is how many characters there are. */
export interface SaidWire {
  id: string;
  thread: string;
  who: string;
  at: number;
  text: string;
  person?: boolean;
  to?: string;
  run?: string;
  length?: number;
}

/** A message that an actor was given and will not answer by itself. `here`: the actor takes part, so it can be asked to. */
export interface UnansweredWire {
  message: string;
  actor: string;
  here?: boolean;
}

/** News of a room; what is left out has not changed. `keep`: how many messages are shown, the last ones. `others`: how many more take part than `present` names. `older`: the store holds messages before the first one. */
export interface RoomWire {
  title?: string;
  closed?: boolean;
  present?: PresentWire[];
  others?: number;
  said?: SaidWire[];
  older?: boolean;
  unanswered?: UnansweredWire[];
  keep?: number;
}

/** The whole state of a room view. */
export interface RoomSnapshot {
  type: 'snapshot';
  rev: number;
  at: number;
  rows: RunRow[];
  cut: boolean;
  room: RoomWire;
}

/** What is new in a room view. */
export interface RoomPatch {
  type: 'patch';
  rev: number;
  at: number;
  rows: RunRow[];
  gone: string[];
  cut: boolean;
  room?: RoomWire;
}

/** The answer to `AskWhole`: all of a message, or as much of it as is ever shown. */
export interface Whole {
  type: 'whole';
  id: string;
  message_id: string;
  at: number;
  text: string;
}

/** A person pressed Send. Without `to` the room's rule decides who is addressed. */
export interface Post {
  type: 'post';
  id: string;
  text: string;
  to: string | null;
  reply_to: string | null;
}

/** A person asked that an actor answers a message that it has not answered. */
export interface Answer {
  type: 'answer';
  id: string;
  message_id: string;
  actor: string;
}

/** A person asked for older messages. */
export interface Older {
  type: 'older';
  id: string;
}

/** A person opened a long message. */
export interface AskWhole {
  type: 'whole';
  id: string;
  message_id: string;
}

export type FromPython = Snapshot | Patch | Beat | Rest | Details | UseTold | ReplyTold | Ack;

export type FromView = Resync | Ping | Cancel | AskDetails | AskUse | AskReply;

export type FromRoom = Snapshot | Patch | Beat | Rest | Details | UseTold | ReplyTold | Ack | RoomSnapshot | RoomPatch | Whole;

export type RoomAct = Post | Answer | Older | AskWhole;

export type FromRoomView = Resync | Ping | Cancel | AskDetails | AskUse | AskReply | Post | Answer | Older | AskWhole;

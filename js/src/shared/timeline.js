// Details: the chart of what a Run did, its legend, and the same in words.

import { attribute, button, make, measure, say } from './dom.js';
import { dollars } from './money.js';
import { count, duration, mark, marks, offset, running } from './time.js';

/** @typedef {import('./wire.d.ts').TimelineWire} TimelineWire */
/** @typedef {import('./wire.d.ts').LaneWire} LaneWire */
/** @typedef {import('./wire.d.ts').MarkWire} MarkWire */
/** @typedef {import('./wire.d.ts').EntryWire} EntryWire */

/** @type {Record<MarkWire['shape'], { classes: string, swatch: string, legend: string, bar: boolean }>} */
const SHAPES = {
  phase: { classes: 'dvergr-round', swatch: 'dvergr-swatch-round', legend: 'phase of progress', bar: true },
  round: { classes: 'dvergr-round', swatch: 'dvergr-swatch-round', legend: 'round', bar: true },
  cut: { classes: 'dvergr-round dvergr-was-cut', swatch: 'dvergr-swatch-cut', legend: 'cut short', bar: true },
  tool: { classes: '', swatch: '', legend: 'tool call', bar: true },
  failed: { classes: 'dvergr-was-bad', swatch: 'dvergr-swatch-bad', legend: 'failed call', bar: true },
  said: { classes: 'dvergr-said', swatch: 'dvergr-swatch-said', legend: 'message from a person', bar: false },
  tick: { classes: 'dvergr-fact', swatch: 'dvergr-swatch-fact', legend: 'activity', bar: false },
  bad: { classes: 'dvergr-fact dvergr-was-bad', swatch: 'dvergr-swatch-fact dvergr-swatch-bad', legend: 'error', bar: false },
};
/** Shortest span that is drawn, in seconds. */
const SHORTEST = 0.05;

export class Timeline {
  #signal;
  /** @type {Set<string>} keys of the entries a person has opened */
  #opened = new Set();
  /** @type {TimelineWire | null} */
  #drawn = null;
  /** @type {HTMLElement | null} */
  #chart = null;
  /** @type {HTMLElement | null} */
  #list = null;
  /** @type {{ node: HTMLElement, at: number }[]} bars that go on */
  #growing = [];
  /** @type {HTMLElement[]} what stands at now */
  #nows = [];
  #uses;
  el = make('div', { class: 'dvergr-details' });

  /**
   * @param {AbortSignal} signal
   * @param {import('./use.js').Uses} uses
   */
  constructor(signal, uses) {
    this.#signal = signal;
    this.#uses = uses;
  }

  /**
   * Says why there is nothing to see yet.
   * @param {string} text
   */
  excuse(text) {
    this.#drawn = null;
    this.#list = null;
    this.el.replaceChildren(make('p', { class: 'dvergr-soft' }, text));
  }

  /** @param {TimelineWire} timeline */
  draw(timeline) {
    const focused = this.el.contains(document.activeElement) ? document.activeElement?.getAttribute('data-key') : null;
    this.#drawn = timeline;
    this.#growing = [];
    this.#nows = [];
    this.#chart = this.#drawChart(timeline);
    const list = this.#drawList(timeline);
    const top = this.#list ? topOf(this.#list, timeline.lives) : 0;
    this.el.replaceChildren(this.#chart, legend(timeline), list);
    list.scrollTop = top;
    this.#list = list;
    this.grow(timeline.lives ? timeline.took : null);
    if (focused) /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[data-key]')]).find((node) => node.dataset['key'] === focused)?.focus();
  }

  /**
   * Lets a Run that lives go on: the end of the chart and its open bars move to now. Null: it has ended.
   * @param {number | null} took
   */
  grow(took) {
    if (!this.#drawn || !this.#chart) return;
    const span = Math.max(took ?? this.#drawn.took, this.#drawn.took, SHORTEST);
    measure(this.#chart, '--span', span);
    for (const node of this.#nows) measure(node, '--at', span);
    for (const { node, at } of this.#growing) measure(node, '--for', Math.max(0, span - at));
    const last = this.#nows.at(-1);
    if (last) say(last, this.#drawn.lives ? running(span) : duration(this.#drawn.took));
  }

  /** @param {TimelineWire} timeline */
  #drawChart(timeline) {
    const places = marks(Math.max(timeline.took, SHORTEST));
    const label = `Progress, rounds, calls and messages over ${duration(timeline.took)}; the list below says the same in words`;
    const line = timeline.lives ? make('i', { class: 'dvergr-now' }) : null;
    const now = make('span', { class: 'dvergr-now' });
    this.#nows = line ? [line, now] : [now];
    return make(
      'figure',
      { class: 'dvergr-timeline', role: 'img', 'aria-label': label },
      make('div', { class: 'dvergr-scale' }, ...places.map((at) => placed('i', at)), line),
      ...timeline.lanes.map((lane) => this.#drawLane(lane)),
      make('div', { class: 'dvergr-axis' }, ...places.map((at) => placed('span', at, mark(at))), now),
    );
  }

  /** @param {LaneWire} lane */
  #drawLane(lane) {
    const end = lane.took === undefined ? count(lane.count) : duration(lane.took);
    return make(
      'div',
      { class: 'dvergr-lane' },
      make('span', { class: 'dvergr-cut' }, lane.name),
      make('div', { class: 'dvergr-track' }, ...lane.marks.map((each) => this.#drawMark(each))),
      make('span', {}, end),
    );
  }

  /** @param {MarkWire} each */
  #drawMark(each) {
    const { classes, bar } = SHAPES[each.shape];
    const when = bar && each.took !== undefined ? duration(each.took) : `at ${offset(each.at)}`;
    const node = make('i', { class: classes || null, title: each.title ? `${each.title}, ${when}` : when }, each.text ?? null);
    measure(node, '--at', each.at);
    if (bar && each.took === undefined) this.#growing.push({ node, at: each.at });
    else if (bar) measure(node, '--for', each.took ?? 0);
    return node;
  }

  /** @param {TimelineWire} timeline */
  #drawList(timeline) {
    const isPaid = timeline.entries.some((entry) => entry.cost !== undefined || entry.unpriced);
    return make('ol', { class: isPaid ? 'dvergr-log dvergr-paid' : 'dvergr-log' }, ...timeline.entries.map((entry) => this.#drawEntry(entry)));
  }

  /** @param {EntryWire} entry */
  #drawEntry(entry) {
    const took = entry.took === undefined || entry.goes_on ? '' : duration(entry.took);
    const text = make('span', { class: 'dvergr-cut' }, make('span', { class: entry.tone === 'bad' ? 'dvergr-bad' : null }, entry.text));
    const item = make(
      'li',
      { class: entry.tone === 'person' ? 'dvergr-from-person' : null },
      entry.more || entry.use ? this.#opener(entry) : make('span', { class: 'dvergr-cut' }, entry.who),
      make('span', { class: 'dvergr-num dvergr-soft' }, offset(entry.at)),
      text,
      make('span', { class: 'dvergr-num dvergr-soft' }, entry.goes_on ? 'goes on' : took),
      make('span', { class: 'dvergr-num dvergr-soft dvergr-cost' }, paidText(entry)),
    );
    const below = this.#below(entry);
    if (below) item.append(below);
    return item;
  }

  /**
   * What stands below an entry that is open; null where it is not.
   * @param {EntryWire} entry
   */
  #below(entry) {
    if (entry.use) return this.#uses.below(entry.key);
    return this.#opened.has(entry.key) ? whole(entry) : null;
  }

  /** @param {EntryWire} entry */
  #open(entry) {
    if (entry.use) return this.#uses.open(entry.key, entry.who);
    this.#opened.add(entry.key);
    return whole(entry);
  }

  /** @param {EntryWire} entry */
  #close(entry) {
    this.#uses.close(entry.key);
    this.#opened.delete(entry.key);
  }

  /** @param {EntryWire} entry */
  #opener(entry) {
    const isOpen = this.#below(entry) !== null;
    const node = button(
      '',
      'dvergr-quiet',
      () => {
        const wasOpen = this.#below(entry) !== null;
        attribute(node, 'aria-expanded', String(!wasOpen));
        if (!wasOpen) return node.parentElement?.append(this.#open(entry));
        this.#close(entry);
        node.parentElement?.querySelector('.dvergr-open')?.remove();
      },
      this.#signal,
    );
    node.append(make('span', { class: 'dvergr-cut' }, entry.who));
    attribute(node, 'aria-expanded', String(isOpen));
    attribute(node, 'data-key', entry.key);
    if (entry.use) attribute(node, 'aria-label', `${entry.who}: arguments and result`);
    if (entry.use) attribute(node, 'title', `${entry.who}: arguments and result`);
    return node;
  }
}

/**
 * What it cost: `$0.0123`; with a plus where something of it has no known price.
 * @param {EntryWire} entry
 */
function paidText({ cost, unpriced }) {
  if (cost === undefined) return unpriced ? 'unknown' : '';
  return dollars(cost) + (unpriced ? '+' : '');
}

/**
 * Where a list is scrolled to; one that was read to its end stays at the end while there comes more.
 * @param {HTMLElement} list
 * @param {boolean} lives
 */
function topOf(list, lives) {
  const isAtEnd = list.scrollTop > 0 && list.scrollTop + list.clientHeight >= list.scrollHeight - 2;
  return lives && isAtEnd ? Number.MAX_SAFE_INTEGER : list.scrollTop;
}

/** @param {EntryWire} entry */
const whole = (entry) => make('pre', { class: 'dvergr-open' }, entry.more ?? '');

/**
 * @template {'i' | 'span'} K
 * @param {K} tag
 * @param {number} at
 * @param {string | null} [text]
 */
function placed(tag, at, text = null) {
  const node = make(tag, {}, text);
  measure(node, '--at', at);
  return node;
}

/** @param {TimelineWire} timeline */
function legend(timeline) {
  const used = new Set(timeline.lanes.flatMap((lane) => lane.marks.map((each) => each.shape)));
  const shapes = Object.entries(SHAPES).filter(([name]) => used.has(/** @type {MarkWire['shape']} */ (name)));
  return make(
    'p',
    { class: 'dvergr-legend' },
    ...shapes.map(([, { swatch, legend: text }]) => make('span', {}, make('i', { class: `dvergr-swatch ${swatch}`.trim() }), text)),
  );
}

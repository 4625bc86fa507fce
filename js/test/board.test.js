import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Board } from '../src/run_board/view.js';
import { Link } from '../src/shared/link.js';
import { FakeModel, FakeTime, cell, patch, press, run, snapshot } from './fakes.js';

/** @param {import('../src/shared/wire.d.ts').RunRow[]} rows */
function drawn(rows) {
  const model = new FakeModel();
  const time = new FakeTime();
  const link = new Link(model, time);
  const { signal } = new AbortController();
  const board = new Board(link, 'research', signal);
  cell().append(board.el);
  link.watch((change) => board.take(change), signal);
  model.say(snapshot(rows));
  time.pass(20);
  const shown = () => /** @type {HTMLElement[]} */ ([...board.el.querySelectorAll('.dvergr-body > .dvergr-row')]);
  const labels = () => shown().map((row) => row.children[2]?.textContent);
  /** @param {string} text */
  const button = (text) => {
    const all = /** @type {HTMLButtonElement[]} */ ([...board.el.querySelectorAll('button')]);
    return /** @type {HTMLButtonElement} */ (all.find((node) => node.textContent?.startsWith(text)));
  };
  const foot = () => /** @type {HTMLElement} */ (board.el.querySelector('.dvergr-foot')).textContent ?? '';
  const scroller = /** @type {HTMLElement} */ (board.el.querySelector('.dvergr-scroller'));
  /** @param {number} top */
  const scroll = (top) => {
    scroller.scrollTop = top;
    scroller.dispatchEvent(new Event('scroll'));
    time.pass(20);
  };
  /** @param {any} message */
  const say = (message) => {
    model.say(message);
    time.pass(20);
  };
  return { board, model, time, link, shown, labels, button, foot, scroll, scroller, say };
}

/** @param {number} count @param {(number: number) => Partial<import('../src/shared/wire.d.ts').RunRow>} [fields] */
const many = (count, fields = () => ({})) => Array.from({ length: count }, (_, number) => run(number, fields(number)));

/** @param {HTMLElement | undefined} row */
const labelOf = (row) => row?.children[2]?.textContent;

test('of 1,205 rows only those in view exist, newest first', () => {
  const { shown, labels, foot } = drawn(many(1205));
  assert.ok(shown().length <= 14 + 1 + 2 * 3, `${shown().length} rows`);
  assert.deepEqual(labels().slice(0, 2), ['job 1204', 'job 1203']);
  assert.match(foot(), /^rows 1 to 14 of 1,205, newest first/);
});

test('scrolling brings other rows and lets the first ones go', () => {
  const { labels, foot, scroll } = drawn(many(1205));
  scroll(24 * 600);
  assert.ok(labels().includes('job 604'));
  assert.ok(!labels().includes('job 1200'));
  assert.match(foot(), /^rows 601 to 614 of 1,205/);
});

test('counts are filters, and a status with none is left out', () => {
  const { button, labels } = drawn(many(6, (number) => (number < 2 ? { status: 'failed', reason: 'error' } : number === 2 ? { status: 'cancelling' } : {})));
  assert.equal(button('failed').textContent, 'failed2');
  assert.equal(button('running').textContent, 'running4');
  assert.equal(button('waiting').hidden, true);
  button('failed').click();
  assert.deepEqual(labels(), ['job 1', 'job 0']);
  assert.equal(button('failed').getAttribute('aria-pressed'), 'true');
  button('failed').click();
  assert.equal(labels().length, 6);
});

test('the field filters by actor, label and tag', () => {
  const { board, labels } = drawn([run(1, { label: 'Alpha' }), run(2, { actor: 'alphonse' }), run(3, { tags: ['alp'] }), run(4)]);
  const field = /** @type {HTMLInputElement} */ (board.el.querySelector('input'));
  field.value = 'ALP';
  field.dispatchEvent(new Event('input'));
  assert.deepEqual(labels(), ['job 3', 'job 2', 'Alpha']);
});

test('a new Run comes in on top where nobody reads', () => {
  const { labels, say, foot } = drawn(many(3));
  say(patch([run(9)], 2));
  assert.equal(labels()[0], 'job 9');
  assert.doesNotMatch(foot(), /new above/);
});

test('while a row has focus nothing moves, and what is new waits to be pressed', () => {
  const { shown, labels, say, foot, button } = drawn(many(30));
  shown()[2]?.focus();
  const before = labels().slice(0, 5);
  say(patch([run(40), run(41), run(42)], 2));
  assert.deepEqual(labels().slice(0, 5), before);
  assert.match(foot(), /3 new above/);
  button('3 new above').click();
  assert.equal(labels()[0], 'job 42');
});

test('a list that is scrolled does not move either', () => {
  const { labels, say, foot, scroll } = drawn(many(100));
  scroll(24 * 10);
  const before = labels();
  say(patch([run(200)], 2));
  assert.deepEqual(labels(), before);
  assert.match(foot(), /1 new above/);
  scroll(0);
  assert.equal(labels()[0], 'job 200');
});

test('a row that ends keeps its place and its focus', () => {
  const { shown, say } = drawn(many(5));
  const row = shown()[1];
  row?.focus();
  say(patch([run(3, { status: 'completed' })], 2));
  assert.equal(shown()[1], row);
  assert.equal(row?.getAttribute('data-state'), 'completed');
  assert.equal(document.activeElement, row);
});

test('there is one tab stop, and arrows move it beyond what is in view', () => {
  const { shown, foot } = drawn(many(100));
  assert.equal(shown().filter((row) => row.tabIndex === 0).length, 1);
  shown()[0]?.focus();
  for (let step = 0; step < 20; step += 1) press(/** @type {Element} */ (document.activeElement), 'ArrowDown');
  assert.equal(labelOf(/** @type {HTMLElement} */ (document.activeElement)), 'job 79');
  assert.match(foot(), /^rows 8 to 21 of 100/);
  press(/** @type {Element} */ (document.activeElement), 'End');
  assert.equal(labelOf(/** @type {HTMLElement} */ (document.activeElement)), 'job 0');
  assert.equal(shown().filter((row) => row.tabIndex === 0).length, 1);
});

test('the row with focus stays when it is scrolled out of view', () => {
  const { shown, scroll } = drawn(many(500));
  const row = shown()[0];
  row?.focus();
  scroll(24 * 300);
  assert.equal(document.activeElement, row);
});

test('rows stand in the document as they stand in the list', () => {
  const { shown, say } = drawn(many(10));
  say(patch([run(20), run(21)], 2));
  const places = shown().map((row) => Number(row.getAttribute('aria-rowindex')));
  assert.deepEqual(places, [...places].sort((one, other) => one - other));
});

test('each row that lives has its own Cancel', () => {
  const { shown, model, time } = drawn([run(1), run(2), run(3, { status: 'completed' })]);
  const cancels = shown().map((row) => /** @type {HTMLButtonElement} */ (row.querySelector('button')));
  assert.deepEqual(cancels.map((node) => node.hidden), [true, false, false]);
  cancels[1]?.click();
  assert.deepEqual(model.sent.filter((message) => message.type === 'cancel').map((message) => message.run_id), [run(2).id]);
  time.pass(20);
  assert.equal(cancels[1]?.disabled, true);
});

test('Enter opens a row below, Escape closes it and gives the focus back', () => {
  const { board, shown, model } = drawn(many(5));
  const row = shown()[1];
  row?.focus();
  press(/** @type {Element} */ (row), 'Enter');
  const card = board.el.querySelector('.dvergr-below .dvergr-run-card');
  assert.equal(card?.querySelector('.dvergr-who')?.textContent, 'job 3');
  assert.equal(model.sent.at(-1).type, 'details');
  press(/** @type {Element} */ (card?.querySelector('button')), 'Escape');
  assert.equal(board.el.querySelector('.dvergr-below')?.children.length, 0);
  assert.equal(document.activeElement, row);
});

test('a board of Runs whose kernel is gone says so in each row that lived and in its foot', () => {
  const { shown, link, model, time, foot } = drawn([run(1), run(2, { status: 'completed' })]);
  model.isDead = true;
  link.resync();
  time.pass(20);
  assert.deepEqual(shown().map((row) => row.getAttribute('data-state')), ['completed', 'gone']);
  assert.match(foot(), /kernel gone, last seen \d\d:\d\d:\d\d$/);
});

test('text of a body is text, never markup', () => {
  const evil = '<img src=x onerror="boom()">';
  const { board, labels } = drawn([run(1, { label: evil, actor: evil })]);
  assert.deepEqual(labels(), [evil]);
  assert.equal(board.el.querySelector('img'), null);
});

test('an empty board says what will happen', () => {
  assert.match(drawn([]).foot(), /^No Runs yet; one that starts appears here\./);
});

test('a board that holds only some of the Runs says which', () => {
  const { say, foot } = drawn(many(20));
  say({ ...patch([], 2), cut: true });
  assert.match(foot(), /^rows 1 to 14 of the newest 20, newest first/);
});

test('there is a column for cost from the moment any row has one, and then it stays', () => {
  const { board, say, shown } = drawn(many(2));
  assert.equal('money' in board.el.dataset, false);
  say(patch([run(1, { cost: 42_000 })], 2));
  assert.equal('money' in board.el.dataset, true);
  assert.deepEqual(shown().map((row) => row.querySelector('.dvergr-cost')?.textContent), ['$0.042', '']);
  say(patch([], 3, [run(1).id]));
  assert.equal('money' in board.el.dataset, true);
});

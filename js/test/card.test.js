import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Card } from '../src/shared/card.js';
import { Link } from '../src/shared/link.js';
import { widget } from '../src/shared/widget.js';
import { FakeModel, FakeTime, cell, patch, press, run, snapshot } from './fakes.js';

/** @param {Partial<import('../src/shared/wire.d.ts').RunRow>} [fields] */
function drawn(fields) {
  const row = run(1, fields);
  const model = new FakeModel();
  const time = new FakeTime();
  const link = new Link(model, time);
  const { signal } = new AbortController();
  const card = new Card(link, row.id, signal);
  link.watch((change) => card.take(change), signal);
  model.say(snapshot([row]));
  cell().append(card.el);
  /** @param {string} selector */
  const find = (selector) => /** @type {HTMLElement} */ (card.el.querySelector(selector));
  /** @param {string} selector */
  const text = (selector) => find(selector)?.textContent ?? null;
  const [cancel, details] = [...card.el.querySelectorAll('.dvergr-acts button')].map((node) => /** @type {HTMLButtonElement} */ (node));
  assert.ok(cancel && details);
  return { row, model, time, link, card, find, text, cancel, details };
}

const TIMELINE = {
  began: 1_700_000_000_000,
  took: 68,
  lives: true,
  left_out: 0,
  activities: 3,
  lanes: [
    { name: 'progress', count: 2, took: 68, marks: [{ shape: 'phase', at: 0, took: 30, text: '1' }, { shape: 'phase', at: 30, text: '2' }] },
    { name: 'messages', count: 1, marks: [{ shape: 'said', at: 0, title: 'you: go' }] },
  ],
  entries: [
    { key: 'a', who: 'you', at: 0, text: 'go', tone: 'person', more: 'go\non' },
    { key: 'b', who: 'phase 2', at: 30, text: 'fit', took: 38, goes_on: true },
  ],
};

/** @param {ReturnType<typeof drawn>} shown @param {object} [timeline] */
function opened(shown, timeline = TIMELINE) {
  if (shown.details.getAttribute('aria-expanded') === 'false') shown.details.click();
  const { id } = shown.model.sent.findLast((message) => message.type === 'details');
  shown.model.say({ type: 'details', id, run_id: shown.row.id, at: 1_700_000_000_000, timeline });
}

test('the head says who, in which state and for how long', () => {
  const { card, text } = drawn({ name: 'reindex the order archive' });
  assert.deepEqual([text('.dvergr-who'), text('.dvergr-word'), text('.dvergr-took')], ['reindex the order archive', 'running', '1m 08s']);
  assert.equal(card.el.getAttribute('data-state'), 'running');
});

test('seconds are counted here, without a message', () => {
  const { time, text } = drawn();
  time.pass(2000);
  assert.equal(text('.dvergr-took'), '1m 10s');
});

test('progress is a bar, a percentage and what is left', () => {
  const { find, text } = drawn({ progress: { label: 'Read 412 of 1,200 files', done: 412, total: 1200, fraction: 412 / 1200 } });
  assert.equal(find('.dvergr-progress i').style.getPropertyValue('--done'), '34.333');
  assert.equal(text('.dvergr-step .dvergr-soft'), '34%, about 2m left');
  assert.equal(find('[role=progressbar]').getAttribute('aria-valuenow'), '412');
});

test('without a fraction there is no bar', () => {
  const { find } = drawn({ progress: { label: 'reading' } });
  assert.equal(find('.dvergr-progress').hidden, true);
});

test('the line of news is there before there is news, so that the card does not grow', () => {
  const { model, find, row } = drawn();
  const slot = find('.dvergr-slot');
  assert.equal(slot.hidden, false);
  model.say(patch([{ ...row, said: 'epoch 1' }], 2));
  model.say(patch([{ ...row, status: 'completed', ended: row.started + 1 }], 3));
  assert.equal(find('.dvergr-slot'), slot);
  assert.equal(slot.hidden, false);
});

test('the facts say what it is, where it runs and how much it reported', () => {
  const { text } = drawn({ place: 'thread', activities: 42 });
  assert.equal(text('.dvergr-facts'), 'job of dvergr\u00a0· worker thread\u00a0· 42 correlated activity messages\u00a0· 00000001');
});

test('no activity is not counted', () => {
  assert.equal(drawn({ activities: 0 }).text('.dvergr-facts'), 'job of dvergr\u00a0· 00000001');
});

test('text of a body is text, never markup', () => {
  const evil = '<img src=x onerror="boom()"><script>boom()</script>';
  const { card, text } = drawn({ name: evil, said: evil, tags: [evil], actor: evil });
  assert.equal(text('.dvergr-who'), evil);
  assert.equal(card.el.querySelector('img, script'), null);
});

test('a thread that does not check is explained', () => {
  const { text } = drawn({ status: 'cancelling', checks: false, asked: 1_700_000_000_000 - 9000 });
  assert.ok(text('.dvergr-slot')?.includes('Cancel requested 9s ago; the function does not check. It ends when the function returns.'));
});

test('an end shows the result, or the error', () => {
  assert.equal(drawn({ status: 'completed', result: '42' }).text('.dvergr-reply'), '42');
  const failed = drawn({ status: 'failed', reason: 'error', error: 'ValueError: no' });
  assert.equal(failed.text('.dvergr-error'), 'ValueError: no');
  assert.match(failed.text('.dvergr-facts') ?? '', /· error/);
});

test('Cancel asks once and waits for the row', () => {
  const { model, cancel, row } = drawn();
  cancel.click();
  cancel.click();
  assert.deepEqual(model.sent.filter((message) => message.type === 'cancel').map((message) => message.run_id), [row.id]);
  assert.equal(cancel.disabled, true);
});

test('Cancel of a Run that has ended is not there', () => {
  assert.equal(drawn({ status: 'completed' }).cancel.hidden, true);
});

test('focus moves to Details where Cancel goes away', () => {
  const { cancel, details } = drawn();
  cancel.focus();
  cancel.click();
  assert.equal(document.activeElement, details);
});

test('a kernel that is gone is said with when it was seen and what happens next', () => {
  const { model, link, text, cancel } = drawn();
  model.isDead = true;
  link.resync();
  assert.equal(text('.dvergr-word'), 'kernel gone');
  assert.match(text('.dvergr-took') ?? '', /^last seen \d\d:\d\d:\d\d$/);
  assert.ok(text('.dvergr-slot')?.includes('Was running, 1m 08s. The next kernel that opens this store marks it failed, orphaned.'));
  assert.equal(cancel.disabled, true);
});

test('only the word of the state is read aloud by itself', () => {
  const { card } = drawn({ said: 'line' });
  assert.deepEqual([...card.el.querySelectorAll('[aria-live=polite]')].map((node) => node.className), ['dvergr-word']);
});

test('there is no button for what does not exist yet', () => {
  const { card } = drawn({ status: 'waiting', reason: 'approval' });
  assert.deepEqual([...card.el.querySelectorAll('button')].map((node) => node.textContent), ['Cancel', 'Details']);
});

test('details are asked for when they are opened, and drawn with the same in words', () => {
  const shown = drawn();
  assert.equal(shown.model.sent.some((message) => message.type === 'details'), false);
  opened(shown);
  const { card, text } = shown;
  assert.deepEqual([...card.el.querySelectorAll('.dvergr-lane > :first-child')].map((node) => node.textContent), ['progress', 'messages']);
  assert.equal(card.el.querySelectorAll('.dvergr-log > li').length, 2);
  assert.match(text('.dvergr-legend') ?? '', /phase of progress.*message from a person/);
});

test('an open bar grows with the time', () => {
  const shown = drawn();
  opened(shown);
  const bar = /** @type {HTMLElement} */ (shown.card.el.querySelectorAll('.dvergr-round')[1]);
  const before = Number(bar.style.getPropertyValue('--for'));
  shown.time.pass(5000);
  assert.equal(Number(bar.style.getPropertyValue('--for')) - before, 5);
});

test('an entry that was opened stays open when the details come again', () => {
  const shown = drawn();
  opened(shown);
  /** @type {HTMLElement} */ (shown.find('.dvergr-log button')).click();
  assert.equal(shown.text('.dvergr-open'), 'go\non');
  opened(shown);
  assert.equal(shown.text('.dvergr-open'), 'go\non');
});

test('details of a Run that lives are asked for again, but not at every message', () => {
  const shown = drawn();
  opened(shown);
  const asked = () => shown.model.sent.filter((message) => message.type === 'details').length;
  for (let rev = 2; rev < 20; rev += 1) shown.model.say(patch([{ ...shown.row, activities: rev }], rev));
  assert.equal(asked(), 1);
  shown.time.pass(2100);
  shown.model.say(patch([{ ...shown.row, activities: 99 }], 20));
  assert.equal(asked(), 2);
  shown.model.say(patch([{ ...shown.row, status: 'completed', ended: shown.row.started + 70_000 }], 21));
  assert.equal(asked(), 3);
});

const definition = widget((link, model, signal) => {
  const card = new Card(link, String(model.get('run_id')), signal);
  card.update();
  return { el: card.el, take: (change) => card.take(change) };
});

test('keys pressed in a card never reach the notebook', () => {
  const model = new FakeModel({ run_id: run(1).id, snapshot: JSON.stringify(snapshot([run(1)], 0)) });
  const el = cell();
  const end = definition().render({ model, el });
  /** @type {string[]} */
  const heard = [];
  document.addEventListener('keydown', (event) => heard.push(event.key), { once: true });
  for (const key of ['a', 'd', 'd', 'Enter', 'Escape']) press(/** @type {Element} */ (el.querySelector('button')), key);
  assert.deepEqual(heard, []);
  end();
});

test('Escape gives the keyboard back to the notebook', () => {
  const model = new FakeModel({ run_id: run(1).id, snapshot: JSON.stringify(snapshot([run(1)], 0)) });
  const el = cell();
  const end = definition().render({ model, el });
  const button = /** @type {HTMLElement} */ (el.querySelector('button'));
  button.focus();
  press(button, 'Escape');
  assert.equal(document.activeElement?.id, 'notebook');
  end();
});

test('what goes wrong while drawing is said in the output', (context) => {
  context.mock.method(console, 'error', () => {});
  const el = cell();
  const broken = widget(() => {
    throw new TypeError('no <b>such</b> thing');
  });
  broken().render({ model: new FakeModel(), el });
  assert.match(el.textContent ?? '', /could not be drawn.*TypeError: no <b>such<\/b> thing/);
});

test('a saved state that cannot be read is said in the output', (context) => {
  context.mock.method(console, 'error', () => {});
  const el = cell();
  const host = definition();
  const model = new FakeModel({ snapshot: '{broken' });
  host.initialize({ model });
  host.render({ model, el });
  assert.match(el.textContent ?? '', /could not be drawn/);
});

const TURN = { kind: 'agent-turn', actor: 'researcher', name: 'researcher', label: 'Which customers leave?', program: 'scripted' };

test('the card of a turn says what was asked and what answers', () => {
  const { card, text } = drawn({ ...TURN, steps: 3 });
  assert.equal(card.el.querySelector('.dvergr-head + .dvergr-soft')?.textContent, 'Which customers leave?');
  assert.match(text('.dvergr-facts') ?? '', /^scripted\u00a0· 3 rounds\u00a0· 3 correlated activity messages/);
});

test('a job has no line for what was asked: its label is its name', () => {
  const { card } = drawn();
  assert.equal(/** @type {HTMLElement} */ (card.el.querySelector('.dvergr-head + .dvergr-soft')).hidden, true);
});

test('streamed text keeps its lines while a turn works, also where it was asked to stop', () => {
  const { model, time, row, find, text } = drawn({ ...TURN, said: 'one\ntwo' });
  assert.equal(text('.dvergr-stream'), 'one\ntwo');
  assert.equal(find('.dvergr-stream').hidden, false);
  assert.equal(find('.dvergr-stream').dataset['open'], '');
  assert.equal(find('.dvergr-step').hidden, true);
  model.say(patch([{ ...row, status: 'cancelling', asked: 1_700_000_000_000 }], 2));
  time.pass(3000);
  assert.match(text('.dvergr-slot') ?? '', /Cancel requested 3s ago/);
  assert.equal(find('.dvergr-stream').hidden, false);
});

test('the reply takes the place of the streamed text, which stays until it is there', () => {
  const { model, row, find, text } = drawn({ ...TURN, said: 'the ans' });
  model.say(patch([{ ...row, status: 'completed', said: 'the answer' }], 2));
  assert.equal(find('.dvergr-stream').hidden, false);
  assert.equal('open' in find('.dvergr-stream').dataset, false);
  model.say(patch([{ ...row, status: 'completed', result: 'the answer' }], 3));
  assert.equal(find('.dvergr-stream').hidden, true);
  assert.equal(text('.dvergr-reply'), 'the answer');
});

test('a turn that stays silent leaves nothing of what it streamed, and says so', () => {
  const { find, text } = drawn({ ...TURN, status: 'completed', reason: 'silent', said: 'NO' });
  assert.equal(find('.dvergr-stream').hidden, true);
  assert.deepEqual([text('.dvergr-slot > .dvergr-soft'), text('.dvergr-word')], ['stayed silent', 'completed']);
});

test('a turn is not said to have ended without a reply before that is known', () => {
  const { model, row, text } = drawn({ ...TURN, status: 'completed' });
  assert.equal(text('.dvergr-slot')?.trim(), '');
  model.say(patch([{ ...row, mute: true }], 2));
  assert.equal(text('.dvergr-slot > .dvergr-soft'), 'ended without a reply');
});

test('four lines are kept from the moment the text of a turn needs more than one, until the end', () => {
  const { model, row, find } = drawn(TURN);
  const stream = find('.dvergr-stream');
  assert.equal(stream.hidden, true);
  model.say(patch([{ ...row, said: 'one' }], 2));
  assert.deepEqual([stream.hidden, stream.dataset['tall']], [false, undefined]);
  Object.defineProperty(find('.dvergr-stream > p'), 'offsetHeight', { value: 40 });
  find('.dvergr-stream > p').style.lineHeight = '20px';
  model.say(patch([{ ...row, said: 'one text that needs two lines' }], 3));
  assert.equal(stream.dataset['tall'], '');
  model.say(patch([row], 4));
  assert.deepEqual([stream.hidden, stream.dataset['tall']], [false, '']);
  model.say(patch([{ ...row, status: 'completed', result: 'one' }], 5));
  assert.deepEqual([stream.hidden, stream.dataset['tall']], [true, undefined]);
});

test('a queued turn says what it waits for, once it has waited', () => {
  const { card, text } = drawn({ ...TURN, status: 'queued' });
  assert.equal(card.el.getAttribute('data-state'), 'queued');
  assert.match(text('.dvergr-slot') ?? '', /researcher works on something else; this begins when that has ended\./);
});

test('a turn that stopped for a message says what happens next', () => {
  const { text } = drawn({ ...TURN, status: 'waiting', reason: 'attention-suspended' });
  assert.match(text('.dvergr-slot') ?? '', /A new message in this thread starts a new Run\./);
});

test('rounds are drawn with their numbers, and the legend names them', () => {
  const shown = drawn(TURN);
  const lanes = [{ name: 'scripted', count: 2, took: 5, marks: [{ shape: 'round', at: 0, took: 2, text: '1' }, { shape: 'cut', at: 2, took: 3, text: '2' }] }];
  opened(shown, { ...TIMELINE, lanes });
  const bars = [...shown.card.el.querySelectorAll('.dvergr-round')];
  assert.deepEqual(bars.map((bar) => [bar.textContent, bar.className]), [['1', 'dvergr-round'], ['2', 'dvergr-round dvergr-was-cut']]);
  assert.equal(shown.text('.dvergr-legend'), 'roundcut short');
});

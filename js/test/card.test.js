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
  assert.equal(find('[role=progressbar] i').style.getPropertyValue('--done'), '34.333');
  assert.equal(text('.dvergr-step .dvergr-soft'), '34%, about 2m left');
  assert.equal(find('[role=progressbar]').getAttribute('aria-valuenow'), '412');
});

test('without a fraction there is no bar', () => {
  const { find } = drawn({ progress: { label: 'reading' } });
  assert.equal(find('[role=progressbar]').hidden, true);
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
  assert.deepEqual([...card.el.querySelectorAll('button')].filter((node) => !node.closest('[hidden]')).map((node) => node.textContent), ['Cancel', 'Details']);
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

test('the head says which tool is at work, and no longer when it has ended', () => {
  const { model, row, find, text } = drawn({ ...TURN, doing: 'sql, read_file' });
  assert.equal(text('.dvergr-doing'), 'uses sql, read_file');
  const { doing, ...rest } = row;
  assert.equal(doing, 'sql, read_file');
  model.say(patch([rest], 2));
  assert.equal(find('.dvergr-doing').hidden, true);
});

test('money stands in the head from the first call on, and turns to a warning in words', () => {
  const { model, row, find, text } = drawn({ ...TURN, budget: 1_000_000, balance: 1_000_000 });
  const money = find('.dvergr-money');
  assert.equal(money.hidden, true);
  model.say(patch([{ ...row, cost: 12_345, balance: 987_655 }], 2));
  assert.deepEqual([money.hidden, text('.dvergr-money'), 'low' in money.dataset], [false, '$0.0123 of $1.00', false]);
  assert.equal(find('.dvergr-money .dvergr-progress').getAttribute('aria-hidden'), 'true');
  model.say(patch([{ ...row, cost: 800_000, unpriced: 1, balance: 200_000 }], 3));
  assert.equal(text('.dvergr-money'), '$0.80 of $1.00 + 1 call of unknown price, 80% spent');
  assert.equal('low' in money.dataset, true);
});

test('the facts begin with the version of the profile that acted', () => {
  assert.match(drawn({ ...TURN, profile: 'researcher v3' }).text('.dvergr-facts') ?? '', /^researcher v3\u00a0· scripted/);
});

/** @param {ReturnType<typeof drawn>} shown */
const more = (shown) => /** @type {HTMLButtonElement} */ (shown.find('.dvergr-more'));

test('a short reply has no button, one with more lines than are seen opens in its own box', () => {
  assert.equal(more(drawn({ ...TURN, status: 'completed', result: 'one' })).hidden, true);
  const shown = drawn({ ...TURN, status: 'completed', result: 'one\ntwo\nthree\nfour' });
  assert.equal(more(shown).textContent, 'Show all');
  more(shown).click();
  const reply = shown.find('.dvergr-reply');
  assert.deepEqual([reply.dataset['open'], reply.tabIndex, reply.getAttribute('aria-label')], ['', 0, 'All of what researcher said']);
  assert.equal(shown.model.sent.some((message) => message.type === 'reply'), false);
  more(shown).click();
  assert.equal('open' in reply.dataset, false);
});

test('a reply that came as its beginning is asked for once, and shown as text', () => {
  const shown = drawn({ ...TURN, status: 'completed', result: 'begin…', length: 60_000 });
  const asked = () => shown.model.sent.filter((message) => message.type === 'reply');
  assert.equal(more(shown).textContent, 'Show all, 60,000 characters');
  more(shown).click();
  const { id, run_id: runId } = asked()[0];
  assert.equal(runId, shown.row.id);
  shown.model.say({ type: 'reply', id, run_id: runId, at: 1, text: '<b>begin</b> and end', cut: true });
  assert.equal(shown.text('.dvergr-reply'), '<b>begin</b> and end');
  assert.match(shown.text('.dvergr-slot') ?? '', /The first 20 characters; the rest is in the store\./);
  more(shown).click();
  assert.equal(shown.text('.dvergr-reply'), 'begin…');
  more(shown).click();
  assert.equal(asked().length, 1);
});

test('a reply that cannot be read says why', () => {
  const shown = drawn({ ...TURN, status: 'completed', result: 'begin…', length: 60_000 });
  more(shown).click();
  const { id } = shown.model.sent.find((message) => message.type === 'reply');
  shown.model.say({ type: 'ack', id, at: 1, outcome: 'failed', error: 'StoreLost: no' });
  assert.match(shown.text('.dvergr-slot') ?? '', /begin….*The rest could not be read: StoreLost: no\./);
});

const USED = {
  ...TIMELINE,
  entries: [
    { key: 'round', who: 'round 1', at: 0, text: 'big, 100 tokens in, 7 out', took: 2, cost: 6100, more: 'big: $0.0061' },
    { key: 'use-1', who: 'sql', at: 1, text: 'completed', took: 0.5, use: true },
    { key: 'use-2', who: 'sql', at: 2, text: 'failed, NoColumn', took: 0.5, use: true, tone: 'bad', cost: 5000, unpriced: true },
    { key: 'use-3', who: 'round 2', at: 3, text: 'big', unpriced: true },
  ],
};

/** @param {ReturnType<typeof drawn>} shown */
const usesOf = (shown) => /** @type {HTMLButtonElement[]} */ ([...shown.card.el.querySelectorAll('.dvergr-log button')]).filter((node) => node.title);

test('what an entry has cost stands in a column of its own, only where there is any', () => {
  const shown = drawn(TURN);
  opened(shown, USED);
  const costs = [...shown.card.el.querySelectorAll('.dvergr-log > li > .dvergr-cost')].map((node) => node.textContent);
  assert.deepEqual(costs, ['$0.0061', '', '$0.0050+', 'unknown']);
  assert.equal(shown.find('.dvergr-log').classList.contains('dvergr-paid'), true);
  opened(shown);
  assert.equal(shown.find('.dvergr-log').classList.contains('dvergr-paid'), false);
});

test('arguments and result are asked for when they are opened, and for that call alone', () => {
  const shown = drawn(TURN);
  opened(shown, USED);
  const asked = () => shown.model.sent.filter((message) => message.type === 'use');
  assert.equal(asked().length, 0);
  const button = usesOf(shown)[1];
  assert.ok(button);
  assert.equal(button.getAttribute('aria-label'), 'sql: arguments and result');
  button.click();
  assert.deepEqual(asked().map((message) => [message.run_id, message.use_id]), [[shown.row.id, 'use-2']]);
  assert.equal(shown.text('.dvergr-use'), 'Reading arguments and result.');
  shown.model.say({ type: 'use', id: asked()[0].id, run_id: shown.row.id, use_id: 'use-2', at: 1, arguments: '{"q": "<b>"}', result: '', cut: ['arguments'] });
  assert.equal(shown.text('.dvergr-use pre'), '{"q": "<b>"}');
  assert.match(shown.text('.dvergr-use') ?? '', /Arguments, the first 12 characters.*Result: none/);
  opened(shown, USED);
  assert.equal(shown.text('.dvergr-use pre'), '{"q": "<b>"}');
  usesOf(shown)[1]?.click();
  assert.equal(shown.find('.dvergr-use'), null);
});

test('a call of which nothing was kept says so', () => {
  const shown = drawn(TURN);
  opened(shown, USED);
  usesOf(shown)[0]?.click();
  const { id } = shown.model.sent.find((message) => message.type === 'use');
  shown.model.say({ type: 'ack', id, at: 1, outcome: 'failed', error: 'nothing was kept of this call' });
  assert.equal(shown.text('.dvergr-use'), 'Not there: nothing was kept of this call.');
});

test('a picture is drawn only from a data URL of four types, everything else is a type and a size', () => {
  const shown = drawn(TURN);
  opened(shown, USED);
  usesOf(shown)[0]?.click();
  const { id } = shown.model.sent.find((message) => message.type === 'use');
  const pictures = ['data:image/png;base64,AAAA', 'data:image/svg+xml;base64,AAAA', 'data:text/html;base64,AAAA', 'https://there/x.png', 'data:image/png;base64,AA"onerror="x'];
  const blobs = [...pictures.map((picture) => ({ media_type: 'image/png', size: 12_345, picture })), { media_type: 'text/html', size: 5 }];
  shown.model.say({ type: 'use', id, run_id: shown.row.id, use_id: 'use-1', at: 1, arguments: '{}', result: 'ok', blobs });
  const drawnOnes = [...shown.card.el.querySelectorAll('img')];
  assert.deepEqual(drawnOnes.map((node) => [node.getAttribute('src'), node.alt]), [['data:image/png;base64,AAAA', 'Picture that sql, 1 gave']]);
  const captions = [...shown.card.el.querySelectorAll('figcaption')].map((node) => node.textContent);
  assert.deepEqual(captions.slice(-2), ['image/png, 12 kB', 'text/html, 5 bytes']);
  const [first] = drawnOnes;
  first?.dispatchEvent(new Event('error'));
  assert.match(shown.text('.dvergr-use') ?? '', /This picture cannot be drawn\./);
});

test('where the kernel is gone, arguments are not waited for', () => {
  const shown = drawn(TURN);
  opened(shown, USED);
  shown.model.isDead = true;
  usesOf(shown)[0]?.click();
  assert.match(shown.text('.dvergr-use') ?? '', /The kernel is gone/);
});

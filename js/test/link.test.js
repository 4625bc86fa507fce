import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link } from '../src/shared/link.js';
import { FakeModel, FakeTime, patch, run, settled, snapshot } from './fakes.js';

/** @param {Record<string, unknown>} [traits] */
function linked(traits) {
  const model = new FakeModel(traits);
  const time = new FakeTime();
  const link = new Link(model, time);
  const ending = new AbortController();
  /** @type {import('../src/shared/link.js').Change[]} */
  const heard = [];
  link.watch((change) => heard.push(change), ending.signal);
  return { model, time, link, heard, ending };
}

/** @param {FakeModel} model @param {string} type */
const asked = (model, type) => model.sent.filter((message) => message.type === type).length;

const beat = (rev = 1, at = 1_700_000_000_000) => ({ type: 'beat', rev, at, every_s: 1 });

test('a view asks for the newest state as soon as it is drawn', () => {
  const { model } = linked();
  assert.deepEqual(model.sent, [{ type: 'resync', have: -1 }]);
});

test('rows of patches replace and add, and rows that left are gone', () => {
  const { model, link } = linked();
  model.say(snapshot([run(1), run(2)]));
  model.say(patch([run(2, { status: 'completed' }), run(3)], 2, [run(1).id]));
  assert.deepEqual([...link.rows.values()].map((row) => [row.id, row.status]), [[run(2).id, 'completed'], [run(3).id, 'running']]);
});

test('a gap in the revisions asks for the whole state, once while the answer is on its way', () => {
  const { model, time } = linked();
  model.say(snapshot([run(1)]));
  time.pass(100);
  model.say(patch([run(1)], 3));
  model.say(patch([run(1)], 5));
  assert.equal(asked(model, 'resync'), 2);
});

test('a patch that was lost with nothing after it is noticed at the next beat', () => {
  const { model } = linked();
  model.say(snapshot([run(1)]));
  model.say(beat(2));
  assert.equal(asked(model, 'resync'), 2);
});

test('a message that comes twice changes nothing', () => {
  const { model, link, heard } = linked();
  model.say(snapshot([run(1)], 4));
  const before = heard.length;
  model.say(patch([run(1, { status: 'completed' })], 4));
  assert.equal(link.rows.get(run(1).id)?.status, 'running');
  assert.equal(heard.length, before);
});

test('the kernel counts as busy only after silence, a question and a turn for what waits here', () => {
  const { model, time, link } = linked();
  model.say(snapshot([run(1)]));
  time.pass(3100);
  assert.equal(link.presence, 'live');
  time.pass(1000);
  assert.equal(asked(model, 'ping'), 1);
  time.pass(1000);
  assert.equal(link.presence, 'busy');
  model.say(beat());
  assert.equal(link.presence, 'live');
});

test('a timer that comes late does not make a kernel busy whose messages wait in the browser', () => {
  const { model, time, link } = linked();
  model.say(snapshot([run(1)]));
  time.at += 60_000;
  time.pass(1);
  model.say(beat());
  time.pass(600);
  assert.equal(link.presence, 'live');
});

test('where nothing lives there is no beat to miss', () => {
  const { model, time, link } = linked();
  model.say(snapshot([run(1, { status: 'completed' })]));
  model.say({ type: 'rest', rev: 1, at: 1_700_000_000_000 });
  time.pass(600_000);
  assert.equal(link.presence, 'live');
  assert.equal(asked(model, 'ping'), 0);
});

test('a Run that began after the word that nothing lives is asked after, however its row came', () => {
  const { model, time, link } = linked();
  model.say({ type: 'rest', rev: 1, at: 1_700_000_000_000 });
  model.say(snapshot([run(1)], 2));
  time.pass(6000);
  assert.equal(asked(model, 'ping'), 1);
  assert.equal(link.presence, 'busy');
});

test('slower beats are waited for longer', () => {
  const { model, time, link } = linked();
  model.say(snapshot([run(1)]));
  model.say({ ...beat(), every_s: 4 });
  time.pass(11_000);
  assert.equal(link.presence, 'live');
  time.pass(4000);
  assert.equal(link.presence, 'busy');
});

test('a closed line means that the kernel is gone, until it is heard again', async () => {
  const { model, link } = linked();
  model.say(snapshot([run(1)]));
  model.open = false;
  model.fire('comm_live_update');
  await settled();
  assert.equal(link.presence, 'gone');
  model.say(beat());
  assert.equal(link.presence, 'live');
});

test('a view that is drawn when the line is closed already says so', async () => {
  const model = new FakeModel({ snapshot: JSON.stringify(snapshot([run(1)], 0)) });
  model.open = false;
  const link = new Link(model, new FakeTime());
  await settled();
  assert.equal(link.presence, 'gone');
  assert.equal(link.rows.size, 1);
});

test('a host that does not tell is not taken for a dead kernel', async () => {
  const model = new FakeModel({ own_id: '' });
  const link = new Link(model, new FakeTime());
  await settled();
  assert.equal(link.presence, 'live');
});

test('a message that cannot be sent means that the kernel is gone', () => {
  const { model, link } = linked();
  model.say(snapshot([run(1)]));
  model.isDead = true;
  link.cancel(run(1).id);
  assert.equal(link.presence, 'gone');
});

test('the saved state is shown until something newer comes, and never after', () => {
  const { model, link } = linked({ snapshot: JSON.stringify(snapshot([run(1)], 0)) });
  assert.equal(link.rows.size, 1);
  model.say(snapshot([run(1), run(2)], 5));
  model.traits['snapshot'] = JSON.stringify(snapshot([], 3));
  model.fire('change:snapshot');
  assert.equal(link.rows.size, 2);
});

test('time is counted by the clock of the kernel', () => {
  const { model, link } = linked();
  model.say({ ...snapshot([run(1)]), at: 1_700_000_000_000 + 3_600_000 });
  assert.equal(link.took(run(1)), 3600 + 68);
});

test('what runs stops counting where the kernel was last seen', () => {
  const { model, time, link } = linked();
  model.say(snapshot([run(1)]));
  model.isDead = true;
  link.resync();
  time.pass(50_000);
  assert.equal(link.took(run(1)), 68);
});

test('each press of Cancel has a name of its own', () => {
  const { model, link } = linked();
  model.say(snapshot([run(1), run(2)]));
  link.cancel(run(1).id);
  link.cancel(run(2).id);
  const ids = model.sent.filter((message) => message.type === 'cancel').map((message) => message.id);
  assert.equal(new Set(ids).size, 2);
});

test('a refusal is kept with its Run, and a Run that was over already can be pressed no more', () => {
  const { model, link } = linked();
  model.say(snapshot([run(1)]));
  link.cancel(run(1).id);
  model.say({ type: 'ack', id: model.sent.at(-1).id, at: 1_700_000_000_000, outcome: 'failed', error: 'the store is closed' });
  assert.equal(link.refusals.get(run(1).id), 'the store is closed');
  assert.equal(link.cancelling.size, 0);
});

test('details that come at last take back why they could not be read', () => {
  const { model, link } = linked();
  model.say(snapshot([run(1)]));
  link.details(run(1).id);
  model.say({ type: 'ack', id: model.sent.at(-1).id, at: 1_700_000_000_000, outcome: 'failed', error: 'the disk hangs' });
  assert.equal(link.excuses.get(run(1).id), 'the disk hangs');
  assert.equal(link.refusals.size, 0);
  link.details(run(1).id);
  const timeline = { began: 0, took: 1, lives: true, lanes: [], entries: [], left_out: 0, activities: 0 };
  model.say({ type: 'details', id: model.sent.at(-1).id, run_id: run(1).id, at: 1_700_000_000_000, timeline });
  assert.equal(link.excuses.size, 0);
});

test('a view that has ended hears nothing', () => {
  const { model, heard, ending } = linked();
  ending.abort();
  const before = heard.length;
  model.say(snapshot([run(1)]));
  assert.equal(heard.length, before);
});

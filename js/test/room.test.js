import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Talk } from '../src/room_view/talk.js';
import { Room } from '../src/room_view/view.js';
import { Link } from '../src/shared/link.js';
import { FakeModel, FakeTime, cell, press, run } from './fakes.js';

/** @typedef {import('../src/shared/wire.d.ts').SaidWire} SaidWire */
/** @typedef {import('../src/shared/wire.d.ts').RoomWire} RoomWire */
/** @typedef {import('../src/shared/wire.d.ts').RunRow} RunRow */

const AT = 1_700_000_000_000;

/** @param {number} number */
const idOf = (number) => `0198f3d0-0000-7000-8000-${String(number).padStart(12, '0')}`;

/**
 * @param {number} number
 * @param {number} thread the number of its first message
 * @param {Partial<SaidWire>} [fields]
 * @returns {SaidWire}
 */
function said(number, thread = number, fields = {}) {
  const own = number === thread ? { who: 'user', person: true } : { who: 'researcher' };
  return { id: idOf(number), thread: idOf(thread), at: AT - 60_000 + number * 1000, text: `message ${number}`, ...own, ...fields };
}

/**
 * @param {number} number
 * @param {number} trigger
 * @param {Partial<RunRow>} [fields]
 */
const turn = (number, trigger, fields = {}) =>
  run(number, { kind: 'agent-turn', actor: 'researcher', name: 'researcher', trigger: idOf(trigger), ...fields });

/** @param {RoomWire} room @param {RunRow[]} [rows] @param {number} [rev] */
const whole = (room, rows = [], rev = 1) => ({ type: 'snapshot', rev, at: AT, rows, cut: false, room });

/** @param {RoomWire} room @param {RunRow[]} rows @param {number} rev @param {string[]} [gone] */
const news = (room, rows, rev, gone = []) => ({ type: 'patch', rev, at: AT, rows, gone, cut: false, room });

/** @param {RoomWire} room @param {RunRow[]} [rows] */
function drawn(room, rows = []) {
  const model = new FakeModel({ room: 'research' });
  const time = new FakeTime();
  const talk = new Talk();
  const link = new Link(model, time, talk);
  const { signal } = new AbortController();
  const view = new Room(link, talk, 'research', signal);
  cell().append(view.el);
  link.watch((change) => view.take(change), signal);
  /** @param {any} message */
  const say = (message) => {
    model.say(message);
    time.pass(20);
  };
  say(whole(room, rows));
  /** @param {string} selector */
  const all = (selector) => /** @type {HTMLElement[]} */ ([...view.el.querySelectorAll(selector)]);
  const messages = () => all('.dvergr-message');
  const texts = () => all('.dvergr-text').map((node) => node.textContent);
  /** @param {string} text */
  const button = (text) => /** @type {HTMLButtonElement} */ (all('button').find((node) => node.textContent === text && !node.hidden));
  const box = /** @type {HTMLTextAreaElement} */ (view.el.querySelector('textarea'));
  const to = /** @type {HTMLSelectElement} */ (view.el.querySelector('select'));
  const note = () => /** @type {HTMLElement} */ (view.el.querySelector('.dvergr-ack')).textContent;
  /** @param {string} text */
  const type = (text) => {
    box.value = text;
    box.dispatchEvent(new Event('input'));
  };
  /** @param {string} kind */
  const sent = (kind) => model.sent.filter((message) => message.type === kind);
  /** @param {string} outcome @param {string} [error] */
  const answer = (outcome, error) => say({ type: 'ack', id: sent('post').at(-1).id, at: AT, outcome, ...(error ? { error } : {}) });
  return { view, model, time, link, talk, say, all, messages, texts, button, box, to, note, type, sent, answer };
}

const PRESENT = [{ actor: 'researcher', program: 'scripted' }, { actor: 'critic', program: 'function' }];

test('the head says who takes part, how it stands, and what is scripted', () => {
  const present = [
    { actor: 'researcher', program: 'scripted', working: turn(1, 1).id, queued: [turn(2, 2).id, turn(3, 3).id] },
    { actor: 'critic', program: 'function' },
  ];
  const { all, view } = drawn({ title: 'Churn', present }, [turn(1, 1), turn(2, 2, { status: 'queued' })]);
  assert.equal(view.el.querySelector('.dvergr-head .dvergr-who')?.textContent, 'Churn');
  const told = all('.dvergr-present > li').map((node) => [node.dataset['state'], [...node.children].slice(1).map((each) => each.textContent).join(' ').trim()]);
  assert.deepEqual(told, [
    ['running', 'researcher scripted running 1m 08s queued 2'],
    ['idle', 'critic  idle'],
  ]);
});

test('a closed room says so in words and takes nothing', () => {
  const { view, note, type, button } = drawn({ closed: true, present: PRESENT });
  type('hello');
  assert.match(view.el.querySelector('.dvergr-head')?.textContent ?? '', /closed/);
  assert.equal(note(), 'The room is closed and admits nothing.');
  assert.equal(button('Send').disabled, true);
});

test('a room without anybody says what brings somebody in', () => {
  assert.match(drawn({ present: [] }).view.el.textContent ?? '', /Nobody takes part yet; room\.join/);
});

test('messages stand in their threads, the thread with the newest activity last', () => {
  const { texts, messages } = drawn({ said: [said(1), said(2), said(3, 1)] });
  assert.deepEqual(texts(), ['message 2', 'message 1', 'message 3']);
  assert.deepEqual(messages().map((node) => node.getAttribute('aria-level')), ['1', '1', '2']);
});

test('people are told from actors, and whom it was said to stands below', () => {
  const { all } = drawn({ said: [said(1, 1, { to: 'researcher' }), said(2, 1, { to: 'user' }), said(3, 1, { to: 'critic' })] });
  assert.deepEqual(all('.dvergr-from').map((node) => node.textContent), ['youto researcher', 'researcher', 'researcherto critic']);
  assert.equal(all('.dvergr-message[data-person]').length, 1);
});

test('below a message stand the turns it caused, and the queued ones say their place', () => {
  const present = [{ actor: 'researcher', program: 'scripted', working: turn(1, 1).id, queued: [turn(2, 2).id, turn(3, 3).id] }];
  const rows = [turn(1, 1), turn(2, 2, { status: 'queued' }), turn(3, 3, { status: 'queued' })];
  const { all } = drawn({ said: [said(1), said(2), said(3)], present }, rows);
  assert.deepEqual(all('.dvergr-turn .dvergr-word').map((node) => node.textContent), ['running', 'queued, 1st', 'queued, 2nd']);
});

test('a turn that lives has a Cancel of its own', () => {
  const { all, sent } = drawn({ said: [said(1), said(2)] }, [turn(1, 1), turn(2, 2, { status: 'completed' })]);
  const cancels = all('.dvergr-turn button');
  assert.deepEqual(cancels.map((node) => node.hidden), [false, true]);
  cancels[0]?.click();
  assert.deepEqual(sent('cancel').map((message) => message.run_id), [turn(1, 1).id]);
});

test('streamed text is shown while a turn lives, and never read aloud', () => {
  const { all, say } = drawn({ said: [said(1)] }, [turn(1, 1, { said: 'Three groups\nstand out' })]);
  assert.equal(all('.dvergr-stream p')[0]?.textContent, 'Three groups\nstand out');
  assert.equal(all('.dvergr-stream')[0]?.getAttribute('aria-live'), 'off');
  say(news({ said: [said(2, 1)] }, [turn(1, 1, { status: 'completed', said: 'Three groups\nstand out' })], 2));
  assert.equal(all('.dvergr-stream')[0]?.hidden, true);
});

test('a queued turn that was withdrawn leaves', () => {
  const { all, say } = drawn({ said: [said(1)] }, [turn(1, 1, { status: 'queued' })]);
  say(news({}, [], 2, [turn(1, 1).id]));
  assert.equal(all('.dvergr-turn').length, 0);
});

test('of many turns of one message those that matter have a line and the others are counted', () => {
  const rows = Array.from({ length: 200 }, (_, number) => turn(number, 1, { status: number < 2 ? 'running' : number < 10 ? 'queued' : 'completed' }));
  const { all } = drawn({ said: [said(1)] }, rows);
  assert.deepEqual(all('.dvergr-turn .dvergr-word').slice(0, 3).map((node) => node.textContent), ['running', 'running', 'queued']);
  assert.equal(all('.dvergr-rest')[0]?.textContent, '194 more: 4 queued, 190 completed');
});

test('a message is sent by Ctrl and Enter, and its text is kept until it was taken', () => {
  const { type, box, sent, answer, to } = drawn({ present: PRESENT });
  type('How many?');
  to.value = 'critic';
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }));
  const [message] = sent('post');
  assert.deepEqual({ ...message, id: '' }, { type: 'post', id: '', text: 'How many?', to: 'critic', reply_to: null });
  assert.equal(box.value, 'How many?');
  answer('posted');
  assert.equal(box.value, '');
});

test('what is typed while a message is on its way is kept', () => {
  const { type, button, box, answer } = drawn({ present: PRESENT });
  type('one');
  button('Send').click();
  type('one\ntwo');
  answer('posted');
  assert.equal(box.value, 'two');
});

test('an error is said beside the box and keeps the text', () => {
  const { type, button, box, answer, note } = drawn({ present: PRESENT });
  type('hello');
  button('Send').click();
  answer('failed', 'no actor "x" takes part');
  assert.equal(note(), 'no actor "x" takes part');
  assert.equal(box.value, 'hello');
});

test('the same message sent again because nothing was heard is the same act', () => {
  const { type, button, sent, time, note } = drawn({ present: PRESENT });
  type('hello');
  button('Send').click();
  time.pass(2000);
  assert.equal(note(), 'Sent; the kernel has not taken it yet.');
  button('Send').click();
  const ids = sent('post').map((message) => message.id);
  assert.equal(ids.length, 2);
  assert.equal(new Set(ids).size, 1);
});

test('Reply answers the last of others in that thread, and Escape goes back to a new thread', () => {
  const { type, button, box, sent, answer, all } = drawn({ said: [said(1), said(2, 1), said(3, 1, { who: 'user', person: true })], present: PRESENT });
  button('Reply').click();
  assert.equal(document.activeElement, box);
  assert.equal(all('.dvergr-reply-to .dvergr-cut')[0]?.textContent, 'Reply in thread: message 1');
  type('and then?');
  button('Send').click();
  assert.equal(sent('post')[0].reply_to, idOf(2));
  answer('posted');
  press(box, 'Escape');
  assert.equal(all('.dvergr-reply-to')[0]?.hidden, true);
  type('new');
  button('Send').click();
  assert.equal(sent('post')[1].reply_to, null);
});

test('a message to somebody else leaves the thread that was replied in, one to who is answered does not', () => {
  const { to, button, all, type, sent, box } = drawn({ said: [said(1), said(2, 1)], present: PRESENT });
  /** @param {string} actor */
  const choose = (actor) => {
    to.value = actor;
    to.dispatchEvent(new Event('change'));
  };
  button('Reply').click();
  for (const actor of ['researcher', '*', '']) choose(actor);
  assert.equal(all('.dvergr-reply-to')[0]?.hidden, false);
  to.focus();
  choose('critic');
  assert.equal(all('.dvergr-reply-to')[0]?.hidden, true);
  assert.equal(document.activeElement, to);
  type('you, then');
  box.focus();
  button('Send').click();
  assert.deepEqual([sent('post')[0].to, sent('post')[0].reply_to], ['critic', null]);
});

test('a message that nobody will answer says by whom, and may be answered by who takes part', () => {
  const unanswered = [{ message: idOf(1), actor: 'researcher', here: true }, { message: idOf(1), actor: 'gone' }];
  const { all, sent, say } = drawn({ said: [said(1)], present: PRESENT, unanswered });
  assert.deepEqual(all('.dvergr-unanswered .dvergr-soft').map((node) => node.textContent), ['unanswered by researcher', 'unanswered by gone']);
  const buttons = /** @type {HTMLButtonElement[]} */ (all('.dvergr-unanswered button'));
  assert.deepEqual(buttons.map((node) => [node.textContent, node.disabled]), [['Answer', false], ['Answer', true]]);
  buttons[0]?.click();
  assert.deepEqual({ ...sent('answer')[0], id: '' }, { type: 'answer', id: '', message_id: idOf(1), actor: 'researcher' });
  assert.equal(buttons[0]?.disabled, true);
  say({ type: 'ack', id: sent('answer')[0].id, at: AT, outcome: 'requested' });
  say(news({ unanswered: [] }, [turn(1, 1)], 2));
  assert.equal(all('.dvergr-unanswered')[0]?.hidden, true);
});

test('what could not be answered says why, and may be asked for again', () => {
  const unanswered = [{ message: idOf(1), actor: 'researcher', here: true }];
  const { all, sent, say, button, time } = drawn({ said: [said(1)], present: PRESENT, unanswered });
  button('Answer').click();
  time.pass(2000);
  button('Answer').click();
  assert.equal(new Set(sent('answer').map((message) => message.id)).size, 1);
  say({ type: 'ack', id: sent('answer')[0].id, at: AT, outcome: 'failed', error: 'room "research" is closed' });
  assert.equal(all('.dvergr-unanswered .dvergr-bad')[0]?.textContent, 'room "research" is closed');
  button('Answer').click();
  assert.equal(new Set(sent('answer').map((message) => message.id)).size, 2);
});

test('of many who have not answered some have a line and the others are counted', () => {
  const unanswered = Array.from({ length: 40 }, (_, number) => ({ message: idOf(1), actor: `actor ${number}` }));
  const { all } = drawn({ said: [said(1)], unanswered });
  assert.equal(all('.dvergr-unanswered button').length, 6);
  assert.equal(all('.dvergr-unanswered .dvergr-rest')[0]?.textContent, 'unanswered by 34 more');
});

test('an old thread with something unanswered is open', () => {
  const threads = Array.from({ length: 12 }, (_, number) => [said(number), said(number + 20, number)]).flat();
  const { texts } = drawn({ said: threads, unanswered: [{ message: idOf(20), actor: 'critic' }] });
  assert.ok(texts().includes('message 20') && !texts().includes('message 21'));
});

test('a turn that completed without a reply says how, one that replied does not', () => {
  const ends = [
    { reason: 'silent' },
    { reason: 'withheld' },
    { reason: 'own-message' },
    {},
  ];
  const rows = [...ends.map((end, number) => turn(number, 1, { status: 'completed', ...end })), turn(9, 1, { status: 'completed' })];
  const { all } = drawn({ said: [said(1), said(2, 1, { run: turn(9, 1).id })] }, rows);
  const notes = all('.dvergr-turn .dvergr-cut.dvergr-soft:not([title])').map((node) => (node.hidden ? '' : node.textContent));
  assert.deepEqual(notes, ['stayed silent', 'the reply was withheld', 'no reply, own message', 'ended without a reply', '']);
  assert.deepEqual(new Set(all('.dvergr-turn .dvergr-word').map((node) => node.textContent)), new Set(['completed']));
});

test('a turn that streams nothing has one line, and a short text one more', () => {
  const { all, say } = drawn({ said: [said(1)] }, [turn(1, 1)]);
  const stream = () => /** @type {HTMLElement} */ (all('.dvergr-stream')[0]);
  assert.equal(stream().hidden, true);
  say(news({}, [turn(1, 1, { said: 'Three' })], 2));
  assert.deepEqual([stream().hidden, stream().dataset['tall']], [false, undefined]);
  say(news({}, [turn(1, 1, { said: 'Three groups\nstand out' })], 3));
  assert.equal(stream().dataset['tall'], '');
  say(news({}, [turn(1, 1)], 4));
  assert.deepEqual([stream().hidden, stream().dataset['tall']], [false, '']);
});

test('a program that asked is called so, and a long name is whole in its title', () => {
  const long = 'a name that nobody can read in one short column';
  const { all } = drawn({ said: [said(1, 1, { who: '_ask-f5669189', person: false, to: long }), said(2, 1, { who: long, to: '_ask-f5669189' })] });
  const names = all('.dvergr-from').map((node) => [[...node.children].map((each) => each.textContent), node.title]);
  assert.deepEqual(names, [
    [['a program', `to ${long}`], `a program to ${long}`],
    [[long, 'to a program'], `${long} to a program`],
  ]);
});

test('whom it goes to may be chosen, and the choice stays while others come and go', () => {
  const { to, say } = drawn({ present: PRESENT });
  assert.deepEqual([...to.options].map((option) => option.value), ['', '*', 'researcher', 'critic']);
  assert.equal(to.options[0]?.textContent, 'everyone (nobody named)');
  to.value = 'critic';
  say(news({ present: [...PRESENT, { actor: 'writer', program: 'echo' }] }, [], 2));
  assert.equal(to.value, 'critic');
  say(news({ present: [PRESENT[0] ?? { actor: '', program: '' }] }, [], 3));
  assert.equal(to.value, '');
  assert.equal(to.options[0]?.textContent, 'researcher (the only one here)');
});

test('there is one tab stop, and arrows move over messages of all threads', () => {
  const { messages, texts } = drawn({ said: [said(1), said(2, 1), said(3)] });
  assert.deepEqual(messages().map((node) => node.tabIndex), [-1, -1, 0]);
  messages()[2]?.focus();
  press(/** @type {Element} */ (document.activeElement), 'ArrowUp');
  assert.equal(document.activeElement, messages()[1]);
  press(/** @type {Element} */ (document.activeElement), 'Home');
  assert.equal(document.activeElement, messages()[0]);
  assert.deepEqual(messages().map((node) => node.tabIndex), [0, -1, -1]);
  assert.equal(texts().length, 3);
});

test('Enter folds a thread and opens it again; a folded one has its head alone', () => {
  const { messages, texts } = drawn({ said: [said(1), said(2, 1), said(3, 1)] }, [turn(1, 1, { status: 'failed', reason: 'error' })]);
  const head = messages()[0];
  head?.focus();
  press(/** @type {Element} */ (head), 'Enter');
  assert.deepEqual(texts(), ['message 1']);
  assert.equal(head?.getAttribute('aria-expanded'), 'false');
  assert.equal(head?.dataset['state'], 'failed');
  assert.equal(document.activeElement, head);
  press(/** @type {Element} */ (head), 'Enter');
  assert.deepEqual(texts(), ['message 1', 'message 2', 'message 3']);
});

test('a folded thread whose head is not the first to be read keeps the keyboard', () => {
  const { messages, texts } = drawn({ said: [said(1), said(2, 1)] });
  messages()[1]?.focus();
  press(/** @type {Element} */ (document.activeElement), 'ArrowLeft');
  assert.equal(document.activeElement, messages()[0]);
  press(/** @type {Element} */ (document.activeElement), 'ArrowLeft');
  assert.deepEqual(texts(), ['message 1']);
  assert.equal(document.activeElement, messages()[0]);
});

test('the right arrow walks over the buttons of a message, the left one leads back', () => {
  const { messages } = drawn({ said: [said(1)] }, [turn(1, 1)]);
  const row = messages()[0];
  row?.focus();
  press(/** @type {Element} */ (row), 'ArrowRight');
  assert.equal(document.activeElement?.textContent, 'Reply');
  press(/** @type {Element} */ (document.activeElement), 'ArrowRight');
  assert.equal(document.activeElement?.textContent, 'Cancel');
  press(/** @type {Element} */ (document.activeElement), 'ArrowLeft');
  assert.equal(document.activeElement, row);
});

test('while a message has focus threads do not change places', () => {
  const { messages, texts, say } = drawn({ said: [said(1), said(2), said(3)] });
  messages()[1]?.focus();
  say(news({ said: [said(4, 1), said(5)] }, [], 2));
  assert.deepEqual(texts(), ['message 1', 'message 4', 'message 2', 'message 3', 'message 5']);
  assert.equal(document.activeElement, messages()[2]);
  /** @type {HTMLElement} */ (document.activeElement).blur();
  say(news({ said: [said(6, 3)] }, [], 3));
  assert.deepEqual(texts(), ['message 2', 'message 1', 'message 4', 'message 5', 'message 3', 'message 6']);
});

test('a list that is scrolled up does not move, and says how much came below', () => {
  const { view, say, button, texts } = drawn({ said: [said(1), said(2)] });
  const list = /** @type {HTMLElement} */ (view.el.querySelector('.dvergr-talk'));
  Object.defineProperty(list, 'scrollHeight', { value: 1000 });
  Object.defineProperty(list, 'clientHeight', { value: 500 });
  list.scrollTop = 100;
  list.dispatchEvent(new Event('scroll'));
  say(news({ said: [said(3, 1), said(4)] }, [], 2));
  assert.deepEqual(texts(), ['message 1', 'message 3', 'message 2', 'message 4']);
  assert.equal(list.scrollTop, 100);
  button('2 new below').click();
  assert.equal(list.scrollTop, 1000);
});

test('of 2,000 messages in 200 threads only those of the newest threads exist', () => {
  const many = Array.from({ length: 2000 }, (_, index) => said(index, index % 200));
  const { messages, say, view } = drawn({ said: many, keep: 2000 });
  assert.equal(messages().length, 192 + 8 * 10);
  const page = /** @type {Window & typeof globalThis} */ (view.el.ownerDocument.defaultView);
  const watch = new page.MutationObserver(() => undefined);
  watch.observe(view.el, { subtree: true, childList: true, attributes: true, characterData: true });
  say(news({ said: [said(2001, 7)] }, [], 2));
  const touched = watch.takeRecords().length;
  watch.disconnect();
  assert.ok(touched < 100, `one message touched ${touched} nodes`);
});

test('what is too much is let go, the oldest first, and can be asked for again', () => {
  const { texts, say, button, sent, view } = drawn({ said: [said(1), said(2)], keep: 2 });
  say(news({ said: [said(3)] }, [], 2));
  assert.deepEqual(texts(), ['message 2', 'message 3']);
  assert.match(view.el.querySelector('.dvergr-foot')?.textContent ?? '', /^the last 2 messages in 2 threads/);
  button('Show older messages').click();
  assert.equal(sent('older').length, 1);
  say(news({ said: [said(1)], keep: 4, older: false }, [], 3));
  assert.deepEqual(texts(), ['message 1', 'message 2', 'message 3']);
});

test('a long message is opened by asking for all of it', () => {
  const { all, sent, say, texts, messages } = drawn({ said: [said(1), said(2, 1, { length: 5000 })] });
  const row = messages()[1];
  row?.focus();
  press(/** @type {Element} */ (row), 'Enter');
  const [asked] = sent('whole');
  assert.equal(asked.message_id, idOf(2));
  say({ type: 'whole', id: asked.id, message_id: idOf(2), at: AT, text: 'all of it' });
  assert.equal(texts()[1], 'all of it');
  const more = all('.dvergr-body > button')[0];
  assert.equal(more?.getAttribute('aria-expanded'), 'true');
  more?.click();
  assert.equal(texts()[1], 'message 2');
});

test('a room whose kernel is gone says so, keeps what it shows, and sends nothing', () => {
  const present = [{ actor: 'researcher', program: 'scripted', working: turn(1, 1).id }];
  const { model, link, time, all, note, type, button, texts } = drawn({ said: [said(1)], present }, [turn(1, 1)]);
  type('hello');
  model.isDead = true;
  link.resync();
  time.pass(20);
  assert.deepEqual(texts(), ['message 1']);
  assert.equal(all('.dvergr-turn')[0]?.dataset['state'], 'gone');
  assert.equal(all('.dvergr-present > li')[0]?.dataset['state'], 'gone');
  assert.equal(button('Send').disabled, true);
  assert.equal(note(), 'The kernel is gone; nothing can be sent.');
});

test('a message sent to a busy kernel says what happens next', () => {
  const { time, type, button, note } = drawn({ said: [said(1)], present: PRESENT }, [turn(1, 1)]);
  time.pass(6000);
  type('hello');
  button('Send').click();
  assert.equal(note(), 'Sent; the kernel takes it when its cell ends.');
});

test('text of whoever speaks is text, never markup', () => {
  const evil = '<img src=x onerror="boom()">';
  const room = { title: evil, said: [said(1, 1, { text: evil, who: evil, to: evil })], present: [{ actor: evil, program: evil }] };
  const { view, texts } = drawn(room, [turn(1, 1, { actor: evil, error: evil, status: 'failed', reason: evil })]);
  assert.deepEqual(texts(), [evil]);
  assert.equal(view.el.querySelector('img'), null);
});

test('only words of states and the answer to a message are read aloud by themselves', () => {
  const { all } = drawn({ said: [said(1)], present: PRESENT }, [turn(1, 1, { said: 'text' })]);
  const live = all('[aria-live=polite]').map((node) => node.className);
  assert.deepEqual(live, ['dvergr-word', 'dvergr-word', 'dvergr-word', 'dvergr-ack']);
});

test('a turn says which tool is at work and what it has cost', () => {
  const { all } = drawn({ said: [said(1)] }, [turn(1, 1, { doing: 'sql', cost: 800_000, budget: 1_000_000, balance: 200_000 })]);
  assert.deepEqual(all('.dvergr-doing').map((node) => node.textContent), ['uses sql']);
  assert.deepEqual(all('.dvergr-low').map((node) => node.textContent), ['$0.80 of $1.00, 80% spent']);
});

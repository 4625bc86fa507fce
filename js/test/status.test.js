import assert from 'node:assert/strict';
import { test } from 'node:test';
import { group, listWord, state, word } from '../src/shared/status.js';
import { run } from './fakes.js';

test('every status has a word, and its reason follows it', () => {
  /** @type {[string, string | undefined, string, string, string][]} status, reason, state, word of a card, of a list */
  const cases = [
    ['queued', undefined, 'queued', 'queued', 'queued'],
    ['running', undefined, 'running', 'running', 'running'],
    ['cancelling', undefined, 'cancelling', 'cancelling', 'cancelling'],
    ['waiting', 'approval', 'waiting', 'waiting for approval', 'waiting, approval'],
    ['waiting', 'budget-exhausted', 'stopped', 'stopped, budget exhausted', 'stopped, budget'],
    ['completed', undefined, 'completed', 'completed', 'completed'],
    ['completed', 'silent', 'completed', 'completed, silent', 'completed, silent'],
    ['failed', 'error', 'failed', 'failed', 'failed, error'],
    ['failed', 'orphaned', 'failed', 'failed, orphaned', 'failed, orphaned'],
    ['cancelled', 'cancel-requested', 'cancelled', 'cancelled', 'cancelled'],
    ['cancelled', 'participant-left', 'cancelled', 'cancelled, participant left', 'cancelled, left'],
  ];
  for (const [status, reason, shape, onCard, inList] of cases) {
    const row = run(1, { status, ...(reason && { reason }) });
    assert.deepEqual([state(row, 'live'), word(row, 'live'), listWord(row, 'live')], [shape, onCard, inList]);
  }
});

test('cancelling counts as running', () => {
  assert.equal(group(run(1, { status: 'cancelling' })), 'running');
});

test('what is not known of the kernel is said of what lives, never of what has ended', () => {
  assert.equal(word(run(1), 'busy'), 'kernel busy');
  assert.equal(word(run(1), 'gone'), 'kernel gone');
  assert.equal(word(run(1, { status: 'completed' }), 'gone'), 'completed');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration, left, mark, marks, offset, percent, running, some } from '../src/shared/time.js';

test('durations are worded as the look says', () => {
  const shown = [0.64, 0.9999, 41.3, 59.94, 59.97, 134, 3720, 93_600].map(duration);
  assert.deepEqual(shown, ['640ms', '1.0s', '41.3s', '59.9s', '1m 00s', '2m 14s', '1h 02m', '1d 02h']);
});

test('what runs counts whole seconds', () => {
  assert.deepEqual([0.4, 9.9, 68.2, 3599.9].map(running), ['0s', '9s', '1m 08s', '59m 59s']);
});

test('what is left is always about', () => {
  assert.deepEqual([0.2, 7.4, 42, 130, 4300].map(left), ['about 1s left', 'about 7s left', 'about 40s left', 'about 2m left', 'about 1h 10m left']);
});

test('offsets count from the beginning with tenths', () => {
  assert.deepEqual([0, 12.5, 59.96, 85, 3725].map(offset), ['0:00.0', '0:12.5', '1:00.0', '1:25.0', '1:02:05.0']);
});

test('a percentage is whole only when all is done', () => {
  assert.deepEqual([0.57, 412 / 1200, 0.9999, 1].map(percent), ['57%', '34%', '99%', '100%']);
});

test('an axis has round marks, at most seven, and none near its end', () => {
  assert.deepEqual(marks(134).map(mark), ['0s', '30s', '1m', '1m 30s', '2m']);
  for (const span of [0.05, 0.3, 1, 7, 61, 599, 4000, 90_000, 9e6]) {
    const places = marks(span);
    assert.ok(places.length >= 1 && places.length <= 7, `${span}: ${places}`);
    assert.ok((places.at(-1) ?? 0) <= span * 0.92);
  }
});

test('one is singular', () => {
  assert.deepEqual([some(1, 'message'), some(1205, 'message')], ['1 message', '1,205 messages']);
});

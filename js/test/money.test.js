import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './fakes.js';
import { dollars, inColumn, spent } from '../src/shared/money.js';
import { size } from '../src/shared/time.js';

/** @param {Partial<import('../src/shared/wire.d.ts').RunRow>} fields */
const words = (fields) => {
  const { amount, rest } = spent(run(1, fields));
  return amount + rest;
};

test('an amount has cents, and four digits below a dollar where cents would lose some', () => {
  assert.deepEqual([12_345, 20_000, 1_000_000, 3_184_000, 1_234_500_000, 0, 1].map(dollars), ['$0.0123', '$0.02', '$1.00', '$3.18', '$1,234.50', '$0.00', '$0.000001']);
});

test('in a column an amount has three digits, and what is less is said to be', () => {
  const paid = [{ cost: 42_000 }, { cost: 1_000_000 }, { cost: 300 }, { cost: 0 }, {}, { unpriced: 2 }, { cost: 42_000, unpriced: 1 }];
  assert.deepEqual(paid.map(inColumn), ['$0.042', '$1.000', '<$0.001', '', '', 'unknown', '$0.042+']);
});

test('a Run that never called a model has no money to show', () => {
  assert.equal(words({}), '');
  assert.equal(words({ budget: 1_000_000, balance: 1_000_000 }), '');
});

test('what was spent is said with its budget, and unknown prices in words', () => {
  assert.equal(words({ cost: 12_300 }), '$0.0123');
  assert.equal(words({ cost: 20_000, budget: 1_000_000, balance: 980_000 }), '$0.02 of $1.00');
  assert.equal(words({ cost: 20_000, unpriced: 2 }), '$0.02 + 2 calls of unknown price');
  assert.equal(words({ unpriced: 1, budget: 1_000_000 }), 'price unknown');
});

test('where little is left of a budget that is said, not only coloured', () => {
  const at = (/** @type {number} */ left) => spent(run(1, { cost: 1_000_000 - left, budget: 1_000_000, balance: left }));
  assert.equal(at(260_000).isLow, false);
  assert.deepEqual([at(250_000).isLow, at(250_000).rest], [true, ' of $1.00, 75% spent']);
  assert.equal(at(0).rest, ' of $1.00, all spent');
});

test('what came back to the room at the end counts as not spent', () => {
  const ended = spent(run(1, { status: 'completed', cost: 20_000, budget: 1_000_000 }));
  assert.deepEqual([ended.share, ended.rest], [0.02, ' of $1.00']);
});

test('the size of what a tool gave is said in bytes, kB and MB', () => {
  assert.deepEqual([1, 900, 12_345, 999_499, 999_500, 1_440_000].map(size), ['1 byte', '900 bytes', '12 kB', '999 kB', '1 MB', '1.4 MB']);
});

// Arguments and result of one use of a tool: asked for when a person opens them, shown as text and plain pictures only.

import { attribute, make } from './dom.js';
import { count, size } from './time.js';

/** @typedef {import('./wire.d.ts').UseTold} UseTold */
/** @typedef {import('./wire.d.ts').BlobWire} BlobWire */
/** @typedef {(answer: import('./link.js').Answer) => void} Answered */
/** @typedef {(useId: string, answered: Answered) => string} Ask */

/** What may be shown as a picture; Python allows the same. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/;

/** Those that a person has opened, by the keys of their entries. */
export class Uses {
  #ask;
  /** @type {Map<string, HTMLElement>} */
  #open = new Map();

  /** @param {Ask} ask which may say at once why there will be no answer */
  constructor(ask) {
    this.#ask = ask;
  }

  /**
   * What stands below the entry, where it is open.
   * @param {string} key
   */
  below(key) {
    return this.#open.get(key) ?? null;
  }

  /**
   * @param {string} key
   * @param {string} name of the tool
   */
  open(key, name) {
    const label = `Arguments and result of ${name}`;
    const el = make('div', { class: 'dvergr-use', role: 'group', 'aria-label': label }, soft('Reading arguments and result.'));
    this.#open.set(key, el);
    const excuse = this.#ask(key, (answer) => {
      if (answer.type === 'use') el.replaceChildren(...parts(answer, name));
      else el.replaceChildren(soft(`Not there: ${(answer.type === 'ack' && answer.error) || 'this view does not show that Run any more'}.`));
    });
    if (excuse) el.replaceChildren(soft(excuse));
    return el;
  }

  /** @param {string} key */
  close(key) {
    this.#open.get(key)?.remove();
    this.#open.delete(key);
  }
}

/** @param {string} text */
const soft = (text) => make('p', { class: 'dvergr-soft' }, text);

/**
 * @param {UseTold} told
 * @param {string} name
 */
function parts(told, name) {
  const texts = /** @type {const} */ (['arguments', 'result']).flatMap((each) => part(each, told, name));
  return [...texts, ...(told.blobs ?? []).map((blob, index) => shownBlob(blob, `${name}, ${index + 1}`))];
}

/**
 * @param {'arguments' | 'result'} what
 * @param {UseTold} told
 * @param {string} name
 */
function part(what, told, name) {
  const text = told[what];
  const head = what === 'arguments' ? 'Arguments' : 'Result';
  if (!text) return [soft(`${head}: none`)];
  const note = told.cut?.includes(what) ? `, the first ${count(text.length)} characters` : '';
  return [soft(head + note), make('pre', { class: 'dvergr-given', tabindex: 0, role: 'group', 'aria-label': `${head} of ${name}` }, text)];
}

/**
 * @param {BlobWire} blob
 * @param {string} name
 */
function shownBlob({ media_type: type, size: bytes, picture }, name) {
  const figure = make('figure', { class: 'dvergr-blob' }, make('figcaption', { class: 'dvergr-soft' }, `${type}, ${size(bytes)}`));
  if (picture && PICTURE.test(picture)) {
    const node = make('img', { alt: `Picture that ${name} gave`, decoding: 'async' });
    node.addEventListener('error', () => node.replaceWith(soft('This picture cannot be drawn.')), { once: true });
    attribute(node, 'src', picture);
    figure.append(node);
  }
  return figure;
}

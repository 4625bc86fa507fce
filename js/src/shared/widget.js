// What all widgets do with their host: keep keys, leave on Escape, and say in the output what went wrong.

import { complain, keepKeys, leave } from './dom.js';
import { Link } from './link.js';

/** @typedef {import('./model.d.ts').Model} Model */
/** @typedef {import('./model.d.ts').Rendering} Rendering */
/** @typedef {{ el: HTMLElement, take: (change: import('./link.js').Change) => void }} View */

/**
 * A definition that the host asks once per model, so that all views of a model share one line to Python.
 * @param {(link: Link, model: Model, signal: AbortSignal) => View} draw
 * @param {(model: Model) => Link} [open]
 */
export function widget(draw, open = (model) => new Link(model)) {
  return () => {
    /** @type {Link | null} */
    let link = null;
    /** @param {Model} model */
    const linked = (model) => (link ??= open(model));
    return {
      /** @param {{ model: Model }} host */
      initialize({ model }) {
        try {
          linked(model);
        } catch (problem) {
          console.error(problem);
        }
      },
      /** @param {Rendering} rendering */
      render({ model, el }) {
        const ending = new AbortController();
        try {
          show(linked(model), model, el, draw, ending.signal);
        } catch (problem) {
          complain(el, problem);
        }
        return () => ending.abort();
      },
    };
  };
}

/**
 * @param {Link} link
 * @param {Model} model
 * @param {HTMLElement} el
 * @param {(link: Link, model: Model, signal: AbortSignal) => View} draw
 * @param {AbortSignal} signal
 */
function show(link, model, el, draw, signal) {
  const view = draw(link, model, signal);
  keepKeys(view.el, signal);
  view.el.addEventListener('keydown', (event) => event.key === 'Escape' && leave(view.el), { signal });
  el.replaceChildren(view.el);
  link.watch((change) => {
    try {
      view.take(change);
    } catch (problem) {
      complain(el, problem);
    }
  }, signal);
}

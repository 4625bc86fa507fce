// Elements. Text is only ever set as text: what a body says is never markup.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element with attributes and children. `class` and `data-…` are attributes like any other; null leaves one out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) attribute(node, name, value);
  for (const child of children) if (child) node.append(child);
  return node;
}

/**
 * Sets or removes an attribute, only where it differs: an attribute that is written anew restarts animations and wakes readers.
 * @param {Element} node
 * @param {string} name
 * @param {string | number | boolean | null | undefined} value
 */
export function attribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/**
 * Sets the text of a node, only where it differs.
 * @param {Node} node
 * @param {string} text
 */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Sets a custom property, only where it differs.
 * @param {HTMLElement} node
 * @param {string} name
 * @param {number} value
 */
export function measure(node, name, value) {
  const text = String(Math.round(value * 1000) / 1000);
  if (node.style.getPropertyValue(name) !== text) node.style.setProperty(name, text);
}

/**
 * A button with its act; it ends with the signal.
 * @param {string} label
 * @param {string} classes
 * @param {(event: MouseEvent) => void} act
 * @param {AbortSignal} signal
 */
export function button(label, classes, act, signal) {
  const node = make('button', { type: 'button', class: `dvergr-button ${classes}`.trim() }, label);
  node.addEventListener('click', act, { signal });
  return node;
}

/** The shape of a state; the word beside it says the same. */
export const shape = () => make('i', { class: 'dvergr-shape', 'aria-hidden': 'true' });

/**
 * Makes an element ours: keys pressed inside never reach the notebook.
 * @param {HTMLElement} root
 * @param {AbortSignal} signal
 */
export function keepKeys(root, signal) {
  for (const type of /** @type {const} */ (['keydown', 'keyup', 'keypress'])) {
    root.addEventListener(type, (event) => event.stopPropagation(), { signal });
  }
}

/**
 * Gives the keyboard back to what holds the output.
 * @param {HTMLElement} root
 */
export function leave(root) {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  /** @type {HTMLElement | null} */
  const around = root.parentElement?.closest('[tabindex]') ?? null;
  around?.focus({ preventScroll: true });
}

/**
 * Says in the output what went wrong; an empty output would say nothing.
 * @param {HTMLElement} el
 * @param {unknown} problem
 */
export function complain(el, problem) {
  const text = problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem);
  console.error(problem);
  el.replaceChildren(
    make(
      'section',
      { class: 'dvergr dvergr-broken', role: 'alert' },
      make('p', {}, 'This view could not be drawn. The Run itself is not touched by that.'),
      make('p', { class: 'dvergr-error' }, text),
    ),
  );
}

"""What is computed in the page about a widget: whether its text can be read and its controls be used by everybody."""

from __future__ import annotations

from typing import Final

CONTRAST: Final = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const ground = node => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      layers.unshift(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const node of document.querySelectorAll('.dvergr *')) {
    const text = [...node.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join(' ').trim();
    const style = getComputedStyle(node);
    if (!text || !node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const below = ground(node);
    const [one, other] = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => b - a);
    found.push({ text: text.slice(0, 40), classes: node.className, ratio: (one + 0.05) / (other + 0.05) });
  }
  return found;
}"""
"""Every text of the widgets that can be seen, with the contrast of its colour to the ground it stands on."""

FAULTS: Final = """() => {
  const faults = [];
  const say = (node, what) => faults.push(`${what}: ${node.outerHTML.slice(0, 120)}`);
  const roles = new Set(['alert', 'button', 'columnheader', 'grid', 'gridcell', 'group', 'img', 'progressbar', 'row',
    'rowgroup', 'searchbox', 'treegrid']);
  const grids = ['grid', 'treegrid'];
  const within = { row: [...grids, 'rowgroup'], gridcell: ['row'], columnheader: ['row'], rowgroup: grids };
  const name = node => (node.getAttribute('aria-label') || node.textContent || '').trim();
  const parent = node => node.parentElement?.closest('[role]')?.getAttribute('role');
  for (const node of document.querySelectorAll('.dvergr, .dvergr *')) {
    const role = node.getAttribute('role');
    if (role && !roles.has(role)) say(node, 'no known role');
    if (within[role] && !within[role].includes(parent(node))) say(node, `a ${role} outside its parent`);
    const isPlain = node.checkVisibility({ visibilityProperty: true });
    if (isPlain && node.matches('button') && !name(node)) say(node, 'a button without a name');
    if (node.matches('input, select, textarea') && !node.getAttribute('aria-label')) say(node, 'a field without a name');
    const needsName = node.matches('[role=img], [role=grid], [role=treegrid], [role=progressbar], [role=group]');
    if (needsName && isPlain && !node.getAttribute('aria-label')) say(node, 'no name');
    if (role === 'progressbar' && isPlain && !node.hasAttribute('aria-valuenow')) say(node, 'a progress bar without a value');
    const mayFocus = node.matches('button, input, select, textarea, a[href], [tabindex]');
    const takesTab = mayFocus && node.tabIndex >= 0 && !node.disabled;
    if (takesTab && isPlain && node.closest('[aria-hidden=true]')) say(node, 'focus inside what is hidden from readers');
    if (takesTab && isPlain && node.matches('button')) {
      const box = node.getBoundingClientRect();
      if (box.height < 19.5 || box.width < 19.5) say(node, `a target of ${box.width} by ${box.height}`);
    }
    for (const word of (node.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean))
      if (!document.getElementById(word)) say(node, `labelled by ${word}, which is not there`);
    const twins = node.id ? document.querySelectorAll(`[id="${CSS.escape(node.id)}"]`).length : 1;
    if (twins > 1) say(node, 'an id that is there twice');
    const isTree = node.closest('[role=treegrid]') !== null;
    if (role === 'row' && !isTree && node.hasAttribute('aria-expanded')) say(node, 'rows of a grid do not expand');
    if (role === 'row' && isTree && !node.hasAttribute('aria-level')) say(node, 'a row of a tree without its level');
    const expanded = node.getAttribute('aria-expanded');
    if (expanded !== null && !['true', 'false'].includes(expanded)) say(node, 'aria-expanded is neither');
  }
  for (const node of document.querySelectorAll('.dvergr-word')) {
    if (node.checkVisibility() && !node.textContent.trim()) say(node, 'a state without its word');
  }
  return faults;
}"""
"""What a reader or a keyboard would stumble over, one line each; empty where there is nothing."""

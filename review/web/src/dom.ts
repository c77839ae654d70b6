// Elements without markup: every text goes in as text, so nothing from a transcript is ever run.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((e: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as unknown as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Says something to people who do not see the page. */
export function say(text: string): void {
  const said = document.getElementById('said');
  if (said) said.textContent = text;
}

/** What a server said, as a sentence of its own. */
export const sentence = (text: string): string => (/^[\w-]+\.\w/.test(text) ? text : text.replace(/^./u, (c) => c.toUpperCase())) + (/[.!?…]$/.test(text) ? '' : '.');

/** A dialog that is gone once closed; resolves with what its button returned. */
export function ask<T>(title: string, body: Node[], buttons: { label: string; primary?: boolean; value: () => T | undefined }[], wide = false): Promise<T | undefined> {
  return new Promise((resolve) => {
    let result: T | undefined;
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title', class: wide ? 'wide' : '' }, h('h2', { id: 'dialog-title' }, title), ...body);
    const bar = h('div', { class: 'dialog-bar' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'));
    for (const b of buttons) {
      const press = (): void => { result = b.value(); if (result !== undefined) dialog.close(); };
      bar.append(h('button', { type: 'button', class: b.primary ? 'primary' : '', onclick: press }, b.label));
    }
    dialog.append(bar);
    dialog.addEventListener('close', () => { dialog.remove(); resolve(result); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
/** `5 minutes ago`, with the exact time as its title. */
export function ago(utc: string): HTMLElement {
  const s = (Date.parse(utc) - Date.now()) / 1000;
  const [n, unit] = Math.abs(s) < 90 ? [s, 'second'] : Math.abs(s) < 5400 ? [s / 60, 'minute'] : Math.abs(s) < 129_600 ? [s / 3600, 'hour'] : [s / 86_400, 'day'];
  return h('time', { datetime: utc, title: new Date(utc).toLocaleString() }, relative.format(Math.round(n as number), unit as 'second'));
}

/** `1:02.5` */
export function clock(ns: number): string {
  const s = Math.max(0, ns / 1e9);
  return `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')}`;
}

const LABELS: Record<string, string> = {
  transcribed: 'to correct', 'in-correction': 'in correction', 'in-review': 'in review', returned: 'returned', accepted: 'accepted',
  'draw-temp': 'fading strokes', 'draw-static': 'lasting strokes', interactive: 'talking', text: 'typed',
};
export const label = (name: string): string => LABELS[name] ?? name;

// Everything by keyboard; what is pressed can be changed.
import { h } from './dom';

export const ACTIONS = {
  play: ['Play or pause', ['Alt+KeyK', 'Space']],
  back: ['Back 2 s', ['Alt+KeyJ', 'KeyJ']],
  forward: ['Forward 2 s', ['Alt+KeyL', 'KeyL']],
  slower: ['Slower', ['Alt+Minus', 'Minus']],
  faster: ['Faster', ['Alt+Equal', 'Equal']],
  previousWord: ['Previous word', ['Alt+Comma', 'ArrowLeft']],
  nextWord: ['Next word', ['Alt+Period', 'ArrowRight']],
  doubtful: ['Next doubtful word', ['Alt+KeyN', 'KeyN']],
  loopWord: ['Loop the word', ['Alt+KeyW', 'KeyW']],
  loopSegment: ['Loop the segment', ['Alt+KeyS', 'KeyS']],
  startEarlier: ['Word starts 10 ms earlier', ['Alt+BracketLeft', 'BracketLeft']],
  startLater: ['Word starts 10 ms later', ['Alt+BracketRight', 'BracketRight']],
  endEarlier: ['Word ends 10 ms earlier', ['Alt+Shift+BracketLeft', 'Shift+BracketLeft']],
  endLater: ['Word ends 10 ms later', ['Alt+Shift+BracketRight', 'Shift+BracketRight']],
  edit: ['Go into the text', ['KeyE']],
  leave: ['Leave the text', ['Escape']],
  undo: ['Undo', ['Ctrl+KeyZ']],
  redo: ['Redo', ['Ctrl+Shift+KeyZ', 'Ctrl+KeyY']],
  accept: ['Accept, or hand in, without change', ['Alt+KeyA', 'KeyA']],
  handIn: ['Hand in the correction', ['Ctrl+Enter']],
  sendBack: ['Return with a comment', ['Alt+KeyR', 'KeyR']],
  next: ['Next request in the queue', ['Alt+KeyG', 'KeyG']],
  queue: ['Back to the queue', ['Alt+KeyQ', 'KeyQ']],
  nextView: ['Next view of the models', ['KeyV']],
  previousView: ['View before', ['Shift+KeyV']],
  save: ['Save the scores and go on', ['Ctrl+Enter']],
  help: ['Show the shortcuts', ['Alt+Slash', 'Shift+Slash']],
} as const satisfies Record<string, readonly [string, readonly string[]]>;

export type Action = keyof typeof ACTIONS;
export type Place = 'review' | 'rating';

const ONLY_RATING: readonly Action[] = ['nextView', 'previousView', 'save'];
const IN: Record<Place, readonly Action[]> = {
  review: (Object.keys(ACTIONS) as Action[]).filter((a) => !ONLY_RATING.includes(a)),
  rating: ['nextView', 'previousView', 'play', 'back', 'forward', 'save', 'help'],
};
/** What can be pressed but not changed. */
const FIXED: Record<Place, readonly (readonly [string, string])[]> = { review: [], rating: [['Score: first what was asked, then the model', '1 – 7']] };
const STORED = 'redline.keys';
let changed: Partial<Record<Action, string[]>> = read();

function read(): Partial<Record<Action, string[]>> {
  try { return JSON.parse(localStorage.getItem(STORED) ?? '{}') as Partial<Record<Action, string[]>>; } catch { return {}; }
}

export const keysOf = (a: Action): readonly string[] => changed[a] ?? ACTIONS[a][1];

/** Latin letters and “?” by what is printed on the key, whatever the layout; other keys by their place. */
function combination(e: KeyboardEvent): string {
  const ctrl = e.ctrlKey || e.metaKey;
  const help = e.key === '?';
  const key = /^[a-z]$/i.test(e.key) ? `Key${e.key.toUpperCase()}` : help ? 'Slash' : e.code === 'NumpadEnter' ? 'Enter' : e.code;
  return `${ctrl ? 'Ctrl+' : ''}${e.altKey ? 'Alt+' : ''}${e.shiftKey || help ? 'Shift+' : ''}${key}`;
}

const NAMES: Record<string, string> = {
  Space: 'Space', Minus: '−', Equal: '=', Comma: ',', Period: '.', BracketLeft: '[', BracketRight: ']', Slash: '/',
  ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', Escape: 'Esc', Enter: 'Enter',
};
export function readable(keys: string): string {
  if (keys === 'Shift+Slash') return '?';
  return keys.split('+').map((k) => NAMES[k] ?? k.replace(/^(Key|Digit)/, '')).join(' + ');
}
export const hint = (a: Action): string => keysOf(a).map(readable).join(' or ');
/** The shortest of an action's keys, where there is little room. */
export const brief = (a: Action): string => keysOf(a).map(readable).reduce((x, y) => (y.length < x.length ? y : x));

const typing = (e: Event): boolean => {
  const t = e.target;
  return t instanceof HTMLElement && (t.isContentEditable || /^(TEXTAREA|SELECT)$/.test(t.tagName) || (t instanceof HTMLInputElement && t.type !== 'radio'));
};

/** Calls the handler of what was pressed; plain keys only outside of text, and not on a pressed button. */
export function listen(handlers: Partial<Record<Action, () => void>>): () => void {
  const down = (e: KeyboardEvent): void => {
    if (e.isComposing || document.querySelector('dialog[open]')) return;
    const pressed = combination(e);
    const plain = !/Ctrl\+|Alt\+/.test(pressed) && pressed !== 'Escape';
    if (plain && typing(e)) return;
    if (/^Arrow/.test(pressed) && e.target instanceof HTMLInputElement) return;
    if (plain && /^(Space|Enter)$/.test(pressed) && e.target instanceof HTMLElement && /^(BUTTON|A|SUMMARY)$/.test(e.target.tagName)) return;
    for (const a of Object.keys(handlers) as Action[]) {
      if (keysOf(a).includes(pressed)) { e.preventDefault(); handlers[a]?.(); return; }
    }
  };
  document.addEventListener('keydown', down);
  return () => document.removeEventListener('keydown', down);
}

export function showHelp(place: Place): void {
  if (document.querySelector('dialog[open]')) return;
  const body = h('tbody');
  const note = h('p', { class: 'muted', role: 'status' }, 'Plain keys work outside of the text; with Alt or Ctrl they work everywhere.');
  const draw = (): void => {
    const fixed = FIXED[place].map(([what, keys]) => h('tr', {}, h('th', { scope: 'row' }, what), h('td', {}, h('kbd', {}, keys)), h('td')));
    body.replaceChildren(...fixed, ...IN[place].map((a) => {
      const change = h('button', { type: 'button', class: 'small', 'aria-label': `Change the keys of: ${ACTIONS[a][0]}` }, 'Change');
      change.addEventListener('click', () => {
        change.textContent = 'Press keys…';
        const take = (e: KeyboardEvent): void => {
          if (/^(Control|Alt|Shift|Meta)/.test(e.key)) return;
          e.preventDefault(); e.stopPropagation();
          document.removeEventListener('keydown', take, true);
          const keys = combination(e);
          // In another place a key may mean something else.
          const together = (Object.keys(IN) as Place[]).filter((p) => IN[p].includes(a)).flatMap((p) => IN[p]);
          const other = together.find((o) => o !== a && keysOf(o).includes(keys));
          if (IN.rating.includes(a) && /^(Digit|Numpad)[1-7]$/.test(keys)) note.textContent = `${readable(keys)} is a score.`;
          else if (other) note.textContent = `${readable(keys)} belongs to “${ACTIONS[other][0]}” already.`;
          else { changed = { ...changed, [a]: [keys] }; localStorage.setItem(STORED, JSON.stringify(changed)); }
          draw();
        };
        document.addEventListener('keydown', take, true);
      });
      return h('tr', {}, h('th', { scope: 'row' }, ACTIONS[a][0]), h('td', {}, keysOf(a).map((k) => h('kbd', {}, readable(k)))), h('td', {}, change));
    }));
  };
  draw();
  const reset = h('button', { type: 'button', onclick: () => { changed = {}; localStorage.removeItem(STORED); draw(); } }, 'Reset all');
  const dialog = h('dialog', { class: 'wide keys', 'aria-labelledby': 'keys-title' }, h('h2', { id: 'keys-title' }, 'Shortcuts'), note,
    h('div', { class: 'scroll' }, h('table', {}, body)), h('div', { class: 'dialog-bar' }, reset, h('button', { type: 'button', class: 'primary', autofocus: true, onclick: () => dialog.close() }, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

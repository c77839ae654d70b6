// What was typed into a dialog outlives it: Esc, Cancel or a server that is away cost no comment. It is there again when the
// dialog is opened, until the step is done or the tab is closed.
import { h } from './dom';

export interface Kept { area: HTMLTextAreaElement; forget(): void }

/** A field whose text is kept under `place`. */
export function keptText(place: string, name: string, asks: string, rows: number): Kept {
  const key = `redline.typed.${place}`;
  const area = h('textarea', { rows, 'aria-label': name, placeholder: asks, maxlength: 4000 });
  area.value = sessionStorage.getItem(key) ?? '';
  area.addEventListener('input', () => { try { sessionStorage.setItem(key, area.value); } catch { /* full: as without it */ } });
  return { area, forget: () => sessionStorage.removeItem(key) };
}

/** What a step did, for the page that follows it to say, once. */
export function leaveWord(done: string): void { sessionStorage.setItem('redline.done', done); }
export function takeWord(): string {
  const done = sessionStorage.getItem('redline.done') ?? '';
  sessionStorage.removeItem('redline.done');
  return done;
}

// Words and their times: what an edit keeps, and what it guesses.
import { diffArrays } from 'diff';
import type { Text, Timing, Word } from './api';

/** A line of the text with its words. Never changed in place, so that undo can keep old ones. */
export interface Segment { readonly text: string; readonly words: readonly Word[] }

const ROOM_NS = 200_000_000;

export const tokens = (text: string): string[] => text.match(/\S+/g) ?? [];

/** What is heard of a word; a comma or a capital is not. */
export function sound(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || word;
}

const key = (text: string, start: number, end: number): string => `${sound(text)} ${start} ${end}`;

/** Words with certain times, to find them again after a change was taken back. */
export class Known {
  private map = new Map<string, Word>();
  add(words: readonly Word[]): void {
    for (const w of words) if (w.timing !== 'interpolated') this.map.set(key(w.text, w.start_ns, w.end_ns), w);
  }
  find(text: string, start: number, end: number): Word | undefined { return this.map.get(key(text, start, end)); }
}

function spread(texts: string[], start: number, end: number, known: Known): Word[] {
  const weight = (t: string): number => Math.max(1, [...t].length);
  const total = texts.reduce((n, t) => n + weight(t), 0);
  let before = 0;
  const place = (w: number): number => start + Math.floor((Math.max(0, end - start) * w) / total);
  return texts.map((text) => {
    const start_ns = place(before);
    before += weight(text);
    const end_ns = place(before);
    const found = known.find(text, start_ns, end_ns);
    return found ? { ...found, text } : { text, start_ns, end_ns, timing: 'interpolated' as Timing };
  });
}

/** Where new words go: into what they replace, else into the gap between their neighbours. */
function room(gone: readonly Word[], before: Word | undefined, after: Word | undefined, count: number): [number, number] {
  if (gone.length > 0) {
    const end = Math.max(...gone.map((w) => w.end_ns));
    return [gone[0].start_ns, after ? Math.min(end, after.start_ns) : end];
  }
  const wanted = ROOM_NS * count;
  if (before && after) return [Math.min(before.end_ns, after.start_ns), after.start_ns];
  if (before) return [before.end_ns, before.end_ns + wanted];
  if (after) return [Math.max(0, after.start_ns - wanted), after.start_ns];
  return [0, wanted];
}

/** The words of `text`, with the times that `old` gives; `before` and `after` are the neighbouring lines' words. */
export function carry(old: readonly Word[], text: string, known: Known, before?: Word, after?: Word): Word[] {
  const now = tokens(text);
  const same = (w: Word, t: string): boolean => w.text === t || sound(w.text) === sound(t);
  let head = 0;
  while (head < old.length && head < now.length && same(old[head], now[head])) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && same(old[old.length - 1 - tail], now[now.length - 1 - tail])) tail++;
  const out: Word[] = now.slice(0, head).map((text, i) => ({ ...old[i], text }));
  const middleOld = old.slice(head, old.length - tail);
  const middleNew = now.slice(head, now.length - tail);
  const rest: Word[] = now.slice(now.length - tail).map((text, i) => ({ ...old[old.length - tail + i], text }));
  const changes = middleOld.length && middleNew.length ? diffArrays(middleOld.map((w) => sound(w.text)), middleNew.map(sound)) : [{ value: middleNew, added: true, removed: false, count: middleNew.length }];
  let o = 0;
  let n = 0;
  let gone: Word[] = middleNew.length && middleOld.length ? [] : [...middleOld];
  let fresh: string[] = [];
  const settle = (next: Word | undefined): void => {
    if (fresh.length) {
      const [start, end] = room(gone, out[out.length - 1] ?? before, next ?? after, fresh.length);
      out.push(...spread(fresh, start, end, known));
    }
    gone = [];
    fresh = [];
  };
  for (const c of changes) {
    if (c.added) { fresh.push(...middleNew.slice(n, n + c.count)); n += c.count; }
    else if (c.removed) { gone.push(...middleOld.slice(o, o + c.count)); o += c.count; }
    else {
      settle(middleOld[o]);
      for (let i = 0; i < c.count; i++) out.push({ ...middleOld[o + i], text: middleNew[n + i] });
      o += c.count; n += c.count;
    }
  }
  settle(rest[0]);
  out.push(...rest);
  return out;
}

export function toSegments(t: Text): Segment[] {
  let at = 0;
  return t.text.split('\n').filter((l) => l.trim()).map((line) => {
    const n = tokens(line).length;
    const words = t.words.slice(at, at + n);
    at += n;
    return { text: line, words };
  });
}

export function toText(segments: readonly Segment[]): Text {
  const kept = segments.map((s) => ({ ...s, text: tokens(s.text).join(' ') })).filter((s) => s.text);
  return { text: kept.map((s) => s.text).join('\n'), words: kept.flatMap((s) => s.words) };
}

export interface Piece { text: string; kind: 'same' | 'added' | 'removed' }

/** Word by word; the end of a line is a word of its own. */
export function differences(a: string, b: string): Piece[] {
  const split = (t: string): string[] => t.match(/\n|[^\s]+/g) ?? [];
  const [x, y] = [split(a), split(b)];
  // A text that is new throughout is shown as such instead of being compared for seconds.
  const found = diffArrays(x, y, { timeout: 400 }) ?? [{ value: x, added: false, removed: true }, { value: y, added: true, removed: false }];
  return found.map((c) => ({ text: c.value.join(' '), kind: c.added ? 'added' : c.removed ? 'removed' : 'same' }));
}

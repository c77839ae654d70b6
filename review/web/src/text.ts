// Words and their times: what an edit keeps, and what it guesses.
import { diffArrays } from 'diff';
import type { Heard, Text, Word } from './api';

/** A line of the text with its words. Never changed in place, so that undo can keep old ones. */
export interface Segment { readonly text: string; readonly words: readonly Word[] }

// As in carry.rs: the server gives new words the same times when it is sent a text without any.
const ROOM_NS = 200_000_000;
const SHORTEST_NS = 20_000_000;
const ANYWHERE: Heard = { start_ns: 0, end_ns: 2 ** 61 };

export const tokens = (text: string): string[] => text.match(/\S+/g) ?? [];

/**
 * Without what nobody can see: control characters, halves of characters and the mark at a file's start. They come in with
 * pasted text; the server takes none of them.
 */
export function clean(text: string): string {
  return text.replace(/[\n\r\t\v\f\u0085\u00a0\u2028\u2029]/g, ' ').replace(/[\p{Cc}\p{Cs}\ufeff]/gu, '');
}

/** What is heard of a word; a comma or a capital is not. */
export function sound(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || word;
}

/** Whether nobody knows the word's time well: the aligner inferred it, or it lies between its neighbours. */
export const isGuess = (w: Word): boolean => w.timing === 'inferred' || w.timing === 'interpolated';

const key = (text: string, start: number, end: number): string => `${sound(text)} ${start} ${end}`;

/** Words with certain times, to find them again after a change was taken back. */
export class Known {
  private map = new Map<string, Word>();
  add(words: readonly Word[]): void {
    for (const w of words) if (w.timing !== 'interpolated') this.map.set(key(w.text, w.start_ns, w.end_ns), w);
  }
  find(text: string, start: number, end: number): Word | undefined { return this.map.get(key(text, start, end)); }
}

function spread(texts: string[], start: number, end: number): [number, number][] {
  const weight = (t: string): number => Math.max(1, [...t].length);
  const total = texts.reduce((n, t) => n + weight(t), 0);
  const span = Math.max(0, end - start);
  // Every word lasts: where there is no room at all, one lies over the other.
  if (span < total) return texts.map(() => [start, start + SHORTEST_NS]);
  let before = 0;
  // In two parts: the product of an hour and a long text would be rounded.
  const place = (w: number): number => start + Math.floor(span / total) * w + Math.floor(((span % total) * w) / total);
  return texts.map((t) => { const at = place(before); before += weight(t); return [at, place(before)]; });
}

interface Had { start: number; end: number; words: number }
const had = (words: readonly Word[]): Had | undefined => (words.length
  ? { start: Math.min(...words.map((w) => w.start_ns)), end: Math.max(...words.map((w) => w.end_ns)), words: words.length } : undefined);

/** Where a run of words goes that stands between two others: into what it replaces, else into the gap. */
function room(h: Had | undefined, before: Word | undefined, after: Word | undefined, words: number, heard: Heard): [number, number] {
  const wanted = ROOM_NS * words;
  const least = SHORTEST_NS * words;
  const clamp = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);
  const said = before?.end_ns ?? heard.start_ns;
  const high = after ? after.start_ns : Math.max(heard.end_ns, said);
  const low = Math.min(said, high);
  let [start, end] = before && after ? [low, high] : after ? [high - wanted, high] : [low, low + wanted];
  if (h) {
    // Beyond the first and the last word there is room for more of them.
    const more = words > h.words;
    start = more && !before ? Math.min(h.start, h.end - wanted) : h.start;
    end = more && !after ? Math.max(h.end, h.start + wanted) : h.end;
  }
  start = clamp(start, low, high);
  end = clamp(end, start, high);
  if (end - start >= least) return [start, end];
  end = Math.max(end, Math.min(start + least, high));
  start = Math.min(start, Math.max(low, end - least));
  // Words that follow each other without a gap: the end of the one before is shared.
  const middle = before ? before.start_ns + Math.floor(Math.max(0, before.end_ns - before.start_ns) / 2) : low;
  return [Math.min(start, Math.max(middle, end - least)), end];
}

interface Slot { text: string; line: number; kept?: Word; stretch: number }

/** New, or a guess already: gets its time together with its neighbours of that kind. */
const loose = (s: Slot): boolean => !s.kept || s.kept.timing === 'interpolated';
const joins = (a: Slot, b: Slot): boolean => loose(a) && loose(b) && (a.line === b.line || (!a.kept && !b.kept && a.stretch === b.stretch));

/**
 * What an edit starts from: in place of guesses, the words that they replaced. So a word that is typed into another on the
 * way (“some edge”, typed in front of “edge”, is “sedge” first) comes out of it with its own time.
 */
const certain = (words: readonly Word[]): Word[] => words.flatMap((w) => w.was ?? w);

/** The words of `text`, and for each stretch of new ones what is gone in its place. */
function slots(old: readonly Word[], text: string): [Slot[], Word[][]] {
  const now = text.split('\n').flatMap((l, line) => tokens(l).map((text) => ({ text, line })));
  const same = (w: Word, t: string): boolean => w.text === t || sound(w.text) === sound(t);
  let head = 0;
  while (head < old.length && head < now.length && same(old[head], now[head].text)) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && same(old[old.length - 1 - tail], now[now.length - 1 - tail].text)) tail++;
  const out: Slot[] = now.slice(0, head).map((t, i) => ({ ...t, kept: old[i], stretch: 0 }));
  const middleOld = old.slice(head, old.length - tail);
  const middleNew = now.slice(head, now.length - tail);
  const gone: Word[][] = [[]];
  let o = 0;
  let n = 0;
  for (const c of diffArrays(middleOld.map((w) => sound(w.text)), middleNew.map((t) => sound(t.text)))) {
    const stretch = gone.length - 1;
    if (c.removed) { gone[stretch].push(...middleOld.slice(o, o + c.count)); o += c.count; }
    else if (c.added) { out.push(...middleNew.slice(n, n + c.count).map((t) => ({ ...t, stretch }))); n += c.count; }
    else {
      for (let i = 0; i < c.count; i++) out.push({ ...middleNew[n + i], kept: middleOld[o + i], stretch });
      gone.push([]);
      o += c.count; n += c.count;
    }
  }
  out.push(...now.slice(now.length - tail).map((t, i) => ({ ...t, kept: old[old.length - tail + i], stretch: 0 })));
  return [out, gone];
}

/**
 * The words of `text`, with the times that `old` gives; `before` and `after` are the neighbouring lines' words. New words
 * beside guesses of the same line share with them: typed one by one they lie where they would if typed at once.
 */
export function carry(old: readonly Word[], text: string, known: Known, before?: Word, after?: Word, heard = ANYWHERE): Word[] {
  const [all, gone] = slots(certain(old), text);
  const given = new Set<number>();
  const out: Word[] = [];
  for (let at = 0, end = 0; at < all.length; at = end) {
    end = at + 1;
    while (end < all.length && joins(all[end - 1], all[end])) end++;
    const run = all.slice(at, end);
    if (run.every((s) => s.kept)) { out.push(...run.map((s) => ({ ...s.kept as Word, text: s.text }))); continue; }
    const stretches = new Set(run.filter((s) => !s.kept).map((s) => s.stretch));
    const taken = [...[...stretches].flatMap((i) => gone[i]), ...run.flatMap((s) => s.kept ?? [])];
    const next = all.slice(end).find((s) => s.kept)?.kept ?? after;
    const span = room(had(taken), out[out.length - 1] ?? before, next, run.length, heard);
    spread(run.map((s) => s.text), ...span).forEach(([start_ns, end_ns], i) => {
      const { text, kept, stretch } = run[i];
      const found = known.find(text, start_ns, end_ns);
      if (found) { out.push({ ...found, text }); return; }
      const lost = kept ? [] : gone[stretch].filter((w) => w.timing !== 'interpolated');
      // The first word of a stretch remembers for all of them.
      const was = lost.length === 0 ? {} : { was: given.has(stretch) ? [] : lost };
      if (lost.length) given.add(stretch);
      out.push({ text, start_ns, end_ns, timing: 'interpolated', ...was });
    });
  }
  return out;
}

export function toSegments(t: Text): Segment[] {
  let at = 0;
  return t.text.split('\n').filter((l) => l.trim()).map((line) => {
    const n = tokens(line).length;
    const words = t.words.slice(at, at + n);
    at += n;
    const text = clean(line);
    return { text, words: text === line ? words : carry(words, text, new Known()) };
  }).filter((s) => s.text.trim());
}

export function toText(segments: readonly Segment[]): Text {
  const kept = segments.map((s) => ({ ...s, text: tokens(s.text).join(' ') })).filter((s) => s.text);
  return { text: kept.map((s) => s.text).join('\n'), words: kept.flatMap((s) => s.words.map((w) => { if (!w.was) return w; const { was: _, ...plain } = w; return plain; })) };
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

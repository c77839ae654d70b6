// How far two texts are apart, measured as the server does (`text.rs`): Levenshtein over words and over characters, every
// run of blanks and line ends as one blank. What a page counts while somebody types is what is stored when it is handed in.
import { tokens } from './text';

export interface Count {
  count: number;
  /** Two texts with little in common: there are more changes than this, but counting them would hold the typing up. */
  over: boolean;
}
export interface Distance { words: Count; chars: Count }

/** Cells looked at before a count gives up: about a tenth of a second. */
const BUDGET = 40_000_000;
const FAR = 1 << 29;

/** The distance if it is at most `most`, else `FAR`: only cells that near the diagonal are looked at. */
function within(a: Int32Array, b: Int32Array, most: number): number {
  if (Math.abs(a.length - b.length) > most) return FAR;
  let before = new Int32Array(b.length + 2).fill(FAR);
  let row = new Int32Array(b.length + 2).fill(FAR);
  for (let j = 0; j <= Math.min(b.length, most); j++) before[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const low = Math.max(1, i - most);
    const high = Math.min(b.length, i + most);
    row[low - 1] = low === 1 && i <= most ? i : FAR;
    const x = a[i - 1];
    for (let j = low; j <= high; j++) {
      const changed = before[j - 1] + (x === b[j - 1] ? 0 : 1);
      const shorter = Math.min(before[j], row[j - 1]) + 1;
      row[j] = changed < shorter ? changed : shorter;
    }
    row[high + 1] = FAR;
    [before, row] = [row, before];
  }
  return before[b.length] <= most ? before[b.length] : FAR;
}

function levenshtein(a: Int32Array, b: Int32Array): Count {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const [x, y] = [a.subarray(head, a.length - tail), b.subarray(head, b.length - tail)];
  const longest = Math.max(x.length, y.length);
  let most = Math.max(16, Math.abs(x.length - y.length));
  for (;;) {
    const count = within(x, y, most);
    if (count !== FAR) return { count, over: false };
    if (x.length * Math.min(longest, most * 2) * 2 > BUDGET) return { count: most, over: true };
    most = Math.min(longest, most * 2);
  }
}

export function distance(before: string, after: string): Distance {
  const [a, b] = [tokens(before), tokens(after)];
  const numbers = new Map<string, number>();
  const number = (w: string): number => { const known = numbers.get(w) ?? numbers.size; numbers.set(w, known); return known; };
  const characters = (t: string[]): Int32Array => Int32Array.from(t.join(' '), (c) => c.codePointAt(0) as number);
  return {
    words: levenshtein(Int32Array.from(a, number), Int32Array.from(b, number)),
    chars: levenshtein(characters(a), characters(b)),
  };
}

const many = (c: Count, what: string): string => `${c.over ? 'over ' : ''}${c.count.toLocaleString('en')} ${what}${c.count === 1 ? '' : 's'}`;

/** In words; `same`: the texts are equal to the last line end. */
export function described(d: Distance, same: boolean): string {
  if (d.words.count === 0 && d.chars.count === 0) return same ? 'unchanged' : 'only the lines changed';
  return `${many(d.words, 'word')}, ${many(d.chars, 'character')} changed`;
}

// Two windows changed the same text: both are shown, nothing is overwritten unseen.
import { diff3Merge } from 'node-diff3';
import type { Heard, Text } from './api';
import { renderDiff } from './diffview';
import { ask, h } from './dom';
import { Known, carry, toSegments, toText, tokens } from './text';

const split = (t: string): string[] => t.match(/\n|[^\s]+/g) ?? [];
const join = (w: string[]): string => w.join(' ').replace(/ ?\n ?/g, '\n');

export async function merge(base: Text, mine: Text, theirs: Text, heard: Heard): Promise<Text | undefined> {
  const regions = diff3Merge(split(mine.text), split(base.text), split(theirs.text), { excludeFalseConflicts: true });
  const chosen: string[][] = regions.map((r) => r.ok ?? r.conflict?.a ?? []);
  const preview = h('p', { class: 'preview' });
  const draw = (): void => { preview.textContent = join(chosen.flat()); };
  const body = h('div', { class: 'merge-text' });
  let conflicts = 0;
  regions.forEach((r, i) => {
    if (r.ok) { body.append(`${join(r.ok)} `); return; }
    if (!r.conflict) return;
    conflicts++;
    const { a, b } = r.conflict;
    const options: [string, string[]][] = [['yours', a], ['the other', b], ['both', [...a, ...b]]];
    body.append(h('fieldset', { class: 'conflict' }, h('legend', {}, `Choice ${conflicts}`), options.map(([name, words], n) =>
      h('label', {}, h('input', { type: 'radio', name: `conflict-${i}`, checked: n === 0, autofocus: n === 0 && conflicts === 1, onchange: () => { chosen[i] = words; draw(); } }), h('b', {}, name), ` ${join(words) || '(nothing)'}`))));
  });
  draw();
  const changes = (title: string, t: Text): HTMLElement => h('section', {}, h('h3', {}, title), renderDiff(base.text, t.text));
  const intro = conflicts ? `Both changed the same place ${conflicts === 1 ? 'once' : `${conflicts} times`}: choose. Everything else was put together.` : 'The changes are in different places and were put together. Look at the result.';
  const picked = await ask('Another window saved in the meantime', [
    h('p', {}, intro), h('div', { class: 'columns' }, changes('Your changes', mine), changes('The other’s changes', theirs)),
    ...(conflicts ? [body] : []), h('h3', {}, 'Result'), preview,
  ], [{ label: 'Use the result', primary: true, value: () => join(chosen.flat()) }], true);
  if (picked === undefined) return undefined;
  // Times: from the own text where a line has them, so that the own dragged boundaries stay.
  const known = new Known();
  known.add(mine.words);
  known.add(theirs.words);
  const words = carry(mine.words, picked, known, undefined, undefined, heard);
  let at = 0;
  return toText(toSegments({ text: picked, words }).map((s) => { const n = tokens(s.text).length; at += n; return { ...s, words: words.slice(at - n, at) }; }));
}

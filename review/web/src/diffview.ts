// A difference between two texts: marked by sign and shape as well as by colour.
import { h } from './dom';
import { differences } from './text';

const AROUND = 6;

function quiet(text: string, first: boolean, last: boolean): string {
  const words = text.split(' ');
  if (words.length <= AROUND * 2) return text;
  const head = first ? [] : words.slice(0, AROUND);
  const tail = last ? [] : words.slice(-AROUND);
  return [...head, '…', ...tail].join(' ');
}

export function renderDiff(before: string, after: string): HTMLElement {
  const pieces = differences(before, after);
  if (pieces.every((p) => p.kind === 'same')) return h('p', { class: 'diff none' }, 'No change.');
  const nodes = pieces.flatMap((p, i): (Node | string)[] => {
    const shown = (p.kind === 'same' ? quiet(p.text, i === 0, i === pieces.length - 1) : p.text).replaceAll('\n', '⏎');
    if (p.kind === 'added') return [h('ins', {}, h('span', { class: 'hidden-text' }, 'added: '), shown), ' '];
    if (p.kind === 'removed') return [h('del', {}, h('span', { class: 'hidden-text' }, 'removed: '), shown), ' '];
    return [shown, ' '];
  });
  return h('p', { class: 'diff' }, nodes);
}

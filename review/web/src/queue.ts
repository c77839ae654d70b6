// What waits for me.
import { type Item, type Me, get } from './api';
import { ago, h, label } from './dom';
import { keptOf } from './drafts';
import { takeWord } from './keep';

interface Queue { correct: Item[]; review: Item[]; waiting: Item[]; done: Item[] }

function row(i: Item, me: Me): HTMLElement {
  const busy = i.claim && i.claim.participant !== me.participant ? `with ${i.claim.participant}` : '';
  const open = i.requestor === me.participant && !i.rejected && /transcribed|in-correction|returned/.test(i.state);
  const kept = open ? keptOf(me, i.request) : null;
  const here = kept ? h('span', { class: 'state returned' }, kept.wanted ? 'not handed in: kept in this browser' : 'not saved: kept in this browser') : null;
  return h('tr', { class: busy ? 'busy' : '' },
    h('td', {}, h('a', { href: `#/r/${encodeURIComponent(i.request)}` }, h('code', {}, `…${i.request.slice(-8)}`))),
    h('td', {}, label(i.modality)), h('td', {}, i.difficulty), h('td', {}, i.requestor),
    h('td', {}, h('span', { class: `state ${i.rejected ? 'rejected' : i.state}` }, i.rejected ? 'rejected' : label(i.state)), ' ', busy ? h('span', { class: 'muted' }, busy) : null, here),
    h('td', {}, ago(i.updated_utc)));
}

function section(title: string, items: Item[], me: Me, empty: string, open = true): HTMLElement {
  const head = h('tr', {}, ['Request', 'Modality', 'Difficulty', 'By', 'State', 'Changed'].map((t) => h('th', { scope: 'col' }, t)));
  const shown = items.slice(0, 200);
  const table = items.length
    ? h('table', { class: 'list queue' }, h('thead', {}, head), h('tbody', {}, shown.map((i) => row(i, me))))
    : h('p', { class: 'empty' }, empty);
  const more = items.length > shown.length ? h('p', { class: 'muted' }, `and ${items.length - shown.length} more`) : null;
  return h('details', { class: 'card', open }, h('summary', {}, h('h2', {}, title), h('span', { class: 'count' }, items.length)), table, more);
}

export const nextOf = (q: Queue, me: Me, not: string): string | undefined => {
  const free = (i: Item): boolean => i.request !== not && (!i.claim || i.claim.participant === me.participant);
  return [...q.correct, ...q.review].find(free)?.request;
};
export const queue = (): Promise<Queue> => get<Queue>('/api/queue');

export async function showQueue(main: HTMLElement, me: Me): Promise<void> {
  const q = await queue();
  const first = nextOf(q, me, '');
  const start = first ? h('a', { class: 'button primary', href: `#/r/${encodeURIComponent(first)}` }, 'Start with the first') : null;
  const n = q.correct.length + q.review.length;
  const done = takeWord();
  main.replaceChildren(h('div', { class: 'page' },
    h('div', { class: 'title' }, h('h1', {}, n ? `${n} ${n === 1 ? 'request waits' : 'requests wait'} for you` : 'Nothing waits for you'), done ? h('p', { class: 'word', role: 'status' }, done) : null, h('span', { class: 'grow' }), start),
    section('To correct', q.correct, me, 'None of your own requests waits for a correction.'),
    me.roles.includes('reviewer') ? section('To review', q.review, me, 'No correction by others waits for a decision.') : null,
    section('Waiting for a reviewer', q.waiting, me, 'None of your corrections is with a reviewer.', q.waiting.length > 0),
    section('Done', q.done, me, 'None of your requests is finished yet.', false)));
  // The first one is where the work goes on: Enter opens it.
  start?.focus();
}

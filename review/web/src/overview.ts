// The coordinator's view.
import { type Item, type Me, Refusal, at, call, get, post } from './api';
import { ago, ask, h, label } from './dom';
import { keptText } from './keep';

interface Figures {
  requests: number; accepted: number; share_corrected: number | null; mean_char_edits: number | null; mean_word_edits: number | null;
  mean_automatic_chars: number | null; mean_rounds: number | null; share_accepted_at_once: number | null; mean_active_s: number | null;
}
interface Stats {
  states: Record<string, number>; rejected: number; all: Figures; by_participant: Record<string, Figures>; by_modality: Record<string, Figures>;
  by_difficulty: Record<string, Figures>; by_reviewer: Record<string, { accepted: number; returned: number }>;
}
interface Entry { id: number; at_utc: string; participant: string; action: string; subject: string | null; detail: string | null }

const share = (v: number | null): string => (v === null ? '–' : `${Math.round(v * 100)} %`);
const mean = (v: number | null, digits = 1): string => (v === null ? '–' : v.toFixed(digits));
const minutes = (v: number | null): string => (v === null ? '–' : v < 90 ? `${v.toFixed(0)} s` : `${(v / 60).toFixed(1)} min`);

function table(title: string, groups: Record<string, Figures>): HTMLElement {
  const heads = ['', 'Requests', 'Accepted', 'Corrected', 'Characters', 'Words', 'Rounds', 'At once', 'Time'];
  const order = ['easy', 'medium', 'hard'];
  const rows = Object.entries(groups).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)).map(([name, f]) => h('tr', {}, h('th', { scope: 'row' }, label(name)),
    [f.requests, f.accepted, share(f.share_corrected), mean(f.mean_char_edits), mean(f.mean_word_edits), mean(f.mean_rounds), share(f.share_accepted_at_once), minutes(f.mean_active_s)]
      .map((v) => h('td', { class: 'number' }, v))));
  return h('section', { class: 'card' }, h('h2', {}, title), h('table', { class: 'list even' }, h('thead', {}, h('tr', {}, heads.map((t, i) => h('th', { scope: 'col', class: i ? 'number' : '' }, t)))), h('tbody', {}, rows)));
}

/** The end of an id tells it apart; the whole one is its title. */
const id = (text: string): HTMLElement => h('code', { title: text }, text.length > 12 ? `…${text.slice(-8)}` : text);

const tile = (value: string, name: string): HTMLElement => h('div', { class: 'tile' }, h('b', {}, value), h('span', {}, name));

export async function showOverview(main: HTMLElement, me: Me): Promise<void> {
  const [s, items, log] = await Promise.all([get<Stats>('/api/stats'), get<Item[]>('/api/items'), get<Entry[]>('/api/audit')]);
  const total = Object.values(s.states).reduce((a, b) => a + b, 0);
  const bar = h('div', { class: 'progress', role: 'img', 'aria-label': Object.entries(s.states).map(([k, n]) => `${label(k)} ${n}`).join(', ') });
  for (const [state, n] of Object.entries(s.states)) if (n) { const part = h('span', { class: `part ${state}` }, `${label(state)} ${n}`); part.style.flexGrow = String(n); bar.append(part); }
  const release = (i: Item): HTMLElement => h('button', { type: 'button', class: 'small', onclick: async () => { await post(at(i.request, '/unclaim')); await showOverview(main, me); } }, 'Release');
  const list = items.slice(0, 100).map((i) => h('tr', {}, h('td', {}, h('a', { href: `#/r/${encodeURIComponent(i.request)}` }, h('code', {}, `…${i.request.slice(-8)}`))), h('td', {}, i.requestor), h('td', {}, label(i.modality)), h('td', {}, i.difficulty),
    h('td', {}, h('span', { class: `state ${i.rejected ? 'rejected' : i.state}` }, i.rejected ? 'rejected' : label(i.state))), h('td', {}, i.claim ? h('span', {}, `${i.claim.participant} `, release(i)) : '–'), h('td', {}, ago(i.updated_utc))));
  const head = (names: string[]): HTMLElement => h('thead', {}, h('tr', {}, names.map((t) => h('th', { scope: 'col' }, t))));
  main.replaceChildren(h('div', { class: 'page' },
    h('div', { class: 'title' }, h('h1', {}, 'Overview'), h('span', { class: 'muted' }, `${total} requests in the loop, ${s.rejected} rejected`)),
    total ? bar : h('p', { class: 'empty' }, 'No request has a transcript yet. Run redline transcribe, then load this page again.'),
    h('div', { class: 'tiles' }, tile(`${s.all.accepted}`, 'accepted'), tile(share(s.all.share_corrected), 'of them corrected'), tile(mean(s.all.mean_char_edits), `characters edited, of ${mean(s.all.mean_automatic_chars, 0)}`),
      tile(mean(s.all.mean_word_edits), 'words edited'), tile(share(s.all.share_accepted_at_once), 'accepted at once'), tile(minutes(s.all.mean_active_s), 'of work a request')),
    table('By modality', s.by_modality), table('By difficulty', s.by_difficulty), table('By requestor', s.by_participant),
    h('section', { class: 'card' }, h('h2', {}, 'By reviewer'), Object.keys(s.by_reviewer).length
      ? h('table', { class: 'list' }, head(['', 'Accepted', 'Returned']), h('tbody', {}, Object.entries(s.by_reviewer).map(([p, r]) => h('tr', {}, h('th', { scope: 'row' }, p), h('td', {}, r.accepted), h('td', {}, r.returned)))))
      : h('p', { class: 'empty' }, 'Nobody has decided on a correction yet.')),
    h('section', { class: 'card' }, h('h2', {}, 'Requests'), h('table', { class: 'list' }, head(['Request', 'By', 'Modality', 'Difficulty', 'State', 'Claimed', 'Changed']), h('tbody', {}, list))),
    h('details', { class: 'card' }, h('summary', {}, h('h2', {}, 'Audit log'), h('span', { class: 'count' }, log.length)), h('table', { class: 'list audit' }, head(['When', 'Who', 'What', 'Concerning', 'More']),
      h('tbody', {}, log.map((e) => h('tr', {}, h('td', {}, ago(e.at_utc)), h('td', {}, e.participant), h('td', {}, e.action), h('td', {}, e.subject ? id(e.subject) : ''), h('td', {}, e.detail && /^[0-9A-Z]{26}$/.test(e.detail) ? ['revision ', id(e.detail)] : e.detail))))))));
}

interface Edit { id: string; participant: string; status: string; rejection: { reason: string; by: string } | null; take_back: boolean; seconds: number | null; own: boolean }

/** Asks for a reason, which is kept under `place` until it was sent; the server has the last word. */
export async function askReason(place: string, what: string, send: (reason: string) => Promise<unknown>): Promise<boolean> {
  const error = h('p', { class: 'error', role: 'alert' });
  const { area, forget } = keptText(place, 'Reason', 'Why is it not up to standard?', 3);
  area.oninput = () => { error.textContent = ''; };
  const text = await ask(`Reject ${what}`, [h('p', {}, 'It is kept with the reason and left out of releases.'), area, error], [{
    label: 'Reject', primary: true, value: () => { if (area.value.trim()) return area.value; error.textContent = 'Say why.'; area.focus(); return undefined; },
  }]);
  if (text === undefined) return false;
  await send(text);
  forget();
  return true;
}

/** `step` runs what a button does, and shows what goes wrong with it. */
export async function editsOf(me: Me, request: string, step: (f: () => Promise<unknown>) => Promise<void>, open = false): Promise<HTMLElement | null> {
  const edits = await get<Edit[]>(at(request, '/edits')).catch((e: unknown) => (e instanceof Refusal ? [] : Promise.reject(e)));
  const path = (e: Edit): string => `/api/edits/${encodeURIComponent(e.id)}/reject`;
  const reject = (e: Edit): Promise<void> => step(async () => { if (await askReason(`${me.participant}.edit.${e.id}`, 'the edit', (reason) => post(path(e), { reason }))) await anew(); });
  const takeBack = (e: Edit): Promise<void> => step(async () => { await call('DELETE', path(e)); await anew(); });
  const button = (label: string, press: () => Promise<void>): HTMLElement => h('button', { type: 'button', class: 'small', onclick: () => void press() }, label);
  const rows = edits.map((e) => h('li', {}, h('code', {}, `…${e.id.slice(-8)}`), ` by ${e.participant}${e.seconds ? `, ${Math.round(e.seconds)} s` : ''} `,
    e.rejection ? h('span', { class: 'state rejected' }, `rejected by ${e.rejection.by}: ${e.rejection.reason}`) : null, ' ',
    e.take_back ? button('Take back', () => takeBack(e)) : e.rejection || e.own ? null : button('Reject…', () => reject(e))));
  const list = h('details', { class: 'side', open }, h('summary', {}, `Edits of this request (${edits.length})`), h('ul', { class: 'edits' }, rows));
  const anew = async (): Promise<void> => { const fresh = await editsOf(me, request, step, true); if (fresh) list.replaceWith(fresh); };
  return edits.length ? list : null;
}

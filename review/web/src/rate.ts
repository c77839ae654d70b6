// Rating an edit blind: what was asked, the model before, the model after, two scores.
import { type Events, type Me, Refusal, type TimeMap, call, get } from './api';
import { clock, h, label, say, sentence } from './dom';
import { brief, listen } from './keys';
import { Overlay } from './overlay';
import { Player } from './player';

interface Tasks { tasks: { key: string; done: boolean }[]; done: number; total: number }
interface Given { instruction_following: number; quality: number; comment: string | null }
interface Task {
  key: string; modality: string; typed: string | null; lines: { text: string; start_ns: number; end_ns: number }[];
  audio: { map: TimeMap; duration_s: number } | null; video: { map: TimeMap; width: number; height: number; has_audio: boolean } | null;
  scores: Given | null; views: string[]; input: boolean;
}
type Which = 'instruction_following' | 'quality';

const SCALES: Record<Which, { title: string; steps: string[] }> = {
  instruction_following: {
    title: 'Does it do what was asked?',
    steps: ['Worse than before, or in the wrong direction', 'Nothing was done', 'A rough attempt', 'Mostly done, with errors that show', 'Done, with small errors', 'Exactly as asked', 'As asked, and better than hoped for'],
  },
  quality: {
    title: 'How good is the model?',
    steps: ['No usable model', 'Full of errors', 'Poor', 'Acceptable as a first pass', 'Good', 'Very good', 'Perfect'],
  },
};
const NAMES: Record<string, string> = { toprightiso: 'Isometric', top: 'Top', bottom: 'Bottom', front: 'Front', back: 'Back', left: 'Left', right: 'Right' };
const path = (key: string, rest = ''): string => `/api/rate/${encodeURIComponent(key)}${rest}`;
const reason = (e: unknown): string => sentence(e instanceof Refusal ? e.message : String(e));

export const isRater = (me: Me): boolean => me.roles.includes('rater');
/** Whether rating is all that there is to do for this person. */
export const onlyRates = (me: Me): boolean => isRater(me) && !me.roles.some((r) => r === 'requestor' || r === 'reviewer' || r === 'coordinator');

function scale(which: Which, value: number | undefined, changed: () => void): HTMLFieldSetElement {
  const rows = SCALES[which].steps.map((text, i) => h('label', { class: 'step' },
    h('input', { type: 'radio', name: which, value: i + 1, ...(value === i + 1 ? { checked: true } : {}), onchange: changed }), h('b', {}, i + 1), h('span', {}, text)));
  return h('fieldset', { class: 'scale', 'data-score': which }, h('legend', {}, SCALES[which].title), rows);
}
const chosen = (f: HTMLFieldSetElement): number => Number(f.querySelector<HTMLInputElement>('input:checked')?.value ?? 0);

/** Tasks that could not be drawn and were put off, until the page is opened anew. */
const later = new Set<string>();

/** The list of tasks when there is none named, else one task; the result takes the page down. */
export async function showRate(main: HTMLElement, key: string | null): Promise<() => void> {
  const list = await get<Tasks>('/api/rate');
  const next = list.tasks.find((x) => !x.done && !later.has(x.key))?.key;
  if (!key && next) { history.replaceState(null, '', `#/rate/${next}`); key = next; }
  if (!key) {
    const open = list.tasks.filter((x) => !x.done).length;
    const head = !list.total ? 'There is nothing to rate yet' : open ? `${open} ${open === 1 ? 'edit waits' : 'edits wait'} for the coordinator` : 'All rated, thank you';
    const again = list.tasks.map((t, i) => h('li', {}, h('a', { href: `#/rate/${t.key}` }, `Edit ${i + 1}`)));
    main.replaceChildren(h('div', { class: 'page' }, h('div', { class: 'title' }, h('h1', {}, head)),
      open ? h('p', { class: 'empty' }, 'What could not be drawn was left for later. Tell the coordinator, and load the page again.') : '',
      list.total ? h('section', { class: 'card' }, h('h2', {}, `Your ${list.total} ${list.total === 1 ? 'edit' : 'edits'}`), h('ol', { class: 'rated' }, again)) : h('p', { class: 'empty' }, 'Edits come here as soon as they are assigned to you.')));
    return () => {};
  }
  return showTask(main, list, key);
}

async function showTask(main: HTMLElement, list: Tasks, key: string): Promise<() => void> {
  const t = await get<Task>(path(key));
  const place = list.tasks.findIndex((x) => x.key === key);
  const parts: HTMLElement[] = [];
  let player: Player | null = null;

  // What was asked ------------------------------------------------------------------------------------------------
  if (t.typed) parts.push(h('p', { class: 'typed' }, t.typed));
  if (t.video || t.audio) {
    const audio = t.audio ? h('audio', { preload: 'auto', src: path(key, '/audio') }) : null;
    const video = t.video ? h('video', { preload: 'auto', src: path(key, '/video'), playsinline: true, 'aria-label': 'Recording of the request' }) : null;
    player = new Player(audio, t.audio?.map ?? [], video, t.video?.map ?? []);
    const canvas = h('canvas', { class: 'strokes', 'aria-hidden': 'true' });
    const caption = h('p', { class: 'caption', hidden: true });
    const size = t.video ?? { width: 16, height: 9 };
    const overlay = new Overlay(canvas, caption, size, 1);
    const stage = h('div', { class: 'stage' }, video ?? h('p', { class: 'muted' }, 'This request has no video.'), canvas, caption);
    stage.style.setProperty('--ratio', String(size.width / size.height));
    const play = h('button', { type: 'button', class: 'primary', onclick: () => player?.toggle() }, 'Play');
    const time = h('span', { class: 'muted' });
    const lines = t.lines.map((l) => h('button', { type: 'button', class: 'said', onclick: () => player?.seek(l.start_ns) }, l.text));
    player.onState = () => { play.textContent = player?.playing ? 'Pause' : 'Play'; };
    player.onTime = (now) => {
      overlay.show(now);
      time.textContent = clock(now);
      // A player stops up to a microsecond before the time that it was sent to.
      const at = now + 1e5;
      t.lines.forEach((l, i) => lines[i].classList.toggle('now', l.start_ns <= at && at < l.end_ns));
    };
    parts.push(stage, h('div', { class: 'row' }, play, time, h('span', { class: 'muted' }, brief('play'))), h('div', { class: 'lines' }, lines));
    get<Events>(path(key, '/events')).then((e) => overlay.load(e)).catch(() => {});
    if (audio) parts.push(audio);
  } else if (t.lines.length) parts.push(h('p', { class: 'typed' }, t.lines.map((l) => l.text).join('\n')));
  if (!parts.length) parts.push(h('p', { class: 'empty' }, 'Of this request neither words nor a video were kept.'));

  // The models ----------------------------------------------------------------------------------------------------
  const which = t.input ? (['input', 'edit'] as const) : (['edit'] as const);
  const titles = { input: 'Before: the input model', edit: 'After: the edit' };
  const src = (w: string, v: string): string => path(key, `/views/${w}/${v}`);
  let view = t.views[0];
  const large = which.map((w) => h('img', { class: 'large', alt: '', 'data-of': w }));
  const failed = h('p', { class: 'error', role: 'alert' });
  let unseen = false;
  const thumbs = which.map((w) => t.views.map((v) => {
    const img = h('img', { src: src(w, v), alt: NAMES[v] ?? v, loading: 'eager' });
    img.addEventListener('error', () => {
      if (w === 'input') { if (!unseen) failed.textContent = 'The input model could not be drawn.'; return; }
      if (unseen) return;
      unseen = true;
      failed.replaceChildren('The edit could not be drawn, so it can’t be rated. Load the page again, or tell the coordinator. ',
        h('button', { type: 'button', onclick: () => { later.add(key); location.hash = '#/rate'; } }, 'Leave it for later'));
      refresh();
    });
    return h('button', { type: 'button', class: 'thumb', 'data-view': v, onclick: () => show(v) }, img, h('span', {}, NAMES[v] ?? v));
  }));
  const show = (v: string): void => {
    view = v;
    which.forEach((w, i) => { large[i].src = src(w, v); large[i].alt = `${titles[w]}, ${NAMES[v] ?? v}`; });
    thumbs.flat().forEach((b) => b.setAttribute('aria-pressed', String(b.dataset.view === v)));
  };
  show(view);
  const models = h('section', { class: 'models' }, which.map((w, i) => h('figure', { class: 'card' }, h('figcaption', {}, titles[w]), large[i], h('div', { class: 'thumbs' }, thumbs[i]))));

  // The scores ----------------------------------------------------------------------------------------------------
  const begun = Date.now();
  const save = h('button', { type: 'submit', form: 'scores', class: 'primary' }, place >= 0 && list.tasks[place].done ? 'Save again' : 'Save and go on', ' ', h('kbd', {}, brief('save')));
  const refresh = (): void => { save.disabled = unseen || scales.some((s) => !chosen(s)); };
  const scales = [scale('instruction_following', t.scores?.instruction_following, () => refresh()), scale('quality', t.scores?.quality, () => refresh())];
  const comment = h('textarea', { rows: '2', maxlength: '4000', id: 'comment' });
  comment.value = t.scores?.comment ?? '';
  const notice = h('p', { class: 'error', role: 'alert' });
  let busy = false;
  const send = async (): Promise<void> => {
    if (busy || save.disabled) return;
    busy = true;
    try {
      await call('PUT', path(key), { instruction_following: chosen(scales[0]), quality: chosen(scales[1]), comment: comment.value, active_ms: Date.now() - begun });
      say('Saved.');
      location.hash = '#/rate';
    } catch (e) { notice.textContent = `Not saved: ${reason(e)}`; } finally { busy = false; }
  };
  const form = h('form', { class: 'card scores', id: 'scores', onsubmit: (e: Event) => { e.preventDefault(); void send(); } }, scales, h('label', { for: 'comment' }, 'Remark (if you like)'), comment);
  // Below the columns, not in one: it is there however far one has scrolled.
  const bar = h('div', { class: 'rate-bar' }, h('span', { class: 'muted' }, `1–7 scores, ${brief('nextView')} next view, ${brief('help')} all keys`), h('span', { class: 'grow' }), notice, save);
  refresh();

  const turn = (by: number): void => show(t.views[(t.views.indexOf(view) + t.views.length + by) % t.views.length]);
  const heard: Parameters<typeof listen>[0] = { save: () => void send(), nextView: () => turn(1), previousView: () => turn(-1) };
  if (player) {
    const p = player;
    Object.assign(heard, { play: () => p.toggle(), back: () => p.step_by(-2), forward: () => p.step_by(2) });
  }
  const stopKeys = listen(heard);
  const keys = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.altKey || e.metaKey || !/^[1-7]$/.test(e.key) || document.querySelector('dialog[open]') || e.target === comment) return;
    e.preventDefault();
    const open = scales.find((s) => s.contains(document.activeElement)) ?? scales.find((s) => !chosen(s)) ?? scales[1];
    const input = open.querySelectorAll('input')[Number(e.key) - 1];
    input.checked = true;
    refresh();
    // On to the other score, so that two digits are enough.
    (open === scales[0] && !chosen(scales[1]) ? scales[1].querySelector('input') : input)?.focus();
  };
  document.addEventListener('keydown', keys);

  main.replaceChildren(h('div', { class: 'rate' },
    h('div', { class: 'title' }, h('h1', {}, `Edit ${place + 1} of ${list.total}`), h('span', { class: 'muted' }, `${list.done} rated · asked by: ${label(t.modality)}`), h('progress', { max: list.total, value: list.done, 'aria-label': 'Rated' })),
    h('div', { class: 'rate-columns' }, h('section', { class: 'card asked' }, h('h2', {}, 'What was asked'), parts), h('div', { class: 'shapes' }, failed, models), form), bar));
  scales[0].querySelector('input')?.focus({ preventScroll: true });
  return () => { document.removeEventListener('keydown', keys); stopKeys(); player?.destroy(); };
}

// One request: picture, sound, text, and the step that is due.
import { type Details, type Events, type Me, Refusal, type Text, type Word, at, call, get, post } from './api';
import { renderDiff } from './diffview';
import { described, distance } from './distance';
import { ago, ask, clock, h, label, say, sentence } from './dom';
import { Drafts, type SaveState, isAway } from './drafts';
import { Editor } from './editor';
import { keptText, leaveWord, takeWord } from './keep';
import { type Action, hint, listen } from './keys';
import { merge } from './merge';
import { Overlay } from './overlay';
import { askReason, editsOf } from './overview';
import { Player, SPEEDS } from './player';
import { nextOf, queue } from './queue';
import { isGuess } from './text';
import { Wave } from './wave';

const NUDGE_NS = 10_000_000;
const SHORTEST_NS = 20_000_000;
const SAVED: Record<SaveState, string> = {
  saved: 'Saved', typing: 'Typing…', saving: 'Saving…', away: 'Server away: kept here', stale: 'Changed elsewhere', refused: 'Not saved',
};

const reason = (e: unknown): string => sentence(e instanceof Refusal ? e.message : String(e));
const NOT_HANDED_IN = 'Not handed in: server away';

/** The waveform's outline; asked for again while the server is away or still busy with it. */
async function outline(request: string, gone: () => boolean): Promise<{ values: number[]; duration_s: number } | null> {
  for (;;) {
    try { return await get(at(request, '/peaks')); } catch (e) {
      if (gone() || !(e instanceof Refusal) || !isAway(e)) return null;
      await new Promise((resolve) => { setTimeout(resolve, 5_000); });
    }
  }
}

/** Builds the page of a request; the result takes it down. */
export async function showRequest(main: HTMLElement, me: Me, request: string, again: () => void): Promise<() => void> {
  let d = await get<Details>(at(request));
  const held = d.item.claim && d.item.claim.participant !== me.participant ? d.item.claim : null;
  let problem = '';
  if ((d.can.correct || d.can.review) && !held) {
    try { await post(at(request, '/claim')); } catch (e) { problem = reason(e); }
  }
  let gone = false;
  const correcting = d.can.correct && !held && !problem;
  const reviewing = d.can.review && !held && !problem;
  const last = d.rounds.at(-1);
  const handedIn: Text = d.oracle ?? (last ? { text: last.text, words: last.words } : d.automatic);
  const base = d.item.revision;

  // Media -------------------------------------------------------------------------------------------------------
  const audio = d.about.audio ? h('audio', { preload: 'auto', src: at(request, '/audio') }) : null;
  const video = d.about.video ? h('video', { preload: 'auto', src: at(request, '/video'), playsinline: true, 'aria-label': 'Screen recording' }) : null;
  const player = new Player(audio, d.about.audio?.map ?? [], video, d.about.video?.map ?? []);
  const canvas = h('canvas', { class: 'strokes', 'aria-hidden': 'true' });
  const caption = h('p', { class: 'caption', hidden: true });
  const size = d.about.video ?? { width: 16, height: 9 };
  const overlay = new Overlay(canvas, caption, size, 1);
  const stage = h('div', { class: 'stage' }, video ?? h('p', { class: 'muted' }, 'This request has no video.'), canvas, caption);
  stage.style.setProperty('--ratio', String(size.width / size.height));
  const mediaError = h('p', { class: 'error', role: 'alert', hidden: true });
  audio?.addEventListener('error', () => { mediaError.textContent = 'The sound cannot be played.'; mediaError.hidden = false; });

  // Text --------------------------------------------------------------------------------------------------------
  const editor = new Editor(correcting, d.about.heard);
  editor.learn(d.automatic.words);
  editor.learn(handedIn.words);
  const diff = h('div', { class: 'diff-box', tabindex: '0', role: 'region', 'aria-label': 'Changes' });
  const counted = h('span', { class: 'count', role: 'status' });
  const against = h('select', { 'aria-label': 'Compare with' }, h('option', { value: '' }, 'the automatic text'),
    d.rounds.filter((r) => r.id !== last?.id || correcting).map((r) => h('option', { value: r.id }, `revision ${r.number}`)));
  let diffTimer = 0;
  const drawDiff = (): void => {
    const before = d.rounds.find((r) => r.id === against.value)?.text ?? d.automatic.text;
    const now = editor.text.text;
    diff.replaceChildren(renderDiff(before, now));
    counted.textContent = described(distance(before, now), before === now);
    refreshButtons();
  };
  against.addEventListener('change', () => drawDiff());

  let words: Word[] = [];
  let current = -1;
  const wordAt = (t: number): number => {
    let [lo, hi] = [0, words.length];
    while (lo < hi) { const mid = (lo + hi) >> 1; if (words[mid].start_ns <= t) lo = mid + 1; else hi = mid; }
    return lo - 1;
  };
  const wave = new Wave(player, d.about.audio?.duration_s ?? 0, {
    pick: (i) => seekTo(i),
    drag: (i, edge, t, done) => retime(i, edge, t, done),
  });
  wave.element.dataset.editable = String(correcting);
  const refreshWords = (): void => { words = editor.words; wave.set(words, current); };
  const seekTo = (i: number): void => { if (words[i]) { current = i; player.loop = null; player.seek(words[i].start_ns + 1e6); editor.highlight(i, true); drawTransport(); } };
  let dragging = false;
  const retime = (i: number, edge: 'start' | 'end', t: number, done: boolean): void => {
    const w = words[i];
    if (!correcting || !w) return;
    const low = edge === 'start' ? (words[i - 1]?.start_ns ?? 0) : w.start_ns + SHORTEST_NS;
    const high = edge === 'start' ? Math.min(w.end_ns - SHORTEST_NS, words[i + 1]?.start_ns ?? Infinity) : Math.max(low, Math.min(words[i + 1]?.end_ns ?? Infinity, d.about.duration_ns || Infinity));
    const to = Math.round(Math.min(high, Math.max(low, t)));
    editor.retime(i, edge === 'start' ? to : w.start_ns, edge === 'end' ? to : w.end_ns, !dragging);
    dragging = !done;
    refreshWords();
    drafts?.changed();
  };
  const nudge = (edge: 'start' | 'end', by: number): void => {
    const w = words[current];
    if (w) { retime(current, edge, (edge === 'start' ? w.start_ns : w.end_ns) + by, true); say(`${w.text}: ${clock(words[current].start_ns)} to ${clock(words[current].end_ns)}`); }
  };

  // Saving ------------------------------------------------------------------------------------------------------
  const status = h('span', { class: 'save saved', role: 'status' }, correcting ? 'Saved' : '');
  const notice = h('div', { class: 'notice', role: 'alert', hidden: true });
  const warn = (text: string, ...more: Node[]): void => { notice.replaceChildren(h('p', {}, text), ...more); notice.hidden = false; notice.dataset.about = ''; };
  let acknowledged: Text = d.draft && d.draft.base === base ? d.draft : handedIn;
  let merging = false;
  let wanted = false;
  const drafts = correcting ? new Drafts(me, request, base, d.draft?.seq ?? 0, () => editor.text, (s, e) => {
    status.textContent = wanted && s === 'away' ? NOT_HANDED_IN : SAVED[s];
    status.className = `save ${s}`;
    if (s === 'saved') {
      acknowledged = editor.text;
      if (wanted) handIn();
      else if (notice.dataset.about === 'away') notice.hidden = true;
    }
    if (s === 'refused' && e) warn(`${sentence(e.message)} Your text is kept in this browser.`);
    if (s === 'stale') void settle(editor.text);
  }) : null;

  async function settle(mine: Text): Promise<void> {
    if (merging || !drafts) return;
    merging = true;
    try {
      const fresh = await get<Details>(at(request));
      if (!fresh.can.correct || fresh.item.revision !== base) {
        const there = fresh.rounds.at(-1);
        if (wanted && there?.author === me.participant && (there.base ?? null) === base && there.text === mine.text) {
          // It had arrived; only the answer was lost.
          wanted = false;
          drafts.forget();
          await onward('Correction handed in.');
          return;
        }
        const copy = h('button', { type: 'button', onclick: () => void navigator.clipboard.writeText(mine.text) }, 'Copy my text');
        warn('This request was handed in from another window. What you typed here is kept in this browser.', copy, h('button', { type: 'button', onclick: () => { drafts.forget(); again(); } }, 'Show what was handed in'));
        return;
      }
      const theirs: Text = fresh.draft ?? handedIn;
      if (theirs.text === mine.text) { drafts.rebase(fresh.draft?.seq ?? 0); await drafts.save(); return; }
      const merged = await merge(acknowledged, mine, theirs, d.about.heard);
      if (!merged) { warn('Not saved: another window saved in the meantime.', h('button', { type: 'button', onclick: () => { notice.hidden = true; void settle(editor.text); } }, 'Put the two together')); return; }
      editor.load(merged, true);
      drafts.rebase(fresh.draft?.seq ?? 0);
      notice.hidden = true;
      refreshWords();
      drawDiff();
      await drafts.save();
    } catch (e) {
      warn(reason(e), h('button', { type: 'button', onclick: () => { notice.hidden = true; void settle(editor.text); } }, 'Try again'));
    } finally { merging = false; }
  }

  // Steps -------------------------------------------------------------------------------------------------------
  let busy = false;
  /** `otherwise`: what did not happen, to be said before the reason. */
  const step = async (f: () => Promise<unknown>, otherwise = ''): Promise<void> => {
    if (busy) return;
    busy = true;
    try { await f(); } catch (e) { warn(otherwise + reason(e)); } finally { busy = false; refreshButtons(); }
  };
  const onward = async (done: string): Promise<void> => {
    say(done);
    leaveWord(done);
    const next = nextOf(await queue(), me, request);
    location.hash = next ? `#/r/${encodeURIComponent(next)}` : '#/';
  };
  const unchanged = (): boolean => editor.text.text === d.automatic.text;
  // Asked for while the server was away: it is done when the server is back, unless somebody goes on typing.
  const wait = (e?: Refusal): void => {
    wanted = true;
    drafts?.want(true, e);
    status.textContent = NOT_HANDED_IN;
    warn('Not handed in yet: the server is away. Your text is kept in this browser, and is handed in as soon as the server is back.',
      h('button', { type: 'button', onclick: () => waitNoMore('It is not handed in. Your text is kept in this browser.') }, 'Do not hand in'));
    notice.dataset.about = 'away';
  };
  const waitNoMore = (why: string): void => { wanted = false; drafts?.want(false); warn(why); notice.dataset.about = 'away'; };
  const handIn = (): void => void step(async () => {
    if (!drafts) return;
    await drafts.save();
    if (drafts.state === 'away') { wait(); return; }
    if (drafts.state !== 'saved') { wanted = false; return; }
    const sent = editor.text;
    try { await post(at(request, '/submit'), { ...sent, base, seq: drafts.seq, active_ms: drafts.takeActive() }); } catch (e) {
      if (!(e instanceof Refusal)) throw e;
      if (isAway(e)) { wait(e); return; }
      if (e.code !== 'stale') { wanted = false; throw e; }
      await settle(sent);
      return;
    }
    wanted = false;
    drafts.forget();
    await onward(unchanged() ? 'Handed in without change.' : 'Correction handed in.');
  }, 'Not handed in. ');
  const opened = Date.now();
  const decide = (accept: boolean, comment?: string): void => void step(async () => {
    const active_ms = Math.min(Date.now() - opened, 300_000);
    const answer = await post<{ written: boolean }>(at(request, '/decide'), { revision: base, accept, comment, active_ms });
    returning.forget();
    await onward(accept ? (answer.written ? 'Accepted.' : 'Accepted; the transcript file is written later.') : 'Returned.');
  }, 'Nothing was decided. ');
  const returning = keptText(`${me.participant}.return.${base}`, 'Comment', 'What has to change?', 4);
  const sendBack = async (): Promise<void> => {
    if (!reviewing) return;
    const error = h('p', { class: 'error', role: 'alert' });
    const comment = returning.area;
    comment.oninput = () => { error.textContent = ''; };
    const text = await ask('Return to the requestor', [comment, error], [{
      label: 'Return', primary: true, value: () => { if (comment.value.trim()) return comment.value; error.textContent = 'Say what has to change.'; comment.focus(); return undefined; },
    }]);
    if (text !== undefined) decide(false, text);
  };
  const acceptButton = h('button', { type: 'button', class: 'primary', onclick: () => decide(true) }, 'Accept ', h('kbd', {}, 'A'));
  const sameButton = h('button', { type: 'button', onclick: handIn }, 'Hand in unchanged ', h('kbd', {}, 'A'));
  const handInButton = h('button', { type: 'button', class: 'primary', onclick: handIn }, 'Hand in ', h('kbd', {}, 'Ctrl Enter'));
  const revert = h('button', { type: 'button', onclick: () => { editor.load(handedIn, true); changed(false); } }, last ? 'Back to what was handed in' : 'Back to the automatic text');
  function refreshButtons(): void {
    const same = unchanged();
    sameButton.hidden = !same || base !== null;
    handInButton.hidden = same && base === null;
    revert.hidden = editor.text.text === handedIn.text;
  }
  const reject = h('button', { type: 'button', class: 'quiet', onclick: () => void step(async () => { if (await askReason(`${me.participant}.request.${request}`, 'this request', (reason) => post(at(request, '/reject'), { reason }))) again(); }, 'Not rejected. ') }, 'Reject request…');
  const actions = h('div', { class: 'actions' }, status, h('span', { class: 'grow' }), d.can.reject ? reject : null,
    ...(correcting ? [revert, sameButton, handInButton] : []),
    ...(reviewing ? [h('button', { type: 'button', onclick: () => void sendBack() }, 'Return… ', h('kbd', {}, 'R')), acceptButton] : []));

  // Transport ---------------------------------------------------------------------------------------------------
  const playButton = h('button', { type: 'button', class: 'play', onclick: () => player.toggle() });
  const time = h('output', { class: 'time' }, `${clock(0)} / ${clock(d.about.duration_ns)}`);
  const speed = h('select', { 'aria-label': 'Speed', onchange: () => player.setSpeed(Number(speed.value)) }, SPEEDS.map((s) => h('option', { value: s, selected: s === 1 }, `${s}×`)));
  const tool = (text: string, name: string, action: Action, press: () => void): HTMLButtonElement =>
    h('button', { type: 'button', class: 'tool', 'aria-label': name, title: `${name} (${hint(action)})`, onclick: press }, text);
  const wordLoop = tool('Word', 'Loop the word', 'loopWord', () => toggleLoop('word'));
  const segmentLoop = tool('Segment', 'Loop the segment', 'loopSegment', () => toggleLoop('segment'));
  const pausing = h('input', { type: 'checkbox', checked: localStorage.getItem('redline.pause') !== 'no', onchange: () => localStorage.setItem('redline.pause', pausing.checked ? 'yes' : 'no') });
  const toggleLoop = (what: 'word' | 'segment'): void => {
    const place = editor.place(current < 0 ? 0 : current);
    if (player.loop?.what === what || !place) player.loop = null;
    else {
      const list = what === 'word' ? [editor.segments[place.row].words[place.word]] : editor.segments[place.row].words;
      player.loop = { start: list[0].start_ns, end: Math.max(list[0].start_ns + 1e8, list.at(-1)?.end_ns ?? 0), what };
      player.seek(player.loop.start);
      void player.play();
    }
    drawTransport();
  };
  function drawTransport(): void {
    playButton.textContent = player.playing ? 'Pause' : 'Play';
    playButton.title = hint('play');
    if (Number(speed.value) !== player.speed) speed.value = String(player.speed);
    wordLoop.setAttribute('aria-pressed', String(player.loop?.what === 'word'));
    segmentLoop.setAttribute('aria-pressed', String(player.loop?.what === 'segment'));
  }
  player.onState = drawTransport;
  player.onTime = (t) => {
    time.textContent = `${clock(t)} / ${clock(d.about.duration_ns)}`;
    overlay.show(t);
    const i = wordAt(t);
    if (i !== current) { current = i; editor.highlight(i, player.playing); wave.highlight(i); }
  };
  let resume = 0;
  const changed = (typed: boolean): void => {
    if (typed && pausing.checked) {
      // Goes on a moment after the last key.
      if (player.playing || resume) { player.pause(); clearTimeout(resume); resume = window.setTimeout(() => { resume = 0; void player.play(); }, 1200); }
    }
    refreshWords();
    if (wanted) waitNoMore('Not handed in: you went on typing. Hand in again when you are done.');
    drafts?.changed();
    clearTimeout(diffTimer);
    diffTimer = window.setTimeout(drawDiff, 250);
  };
  editor.onChange = changed;
  editor.onPick = (_w, i) => seekTo(i);

  // The whole ---------------------------------------------------------------------------------------------------
  const comments = d.rounds.filter((r) => r.decision?.comment);
  const lastComment = d.item.state === 'returned' || d.item.state === 'in-correction' || reviewing ? comments.at(-1) : undefined;
  const returned = lastComment ? h('blockquote', { class: 'returned' }, h('p', {}, h('b', {}, `${lastComment.decision?.reviewer} returned revision ${lastComment.number}: `), lastComment.decision?.comment)) : null;
  const history = h('details', { class: 'side', open: d.rounds.length > 0 && !correcting }, h('summary', {}, `History (${d.rounds.length})`), d.rounds.length ? h('ol', { class: 'history' }, d.rounds.map((r) => {
    const previous = d.rounds.find((o) => o.id === r.base)?.text ?? d.automatic.text;
    return h('li', {}, h('p', {}, h('b', {}, `Revision ${r.number}`), ` by ${r.author}, `, ago(r.created_utc), `: ${r.changed ? `${described({ words: { count: r.word_edits, over: false }, chars: { count: r.char_edits, over: false } }, false)}` : 'unchanged'}`),
      h('details', {}, h('summary', {}, r.base ? `Changes to revision ${r.number - 1}` : 'Changes to the automatic text'), renderDiff(previous, r.text)),
      r.decision ? h('p', {}, h('span', { class: `state ${r.decision.accepted ? 'accepted' : 'returned'}` }, r.decision.accepted ? 'accepted' : 'returned'), ` by ${r.decision.reviewer}, `, ago(r.decision.created_utc), r.decision.comment ? `: ${r.decision.comment}` : '') : null);
  })) : h('p', { class: 'empty' }, 'Nothing was handed in yet.'));
  const alignment = h('p', { class: 'alignment', role: 'status', hidden: true });
  const guesses = (): string => {
    const n = words.filter(isGuess).length;
    return n ? ` The times of ${n} of ${words.length} words are guesses.` : '';
  };
  const drawAlignment = (r: Details['realignment']): void => {
    if (d.item.state !== 'accepted' || !last) return;
    const text = !r || !me.can_realign ? 'New words have interpolated times; this server has no aligner.'
      : r.state === 'queued' && r.error ? `Attempt ${r.attempts} to align again failed: ${r.error}. The next attempt follows at ${new Date(r.next_utc).toLocaleTimeString()}.`
      : r.state === 'queued' ? 'Waits to be aligned again.' : r.state === 'running' ? 'Is being aligned again…' : r.state === 'done' ? `Aligned again.${guesses()}` : `Could not be aligned again after ${r.attempts} attempts: ${r.error}.`;
    const button = d.can.realign && r && (r.state === 'done' || r.state === 'failed') ? h('button', { type: 'button', class: 'small', onclick: () => void step(async () => { await post(at(request, '/realign')); void poll(); }) }, 'Align again') : null;
    alignment.className = `alignment ${r?.state ?? ''}`;
    alignment.replaceChildren(text, ' ', button ?? '');
    alignment.hidden = false;
  };
  let pollTimer = 0;
  const poll = async (): Promise<void> => {
    clearTimeout(pollTimer);
    const s = await get<{ realignment: Details['realignment'] }>(at(request, '/state')).catch(() => null);
    if (s) {
      const finished = d.realignment?.state !== 'done' && s.realignment?.state === 'done';
      d = { ...d, realignment: s.realignment };
      if (finished) { const fresh = await get<Details>(at(request)); if (fresh.oracle) { editor.load(fresh.oracle); refreshWords(); } }
      drawAlignment(s.realignment);
      if (s.realignment && /queued|running/.test(s.realignment.state)) pollTimer = window.setTimeout(() => void poll(), 1500);
    }
  };
  const role = held ? `${held.participant} works on it until ${new Date(held.until_utc).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}` : problem || (correcting ? 'You correct' : reviewing ? 'You review' : 'Read only');
  const about = h('div', { class: 'about' }, h('h1', {}, h('code', {}, `…${request.slice(-8)}`)), h('span', { class: `state ${d.item.rejected ? 'rejected' : d.item.state}` }, d.item.rejected ? 'rejected' : label(correcting && d.item.state === 'transcribed' ? 'in-correction' : d.item.state)),
    h('span', {}, `${label(d.about.modality)}, ${d.about.difficulty}${d.about.participant === me.participant ? '' : `, by ${d.about.participant}`}`), h('b', {}, role));
  const takeBack = h('button', { type: 'button', class: 'small', onclick: () => void step(async () => { await call('DELETE', at(request, '/reject')); again(); }, 'Not taken back. ') }, 'Take back the rejection');
  const rejected = d.about.rejection ? h('blockquote', { class: 'returned' }, h('p', {}, h('b', {}, `${d.about.rejection.by} rejected it: `), d.about.rejection.reason), d.can.take_back ? takeBack : null) : null;
  const legend = h('p', { class: 'legend' }, h('span', { class: 'mark doubtful' }, 'doubtful'), h('span', { class: 'mark guessed' }, 'time guessed'), h('span', { class: 'mark manual' }, 'time set by hand'));
  const edits = h('div');
  main.replaceChildren(h('div', { class: 'request' },
    h('div', { class: 'left' }, about, rejected, returned, stage, mediaError,
      h('div', { class: 'transport' }, playButton, tool('−2 s', 'Back 2 s', 'back', () => player.step_by(-2)), tool('+2 s', 'Forward 2 s', 'forward', () => player.step_by(2)), speed, h('span', { class: 'group', role: 'group', 'aria-label': 'Loop' }, 'Loop', wordLoop, segmentLoop)),
      h('div', { class: 'options' }, correcting ? h('label', {}, pausing, 'Pause while typing') : null, h('span', { class: 'group', role: 'group', 'aria-label': 'Zoom' }, 'Zoom', h('button', { type: 'button', class: 'tool', 'aria-label': 'Zoom out', onclick: () => wave.zoom(1 / 1.5) }, '−'), h('button', { type: 'button', class: 'tool', 'aria-label': 'Zoom in', onclick: () => wave.zoom(1.5) }, '+')), time),
      alignment, history, edits, audio),
    // A notice takes its room from the text's end: neither the lines nor the buttons jump.
    h('div', { class: 'right' }, h('div', { class: 'text-head' }, h('h2', {}, 'Transcript'), legend), editor.element, notice,
      h('div', { class: 'diff-head' }, h('h2', {}, 'Changes against'), against, counted), diff, actions),
    wave.element));
  editor.load(acknowledged);
  refreshWords();
  drawDiff();
  drawTransport();
  drawAlignment(d.realignment);
  if (d.realignment && /queued|running/.test(d.realignment.state)) void poll();
  const done = takeWord();
  if (done) status.textContent = done;

  // What takes a while comes after the text.
  void get<Events>(at(request, '/events')).then((events) => { if (gone) return; overlay.load(events); wave.mark(overlay.spans(d.about.duration_ns)); overlay.show(player.time); }).catch(() => {});
  if (d.can.reject || d.can.take_back) void editsOf(me, request, step).then((list) => { if (list) edits.replaceWith(list); }).catch(() => {});
  if (d.about.audio) void outline(request, () => gone).then((peaks) => { if (!gone) wave.load(peaks); });
  else wave.load(null);

  // What an earlier visit could not hand in.
  const kept = drafts?.kept();
  if (drafts && kept) {
    if (kept.text === acknowledged.text) { drafts.forget(); if (kept.wanted && kept.base === base) askToHandIn(); }
    else if (kept.base === base && kept.seq === drafts.seq) { if (kept.wanted) askToHandIn(); editor.load(kept, true); changed(false); say('What you typed while the server was away is back.'); }
    else if (kept.base === base) { editor.load(kept); refreshWords(); drawDiff(); void settle(kept); }
    else warn('This browser keeps an older text of yours that was never saved; the request was handed in since.', h('button', { type: 'button', onclick: () => { drafts.forget(); notice.hidden = true; } }, 'Throw it away'));
  }
  function askToHandIn(): void {
    const no = h('button', { type: 'button', onclick: () => { notice.hidden = true; } }, 'Not yet');
    warn('You wanted to hand this in while the server was away. It is not handed in yet.', h('button', { type: 'button', class: 'primary', onclick: () => { notice.hidden = true; handIn(); } }, 'Hand in now'), no);
  }
  const claimTimer = window.setInterval(() => { if (correcting || reviewing) void post(at(request, '/claim')).catch(() => {}); }, Math.max(20_000, me.claim_minutes * 20_000));
  const stopKeys = listen({
    play: () => player.toggle(), back: () => player.step_by(-2), forward: () => player.step_by(2), slower: () => player.faster(-1), faster: () => player.faster(1),
    nextWord: () => seekTo(Math.min(words.length - 1, current + 1)), previousWord: () => seekTo(Math.max(0, current - 1)), doubtful: () => seekTo(editor.doubtfulAfter(current)),
    loopWord: () => toggleLoop('word'), loopSegment: () => toggleLoop('segment'),
    startEarlier: () => nudge('start', -NUDGE_NS), startLater: () => nudge('start', NUDGE_NS), endEarlier: () => nudge('end', -NUDGE_NS), endLater: () => nudge('end', NUDGE_NS),
    edit: () => { const p = editor.place(current); editor.focusAt(p?.row ?? 0, 0); }, leave: () => (document.activeElement as HTMLElement | null)?.blur(),
    undo: () => editor.undo(), redo: () => editor.redo(),
    accept: () => { if (reviewing) decide(true); else if (correcting && unchanged()) handIn(); },
    handIn: () => { if (correcting) handIn(); else if (reviewing) decide(true); }, sendBack: () => void sendBack(),
    next: () => void queue().then((q) => { const n = nextOf(q, me, request); location.hash = n ? `#/r/${encodeURIComponent(n)}` : '#/'; }),
  });
  return () => {
    gone = true;
    stopKeys();
    clearInterval(claimTimer);
    for (const t of [pollTimer, resume, diffTimer]) clearTimeout(t);
    void drafts?.save().then(() => drafts.stop());
    if (reviewing && !busy) void post(at(request, '/unclaim')).catch(() => {});
    wave.destroy();
    player.destroy();
  };
}

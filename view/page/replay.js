// One clock moves everything: the video's when there is one, else our own.

const $ = (id) => document.getElementById(id);

/** Session time from a video element. */
function videoClock(video, first) {
  return {
    get: () => video.currentTime + first,
    set: (t) => { video.currentTime = Math.max(0, t - first); },
    play: () => video.play(),
    pause: () => video.pause(),
    paused: () => video.paused,
    speed: (s) => { video.playbackRate = s; },
  };
}

/** Session time without a video. */
function ownClock(duration) {
  let at = 0, from = null, rate = 1;
  const get = () => Math.min(duration, from === null ? at : at + (performance.now() - from) / 1000 * rate);
  const rebase = (t) => { at = t; if (from !== null) from = performance.now(); };
  return {
    get,
    set: (t) => rebase(Math.max(0, Math.min(duration, t))),
    play: () => { if (get() >= duration) at = 0; from = performance.now(); },
    pause: () => { at = get(); from = null; },
    paused: () => from === null || get() >= duration,
    speed: (s) => { rebase(get()); rate = s; },
  };
}

/** The last index whose time is not after t, or -1. */
function lastAt(list, t, time) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (time(list[mid]) <= t) lo = mid + 1; else hi = mid;
  }
  return lo - 1;
}

function element(tag, className, text) {
  const e = document.createElement(tag);
  e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

/** What is seen: the video, else the renders. `lost` is called when the video can't be played. */
function stage(data, lost) {
  if (!data.video) return ownClock(data.duration);
  const video = element('video', '');
  // Its place has its shape before the first picture is there.
  const { width, height } = data.video;
  $('stage').style.width = `min(100%, ${width}px, calc(56vh * ${width / height}))`;
  video.style.aspectRatio = `${width} / ${height}`;
  video.preload = 'auto';
  video.addEventListener('error', () => lost(video.error ? video.error.message : ''));
  video.src = `file/${data.video.file}`;
  const pointer = element('div', '');
  pointer.id = 'pointer';
  pointer.hidden = true;
  $('stage').append(video, pointer);
  return videoClock(video, data.video.first);
}

/** Pictures in place of a video: the last one up to a time, before the first one that one. */
function showPicture(pictures, t, why) {
  const place = $('stage');
  const i = Math.max(0, lastAt(pictures, t, (p) => p.t));
  const key = pictures.length === 0 ? 'none' : `${pictures[i].picture}`;
  if (place.dataset.picture === key) return;
  place.style.width = '';
  place.dataset.picture = key;
  if (pictures.length === 0) {
    place.replaceChildren(element('p', 'none', `${why} There are no pictures either: the timeline shows what was recorded.`));
    return;
  }
  const img = element('img', '');
  img.src = `file/${pictures[i].picture}`;
  img.alt = pictures[i].label;
  place.replaceChildren(img, element('p', 'caption', `${why} ${pictures[i].what} ${i + 1} of ${pictures.length}, from ${pictures[i].t.toFixed(2)} s`));
}

function buildWords(data, seek) {
  $('words-from').textContent = data.words_from ? `Words (${data.words_from})` : 'No transcript yet';
  return data.words.map((w, i) => {
    if (w.first && i > 0) $('words').append(document.createElement('br'));
    const b = element('button', `word ${w.timing}`, w.text);
    b.type = 'button';
    b.title = `${w.start.toFixed(2)} to ${w.end.toFixed(2)} s, ${w.timing}`;
    b.addEventListener('click', () => seek(w.start));
    $('words').append(b, ' ');
    return { from: w.start, to: w.end, node: b };
  });
}

function buildTracks(data, seek) {
  const share = (t) => `${Math.max(0, Math.min(1, t / data.duration)) * 100}%`;
  const spans = [];
  for (const track of data.tracks) {
    const row = element('div', 'track');
    row.dataset.track = track.name;
    row.append(element('span', 'name', track.name));
    for (const item of track.items) {
      const long = item.until !== undefined && item.until - item.t > data.duration / 100;
      const b = element('button', long ? 'item' : 'item moment', long ? item.label : '');
      b.type = 'button';
      b.title = `${item.t.toFixed(2)} s: ${item.label}`;
      b.setAttribute('aria-label', b.title);
      b.style.left = share(item.t);
      if (long) b.style.width = share(item.until - item.t);
      b.addEventListener('click', (e) => { e.stopPropagation(); seek(item.t); });
      row.append(b);
      spans.push({ from: item.t, to: Math.max(item.until ?? 0, item.t + 0.25), node: b });
    }
    $('timeline').append(row);
  }
  return spans;
}

/** An agent's steps: what it saw and what it then did. */
function buildSteps(data, seek) {
  const steps = data.tracks.find((t) => t.name === 'steps')?.items ?? [];
  $('steps-part').hidden = steps.length === 0;
  $('words-part').hidden = steps.length > 0 && !data.words_from;
  return steps.map((s) => {
    const b = element('button', 'step');
    b.type = 'button';
    if (s.picture !== undefined) {
      const img = element('img', '');
      img.src = `file/${s.picture}`;
      img.alt = '';
      img.loading = 'lazy';
      b.append(img);
    }
    b.append(element('span', '', s.label), element('time', '', `${s.t.toFixed(2)} s`));
    b.addEventListener('click', () => seek(s.t));
    $('steps').append(b);
    return { from: s.t, to: s.until, node: b };
  });
}

function start(data) {
  document.title = data.title;
  $('title').textContent = data.title;
  const names = { steps: 'Step', renders: 'Render' };
  const pictures = data.tracks.flatMap((t) => t.items.map((i) => ({ ...i, what: names[t.name] }))).filter((i) => i.picture !== undefined);
  let why = 'No video was recorded.';
  let clock = stage(data, (message) => {
    why = `The video can't be played (${message || 'unknown format'}).`;
    const t = clock.get();
    clock = ownClock(data.duration);
    clock.set(t);
    video = pointer = null;
  });
  const seek = (t) => { clock.set(t); show(); };
  const lit = [...buildWords(data, seek), ...buildTracks(data, seek), ...buildSteps(data, seek)];
  let video = document.querySelector('video');
  let pointer = $('pointer');
  const timeline = $('timeline');
  const left = 96;
  if (data.tracks.length === 0) timeline.append(element('div', 'track'));
  timeline.addEventListener('click', (e) => {
    const box = timeline.getBoundingClientRect();
    seek((e.clientX - box.left - left) / (box.width - left) * data.duration);
  });

  function show() {
    const t = clock.get();
    $('clock').value = `${t.toFixed(3)} s`;
    $('play').textContent = clock.paused() ? 'Play' : 'Pause';
    $('cursor').style.left = `calc(${left}px + (100% - ${left}px) * ${Math.max(0, Math.min(1, t / data.duration))})`;
    // A player stops up to a microsecond before the time it is sent to.
    const at = t + 0.001;
    for (const s of lit) {
      const now = s.from <= at && at < s.to;
      if (now !== s.node.classList.contains('now')) s.node.classList.toggle('now', now);
    }
    if (pointer) {
      const i = lastAt(data.pointer, t, (p) => p[0]);
      pointer.hidden = i < 0;
      if (i >= 0) {
        const scale = video.clientWidth / data.video.width;
        pointer.style.left = `${(data.pointer[i][1] + 0.5) * scale}px`;
        pointer.style.top = `${(data.pointer[i][2] + 0.5) * scale}px`;
      }
    } else {
      showPicture(pictures, t, why);
    }
  }

  const toggle = () => { if (clock.paused()) clock.play(); else clock.pause(); };
  const frame = data.video ? 1 / data.video.fps : 1 / 30;
  const step = (s) => { clock.pause(); seek(clock.get() + s); };
  $('play').addEventListener('click', toggle);
  $('back').addEventListener('click', () => step(-frame));
  $('next').addEventListener('click', () => step(frame));
  $('speed').addEventListener('change', (e) => clock.speed(Number(e.target.value)));
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.target.tagName === 'SELECT') return;
    const acts = { ' ': toggle, ArrowLeft: () => seek(clock.get() - 1), ArrowRight: () => seek(clock.get() + 1), ',': () => step(-frame), '.': () => step(frame) };
    const act = acts[e.key];
    // Space on a focused button would press it, too.
    if (act) { e.preventDefault(); act(); }
  });
  const tick = () => { show(); requestAnimationFrame(tick); };
  tick();
  document.body.dataset.ready = 'yes';
}

fetch('replay.json')
  .then((r) => (r.ok ? r.json() : Promise.reject(new Error(`the server says ${r.status}`))))
  .then(start)
  .catch((e) => { $('title').textContent = `This session can't be shown: ${e.message}`; });

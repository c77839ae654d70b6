// The waveform with the words under it; only what is in view is drawn.
import WaveSurfer from 'wavesurfer.js';
import type { Word } from './api';
import { h } from './dom';
import type { Player } from './player';
import { isGuess } from './text';

const LANE = 46;
const GRAB = 5;

export interface WaveCallbacks {
  /** Draws anew while a boundary is dragged; `done` when it is let go. */
  drag(index: number, edge: 'start' | 'end', t_ns: number, done: boolean): void;
  pick(index: number): void;
}

const NARROWEST = 0.75;

/** The word, or as much of it as can be read in that width, with a sign that more follows. */
function fitting(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  const fits = (t: string): boolean => ctx.measureText(t).width * NARROWEST <= width;
  if (fits(text)) return text;
  const letters = [...text];
  let n = letters.length - 1;
  while (n > 0 && !fits(`${letters.slice(0, n).join('')}…`)) n--;
  return n > 0 ? `${letters.slice(0, n).join('')}…` : '';
}

export class Wave {
  readonly element: HTMLElement;
  private ws: WaveSurfer | null = null;
  private lane = h('canvas', { class: 'lane', role: 'img', 'aria-label': 'Words under the waveform. Drag a boundary with the mouse, or use the shortcuts for the start and end of a word.' });
  private words: Word[] = [];
  private current = -1;
  private spans: { from: number; until: number; what: string }[] = [];
  private held: { index: number; edge: 'start' | 'end' } | null = null;
  private resize: ResizeObserver;
  private zoomed = 110;
  private scheme = matchMedia('(prefers-color-scheme: dark)');

  private box = h('div', { class: 'waveform' }, h('p', { class: 'muted', role: 'status' }, 'The waveform is being drawn…'));

  /** `length_s`: of the sound, so that words lie where they will when the outline comes. */
  constructor(private player: Player, private length_s: number, private does: WaveCallbacks) {
    this.element = h('section', { class: 'wave', 'aria-label': 'Waveform' }, this.box, this.lane);
    this.lane.addEventListener('pointerdown', (e) => this.down(e));
    this.lane.addEventListener('pointermove', (e) => this.move(e));
    this.lane.addEventListener('pointerup', (e) => this.up(e));
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.lane);
    this.scheme.addEventListener('change', this.repaint);
  }

  /** The outline comes after the text: for an hour of sound it takes the server a while. `null`: there is none. */
  load(peaks: { values: number[]; duration_s: number } | null): void {
    if (!peaks?.values.length) { this.box.replaceChildren(h('p', { class: 'muted' }, 'There is no waveform for this request.')); return; }
    this.box.replaceChildren();
    this.ws = WaveSurfer.create({
      container: this.box, media: this.player.leader, peaks: [peaks.values.map((v) => v / 127)], duration: peaks.duration_s, height: 72, normalize: true,
      minPxPerSec: this.zoomed, ...this.colours(), cursorWidth: 2,
      autoScroll: true, autoCenter: true, dragToSeek: false, hideScrollbar: false, cspNonce: document.querySelector('meta[name=nonce]')?.getAttribute('content') ?? undefined,
    });
    this.ws.on('scroll', () => this.draw());
    this.ws.on('redrawcomplete', () => this.draw());
  }

  private colours(): { waveColor: string; progressColor: string; cursorColor: string } {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    return { waveColor: colour('--wave'), progressColor: colour('--wave-done'), cursorColor: colour('--accent') };
  }
  private repaint = (): void => { this.ws?.setOptions(this.colours()); this.draw(); };

  zoom(by: number): void {
    this.zoomed = Math.min(800, Math.max(20, this.zoomed * by));
    try { this.ws?.zoom(this.zoomed); } catch { /* not loaded yet: the next press works */ }
    this.draw();
  }

  set(words: Word[], current: number): void { this.words = words; this.current = current; this.draw(); }
  mark(spans: { from: number; until: number; what: string }[]): void { this.spans = spans; this.draw(); }
  highlight(current: number): void { if (current !== this.current) { this.current = current; this.draw(); } }

  private perSecond(): number {
    const wrapper = this.ws?.getWrapper();
    const duration = this.ws?.getDuration() ?? 0;
    if (wrapper && duration > 0) return wrapper.scrollWidth / duration;
    return this.length_s > 0 ? Math.max(this.zoomed, this.lane.clientWidth / this.length_s) : this.zoomed;
  }
  private x(t_ns: number): number { return this.player.seconds(t_ns) * this.perSecond() - (this.ws?.getScroll() ?? 0); }
  private t(x: number): number { return Math.round(this.player.sessionTime((x + (this.ws?.getScroll() ?? 0)) / this.perSecond())); }

  private hit(x: number): { index: number; edge: 'start' | 'end' | null } | null {
    let best: { index: number; edge: 'start' | 'end'; off: number } | null = null;
    let inside = -1;
    for (let i = this.first(this.t(-50)); i < this.words.length; i++) {
      const a = this.x(this.words[i].start_ns);
      const b = this.x(this.words[i].end_ns);
      if (a > x + GRAB) break;
      if (x >= a && x <= b) inside = i;
      for (const [edge, at] of [['start', a], ['end', b]] as const) {
        const off = Math.abs(at - x);
        if (off <= GRAB && (!best || off < best.off)) best = { index: i, edge, off };
      }
    }
    return best ?? (inside >= 0 ? { index: inside, edge: null } : null);
  }

  /** The first word that may reach into view: a binary search, so that long texts stay quick. */
  private first(t: number): number {
    let [lo, hi] = [0, this.words.length];
    while (lo < hi) { const mid = (lo + hi) >> 1; if (this.words[mid].end_ns < t) lo = mid + 1; else hi = mid; }
    return Math.max(0, lo - 1);
  }

  private down(e: PointerEvent): void {
    const hit = this.hit(e.offsetX);
    if (!hit) { this.player.seek(this.t(e.offsetX)); return; }
    if (hit.edge && this.element.dataset.editable === 'true') { this.held = { index: hit.index, edge: hit.edge }; this.lane.setPointerCapture(e.pointerId); }
    else this.does.pick(hit.index);
  }
  private move(e: PointerEvent): void {
    if (this.held) this.does.drag(this.held.index, this.held.edge, this.t(e.offsetX), false);
    else this.lane.style.cursor = this.element.dataset.editable === 'true' && this.hit(e.offsetX)?.edge ? 'ew-resize' : 'pointer';
  }
  private up(e: PointerEvent): void {
    if (!this.held) return;
    const { index, edge } = this.held;
    this.held = null;
    this.does.drag(index, edge, this.t(e.offsetX), true);
  }

  private draw(): void {
    const ratio = devicePixelRatio || 1;
    const width = this.lane.clientWidth;
    if (width === 0) return;
    if (this.lane.width !== Math.round(width * ratio)) { this.lane.width = Math.round(width * ratio); this.lane.height = Math.round(LANE * ratio); }
    const ctx = this.lane.getContext('2d');
    if (!ctx) return;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, LANE);
    const style = getComputedStyle(this.lane);
    const colour = (name: string): string => style.getPropertyValue(name);
    ctx.font = `13px ${style.fontFamily}`;
    ctx.textBaseline = 'middle';
    for (let i = this.first(this.t(0)); i < this.words.length; i++) {
      const w = this.words[i];
      const [a, b] = [this.x(w.start_ns), this.x(w.end_ns)];
      if (a > width) break;
      const now = i === this.current;
      ctx.fillStyle = colour(now ? '--now' : '--box');
      ctx.fillRect(a, 2, Math.max(1, b - a), 28);
      ctx.strokeStyle = colour(w.timing === 'manual' ? '--accent' : '--edge');
      ctx.setLineDash(isGuess(w) ? [3, 3] : []);
      ctx.lineWidth = w.timing === 'manual' ? 2 : 1;
      ctx.strokeRect(a + 0.5, 2.5, Math.max(1, b - a - 1), 27);
      if (b - a > 10) {
        ctx.fillStyle = colour(now ? '--now-text' : '--text');
        const shown = fitting(ctx, w.text, b - a - 8);
        // Letters a little narrower are read more easily than a word cut off.
        if (shown) ctx.fillText(shown, a + 4, 17, b - a - 8);
      }
    }
    ctx.setLineDash([]);
    ctx.font = `11px ${style.fontFamily}`;
    for (const s of this.spans) {
      const [a, b] = [this.x(s.from), this.x(s.until)];
      if (b < 0 || a > width) continue;
      const stroke = s.what === 'stroke';
      ctx.fillStyle = colour(stroke ? '--stroke' : '--pick');
      ctx.fillRect(a, stroke ? 33 : 39, Math.max(2, b - a), 4);
    }
  }

  destroy(): void { this.resize.disconnect(); this.scheme.removeEventListener('change', this.repaint); this.ws?.destroy(); }
}

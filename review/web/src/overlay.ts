// Strokes over the picture, and what is selected, at their times.
import type { Events, Stroke } from './api';

interface Line { from: number; until: number; colour: string; width: number; points: Stroke[] }

export class Overlay {
  private lines: Line[] = [];
  private drawn = '';
  private events: Events = { strokes: [], selections: [] };

  constructor(private canvas: HTMLCanvasElement, private label: HTMLElement, size: { width: number; height: number }, private scale: number) {
    canvas.width = size.width;
    canvas.height = size.height;
  }

  /** They come after the text: a long recording has many. */
  load(events: Events): void {
    this.events = events;
    this.drawn = '';
    const open = new Map<number, Line>();
    for (const s of events.strokes) {
      if (s.kind === 'begin') {
        const line = { from: s.t_ns, until: Infinity, colour: s.colour ?? '#e8453c', width: (s.width ?? 4) * this.scale, points: [s] };
        open.set(s.stroke, line);
        this.lines.push(line);
      } else if (s.kind === 'vanish') {
        const line = open.get(s.stroke);
        if (line) line.until = s.t_ns;
      } else if (s.vx !== undefined) open.get(s.stroke)?.points.push(s);
    }
  }

  /** Spans for the lane under the waveform. */
  spans(end: number): { from: number; until: number; what: string }[] {
    const strokes = this.lines.map((l) => ({ from: l.from, until: Math.min(l.until, end), what: 'stroke' }));
    const picks = this.events.selections.map((s, i) => ({
      from: s.t_ns, until: this.events.selections[i + 1]?.t_ns ?? end, what: s.set.map((e) => e.id).join(', '),
    })).filter((s) => s.what);
    return [...strokes, ...picks];
  }

  show(t: number): void {
    const lines = this.lines.filter((l) => l.from <= t && t < l.until);
    const points = lines.map((l) => l.points.filter((p) => p.t_ns <= t));
    const signature = points.map((p, i) => `${lines[i].from}:${p.length}`).join();
    if (signature !== this.drawn) {
      this.drawn = signature;
      const ctx = this.canvas.getContext('2d');
      if (!ctx) return;
      ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
      ctx.lineCap = ctx.lineJoin = 'round';
      lines.forEach((l, i) => {
        ctx.strokeStyle = l.colour;
        ctx.lineWidth = Math.max(2, l.width);
        ctx.beginPath();
        points[i].forEach((p, n) => { if (n === 0) ctx.moveTo(p.vx ?? 0, p.vy ?? 0); else ctx.lineTo(p.vx ?? 0, p.vy ?? 0); });
        ctx.stroke();
      });
    }
    let set: { kind: string; id: string }[] = [];
    for (const s of this.events.selections) { if (s.t_ns > t) break; set = s.set; }
    const strokes = lines.length ? `${lines.length} ${lines.length === 1 ? 'stroke' : 'strokes'}` : '';
    const text = [set.length ? `selected: ${set.map((e) => e.id).join(', ')}` : '', strokes].filter(Boolean).join(' · ');
    if (this.label.textContent !== text) { this.label.textContent = text; this.label.hidden = !text; }
  }
}

// Sound and picture on the session's clock. Sound leads (words are timed by it); the picture follows.
import type { TimeMap } from './api';

function along(map: TimeMap, x: number, from: 0 | 1): number {
  const to = from === 0 ? 1 : 0;
  if (map.length === 0) return from === 0 ? x * 1e9 : x / 1e9;
  let i = 1;
  while (i < map.length - 1 && map[i][from] <= x) i++;
  const [a, b] = map.length > 1 ? [map[i - 1], map[i]] : [map[0], [map[0][0] + 1, map[0][1] + 1e9] as [number, number]];
  const span = b[from] - a[from];
  return span === 0 ? b[to] : a[to] + ((x - a[from]) / span) * (b[to] - a[to]);
}

export const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];

export class Player {
  readonly leader: HTMLMediaElement;
  loop: { start: number; end: number; what: 'word' | 'segment' } | null = null;
  onTime: (t_ns: number) => void = () => {};
  onState: () => void = () => {};
  private frame = 0;
  private last = -1;

  constructor(private audio: HTMLAudioElement | null, private audioMap: TimeMap, private video: HTMLVideoElement | null, private videoMap: TimeMap) {
    this.leader = audio ?? video ?? new Audio();
    if (audio && video) video.muted = true;
    for (const m of [audio, video]) if (m) m.preservesPitch = true;
    for (const e of ['play', 'pause', 'ratechange', 'ended', 'error', 'loadedmetadata']) this.leader.addEventListener(e, () => this.onState());
    const tick = (): void => { this.frame = requestAnimationFrame(tick); this.step(); };
    tick();
  }

  private get map(): TimeMap { return this.audio ? this.audioMap : this.videoMap; }
  get time(): number { return along(this.map, this.leader.currentTime, 0); }
  get playing(): boolean { return !this.leader.paused && !this.leader.ended; }
  get speed(): number { return this.leader.playbackRate; }
  seconds(t_ns: number): number { return along(this.map, t_ns, 1); }
  sessionTime(seconds: number): number { return along(this.map, seconds, 0); }

  private step(): void {
    let t = this.time;
    if (this.loop && this.playing && (t >= this.loop.end || t < this.loop.start - 5e8)) { this.seek(this.loop.start); t = this.loop.start; }
    if (this.video && this.video !== this.leader && this.video.readyState > 0) {
      const want = Math.max(0, along(this.videoMap, t, 1));
      const past = want >= this.video.duration;
      // Sound may last longer: then the last picture is seen.
      const to = past ? Math.max(0, this.video.duration - 0.001) : want;
      const off = Math.abs(this.video.currentTime - to);
      if (this.video.playbackRate !== this.leader.playbackRate) this.video.playbackRate = this.leader.playbackRate;
      if (!this.video.seeking && off > (this.playing ? 0.12 : 0.02)) this.video.currentTime = to;
      if (this.playing && this.video.paused && !past) void this.video.play().catch(() => {});
      if (!this.playing && !this.video.paused) this.video.pause();
    }
    if (t !== this.last) { this.last = t; this.onTime(t); }
  }

  async play(): Promise<void> { await this.leader.play().catch(() => {}); }
  pause(): void { this.leader.pause(); }
  toggle(): void { if (this.playing) this.pause(); else void this.play(); }
  seek(t_ns: number): void {
    const end = Number.isFinite(this.leader.duration) ? this.leader.duration : Infinity;
    this.leader.currentTime = Math.min(Math.max(0, this.seconds(t_ns)), end);
  }
  step_by(seconds: number): void { this.seek(this.time + seconds * 1e9); }
  faster(by: 1 | -1): void {
    const i = SPEEDS.findIndex((s) => s >= this.speed - 0.01);
    this.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, i + by))]);
  }
  setSpeed(speed: number): void { this.leader.playbackRate = speed; }
  destroy(): void { cancelAnimationFrame(this.frame); this.pause(); this.video?.pause(); for (const m of [this.audio, this.video]) { m?.removeAttribute('src'); m?.load(); } }
}

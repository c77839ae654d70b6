// Nothing typed is lost: every change goes into the browser's own storage at once, and to the server on each pause.
import { type Me, Refusal, type Text, at, call } from './api';

export interface Kept extends Text { base: string | null; seq: number; when: number }
export type SaveState = 'saved' | 'typing' | 'saving' | 'away' | 'stale' | 'refused';

const PAUSE_MS = 600;
const RETRY_MS = 2_500;

export class Drafts {
  state: SaveState = 'saved';
  seq: number;
  private timer = 0;
  private pending = false;
  private flight: Promise<boolean> | null = null;
  private lastActive = 0;
  private active = 0;

  constructor(
    private me: Me, private request: string, private base: string | null, seq: number,
    private current: () => Text, private tell: (s: SaveState, e?: Refusal) => void,
  ) { this.seq = seq; }

  private get place(): string { return `redline.draft.${this.me.participant}.${this.request}`; }

  /** What an earlier visit kept and could not hand in. */
  kept(): Kept | null {
    try { return JSON.parse(localStorage.getItem(this.place) ?? 'null') as Kept | null; } catch { return null; }
  }
  forget(): void { localStorage.removeItem(this.place); }

  private keep(): void {
    const kept: Kept = { ...this.current(), base: this.base, seq: this.seq, when: Date.now() };
    try { localStorage.setItem(this.place, JSON.stringify(kept)); } catch { /* full: the server still gets it */ }
  }

  /** Time at work since the last message: pauses of more than a minute are none. */
  beat(): void {
    const now = Date.now();
    if (this.lastActive && now - this.lastActive < 60_000) this.active += now - this.lastActive;
    this.lastActive = now;
  }
  takeActive(): number { this.beat(); const n = this.active; this.active = 0; return n; }

  changed(): void {
    this.beat();
    this.keep();
    this.pending = true;
    if (this.state === 'stale') return;
    this.set(this.flight ? 'saving' : 'typing');
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), PAUSE_MS);
  }

  private set(s: SaveState, e?: Refusal): void { this.state = s; this.tell(s, e); }

  /** Hands everything in; true when the server has it all. */
  async save(): Promise<boolean> {
    clearTimeout(this.timer);
    if (this.flight) await this.flight;
    if (!this.pending) return this.state === 'saved';
    this.flight = this.send();
    const ok = await this.flight;
    this.flight = null;
    return ok && this.pending ? this.save() : ok;
  }

  private async send(): Promise<boolean> {
    this.pending = false;
    this.set('saving');
    const active_ms = this.takeActive();
    try {
      const answer = await call<{ seq: number }>('PUT', at(this.request, '/draft'), { ...this.current(), base: this.base, seq: this.seq, active_ms });
      this.seq = answer.seq;
      if (this.pending) this.keep();
      else { this.forget(); this.set('saved'); }
      return true;
    } catch (e) {
      this.pending = true;
      this.active += active_ms;
      const refusal = e instanceof Refusal ? e : new Refusal(0, 'away', String(e));
      if (refusal.status === 0 || refusal.status >= 500 || refusal.status === 429) {
        this.set('away', refusal);
        this.timer = window.setTimeout(() => void this.save(), RETRY_MS);
      } else this.set(refusal.code === 'stale' ? 'stale' : 'refused', refusal);
      return false;
    }
  }

  /** After a merge: builds on what the server has now. */
  rebase(seq: number): void { this.seq = seq; this.pending = true; this.set('typing'); this.keep(); }
  stop(): void { clearTimeout(this.timer); }
}

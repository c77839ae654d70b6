// Nothing typed is lost: every change goes into the browser's own storage at once, and to the server on each pause.
import { type Me, Refusal, type Text, at, call } from './api';

/** `wanted`: it was to be handed in, but the server was away. */
export interface Kept extends Text { base: string | null; seq: number; when: number; wanted?: boolean }
export type SaveState = 'saved' | 'typing' | 'saving' | 'away' | 'stale' | 'refused';

const PAUSE_MS = 600;
const RETRY_MS = 2_500;

const placeOf = (me: Me, request: string): string => `redline.draft.${me.participant}.${request}`;

/** What this browser keeps of a request and the server does not have. */
export function keptOf(me: Me, request: string): Kept | null {
  try { return JSON.parse(localStorage.getItem(placeOf(me, request)) ?? 'null') as Kept | null; } catch { return null; }
}

/** No answer, or one that says: later. */
export const isAway = (e: Refusal): boolean => e.status === 0 || e.status >= 500 || e.status === 429;

export class Drafts {
  state: SaveState = 'saved';
  seq: number;
  private wanted = false;
  private timer = 0;
  private pending = false;
  private flight: Promise<boolean> | null = null;
  private lastActive = 0;
  private active = 0;

  constructor(
    private me: Me, private request: string, private base: string | null, seq: number,
    private current: () => Text, private tell: (s: SaveState, e?: Refusal) => void,
  ) { this.seq = seq; }

  private get place(): string { return placeOf(this.me, this.request); }

  /** What an earlier visit kept and could not hand in. */
  kept(): Kept | null { return keptOf(this.me, this.request); }
  forget(): void { localStorage.removeItem(this.place); }

  private keep(): void {
    const kept: Kept = { ...this.current(), base: this.base, seq: this.seq, when: Date.now(), wanted: this.wanted };
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
      if (isAway(refusal)) this.away(refusal);
      else this.set(refusal.code === 'stale' ? 'stale' : 'refused', refusal);
      return false;
    }
  }

  private away(e: Refusal): void {
    this.pending = true;
    this.set('away', e);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), RETRY_MS);
  }

  /** The hand-in waits until the server is back; this outlives the page. */
  want(wanted: boolean, e?: Refusal): void {
    this.wanted = wanted;
    if (this.state === 'away' || e) this.keep();
    if (e) this.away(e);
  }

  /** After a merge: builds on what the server has now. */
  rebase(seq: number): void { this.seq = seq; this.pending = true; this.set('typing'); this.keep(); }
  stop(): void { clearTimeout(this.timer); }
}

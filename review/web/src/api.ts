// Messages to the server, and the shapes of its answers.

export type Timing = 'aligned' | 'inferred' | 'interpolated' | 'manual';
export interface Word {
  text: string; start_ns: number; end_ns: number; score?: number; timing: Timing;
  /** In the page only: the words with certain times that a guess stands in place of. */
  was?: readonly Word[];
}
export type State = 'transcribed' | 'in-correction' | 'in-review' | 'returned' | 'accepted';
export interface Item {
  request: string; requestor: string; modality: string; difficulty: string; state: State; version: number;
  revision: string | null; rejected: boolean; exported: boolean; updated_utc: string;
  claim: { participant: string; until_utc: string } | null;
}
export interface Decision { reviewer: string; created_utc: string; accepted: boolean; comment?: string }
export interface Round {
  id: string; number: number; author: string; created_utc: string; text: string; words: Word[]; base?: string;
  changed: boolean; char_edits: number; word_edits: number; decision: Decision | null;
}
/** Where words can lie: session time with sound. */
export interface Heard { start_ns: number; end_ns: number }
export interface Text { text: string; words: Word[] }
export interface Draft extends Text { base: string | null; seq: number; updated_utc: string }
export type TimeMap = [number, number][];
export interface Realignment { state: 'queued' | 'running' | 'done' | 'failed'; attempts: number; error: string | null; next_utc: string }
export interface Details {
  item: Item; automatic: Text & { language?: string }; rounds: Round[]; draft: Draft | null; oracle: Text | null;
  realignment: Realignment | null;
  about: {
    participant: string; model?: string; modality: string; difficulty: string; status: string; note?: string;
    rejection: { by: string; reason: string; at_utc: string } | null; duration_ns: number; heard: Heard;
    audio: { map: TimeMap; duration_s: number } | null;
    video: { map: TimeMap; width: number; height: number; has_audio: boolean } | null;
  };
  can: { correct: boolean; review: boolean; reject: boolean; take_back: boolean; realign: boolean };
}
export interface Me { participant: string; roles: string[]; csrf: string; corpus: string; claim_minutes: number; can_realign: boolean }
export interface Stroke { t_ns: number; kind: 'begin' | 'point' | 'end' | 'vanish'; stroke: number; vx?: number; vy?: number; colour?: string; width?: number }
export interface Selection { t_ns: number; kind: 'added' | 'removed' | 'cleared'; entity?: { kind: string; id: string }; set: { kind: string; id: string }[] }
export interface Events { strokes: Stroke[]; selections: Selection[] }

/** An answer that is a refusal; status 0: the server is away. */
export class Refusal extends Error {
  constructor(readonly status: number, readonly code: string, message: string) { super(message); }
}

let csrf = '';
export function setCsrf(key: string): void { csrf = key; }

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: { 'x-redline-csrf': csrf, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
  } catch {
    throw new Refusal(0, 'away', 'The server cannot be reached.');
  }
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, value.code ?? 'error', value.message ?? `The server answered ${answer.status}.`);
  return value as T;
}

export const get = <T>(path: string): Promise<T> => call<T>('GET', path);
export const post = <T>(path: string, body: unknown = {}): Promise<T> => call<T>('POST', path, body);
export const at = (request: string, step = ''): string => `/api/requests/${encodeURIComponent(request)}${step}`;

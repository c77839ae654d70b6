// The text, one line a segment, edited in place. Marks are painted over plain text (CSS highlights), so a long
// transcript is no larger in the page than its text, and a keystroke touches one line only.
import type { Heard, Text, Word } from './api';
import { clock, h } from './dom';
import { Known, type Segment, carry, clean, isGuess, toSegments, toText, tokens } from './text';

const LOW_SCORE = 0.5;
const JOIN_MS = 900;
const PAINTED = ['now', 'doubtful', 'guessed', 'manual'] as const;

interface Step { segments: Segment[]; row: number; caret: number }

export class Editor {
  readonly element = h('div', { class: 'text', role: 'group', 'aria-label': 'Transcript' });
  segments: Segment[] = [];
  onChange: (typed: boolean) => void = () => {};
  onPick: (word: Word, index: number) => void = () => {};
  private rows: HTMLElement[] = [];
  private undone: Step[] = [];
  private done: Step[] = [];
  private lastTyped = { at: 0, row: -1 };
  /** The line's words when this stretch of typing began: what it is on the way to its end says nothing of times. */
  private origin: readonly Word[] = [];
  private known = new Known();
  private starts: number[] = [];
  private now = -1;

  constructor(private editable: boolean, private heard: Heard) {
    for (const name of PAINTED) CSS.highlights?.set(name, new Highlight());
    this.element.addEventListener('beforeinput', (e) => this.before(e as InputEvent));
    this.element.addEventListener('input', (e) => this.input(e));
    this.element.addEventListener('compositionend', (e) => this.input(e));
    this.element.addEventListener('click', (e) => this.click(e));
    this.element.addEventListener('keydown', (e) => this.arrows(e));
    this.element.addEventListener('paste', (e) => this.paste(e));
    this.element.addEventListener('drop', (e) => e.preventDefault());
  }

  learn(words: readonly Word[]): void { this.known.add(words); }
  get text(): Text { return toText(this.segments); }
  get words(): Word[] { return this.segments.flatMap((s) => s.words as Word[]); }

  /** Puts a text in; `keep` makes it a step that undo takes back. */
  load(t: Text, keep = false): void {
    if (keep) this.remember(0, 0);
    this.lastTyped = { at: 0, row: -1 };
    const segments = toSegments(t);
    this.show(segments.length ? segments : [{ text: '', words: [] }]);
  }

  private show(segments: Segment[]): void {
    const before = this.segments;
    this.segments = segments;
    if (segments.length !== this.rows.length) {
      this.rows = segments.map((s, i) => this.row(s, i));
      this.element.replaceChildren(...this.rows.map((r) => r.parentElement as HTMLElement));
    } else segments.forEach((s, i) => { if (before[i] !== s && this.rows[i].textContent !== s.text) this.rows[i].textContent = s.text; });
    this.relabel();
    this.paint();
  }

  private row(s: Segment, i: number): HTMLElement {
    const line = h('div', { class: 'line', spellcheck: 'true', ...(this.editable ? { contenteditable: 'plaintext-only', role: 'textbox', 'aria-multiline': 'false' } : { tabindex: '0' }) }, s.text);
    h('div', { class: 'row', 'data-row': i }, h('span', { class: 'at', 'aria-hidden': 'true' }), line);
    return line;
  }

  private relabel(): void {
    this.starts = [];
    let n = 0;
    this.segments.forEach((s, i) => {
      this.starts.push(n);
      n += s.words.length;
      const at = s.words[0] ? clock(s.words[0].start_ns) : '';
      const gutter = this.rows[i].previousElementSibling as HTMLElement;
      if (gutter.textContent !== at) { gutter.textContent = at; this.rows[i].setAttribute('aria-label', `Segment ${i + 1}, at ${at || 'no time'}`); }
    });
  }

  private remember(row: number, caret: number): void {
    this.done.push({ segments: this.segments, row, caret });
    if (this.done.length > 500) this.done.shift();
    this.undone = [];
  }

  private caret(): { row: number; from: number; to: number } {
    const s = getSelection();
    const node = s?.anchorNode;
    const row = node ? this.rows.findIndex((r) => r.contains(node)) : -1;
    if (!s || row < 0 || s.rangeCount === 0) return { row: -1, from: 0, to: 0 };
    const r = s.getRangeAt(0);
    const offset = (n: Node, o: number): number => { const m = document.createRange(); m.setStart(this.rows[row], 0); m.setEnd(n, o); return m.toString().length; };
    return { row, from: offset(r.startContainer, r.startOffset), to: offset(r.endContainer, r.endOffset) };
  }

  focusAt(row: number, offset: number): void {
    const r = this.rows[row];
    if (!r) return;
    r.focus();
    const node = r.firstChild;
    if (node) getSelection()?.collapse(node, Math.min(offset, node.textContent?.length ?? 0));
  }

  private replace(at: number, count: number, rows: Segment[], row: number, caret: number): void {
    const c = this.caret();
    this.remember(c.row, c.from);
    const segments = [...this.segments];
    segments.splice(at, count, ...rows);
    this.show(segments);
    this.focusAt(row, caret);
    this.lastTyped = { at: 0, row: -1 };
    this.onChange(true);
  }

  private before(e: InputEvent): void {
    if (e.inputType === 'historyUndo') { e.preventDefault(); this.undo(); return; }
    if (e.inputType === 'historyRedo') { e.preventDefault(); this.redo(); return; }
    const { row, from, to } = this.caret();
    if (row < 0) return;
    const s = this.segments[row];
    if (e.inputType === 'insertParagraph' || e.inputType === 'insertLineBreak') {
      e.preventDefault();
      const [a, b] = [s.text.slice(0, from), s.text.slice(to)];
      if (!a.trim() || !b.trim()) return;
      const words = carry(s.words, `${a} ${b}`, this.known, undefined, undefined, this.heard);
      const n = tokens(a).length;
      this.replace(row, 1, [{ text: a.trimEnd(), words: words.slice(0, n) }, { text: b.trimStart(), words: words.slice(n) }], row + 1, 0);
    } else if (e.inputType.startsWith('delete') && from === to) {
      const back = e.inputType.includes('Backward') && from === 0 && row > 0;
      const ahead = e.inputType.includes('Forward') && from === s.text.length && row + 1 < this.segments.length;
      if (!back && !ahead) return;
      e.preventDefault();
      const first = back ? row - 1 : row;
      const [a, b] = [this.segments[first], this.segments[first + 1]];
      const text = [a.text.trimEnd(), b.text.trimStart()].filter(Boolean).join(' ');
      this.replace(first, 2, [{ text, words: [...a.words, ...b.words] }], first, a.text.trimEnd().length + (a.text && b.text ? 1 : 0));
    }
  }

  /** Takes what was typed into a line; what an input method is still composing, only when it is done. */
  private input(e: Event): void {
    const row = this.rows.findIndex((r) => r.contains(e.target as Node));
    if (row < 0 || (e instanceof InputEvent && e.isComposing)) return;
    const { from } = this.caret();
    const now = performance.now();
    if (this.lastTyped.row !== row || now - this.lastTyped.at > JOIN_MS) { this.remember(row, from); this.origin = this.segments[row].words; }
    this.lastTyped = { at: now, row };
    const raw = this.rows[row].textContent ?? '';
    const text = clean(raw);
    this.set(row, text);
    // The line was written anew without what nobody can see: the caret goes where it was.
    if (text !== raw) this.focusAt(row, clean(raw.slice(0, from)).length);
    this.onChange(true);
  }

  private set(row: number, text: string): void {
    const before = this.segments.slice(0, row).findLast((s) => s.words.length)?.words.at(-1);
    const after = this.segments.slice(row + 1).find((s) => s.words.length)?.words[0];
    const segments = [...this.segments];
    segments[row] = { text, words: carry(this.origin, text, this.known, before, after, this.heard) };
    this.show(segments);
  }

  private paste(e: ClipboardEvent): void {
    // One line at a time: what is pasted stays in its segment.
    e.preventDefault();
    document.execCommand('insertText', false, tokens(clean(e.clipboardData?.getData('text/plain') ?? '')).join(' '));
  }

  private arrows(e: KeyboardEvent): void {
    if (!this.editable || e.ctrlKey || e.altKey || e.metaKey || e.shiftKey || !/^Arrow(Up|Down)$/.test(e.key)) return;
    const { row, from } = this.caret();
    if (row < 0) return;
    const selection = getSelection();
    const rect = selection?.rangeCount ? selection.getRangeAt(0).getClientRects()[0] : undefined;
    const box = this.rows[row].getBoundingClientRect();
    const edge = !rect || (e.key === 'ArrowUp' ? rect.top - box.top < rect.height : box.bottom - rect.bottom < rect.height);
    const to = row + (e.key === 'ArrowUp' ? -1 : 1);
    if (edge && this.rows[to]) { e.preventDefault(); this.focusAt(to, from); }
  }

  private travel(from: Step[], to: Step[]): void {
    const step = from.pop();
    if (!step) return;
    const c = this.caret();
    to.push({ segments: this.segments, row: c.row, caret: c.from });
    this.show(step.segments);
    if (step.row >= 0) this.focusAt(Math.min(step.row, this.rows.length - 1), step.caret);
    this.lastTyped = { at: 0, row: -1 };
    this.onChange(false);
  }
  undo(): void { this.travel(this.done, this.undone); }
  redo(): void { this.travel(this.undone, this.done); }

  // Words by number --------------------------------------------------------------------------------------------

  place(index: number): { row: number; word: number } | null {
    if (index < 0) return null;
    let row = this.starts.findLastIndex((s) => s <= index);
    while (row >= 0 && this.segments[row].words.length === 0) row--;
    const word = index - (this.starts[row] ?? 0);
    return row >= 0 && word < this.segments[row].words.length ? { row, word } : null;
  }

  private range(row: number, word: number): Range | null {
    const node = this.rows[row]?.firstChild;
    if (!(node instanceof Text_)) return null;
    let n = 0;
    for (const m of node.data.matchAll(/\S+/g)) {
      if (n++ === word) { const r = document.createRange(); r.setStart(node, m.index); r.setEnd(node, m.index + m[0].length); return r; }
    }
    return null;
  }

  private click(e: MouseEvent): void {
    const { row, from, to } = this.caret();
    if (row < 0 || from !== to || !(e.target as HTMLElement).closest('.line')) return;
    const n = tokens(this.segments[row].text.slice(0, from)).length;
    const inside = /\S$/.test(this.segments[row].text.slice(0, from));
    const word = Math.min(inside ? n - 1 : n, this.segments[row].words.length - 1);
    if (word >= 0) this.onPick(this.segments[row].words[word] as Word, this.starts[row] + word);
  }

  /** Changes a word's times; `keep` starts a step that undo takes back. */
  retime(index: number, start_ns: number, end_ns: number, keep: boolean): void {
    const at = this.place(index);
    if (!at) return;
    if (keep) this.remember(-1, 0);
    this.lastTyped = { at: 0, row: -1 };
    const segments = [...this.segments];
    const words = [...segments[at.row].words];
    words[at.word] = { ...words[at.word], start_ns, end_ns, timing: 'manual', score: undefined, was: undefined };
    segments[at.row] = { ...segments[at.row], words };
    this.segments = segments;
    this.relabel();
    this.paint();
  }

  highlight(index: number, follow: boolean): void {
    if (index === this.now) return;
    this.now = index;
    const mark = CSS.highlights?.get('now');
    mark?.clear();
    const at = this.place(index);
    const range = at && this.range(at.row, at.word);
    if (!range || !at) return;
    mark?.add(range);
    if (follow) {
      const r = range.getBoundingClientRect();
      const box = this.element.getBoundingClientRect();
      if (r.top < box.top + 8 || r.bottom > box.bottom - 8) this.rows[at.row].scrollIntoView({ block: 'center' });
    }
  }

  doubtfulAfter(index: number): number {
    const all = this.words;
    const low = (w: Word): boolean => w.score !== undefined && w.score !== null && w.score < LOW_SCORE;
    const next = all.findIndex((w, i) => i > index && low(w));
    return next >= 0 ? next : all.findIndex(low);
  }

  private paint(): void {
    for (const name of PAINTED) if (name !== 'now') CSS.highlights?.get(name)?.clear();
    this.segments.forEach((s, row) => s.words.forEach((w, word) => {
      const name = w.timing === 'manual' ? 'manual' : isGuess(w) ? 'guessed' : w.score !== undefined && w.score !== null && w.score < LOW_SCORE ? 'doubtful' : null;
      const range = name && this.range(row, word);
      if (name && range) CSS.highlights?.get(name)?.add(range);
    }));
    const now = this.now;
    this.now = -1;
    this.highlight(now, false);
  }
}

// `Text` is the transcript here; this is the page's own kind of node.
const Text_ = globalThis.Text;

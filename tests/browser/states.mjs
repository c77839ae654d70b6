// What the loop's page does between the steps: { url, links, shots, late, typed, twin, counted: { request, cases }, returned, guessed,
// running, failed, edited }.
import assert from 'node:assert/strict';
import { api, lines, perform, person, saved, select, server, shot, timed, visit, want } from './people.mjs';

const at = (request, step = '') => `/api/requests/${request}${step}`;

/** The text is there, and is edited, before the server knows what the sound looks like. */
async function waveformsComeLater(p1) {
  let draw;
  const drawn = new Promise((resolve) => { draw = resolve; });
  await p1.route('**/peaks', async (route) => { await drawn; await route.continue(); });
  await visit(p1, want.late);
  await p1.locator('.waveform', { hasText: 'being drawn' }).waitFor();
  await select(p1, 0, 'fill it');
  await p1.keyboard.type('fillet');
  await saved(p1);
  assert.equal((await server(p1, want.late)).draft.words[2].text, 'fillet');
  await shot(p1, 'editing-without-waveform');
  const places = () => p1.evaluate(() => ['.stage', '.text', '.diff-box', '.actions', '.wave'].map((s) => { const b = document.querySelector(s).getBoundingClientRect(); return [s, b.x, b.y, b.width, b.height]; }));
  const before = await places();
  draw();
  await p1.locator('.waveform > div').waitFor();
  assert.deepEqual(await places(), before, 'nothing jumps');
  await p1.unroute('**/peaks');
}

/** Typed with saves in between, words lie where the server puts them when it gets the text at once. */
async function wordsOneByOne(p1) {
  await visit(p1, want.typed);
  await select(p1, 0, ' edge');
  await p1.keyboard.press('ArrowLeft');
  for (const word of [' upper', ' left', ' outer']) { await p1.keyboard.type(word, { delay: 5 }); await saved(p1); }
  await p1.keyboard.press('Home');
  for (const word of ['so ', 'then ', 'please ']) { await p1.keyboard.type(word, { delay: 5 }); await saved(p1); }
  await p1.locator('.line').nth(1).focus();
  await p1.keyboard.press('End');
  const many = 'one two three four five six seven eight nine ten eleven twelve';
  for (const word of many.split(' ')) await p1.keyboard.type(` ${word}`, { delay: 1 });
  await saved(p1);
  const { draft, about } = await server(p1, want.typed);
  assert.equal(draft.text, `so then please make the fill it on this upper left outer edge\ntwo millimeters bigger please ${many}`);
  // The sound begins at 0.05 s and lasts longer than the recording.
  assert.deepEqual(about.heard, { start_ns: 50_000_000, end_ns: 6_000_000_000 });
  assert.ok(draft.words.every((w) => w.start_ns >= 50_000_000 && w.start_ns < w.end_ns && w.end_ns <= 6_000_000_000), JSON.stringify(draft.words));
  const [status] = await api(p1, 'PUT', at(want.twin, '/draft'), { seq: 0, text: draft.text });
  assert.equal(status, 200);
  assert.deepEqual(timed(draft.words), timed((await server(p1, want.twin)).draft.words));
}

/** What is counted while typing is what is stored. */
async function counts(p1) {
  const { request, cases } = want.counted;
  await visit(p1, request);
  for (const { line, said } of cases) {
    await p1.locator('.line').first().focus();
    await p1.keyboard.press('Home');
    await p1.keyboard.press('Shift+End');
    if (line) await p1.keyboard.insertText(line);
    else await p1.keyboard.press('Backspace');
    await p1.waitForFunction((s) => document.querySelector('.diff-head .count').textContent === s, said).catch(async () => {
      assert.equal(await p1.locator('.diff-head .count').textContent(), said, line);
    });
  }
  const counted = await p1.locator('.diff-head .count').textContent();
  await p1.keyboard.press('Control+Enter');
  await p1.waitForFunction((r) => !location.hash.includes(r), request);
  const [round] = (await server(p1, request)).rounds;
  assert.equal(counted, `${round.word_edits} words, ${round.char_edits} characters changed`);
}

/** Pasted text may hold what nobody can see. */
async function invisible(p1) {
  await visit(p1, want.late);
  await select(p1, 0, 'fillet');
  await p1.evaluate((text) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, 'cham\u0007fer\tor\u0000\n\ufefffillet\u0085then\u001b');
  assert.equal((await lines(p1))[0], 'make the chamfer or fillet then on this edge');
  await p1.evaluate(() => document.execCommand('insertText', false, ' \u0001t\u200ahe'));
  await p1.keyboard.type('re');
  assert.equal((await lines(p1))[0], 'make the chamfer or fillet then t\u200ahere on this edge', 'the caret stayed');
  await saved(p1);
  assert.match((await server(p1, want.late)).draft.text, /fillet then t here on/);
  const [status, refused] = await api(p1, 'PUT', at(want.late, '/draft'), { seq: (await server(p1, want.late)).draft.seq, text: 'make the\u0007' });
  assert.equal(status, 422);
  assert.match(refused.message, /cannot be seen \(U\+0007\) after “the”; take it out/);
}

/** Esc, and the dialog is gone. */
const dismiss = async (page) => { await page.keyboard.press('Escape'); await page.locator('dialog').waitFor({ state: 'detached' }); };

/** Esc costs no comment and no reason; a rejection frees the request, and is taken back. */
async function dialogs() {
  const p2 = await person('P02');
  await visit(p2, want.returned);
  await p2.keyboard.press('KeyR');
  const comment = p2.getByRole('textbox', { name: 'Comment' });
  await comment.fill('It says two, not too.');
  await dismiss(p2);
  await p2.keyboard.press('KeyR');
  assert.equal(await comment.inputValue(), 'It says two, not too.');
  await dismiss(p2);
  await p2.reload();
  await p2.locator('.line').first().waitFor();
  await p2.keyboard.press('KeyR');
  assert.equal(await comment.inputValue(), 'It says two, not too.', 'also after a reload');
  await dismiss(p2);

  const open = p2.getByRole('button', { name: 'Reject request…' });
  const reason = p2.getByRole('textbox', { name: 'Reason' });
  await open.click();
  await reason.fill('No word can be understood.');
  await dismiss(p2);
  await open.click();
  assert.equal(await reason.inputValue(), 'No word can be understood.');
  await shot(p2, 'reject');
  assert.equal((await server(p2, want.returned)).item.claim.participant, 'P02');
  await p2.getByRole('button', { name: 'Reject', exact: true }).click();
  await p2.getByText('P02 rejected it:').waitFor();
  await shot(p2, 'rejected');
  assert.equal((await server(p2, want.returned)).item.claim, null, 'nobody works on it');

  const p3 = await person('P03');
  await visit(p3, want.returned);
  await p3.getByText('P02 rejected it:').waitFor();
  assert.equal(await p3.getByRole('button', { name: 'Take back the rejection' }).count(), 0, 'another reviewer does not overrule');
  await p2.getByRole('button', { name: 'Take back the rejection' }).click();
  await p2.getByRole('button', { name: 'Reject request…' }).waitFor();
  assert.equal(await p2.locator('.about .state').textContent(), 'in review');
  await open.click();
  assert.equal(await reason.inputValue(), '', 'what was sent is not offered again');
  await dismiss(p2);

  // Edits too.
  await visit(p2, want.edited);
  await p2.getByText('Edits of this request (1)').click();
  await p2.getByRole('button', { name: 'Reject…' }).click();
  await reason.fill('A hole on the wrong face.');
  await p2.getByRole('button', { name: 'Reject', exact: true }).click();
  await p2.getByText('rejected by P02: A hole on the wrong face.').waitFor();
  await shot(p2, 'edit-rejected');
  await p2.getByRole('button', { name: 'Take back', exact: true }).click();
  await p2.getByRole('button', { name: 'Reject…' }).waitFor();
}

async function alignments(p1) {
  for (const [request, said, name] of [
    [want.guessed, 'Aligned again. The times of 3 of 10 words are guesses.', 'aligned-again'],
    [want.running, 'Is being aligned again…', 'aligning'],
    [want.failed, 'Could not be aligned again after 4 attempts: the model file is missing.', 'alignment-failed'],
  ]) {
    await visit(p1, request);
    await p1.locator('.alignment', { hasText: said }).waitFor();
    await shot(p1, name);
  }
}

await perform(async () => {
  const p1 = await person('P01');
  await shot(p1, 'queue-full');
  await waveformsComeLater(p1);
  await wordsOneByOne(p1);
  await invisible(p1);
  await counts(p1);
  await dialogs();
  await alignments(p1);
  const c1 = await person('C01');
  await c1.goto(`${want.url}/#/overview`);
  await c1.getByRole('heading', { name: 'Overview' }).waitFor();
  await c1.locator('summary', { hasText: 'Audit log' }).click();
  await c1.locator('summary', { hasText: 'Audit log' }).evaluate((e) => e.scrollIntoView());
  await shot(c1, 'audit');
});

// Plays the whole correction loop in real browsers: { url, links: { P01, P02, P03, C01, P04 }, request, script, long, shots }.
import assert from 'node:assert/strict';
import { lines, perform, person, saved, select, server, shot, visit, want } from './people.mjs';

async function play() {
  const p1 = await person('P01');
  await shot(p1, 'queue');
  assert.equal(await p1.locator('.card').first().locator('tbody tr').count(), 2, 'two of the own requests wait');

  // Correct ----------------------------------------------------------------------------------------------------
  await visit(p1, want.request);
  await p1.locator('.waveform div').first().waitFor();
  await p1.keyboard.press('Escape');
  await p1.keyboard.press('Space');
  await p1.waitForFunction(() => document.querySelector('audio').currentTime > 0.8 && CSS.highlights.get('now').size === 1);
  const off = await p1.evaluate(() => Math.abs(document.querySelector('video').currentTime - document.querySelector('audio').currentTime));
  assert.ok(off < 0.3, `picture and sound are ${off} s apart`);
  await p1.keyboard.press('Space');
  await p1.waitForFunction(() => document.querySelector('audio').paused);
  await p1.keyboard.press('Equal');
  assert.deepEqual(await p1.evaluate(() => { const a = document.querySelector('audio'); return [a.playbackRate, a.preservesPitch]; }), [1.25, true]);
  await p1.keyboard.press('Minus');
  const before = await p1.evaluate(() => document.querySelector('audio').currentTime);
  await p1.keyboard.press('KeyJ');
  await p1.waitForFunction((t) => document.querySelector('audio').currentTime <= Math.max(0, t - 1.5), before);

  // A click on a word goes to its time: “edge” is word 7 of the first line, at 0.2 + 6 · 0.4 s; the sound starts at 0.05 s.
  const box = await p1.evaluate(() => {
    const node = document.querySelector('.line').firstChild;
    const r = document.createRange();
    const at = node.data.indexOf('edge');
    r.setStart(node, at); r.setEnd(node, at + 4);
    const b = r.getBoundingClientRect();
    return [b.left + b.width / 2, b.top + b.height / 2];
  });
  await p1.mouse.click(...box);
  await p1.waitForFunction(() => Math.abs(document.querySelector('audio').currentTime - 2.55) < 0.02);
  await p1.keyboard.press('Alt+KeyW');
  await p1.waitForFunction(() => !document.querySelector('audio').paused);
  await p1.waitForTimeout(1200);
  const looped = await p1.evaluate(() => document.querySelector('audio').currentTime);
  assert.ok(looped > 2.4 && looped < 3.1, `the loop stays in the word: ${looped}`);
  await p1.keyboard.press('Alt+KeyW');

  // Typing pauses; the edit keeps the times of the other words.
  await select(p1, 0, 'fill it');
  await p1.keyboard.type('fillet', { delay: 15 });
  assert.equal(await p1.evaluate(() => document.querySelector('audio').paused), true, 'paused while typing');
  await saved(p1);
  assert.equal((await lines(p1))[0], 'make the fillet on this edge');
  const draft = (await server(p1, want.request)).draft;
  assert.deepEqual(draft.words.map((w) => w.timing), ['aligned', 'aligned', 'interpolated', 'aligned', 'aligned', 'aligned', 'aligned', 'aligned', 'aligned', 'aligned']);
  assert.deepEqual([draft.words[1].start_ns, draft.words[3].start_ns], [600_000_000, 1_800_000_000]);
  assert.deepEqual([draft.words[2].start_ns, draft.words[2].end_ns], [1_000_000_000, 1_760_000_000], 'the time of both words that it replaced');
  await p1.locator('.diff-box ins', { hasText: 'fillet' }).waitFor();
  assert.match(await p1.locator('.diff-box del').first().textContent(), /fill it/);
  await p1.keyboard.press('Control+KeyZ');
  assert.equal((await lines(p1))[0], 'make the fill it on this edge');
  await p1.keyboard.press('Control+Shift+KeyZ');
  assert.equal((await lines(p1))[0], 'make the fillet on this edge');
  await shot(p1, 'editor');

  // Undo gives the automatic times back, not guesses.
  await p1.keyboard.press('Control+KeyZ');
  await saved(p1);
  assert.deepEqual((await server(p1, want.request)).draft.words.slice(2, 4).map((w) => [w.timing, w.score.toFixed(2)]), [['aligned', '0.21'], ['aligned', '0.93']]);
  await p1.keyboard.press('Control+Shift+KeyZ');

  // A boundary is moved by keyboard, and with the mouse.
  await p1.keyboard.press('Escape');
  await p1.mouse.click(...box);
  await p1.keyboard.press('Alt+BracketRight');
  await saved(p1);
  const words = (await server(p1, want.request)).draft.words;
  const moved = words.find((w) => w.timing === 'manual');
  assert.ok(moved, 'a word with times set by hand');
  await p1.keyboard.press('Control+KeyZ');
  await saved(p1);

  // Lines are split and joined.
  await p1.locator('.line').nth(1).focus();
  await p1.keyboard.press('Home');
  await p1.keyboard.press('Backspace');
  assert.equal((await lines(p1)).length, 1);
  await p1.keyboard.press('Enter');
  assert.equal((await lines(p1)).length, 2);

  // What an input method composes is text like any other, and one step to undo.
  await p1.locator('.line').nth(0).focus();
  await p1.keyboard.press('End');
  const ime = await p1.context().newCDPSession(p1);
  await ime.send('Input.imeSetComposition', { text: ' cafe', selectionStart: 5, selectionEnd: 5 });
  await ime.send('Input.insertText', { text: ' café' });
  await p1.waitForFunction(async (r) => (await (await fetch(`/api/requests/${r}`)).json()).draft.text.includes('edge café'), want.request);
  await p1.keyboard.press('Control+KeyZ');
  assert.equal((await lines(p1))[0], 'make the fillet on this edge');
  await saved(p1);

  // The server is away: what is typed is kept and handed in later.
  await p1.context().setOffline(true);
  await select(p1, 1, 'millimeters');
  await p1.keyboard.type('millimetres');
  const buttons = () => p1.locator('.actions').evaluate((e) => [...e.querySelectorAll('button')].filter((b) => !b.hidden).map((b) => b.getBoundingClientRect().top));
  const before_away = await buttons();
  await p1.locator('.save.away').waitFor();
  assert.deepEqual(await buttons(), before_away, 'nothing jumps');
  await shot(p1, 'away');
  const kept = await p1.evaluate(() => Object.entries(localStorage).find(([k]) => k.startsWith('redline.draft.'))[1]);
  assert.match(kept, /millimetres/);
  await p1.context().setOffline(false);
  await saved(p1);
  assert.match((await server(p1, want.request)).draft.text, /millimetres/);

  // Help, by keyboard, and a changed shortcut.
  await p1.keyboard.press('Escape');
  await p1.keyboard.press('Shift+Slash');
  await p1.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  await shot(p1, 'shortcuts');
  await p1.getByRole('button', { name: 'Change the keys of: Slower' }).click();
  await p1.keyboard.press('Alt+KeyY');
  assert.match(await p1.locator('tr', { hasText: 'Slower' }).textContent(), /Alt \+ Y/);
  await p1.keyboard.press('Escape');

  await p1.keyboard.press('Control+Enter');
  await p1.waitForFunction((r) => !location.hash.includes(r), want.request);

  // Another expert returns it ----------------------------------------------------------------------------------
  const p2 = await person('P02', 'dark');
  await visit(p2, want.request);
  await p2.locator('.diff-box ins', { hasText: 'millimetres' }).waitFor();
  assert.equal(await p2.locator('.line[contenteditable]').count(), 0, 'a reviewer does not write');
  await shot(p2, 'review');
  const p3 = await person('P03');
  await visit(p3, want.request);
  await p3.getByText('P02 works on it until').waitFor();
  await shot(p3, 'claimed');
  // Keys are what is printed on them: “?” of a German keyboard helps, Q of a French one (where A is on ours) does not accept.
  const press = (key, code, shiftKey = false) => p2.evaluate((e) => document.body.dispatchEvent(new KeyboardEvent('keydown', { ...e, bubbles: true })), { key, code, shiftKey });
  await press('?', 'Minus', true);
  await p2.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  await p2.keyboard.press('Escape');
  await press('q', 'KeyA');
  await p2.waitForFunction(() => location.hash === '#/');
  assert.notEqual((await server(p2, want.request)).item.state, 'accepted');
  await visit(p2, want.request);
  await p2.keyboard.press('KeyR');
  await p2.getByRole('button', { name: 'Return', exact: true }).click();
  await p2.getByText('Say what has to change.').waitFor();
  await p2.getByRole('textbox', { name: 'Comment' }).fill('It says millimeters, not millimetres. <b>Keep</b> the spelling.');
  await shot(p2, 'return');
  await p2.getByRole('button', { name: 'Return', exact: true }).click();
  await p2.waitForFunction(() => location.hash === '#/');

  // Corrected again, in two browsers at once --------------------------------------------------------------------
  await p1.goto(`${want.url}/#/`);
  await p1.locator('.state.returned').waitFor();
  await visit(p1, want.request);
  await p1.getByText('P02 returned revision 1').waitFor();
  assert.match(await p1.locator('blockquote').textContent(), /<b>Keep<\/b>/, 'a comment is text');
  await shot(p1, 'returned');
  const other = await person('P01');
  await visit(other, want.request);
  await select(p1, 1, 'millimetres');
  await p1.keyboard.type('millimeters');
  await saved(p1);
  await p1.waitForFunction(() => !Object.keys(localStorage).some((k) => k.startsWith('redline.draft.')));
  await select(other, 1, 'millimetres');
  await other.keyboard.type('inches');
  await other.getByRole('heading', { name: 'Another window saved in the meantime' }).waitFor();
  await shot(other, 'merge');
  assert.match((await server(p1, want.request)).draft.text, /two millimeters/, 'nothing was overwritten');
  await other.getByRole('radio', { name: /the other/ }).check();
  await other.getByRole('button', { name: 'Use the result' }).click();
  await saved(other);
  assert.equal((await server(other, want.request)).draft.text, 'make the fillet on this edge\ntwo millimeters bigger please');
  await other.keyboard.press('Control+Enter');
  await other.waitForFunction((r) => !location.hash.includes(r), want.request);

  // Accepted by a third person, with one key --------------------------------------------------------------------
  await visit(p3, want.request);
  await p3.reload();
  await p3.locator('.line').first().waitFor();
  await p3.locator('.diff-box ins', { hasText: 'fillet' }).waitFor();
  await shot(p3, 'second-review');
  await p3.keyboard.press('KeyA');
  await p3.waitForFunction(() => location.hash === '#/');
  assert.equal((await server(p3, want.request)).item.state, 'accepted');
  await visit(p3, want.request);
  await p3.locator('.alignment').waitFor();
  await shot(p3, 'accepted');

  // Text is text -------------------------------------------------------------------------------------------------
  await visit(p1, want.script);
  await select(p1, 0, 'fill it');
  await p1.keyboard.type('<script>alert(1)</script><img src=x onerror=alert(2)>');
  await saved(p1);
  await p1.keyboard.press('Control+Enter');
  await p1.waitForFunction((r) => !location.hash.includes(r), want.script);
  await visit(p2, want.script);
  assert.match((await lines(p2))[0], /<script>alert\(1\)<\/script>/);
  assert.equal(await p2.locator('.request script, .request img').count(), 0);
  await shot(p2, 'script-text');

  // The rest of the pages ----------------------------------------------------------------------------------------
  const c1 = await person('C01');
  await shot(c1, 'empty');
  await c1.goto(`${want.url}/#/overview`);
  await c1.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.match(await c1.locator('.tiles').textContent(), /100 %of them corrected/);
  await shot(c1, 'overview');
  await c1.goto(`${want.url}/#/r/01ARZ3NDEKTSV4RRFFQ69G5FAV`);
  await c1.getByRole('heading', { name: 'Not found' }).waitFor();
  await shot(c1, 'not-found');
  await c1.getByRole('button', { name: 'Sign out' }).click();
  await c1.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await shot(c1, 'signed-out');

  // Ten thousand words stay smooth ---------------------------------------------------------------------------------
  if (want.long) {
    const p4 = await person('P04');
    await visit(p4, want.long);
    assert.equal(await p4.locator('.line').count(), 500);
    const slowest = await p4.evaluate(async () => {
      const line = document.querySelectorAll('.line')[250];
      line.scrollIntoView();
      line.focus();
      getSelection().collapse(line.firstChild, 3);
      const spent = [];
      for (let i = 0; i < 12; i++) {
        const t = performance.now();
        document.execCommand('insertText', false, 'x');
        await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
        spent.push(performance.now() - t);
      }
      return spent.sort((a, b) => a - b)[Math.floor(spent.length / 2)];
    });
    console.log(`a keystroke in 10,000 words: median ${slowest.toFixed(0)} ms to the next picture`);
    assert.ok(slowest < 150, `a keystroke takes ${slowest} ms`);
    await shot(p4, 'long');
  }
}

await perform(play);

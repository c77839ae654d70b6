// Raters judge edits in browsers, by keyboard; nothing that reaches them names the maker, the edit or a file.
// On standard output: the order in which each of them saw what was asked.
import assert from 'node:assert/strict';
import { perform, person, readable, shot, want } from './people.mjs';

const VIEWS = ['Isometric', 'Top', 'Bottom', 'Front', 'Back', 'Left', 'Right'];
const at = (page) => page.evaluate(() => document.querySelector('.asked audio').currentTime);
const pictured = (page) => page.evaluate(() => document.querySelector('.asked video').currentTime);

/** Six sides and an isometric view of every model, drawn, and the chosen one large. */
async function views(page, titles) {
  assert.deepEqual(await page.locator('.models figcaption').allTextContents(), titles);
  await page.waitForFunction((n) => [...document.querySelectorAll('.models img')].filter((i) => i.complete && i.naturalWidth > 0).length === n, titles.length * 8, { timeout: 90_000 });
  for (let i = 0; i < titles.length; i++) {
    const figure = page.locator('.models figure').nth(i);
    assert.deepEqual(await figure.locator('.thumb img').evaluateAll((all) => all.map((e) => e.alt)), VIEWS);
    const shown = await figure.locator('.thumb img').evaluateAll((all) => Promise.all(all.map(async (e) => [...new Uint8Array(await (await fetch(e.src)).arrayBuffer())].join())));
    assert.ok(new Set(shown).size >= 4, 'the sides of a model do not look alike');
  }
  const large = page.locator('.large').last();
  const before = await large.getAttribute('src');
  await page.keyboard.press('v');
  assert.notEqual(await large.getAttribute('src'), before);
  assert.ok((await large.getAttribute('alt')).endsWith(', Top'));
  await page.keyboard.press('Shift+V');
  assert.equal(await large.getAttribute('src'), before);
}

/** A recording: picture and sound play, the words go along and lead to their times, strokes are seen at theirs. */
async function recording(page, ranges) {
  const lines = page.locator('.said');
  assert.deepEqual(await lines.allTextContents(), Object.keys(want.kinds).filter((k) => want.kinds[k] === 'spoken').concat('two millimeters bigger please'));
  await page.waitForFunction(() => document.querySelector('.asked audio').readyState >= 3 && document.querySelector('.asked video').readyState >= 3);
  assert.deepEqual(await page.evaluate(() => { const v = document.querySelector('.asked video'); return [v.videoWidth, v.videoHeight, v.duration]; }), [320, 180, 6]);

  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.waitForFunction(() => document.querySelector('.asked audio').currentTime > 0.4 && document.querySelector('.asked video').currentTime > 0.3);
  await page.locator('.said.now', { hasText: 'make the fill it' }).waitFor();
  const [sound, picture] = [await at(page), await pictured(page)];
  await page.waitForFunction(([s, p]) => document.querySelector('.asked audio').currentTime > s + 0.2 && document.querySelector('.asked video').currentTime > p + 0.2, [sound, picture]);
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Play' }).waitFor();

  // The second line begins at 3 s; sound begins 50 ms, the picture 20 ms after the session.
  await lines.nth(1).click();
  await page.locator('.said.now', { hasText: 'two millimeters' }).waitFor();
  await page.waitForFunction(() => Math.abs(document.querySelector('.asked video').currentTime - 2.98) < 0.04);
  assert.ok(Math.abs(await at(page) - 2.95) < 0.001, String(await at(page)));
  assert.equal(await page.locator('.said.now').count(), 1);
  const drawn = (some) => page.waitForFunction((some) => {
    const c = document.querySelector('.strokes');
    const seen = c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length;
    return some ? seen > 300 : seen === 0;
  }, some);
  const caption = page.locator('.asked .caption');
  await caption.filter({ hasText: 'selected: Face7 · 1 stroke' }).waitFor();
  await drawn(true);
  // Before and after it, nothing.
  await lines.nth(0).click();
  await drawn(false);
  assert.ok(await caption.isHidden());
  await lines.nth(1).click();
  await drawn(true);
  for (let i = 0; i < 2; i++) await page.keyboard.press('l');
  await drawn(false);
  assert.ok(await at(page) > 5.9);
  // The sound goes on after the last picture, which is then seen.
  await page.waitForFunction(() => document.querySelector('.asked video').currentTime > 5.98);

  const part = await page.evaluate(async () => {
    const a = await fetch(document.querySelector('.asked video').src, { headers: { range: 'bytes=1000-1999' } });
    return [a.status, a.headers.get('content-range').replace(/\d+$/, 'n'), (await a.arrayBuffer()).byteLength];
  });
  assert.deepEqual(part, [206, 'bytes 1000-1999/n', 1000]);
  assert.ok(ranges.some((r) => r === 206), 'the player itself asks for parts');
}

/** Saving is in reach whatever the window, and every key that works here is in the help. */
async function controls(page) {
  for (const [width, height] of [[1280, 800], [1920, 1080], [1000, 700]]) {
    await page.setViewportSize({ width, height });
    const box = await page.getByRole('button', { name: 'Save and go on' }).boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width, `${width}x${height}: ${JSON.stringify(box)}`);
    await readable(page, `rating in ${width}x${height}`);
  }
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  const rows = await page.locator('dialog tr').evaluateAll((all) => all.map((r) => [r.cells[0].textContent, ...[...r.querySelectorAll('kbd')].map((k) => k.textContent)].join('|')));
  for (const row of ['Score: first what was asked, then the model|1 – 7', 'Next view of the models|V', 'View before|Shift + V', 'Play or pause|Alt + K|Space', 'Save the scores and go on|Ctrl + Enter']) assert.ok(rows.includes(row), `${row} is not in ${rows.join('; ')}`);
  assert.ok(!rows.some((r) => r.includes('doubtful')), 'keys of the correction loop are not its');
  await shot(page, 'rating-keys');
  await page.getByRole('button', { name: 'Close' }).click();
}

/** Everything that came, whatever it was, is without what a rater must not learn. */
function silent(rater, came) {
  for (const secret of want.secrets) {
    for (const [url, kind, text] of came) {
      // A short name is in a picture by chance.
      if (secret.length < 8 && !/json|html|javascript|page/.test(kind)) continue;
      assert.ok(!url.includes(secret) && !text.includes(secret), `${rater} sees ${secret} in ${url}`);
    }
  }
}

await perform(async () => {
  const orders = {};
  for (const [rater, scores] of Object.entries(want.scores)) {
    const page = await person(rater);
    const came = [];
    const ranges = [];
    page.on('response', async (r) => {
      const kind = r.headers()['content-type'] ?? '';
      if (/video|audio/.test(kind)) ranges.push(r.status());
      came.push([r.url(), 'page', JSON.stringify(r.headers())], [r.url(), kind, (await r.body().catch(() => Buffer.alloc(0))).toString('latin1')]);
    });
    // What it loaded before one listened, too.
    await page.reload();
    orders[rater] = [];
    for (let i = 0; i < want.edits; i++) {
      await page.getByRole('heading', { name: `Edit ${i + 1} of ${want.edits}` }).waitFor();
      const asked = await page.locator('.asked .typed, .asked .said').first().textContent();
      const kind = want.kinds[asked];
      orders[rater].push(kind);
      // The first looks at everything, the others only judge.
      if (rater === Object.keys(want.scores)[0]) {
        await views(page, kind === 'plate' ? ['Before: the input model', 'After: the edit'] : ['After: the edit']);
        if (kind === 'plate') {
          const [before, after] = await page.locator('.large').evaluateAll((all) => Promise.all(all.map(async (e) => [...new Uint8Array(await (await fetch(e.src)).arrayBuffer())].join())));
          assert.notEqual(before, after, 'the input model is another than the edit');
        }
        if (kind === 'spoken') {
          await recording(page, ranges);
          const whole = await page.evaluate(async () => Promise.all([...document.querySelectorAll('.asked audio, .asked video')].map(async (m) => new TextDecoder('latin1').decode(await (await fetch(m.src)).arrayBuffer()))));
          whole.forEach((w) => came.push(['a recording', 'video', w]));
        }
        if (i === 0) await controls(page);
        await shot(page, `rating-${kind}`);
      }
      for (const key of [...scores[i].map(String), 'Control+Enter']) await page.keyboard.press(key);
      await page.getByText(i + 1 < want.edits ? `${i + 1} rated` : 'All rated').waitFor();
      came.push(['the page', 'page', await page.content()]);
    }
    assert.ok(came.some(([url]) => url.endsWith('/events')) && came.some(([, kind]) => kind.startsWith('image/png')));
    silent(rater, came);
  }
  console.log(JSON.stringify(orders));
});

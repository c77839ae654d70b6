// People with a browser each, for the pages' tests. What to open comes as JSON in REDLINE_LOOP:
// { url, links: { P01: …, … }, shots }.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const want = JSON.parse(process.env.REDLINE_LOOP);
const open = [];
export const problems = [];
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--autoplay-policy=no-user-gesture-required'];

/** A browser of its own for one person. */
export async function person(id, scheme = 'light') {
  const dir = mkdtempSync(join(tmpdir(), 'redline-browser-'));
  const context = await chromium.launchPersistentContext(dir, {
    executablePath: process.env.REDLINE_CHROMIUM ?? '/usr/bin/chromium', headless: true, args: FLAGS, viewport: { width: 1280, height: 720 }, colorScheme: scheme,
  });
  open.push([context, dir]);
  const page = context.pages()[0];
  page.setDefaultTimeout(20_000);
  page.on('pageerror', (e) => problems.push(`${id}: ${e.stack ?? e}`));
  page.on('dialog', (d) => { problems.push(`${id}: a script of a transcript ran: ${d.message()}`); void d.dismiss(); });
  page.on('console', (m) => { if (m.type() === 'error' && /Content Security|Refused to/.test(m.text())) problems.push(`${id}: ${m.text()}`); });
  await page.goto(want.links[id]);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  assert.ok(!page.url().includes('join'), 'the key is out of the address bar');
  return page;
}

export async function shot(page, name) {
  if (!want.shots) return;
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(250);
    await page.screenshot({ path: join(want.shots, `${name}-${scheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

export const visit = async (page, request) => {
  await page.goto(`${want.url}/#/r/${request}`);
  await page.locator('.line').first().waitFor();
};
export const saved = (page) => page.locator('.save.saved', { hasText: 'Saved' }).waitFor();
export const lines = (page) => page.locator('.line').allTextContents();
/** The state that the server has, asked with the page's own session. */
export const server = (page, request) => page.evaluate(async (r) => (await fetch(`/api/requests/${r}`)).json(), request);

/** A message past the page, with its session: status and answer. */
export const api = (page, method, path, body) => page.evaluate(async ([method, path, body]) => {
  const { csrf } = await (await fetch('/api/me')).json();
  const answer = await fetch(path, { method, headers: { 'x-redline-csrf': csrf, 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
  return [answer.status, await answer.json()];
}, [method, path, body]);
/** A word as it is compared: text, times, how it got them. */
export const timed = (words) => words.map((w) => [w.text, w.start_ns, w.end_ns, w.timing]);

/** Selects `words` in a line, as a double click and a drag would. */
export async function select(page, line, words) {
  await page.locator('.line').nth(line).focus();
  await page.evaluate(([n, w]) => {
    const node = document.querySelectorAll('.line')[n].firstChild;
    const at = node.data.indexOf(w);
    if (at < 0) throw new Error(`“${w}” is not in “${node.data}”`);
    getSelection().setBaseAndExtent(node, at, node, at + w.length);
  }, [line, words]);
}

/** Plays `scene` and ends the process: with 1 and what went wrong, if something did. All browsers are closed. */
export async function perform(scene) {
  try {
    await scene();
    assert.deepEqual(problems, []);
  } catch (e) {
    for (const [context] of open) for (const p of context.pages()) console.error(`${p.url()}: ${(await p.locator('body').innerText().catch(() => '')).slice(0, 300)}`);
    console.error(problems.join('\n'));
    console.error(e);
    process.exitCode = 1;
  } finally {
    for (const [context, dir] of open) { await context.close().catch(() => {}); rmSync(dir, { recursive: true, force: true, maxRetries: 5 }); }
  }
}

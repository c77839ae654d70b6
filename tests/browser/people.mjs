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
export async function person(id, colorScheme = 'light') {
  const dir = mkdtempSync(join(tmpdir(), 'redline-browser-'));
  const context = await chromium.launchPersistentContext(dir, {
    executablePath: process.env.REDLINE_CHROMIUM ?? '/usr/bin/chromium', headless: true, args: FLAGS, viewport: { width: 1280, height: 720 }, colorScheme,
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

/** Other colours, with their transitions over. */
async function scheme(page, colorScheme) {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(async () => {
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    await Promise.allSettled(document.getAnimations().map((a) => a.finished));
  });
}

/** A state of the page: it must be readable, and is pictured where pictures are wanted. */
export async function shot(page, name) {
  await readable(page, name);
  if (!want.shots) return;
  for (const colours of ['light', 'dark']) {
    await scheme(page, colours);
    await page.screenshot({ path: join(want.shots, `${name}-${colours}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** What of a page cannot be read: text with less contrast than WCAG AA asks for, cut off, or wider than its place. */
export async function readable(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await scheme(page, colorScheme);
    const bad = await page.evaluate(() => {
      const ctx = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgba = (colour) => { ctx.clearRect(0, 0, 1, 1); ctx.fillStyle = colour; ctx.fillRect(0, 0, 1, 1); const d = ctx.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
      const over = (top, below, alpha) => below.map((b, i) => top[i] * alpha + b * (1 - alpha));
      const behind = (e) => {
        let colour = [255, 255, 255];
        const chain = [];
        for (let n = e; n; n = n.parentElement) chain.unshift(n);
        for (const n of chain) { const c = rgba(getComputedStyle(n).backgroundColor); colour = over(c, colour, c[3]); }
        return colour;
      };
      const light = (c) => { const [r, g, b] = c.map((v) => { const s = v / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const bad = [];
      const walk = document.createTreeWalker(document.querySelector('dialog[open]') ?? document.body, NodeFilter.SHOW_TEXT);
      for (let t = walk.nextNode(); t; t = walk.nextNode()) {
        const e = t.parentElement;
        const style = getComputedStyle(e);
        if (!t.data.trim() || !e.checkVisibility() || e.closest('.hidden-text, .skip, option, script')) continue;
        let alpha = 1;
        for (let n = e; n; n = n.parentElement) alpha *= Number(getComputedStyle(n).opacity);
        const below = behind(e);
        const c = rgba(style.color);
        const [a, b] = [light(over(c, below, c[3] * alpha)), light(below)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize);
        if (contrast < (size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5)) bad.push(`contrast ${contrast.toFixed(2)}: ${t.data.trim().slice(0, 60)}`);
      }
      for (const e of document.querySelectorAll('button, .button, .state, th, td, h1, h2, summary, .part, .tile, .card, .left, .right, header, nav, main, dialog[open]')) {
        if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') bad.push(`cut off: ${e.tagName} ${e.className} ${e.textContent.slice(0, 60)}`);
      }
      if (document.documentElement.scrollWidth > innerWidth) bad.push('the page is wider than the window');
      return bad;
    });
    assert.deepEqual(bad, [], `${name}, ${colorScheme}`);
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

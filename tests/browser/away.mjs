// Handing in while the server is stopped: { bin, root, links, requests: [three of P01], shots }. The scene runs the server itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { perform, person, saved, select, server, shot, visit, want } from './people.mjs';

let running;
async function start() {
  const port = want.url ? new URL(want.url).port : '0';
  running = spawn(want.bin, ['review', 'serve', '--json', '--port', port, '--corpus', want.root], { stdio: ['ignore', 'pipe', 'ignore'] });
  const line = await new Promise((resolve) => { createInterface({ input: running.stdout }).once('line', resolve); });
  want.url = JSON.parse(line).url;
}
const stop = () => new Promise((resolve) => { running.once('exit', resolve); running.kill('SIGKILL'); });

async function play() {
  await start();
  for (const [who, link] of Object.entries(want.links)) want.links[who] = link.replace(/^https?:\/\/[^/]+/, want.url);
  const p1 = await person('P01');
  const [typed, same, further] = want.requests;

  // Typed, and handed in while the server is stopped: the page says so, and does it when the server is back.
  await visit(p1, typed);
  await select(p1, 0, 'fill it');
  await p1.keyboard.type('fillet');
  await saved(p1);
  await stop();
  await select(p1, 1, 'please');
  await p1.keyboard.type('now');
  await p1.keyboard.press('Control+Enter');
  await p1.getByText('Not handed in yet: the server is away.').waitFor();
  await p1.locator('.save.away', { hasText: 'Not handed in: server away' }).waitFor();
  assert.ok(await p1.evaluate((r) => location.hash.includes(r), typed), 'the page stays');
  await shot(p1, 'hand-in-away');
  await start();
  await p1.waitForFunction((r) => !location.hash.includes(r), typed);
  const sent = await server(p1, typed);
  assert.deepEqual([sent.item.state, sent.rounds[0].text], ['in-review', 'make the fillet on this edge\ntwo millimeters bigger now']);

  // Unchanged, and the window is closed meanwhile: it is asked for again.
  await visit(p1, same);
  await stop();
  await p1.keyboard.press('Escape');
  await p1.keyboard.press('KeyA');
  await p1.getByText('Not handed in yet: the server is away.').waitFor();
  await p1.goto('about:blank');
  await start();
  await p1.goto(`${want.url}/#/`);
  await p1.getByText('not handed in: kept in this browser').waitFor();
  await visit(p1, same);
  await p1.getByText('You wanted to hand this in while the server was away.').waitFor();
  await shot(p1, 'hand-in-asked-again');
  await p1.getByRole('button', { name: 'Hand in now' }).click();
  await p1.waitForFunction((r) => !location.hash.includes(r), same);
  assert.equal((await server(p1, same)).item.state, 'in-review');

  // Who goes on typing is not finished.
  await visit(p1, further);
  await stop();
  await select(p1, 0, 'fill it');
  await p1.keyboard.type('fillet');
  await p1.keyboard.press('Control+Enter');
  await p1.getByText('Not handed in yet: the server is away.').waitFor();
  await select(p1, 1, 'bigger');
  await p1.keyboard.type('wider');
  await p1.getByText('Not handed in: you went on typing.').waitFor();
  await start();
  await saved(p1);
  const kept = await server(p1, further);
  assert.deepEqual([kept.item.state, kept.draft.text], ['in-correction', 'make the fillet on this edge\ntwo millimeters wider please']);
  await p1.locator('.notice').waitFor({ state: 'hidden' });
}

await perform(async () => {
  try { await play(); } finally { running?.kill('SIGKILL'); }
});

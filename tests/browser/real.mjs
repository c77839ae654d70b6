// The loop on a request that was spoken and transcribed: { url, links, request, last, first_try, second_try }. The last word of the
// first line is corrected, returned, corrected again and accepted by a third person; then its words are aligned anew.
import assert from 'node:assert/strict';
import { lines, perform, person, saved, select, server, visit, want } from './people.mjs';

async function correct(page, from, to) {
  await visit(page, want.request);
  await select(page, 0, from);
  await page.keyboard.type(to);
  await saved(page);
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction((r) => !location.hash.includes(r), want.request);
}

await perform(async () => {
  const asks = await person('P01');
  await visit(asks, want.request);
  // It plays with sound, and the words light up as they are said.
  await asks.keyboard.press('Escape');
  await asks.keyboard.press('Space');
  await asks.waitForFunction(() => document.querySelector('audio').currentTime > 1 && CSS.highlights.get('now').size === 1);
  await asks.keyboard.press('Space');
  await correct(asks, want.last, want.first_try);

  const returns = await person('P02');
  await visit(returns, want.request);
  await returns.keyboard.press('KeyR');
  await returns.getByRole('textbox', { name: 'Comment' }).fill('Listen to the last word again.');
  await returns.getByRole('button', { name: 'Return', exact: true }).click();
  await returns.waitForFunction(() => location.hash === '#/');
  await correct(asks, want.first_try, want.second_try);

  const accepts = await person('P03');
  await visit(accepts, want.request);
  assert.ok((await lines(accepts))[0].endsWith(want.second_try));
  await accepts.keyboard.press('KeyA');
  await accepts.waitForFunction(() => location.hash === '#/');
  await visit(accepts, want.request);
  await accepts.locator('.alignment', { hasText: 'Aligned again.' }).waitFor({ timeout: 120_000 });
  assert.equal((await server(accepts, want.request)).item.state, 'accepted');
});

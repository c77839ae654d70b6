// A rater meets an edit that cannot be drawn: it is put off, never scored, and the others are rated.
import assert from 'node:assert/strict';
import { api, perform, person, shot, want } from './people.mjs';

await perform(async () => {
  const page = await person(Object.keys(want.links)[0]);
  const unseen = page.getByText('The edit could not be drawn');
  let met = 0;
  for (let i = 0; i < 3; i++) {
    await page.getByRole('heading', { name: /^Edit \d of 3$/ }).waitFor();
    const drawn = page.waitForFunction(() => [...document.querySelectorAll('.models figure:last-child .thumb img')].every((e) => e.complete && e.naturalWidth > 0), { timeout: 90_000 });
    await Promise.any([unseen.waitFor({ timeout: 90_000 }), drawn]);
    drawn.catch(() => {});
    if (await unseen.count()) {
      met++;
      for (const key of ['4', '6', 'Control+Enter']) await page.keyboard.press(key);
      assert.ok(await page.getByRole('button', { name: 'Save and go on' }).isDisabled());
      const [status, answer] = await api(page, 'PUT', `/api${new URL(page.url()).hash.slice(1)}`, { instruction_following: 4, quality: 6 });
      assert.ok(status >= 400 && answer.message.includes('could not be drawn'), JSON.stringify([status, answer]));
      await shot(page, 'rating-unseen');
      await page.getByRole('button', { name: 'Leave it for later' }).click();
    } else {
      // The keypad's Enter is as good as the other, also in the remark.
      for (const key of ['4', '6']) await page.keyboard.press(key);
      await page.locator('#comment').focus();
      await page.keyboard.press('Control+NumpadEnter');
    }
    const before = page.url();
    await page.waitForFunction((b) => location.href !== b, before).catch(() => {});
  }
  await page.getByRole('heading', { name: '1 edit waits for the coordinator' }).waitFor();
  await shot(page, 'rating-waits');
  assert.equal(met, 1);
});

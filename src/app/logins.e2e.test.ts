// Stored logins that change while the daemon runs (spec L1).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAuthStore } from '../lib/auth/store.ts';
import { systemClock } from '../lib/clock.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';
const signal = new AbortController().signal;

test('A29 a login that is replaced is used from the next call on; after a logout nothing is sent, and the fix is in the log', async () => {
  await using at = await telegramScene({ config: { api_key_env: undefined } });
  await using store = openAuthStore({ dir: join(at.dir, 'data'), clock: systemClock });
  const logIn = (accessToken: string) => store.set({ provider: 'openai', accessToken, authMethod: 'paste_token' }, signal);
  await logIn(`${KEY}1`);
  await using daemon = await at.start({ args: ['-v'] });
  await daemon.ready();
  let asked = 0;
  const ask = async () => {
    at.platform.inject({ text: `question ${asked}` });
    asked += 1;
    await daemon.settled(asked);
  };
  await ask();
  await logIn(`${KEY}2`);
  await ask();
  await store.remove('openai', signal);
  await ask();
  const sent = at.model.requests.map(({ headers }) => headers.authorization);
  expect(sent).toEqual([`Bearer ${KEY}1`, `Bearer ${KEY}2`]);
  expect(at.texts().at(-1)).toContain('(GH2101)');
  expect(daemon.stderr()).toMatch(/nobody is logged in to openai any more/);
  expect(daemon.stderr()).not.toContain('canary');
});

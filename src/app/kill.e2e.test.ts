// One deterministic kill per fault number, on the real daemon; `npm run sweep` kills at every other point.
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusDocument } from '../core/status.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { startTelegramServer } from '../simulator/telegram/server.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { SweepModel } from '../testing/sweep/model.ts';

const model = new SweepModel();
let modelUrl = '';
beforeAll(async () => {
  modelUrl = await model.start();
});
afterAll(() => model[Symbol.asyncDispose]());

async function prepared(channel: unknown) {
  const dir = await tempDir();
  const config = {
    provider: 'openai',
    model: 'sweep',
    base_url: modelUrl,
    api_key_env: 'SWEEP_KEY',
    // More kills than a message would survive otherwise: each counts for everything that runs at that moment.
    gateway: { channels: [channel], max_attempts: 10, http: { port: 0 } },
  };
  await writeFile(countFile(dir.path), '');
  return {
    path: dir.path,
    dying: (killAt: string) => startChild({ dir: dir.path, config, killAt, env: KEYS }),
    last: () => startInline({ dir: dir.path, config, env: KEYS, faultParts: true }),
    toolRuns: async () => (await readFile(countFile(dir.path), 'utf8')).split('\n').filter(Boolean),
    [Symbol.asyncDispose]: dir[Symbol.asyncDispose],
  };
}
const TOKEN = '700001:test-token-AAAAAAAAAAAAAAAAAAAAAAAAAAA';
const KEYS = { SWEEP_KEY: 'sk', TELEGRAM_BOT_TOKEN: TOKEN };

/** Starts that die at the given points, then one that brings everything to its end. */
async function through(
  kills: readonly string[],
  messages: number,
  at: Pick<Awaited<ReturnType<typeof prepared>>, 'dying' | 'last'>,
): Promise<StatusDocument> {
  for (const point of kills) {
    await using dying = await at.dying(point);
    const { signal } = await dying.ended;
    expect(`${point} ${signal} ${signal ? '' : dying.stderr()}`).toBe(`${point} SIGKILL `);
  }
  await using last = await at.last();
  const status = await last.settled(messages);
  expect(await last.stop()).toMatchObject({ code: 0 });
  return status;
}

test.concurrent.each([
  ['F1 killed before the inbox commit: delivered again, answered once', ['accept:before'], 'plain 1', 0],
  ['F2 killed between commit and acknowledgement: recognised when it comes again, answered once', ['accept:after'], 'plain 2', 0],
  ['F3 killed before the turn: resumes by itself', ['claim:before'], 'plain 3', 0],
  [
    'F5 killed while a tool runs: it is not run again, and the model is told that the outcome is unknown',
    ['tool:before'],
    'tool 5',
    0,
  ],
  ['F6 killed between the end of a tool and its record: its effect happened once', ['tool:after'], 'tool 6', 1],
  ['F7 killed before the final commit: the turn is finished from its steps', ['finish:before'], 'tool 7', 1],
  ['F7 killed after the final commit: the answer goes out', ['finish:after'], 'tool 8', 1],
  [
    'F10 killed again before and after recovery: the same as once',
    ['tool:after', 'recover:before', 'recover:after'],
    'tool 9',
    1,
  ],
])('%s', async (_title, kills, text, runs) => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using at = await prepared({ type: 'double', allowed_senders: ['*'], settings: { url } });
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text });
  const status = await through(kills, 1, at);
  expect(platform.posted.map((post) => post.text)).toEqual([`answer ${text.split(' ')[1]}`]);
  expect(platform.unacknowledged).toBe(0);
  expect(await at.toolRuns()).toHaveLength(runs);
  expect(status.journal.inbox).toMatchObject({ DONE: 1, DEAD: 0 });
});

test.concurrent('F8 killed after a send and before its record: sent once, and shown as UNKNOWN where the platform cannot say', async () => {
  await using platform = await startTelegramServer({ token: TOKEN });
  const settings = { api_root: platform.url, poll_timeout_secs: 1, rate_limits: false };
  await using at = await prepared({ type: 'telegram', allowed_senders: ['*'], settings });
  platform.inject({ text: 'plain 1' });
  const status = await through(['settle:before'], 1, at);
  expect(platform.sends.map(({ text }) => text)).toEqual(['answer 1']);
  expect(status.journal.outbox).toMatchObject({ SENT: 0, UNKNOWN: 1 });
});

test.concurrent('F8 F9 killed between parts, with and without the record of the last one: the rest follows, in order, none twice', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using at = await prepared({ type: 'double', allowed_senders: ['*'], settings: { url } });
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: 'long 4' });
  await through(['settle:after:2', 'settle:before:2'], 1, at);
  const text = platform.posted.map((post) => post.text).join('\n');
  const lines = [...text.matchAll(/^Line (\d+) /gm)].map((match) => Number(match[1]));
  expect(lines).toEqual(Array.from({ length: 120 }, (_, line) => line));
  expect(new Set(platform.posted.map(({ key }) => key)).size).toBe(platform.posted.length);
});

test.concurrent('F11 killed six times at seeded points under load: every message answered once, in order', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using at = await prepared({ type: 'double', allowed_senders: ['*'], settings: { url } });
  for (let n = 0; n < 40; n += 1)
    platform.deliver({ id: `m${n}`, chatId: `c${n % 8}`, senderId: 'ada', text: `${n % 3 ? 'plain' : 'tool'} ${n}` });
  // A linear congruential generator (Numerical Recipes): the same points on every run.
  let seed = 20260101;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const points = ['claim', 'step', 'finish', 'sending', 'settle', 'tool'];
  const kills = points.map((point) => `${point}:${random(2) ? 'before' : 'after'}:${1 + random(3)}`);
  await through(kills, 40, at);
  for (let chat = 0; chat < 8; chat += 1) {
    const texts = platform.posted.filter(({ chatId }) => chatId === `c${chat}`).map((post) => post.text);
    expect(texts).toEqual([0, 1, 2, 3, 4].map((k) => `answer ${chat + 8 * k}`));
  }
  const runs = await at.toolRuns();
  expect(new Set(runs).size).toBe(runs.length);
});

test.concurrent('F4 killed while the model streams: nothing of the half answer is kept, the call is made once more', async () => {
  await using platform = await startTelegramServer({ token: TOKEN });
  const settings = { api_root: platform.url, poll_timeout_secs: 1, rate_limits: false };
  await using server = await startModelServer({
    script: (_request, index) =>
      index === 0 ? stream(textPieces('half of', ' an answer').slice(0, 2), { end: 'hang' }) : undefined,
  });
  await using dir = await tempDir();
  const gateway = { channels: [{ type: 'telegram', allowed_senders: ['*'], settings }], http: { port: 0 } };
  const config = { provider: 'openai', model: 'm', base_url: `${server.url}/v1`, api_key_env: 'SWEEP_KEY', gateway };
  const options = { dir: dir.path, config, env: KEYS };
  platform.inject({ text: 'hello' });
  {
    await using first = await startChild(options);
    await until('the model streams', () => server.requests.length === 1);
    await first.stop('SIGKILL');
  }
  await using second = await startInline(options);
  await second.settled(1);
  expect(platform.sends.map(({ text }) => text)).toEqual(['echo: hello']);
  expect(server.requests).toHaveLength(2);
});

// Answers that grow in streaming cards of Feishu, by the real program that is killed while it writes them.
import { expect, test, vi } from 'vitest';
import { visibleText } from '../simulator/feishu/posts.ts';
import { startFeishuServer } from '../simulator/feishu/server.ts';
import { type ChildOptions, startChild } from '../testing/child-daemon.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { type ModelServerOptions, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { nth, testSample } from '../testing/sample.ts';

/** Processes start slowly on a machine that does other things; a test that fails takes this long, ms. */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const WORDS = Array.from({ length: 14 }, (_, n) => `word${n} `);
const WHOLE = WORDS.join('').trim();

async function scene(script: ModelServerOptions['script'], settings: object = {}) {
  const platform = await startFeishuServer();
  platform.redeliverMs = 1_500;
  const model = await startModelServer(script ? { script } : {});
  const dir = await tempDir();
  const entry = { type: 'feishu', allowed_senders: ['*'], settings: { api_root: platform.url, rate_limits: false, ...settings } };
  const config = {
    ...{ provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
    gateway: { channels: [entry], http: { port: 0 } },
  };
  const env = { TEST_KEY: 'sk-test', FEISHU_APP_ID: platform.appId, FEISHU_APP_SECRET: platform.appSecret };
  return {
    platform,
    texts: () => platform.posts.map((post) => visibleText(post)),
    start: () => startInline({ dir: dir.path, config, env }),
    spawn: (more: Partial<ChildOptions> = {}) => startChild({ dir: dir.path, config, env, ...more }),
    async [Symbol.asyncDispose]() {
      await platform.close();
      await model[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const POINTS = [
  ['F9 when the draft is on disk and not sent', 'enqueue:after'],
  ['F8 when the draft was sent and is not recorded', 'settle:before'],
  ['F7 after the final commit', 'finish:after'],
  ['F8 when the answer is SENDING and the card not changed', 'sending:after:2'],
  ['F8 when the card was changed and that is not recorded', 'settle:before:2'],
] as const;

testSample(
  POINTS,
  nth(2, 1),
  test.concurrent,
)('%s, killed: one card holds the whole answer and is out of streaming mode', async ([, killAt]) => {
  const shown = gate();
  // Every answer goes on to its end once something of the first is shown.
  const held = { before: 12, until: shown.opened };
  await using at = await scene(() => stream(textPieces(...WORDS), { gapMs: 110, held }));
  at.platform.say({ text: 'tell me' });
  {
    await using dying = await at.spawn({ killAt });
    let gone = false;
    const ended = dying.ended.finally(() => {
      gone = true;
    });
    await until('it is shown, or killed before', () => gone || at.texts().length > 0, PATIENCE);
    shown.open();
    expect((await ended).signal).toBe('SIGKILL');
  }
  await using last = await at.start();
  const { journal } = await last.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
  const [card] = at.platform.posts;
  if (card?.cardId !== undefined) expect(at.platform.cards.isStreaming(card.id)).toBe(false);
  expect(journal.outbox).toMatchObject({ UNKNOWN: 0, DEAD: 0 });
});

test('F4 killed in mid-stream: the next process goes on in the same card', async () => {
  const shown = gate();
  const script: ModelServerOptions['script'] = (_request, index) =>
    index === 0
      ? stream(textPieces(...WORDS), { gapMs: 110, held: { before: 12, until: shown.opened }, end: 'hang' })
      : stream(textPieces(...WORDS), { gapMs: 110 });
  await using at = await scene(script);
  at.platform.say({ text: 'tell me' });
  {
    await using first = await at.spawn();
    await until('a card shows it', () => at.platform.posts[0]?.cardId !== undefined, PATIENCE);
    await first.stop('SIGKILL');
    shown.open();
  }
  const [half] = at.platform.posts;
  expect(at.platform.cards.isStreaming(half?.id ?? '')).toBe(true);
  await using second = await at.start();
  const { journal } = await second.settled(1, PATIENCE);
  expect(at.texts()).toEqual([WHOLE]);
  expect(at.platform.posts[0]?.id).toBe(half?.id);
  expect(at.platform.cards.isStreaming(half?.id ?? '')).toBe(false);
  expect(journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test('a card that cannot be changed any more is taken back, and the answer is sent as a message of its own', async () => {
  await using at = await scene(() => stream(textPieces(...WORDS), { gapMs: 110 }));
  const expired = { match: /cards\/\d+/, kind: 'error', status: 400, code: 200750, msg: 'The card entity has expired' } as const;
  at.platform.faults.push(...Array.from({ length: 100 }, () => expired));
  await using running = await at.start();
  at.platform.say({ text: 'tell me' });
  await until('a card shows it', () => at.platform.posts[0]?.cardId !== undefined, PATIENCE);
  await running.settled(1, PATIENCE);
  expect(at.platform.posts).toMatchObject([{ type: 'text', content: { text: WHOLE } }]);
});

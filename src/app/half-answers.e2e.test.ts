// What was shown of an answer gets its last text, also where the process that showed it is gone.
import { expect, test, vi } from 'vitest';
import type { Model } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { stream, textPieces } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** Processes start slowly on a machine that does other things; a test that fails takes this long, ms. */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const USAGE = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
const HALF = 'half of the answer';
const WHOLE = `${HALF} and the rest`;

/** Says half of its answer and hangs until it is stopped. Once `whole` is set, it says all of it. */
function halting(): Model & { whole: boolean; calls: number } {
  return {
    id: 'p/m',
    contextWindow: 128_000,
    whole: false,
    calls: 0,
    async *call(_request, signal) {
      this.calls += 1;
      yield { type: 'text', text: HALF };
      if (!this.whole) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        const failure = { kind: 'aborted', code: 'GH2105', message: '', hint: '', retryable: false } as const;
        return yield { type: 'failed', failure };
      }
      yield {
        type: 'done',
        answer: { text: WHOLE, toolCalls: [], stop: 'end', usage: USAGE, provider: 'p', model: 'm' },
      };
    },
  };
}

test.concurrent('stopped in mid-stream and started with streaming "off": the same message gets the whole answer', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test').withEdits();
  const model = halting();
  {
    await using _first = await testDaemon({ dataDir: dir.path, model, channel });
    await channel.deliver({ platformId: '1', text: 'tell me' });
    await until('half of it is shown', () => channel.screen().length === 1, PATIENCE);
  }
  expect(channel.screen()).toEqual([`${HALF} …`]);
  model.whole = true;
  await using second = await testDaemon({ dataDir: dir.path, model, channel, entry: { streaming: 'off' } });
  await until('the answer is there', () => channel.screen().some((text) => text === WHOLE), PATIENCE);
  await second.daemon.gateway.idle();
  expect(channel.screen()).toEqual([WHOLE]);
});

test.concurrent('/stop while the turn that is resumed waits for its turn: what was shown gets its mark', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test').withEdits();
  const model = halting();
  {
    await using _first = await testDaemon({ dataDir: dir.path, model, channel });
    await channel.deliver({ chatId: 'a', platformId: '1', text: 'tell me' });
    await until('the first is asked', () => model.calls === 1, PATIENCE);
    await channel.deliver({ chatId: 'b', platformId: '2', text: 'tell me' });
    await until('half of it is shown', () => channel.screen('b').length === 1, PATIENCE);
  }
  await using _second = await testDaemon({
    ...{ dataDir: dir.path, model, channel },
    gateway: { max_concurrent_sessions: 1 },
  });
  await until('the first is asked again', () => model.calls === 3, PATIENCE);
  await channel.deliver({ chatId: 'b', platformId: '3', text: '/stop' });
  await until('the stop is answered', () => channel.screen('b').includes('🛑 Cancelled.'), PATIENCE);
  expect(channel.screen('b')).toEqual([`${HALF}\n\n🛑 Stopped here.`, '🛑 Cancelled.']);
});

test.concurrent('F7 killed when /stop is on disk and the mark is not: the next start gives it', async () => {
  const words = Array.from({ length: 30 }, (_, n) => `word${n} `);
  await using at = await telegramScene({ script: () => stream(textPieces(...words), { gapMs: 110, end: 'hang' }) });
  at.platform.inject({ text: 'tell me' });
  {
    await using dying = await at.spawn({ killAt: 'accept:after:2' });
    await until('half of it is shown', () => at.texts()[0]?.endsWith(' …'), PATIENCE);
    at.platform.inject({ text: '/stop' });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  await using last = await at.start();
  const { journal } = await last.settled(2, PATIENCE);
  expect(at.texts()).toEqual([expect.stringMatching(/^word0 .*\n\n🛑 Stopped here\.$/s), '🛑 Cancelled.']);
  expect(journal.outbox).toMatchObject({ SENT: 3, UNKNOWN: 0, DEAD: 0 });
});

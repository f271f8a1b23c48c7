// What was shown of an answer gets its last text, also where the process that showed it is gone.
import { expect, test, vi } from 'vitest';
import type { Model } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** Processes start slowly on a machine that does other things; a test that fails takes this long, ms. */
const PATIENCE = 30_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const USAGE = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
const HALF = 'half of the answer';
const WHOLE = `${HALF} and the rest`;

/** Says half of its answer and hangs until it is stopped; from the time on that `whole` is set, it says all of it. */
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

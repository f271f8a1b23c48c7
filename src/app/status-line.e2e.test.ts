// The config key `status_line`, in the daemon: what a chat sees until the model writes.
import { expect, test, vi } from 'vitest';
import type { Model, ModelEvent } from '../core/model.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

/** A machine that does other things is slow; a test that fails takes this long, ms. */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const USAGE = { tokensIn: 1_234, tokensOut: 56, tokensCached: 0 };
const CALL = { id: 'c', name: 'list_dir', arguments: '{"path":"."}' };

/** Calls a tool at once, then says nothing until `opened`. */
function silent(opened: Promise<void>): Model {
  const shared = { usage: USAGE, provider: 'p', model: 'm' } as const;
  return {
    id: 'p/m',
    contextWindow: 128_000,
    async *call({ messages }, signal): AsyncIterable<ModelEvent> {
      if (messages.at(-1)?.role !== 'tool')
        return yield { type: 'done', answer: { ...shared, text: '', toolCalls: [CALL], stop: 'tools' } };
      const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await Promise.race([opened, stopped]);
      const failure = { kind: 'aborted', code: 'GH2105', message: '', hint: '', retryable: false } as const;
      if (signal.aborted) return yield { type: 'failed', failure };
      yield { type: 'text', text: 'the answer' };
      yield { type: 'done', answer: { ...shared, text: 'the answer', toolCalls: [], stop: 'end' } };
    },
  };
}

async function scene(entry: Record<string, unknown>) {
  const dir = await tempDir();
  const answers = gate();
  const channel = new TestChannel('test').withEdits();
  const running = await testDaemon({ dataDir: dir.path, model: silent(answers.opened), channel, entry });
  return {
    answers,
    channel,
    idle: () => running.daemon.gateway.idle(),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test.concurrent('status_line shows what goes on with the tokens so far, and the answer takes its place', async () => {
  await using at = await scene({ status_line: true });
  await at.channel.deliver({ text: 'think' });
  const shown = await until('it is shown', () => at.channel.screen()[0], PATIENCE);
  expect(shown).toMatch(/^✦ .+… \(\d+s · 1\.2k↑ 56↓\)$/);
  await until('it goes on', () => at.channel.screen()[0] !== shown, PATIENCE);
  at.answers.open();
  await until('the answer is there', () => at.channel.screen()[0] === 'the answer', PATIENCE);
  await at.idle();
  expect(at.channel.screen()).toEqual(['the answer']);
});

test.concurrent('/stop takes the status away', async () => {
  await using at = await scene({ status_line: true });
  await at.channel.deliver({ text: 'think' });
  await until('it is shown', () => at.channel.screen()[0], PATIENCE);
  await at.channel.deliver({ text: '/stop' });
  await until('the stop is answered', () => at.channel.screen().length === 2, PATIENCE);
  await until('the status is gone', () => !at.channel.screen().join().includes('✦'), PATIENCE);
  expect(at.channel.screen()).toEqual(['🛑 Stopped here.', expect.stringMatching(/^🛑 Cancelled./)]);
});

test.concurrent('without the key nothing is shown until the model writes', async () => {
  await using at = await scene({});
  await at.channel.deliver({ text: 'think' });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(at.channel.screen()).toEqual([]);
  at.answers.open();
  await until('the answer is there', () => at.channel.screen()[0] === 'the answer', PATIENCE);
});

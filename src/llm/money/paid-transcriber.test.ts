import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { UsageEntry } from '../../core/ledger.ts';
import { systemClock } from '../../lib/clock.ts';
import { tempDir } from '../../testing/fakes.ts';
import { errorReply, jsonReply, type Reply, startModelServer } from '../../testing/model-server.ts';
import { MemoryLedger } from '../../testing/paid-model.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { modelRequest } from '../contract.ts';
import { createTranscriber } from '../transcription/create-transcriber.ts';
import { Budget, type BudgetLimits } from './budget.ts';
import { createPaidTranscriber } from './paid-transcriber.ts';

/** 60,000 bytes are at most a minute of speech: 0.60 USD. */
const USD_PER_MINUTE = 0.6;

async function scene(
  reply: Reply,
  limits: BudgetLimits = { dailyUsd: 1 },
  usdPerMinute: number | null = USD_PER_MINUTE,
  timeoutMs = 400,
) {
  const dir = await tempDir();
  const server = await startModelServer({ script: () => reply });
  const budget = await Budget.open(new MemoryLedger(), limits, { clock: systemClock });
  const { context } = modelRequest('x');
  const booked: UsageEntry[] = [];
  const settings = { kind: 'openai', baseUrl: `${server.url}/v1`, model: 'whisper-1', timeoutMs } as const;
  const transcriber = createPaidTranscriber(
    (onUsage) => createTranscriber(settings, { clock: new SteadyClock(), random: () => 0, onUsage }),
    { context, budget, usdPerMinute, clock: systemClock, onSpent: (entry) => booked.push(entry) },
  );
  const path = join(dir.path, 'note.ogg');
  await writeFile(path, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(59_996)]));
  return {
    ...{ server, booked },
    say: (signal = new AbortController().signal) => transcriber.transcribe({ path, mime: 'audio/ogg', bytes: 60_000 }, signal),
    spent: () => budget.tightest(context),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test.each([
  ['what the server says', { text: 'hi', duration: 15 }, 0.15],
  ['its size, where the server does not say', { text: 'hi' }, 0.6],
  ['nothing, for no sound', { text: '', duration: 0 }, 0],
  ['its size, where so long a sound would not fit in', { text: 'hi', duration: 15_000_000 }, 0.6],
])('a recording is booked once, by %s', async (_name, answer, costUsd) => {
  await using at = await scene(jsonReply(answer));
  await at.say();
  expect(at.booked).toMatchObject([{ provider: '127.0.0.1', model: 'whisper-1', costUsd, purpose: 'transcription' }]);
  expect(at.spent()).toMatchObject({ spentUsd: costUsd, reservedUsd: 0 });
});

test.each([
  ['never answers', { pieces: [], latencyMs: 60_000 }, 0.6],
  ['answers with what is no JSON', { pieces: ['{"text": '], headers: { 'content-type': 'application/json' } }, 0.6],
  ['refuses the key', errorReply(401, { message: 'no' }), 0],
  ['is overloaded', errorReply(503, { message: 'no' }), 0],
] as const)('a recording whose server %s is booked when it was worked on', async (_name, reply, costUsd) => {
  await using at = await scene(reply);
  await expect(at.say()).rejects.toMatchObject({ code: 'GH2114' });
  expect(at.booked.map((entry) => [entry.purpose, entry.costUsd])).toEqual(
    costUsd ? [['transcription:unfinished', costUsd]] : [],
  );
  expect(at.spent()).toMatchObject({ spentUsd: costUsd, reservedUsd: 0 });
});

test('a recording whose answer broke is sent once, as it is booked once', async () => {
  const broken = { pieces: ['{"text": '], headers: { 'content-type': 'application/json' } };
  await using at = await scene(broken, { dailyUsd: 1 }, USD_PER_MINUTE, 20_000);
  await expect(at.say()).rejects.toMatchObject({ code: 'GH2114' });
  expect([at.server.requests.length, at.booked.length]).toEqual([1, 1]);
});

test('one that is given up while it is transcribed is booked as well', async () => {
  await using at = await scene({ pieces: [], latencyMs: 60_000 });
  const stop = new AbortController();
  const said = at.say(stop.signal);
  await expect.poll(() => at.server.requests.length).toBe(1);
  stop.abort(new Error('stopped'));
  await expect(said).rejects.toThrow('stopped');
  expect(at.booked).toMatchObject([{ costUsd: 0.6, purpose: 'transcription:unfinished' }]);
});

test.each([
  ['that could pass a limit', { dailyUsd: 0.5 }, USD_PER_MINUTE, /a limit of 0\.50 USD a day.*may cost 0\.60 USD/],
  ['of unknown price under a limit', { dailyUsd: 50 }, null, /its price is unknown/],
] as const)('a recording %s is not sent', async (_name, limits, price, message) => {
  await using at = await scene(jsonReply({ text: 'hi' }), limits, price);
  await expect(at.say()).rejects.toMatchObject({ code: 'GH2114', message: expect.stringMatching(message) });
  expect([at.server.requests.length, at.booked.length, at.spent()?.reservedUsd]).toEqual([0, 0, 0]);
});

test('one that is given up before it is sent is not booked', async () => {
  await using at = await scene(jsonReply({ text: 'hi' }));
  await expect(at.say(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  expect([at.server.requests.length, at.booked]).toEqual([0, []]);
  expect(at.spent()).toMatchObject({ spentUsd: 0, reservedUsd: 0 });
});

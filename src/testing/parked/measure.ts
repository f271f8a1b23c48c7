import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { percentile } from '../../../bench/statistics.ts';
import type { Model } from '../../core/model.ts';
import type { Logger } from '../../core/ports.ts';
import { until } from '../fakes.ts';
import { type TestDaemon, testDaemon } from '../test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../waiting-tools.ts';

export interface ParkedFigures {
  readonly parked: number;
  /** Turns, rows in memory and lanes that they hold. */
  readonly held: number;
  /** Timers of the process beyond those it had without them. */
  readonly timers: number;
  /** Resident, and of these what is in the heap after a collection. */
  readonly bytesEach: number;
  readonly heapEach: number;
  /** From the write that settles the last wait to the next model request. ms. */
  readonly resumeP50: number;
  readonly resumeP95: number;
  /** A commit by itself on this disk, measured between the others: going on takes two. ms. */
  readonly commitP50: number;
  /**
   * One message in each of 100 chats at once, until the last is answered: before anything was parked, and
   * beside it. ms.
   */
  readonly quietMs: number;
  readonly besideMs: number;
}

const OTHERS = 100;
const RESUMED = 200;
const BATCH = 100;
const LONGEST_MS = 900_000;
const GO = { ok: true, output: 'go' } as const;

/**
 * Parks so many runs in one daemon, each in a chat of its own, and says what they cost. Needs `--expose-gc`.
 */
export async function measureParked(count: number): Promise<ParkedFigures> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-parked-'));
  try {
    return await measureIn(dir, count);
  } finally {
    // So many sessions may still be on their way into their files.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  }
}

async function measureIn(dataDir: string, count: number): Promise<ParkedFigures> {
  const requested = new Map<string, (at: number) => void>();
  const model = modelOf((content) => requested.get(content)?.(performance.now()));
  const gateway = { high_water: 1_000_000, max_sessions: 100 };
  const daemon = { extraTools: [waitingTools], logger: SILENT };
  await using rig = await testDaemon({ dataDir, model, gateway, policy: OPEN_TO_ALL, daemon });
  // The process is as large afterwards as this much work makes it.
  await park(rig, count, 'warm');
  await rig.daemon.journal.commit([{ kind: 'settle', settled: { wait: 'wait warm', value: GO, by: 'test' } }]);
  await until('the first ones have ended', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 0, LONGEST_MS);
  await rig.daemon.gateway.idle();
  rig.channel.sent.length = 0;
  const quietMs = await answerOthers(rig, 'quiet');
  const before = await settle(rig);
  await park(rig, count);
  const { lanes, running, waiting } = rig.daemon.lanes.stats();
  const after = await settle(rig);
  const besideMs = await answerOthers(rig, 'beside');
  const times: number[] = [];
  const commits: number[] = [];
  for (let n = 0; n < Math.min(RESUMED, count); n += 1) {
    const text = `wait ${n}`;
    const at = new Promise<number>((resolve) => requested.set(text, resolve));
    const began = performance.now();
    await rig.daemon.journal.commit([{ kind: 'settle', settled: { wait: text, value: GO, by: 'test' } }]);
    times.push((await at) - began);
    const alone = performance.now();
    await rig.daemon.journal.commit([{ kind: 'event', event: { type: 'journal', at: Date.now(), state: 'ok' } }]);
    commits.push(performance.now() - alone);
  }
  await rig.daemon.gateway.idle();
  await rig.daemon.close({ turnsMs: 1_000, deliveryMs: 60_000 });
  return {
    ...{ parked: count, held: lanes + running + waiting, timers: Math.max(0, after.timers - before.timers) },
    bytesEach: Math.max(0, after.rss - before.rss) / count,
    heapEach: (after.heap - before.heap) / count,
    ...{
      resumeP50: percentile(times, 0.5),
      resumeP95: percentile(times, 0.95),
      commitP50: percentile(commits, 0.5),
      quietMs,
      besideMs,
    },
  };
}

/** Keeps nothing of what it was asked. `wait N` is answered once its signal came, anything else at once. */
function modelOf(onResumed: (content: string) => void): Model {
  const base = { stop: 'end', usage: { tokensIn: 1, tokensOut: 1, tokensCached: 0 }, provider: 'p', model: 'm' } as const;
  return {
    ...{ id: 'p/m', contextWindow: 128_000 },
    async *call({ messages }) {
      const { content = '' } = messages.findLast(({ role }) => role === 'user') ?? {};
      const isOver = messages.at(-1)?.role === 'tool';
      if (isOver) onResumed(content);
      const calls = [{ id: 'c', name: 'await_signal', arguments: JSON.stringify({ name: content }) }];
      const toolCalls = isOver || !content.startsWith('wait ') ? [] : calls;
      yield { type: 'done', answer: { ...base, text: 'ok', toolCalls } };
    },
  };
}

const SILENT: Logger = { child: () => SILENT, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Each waits for a signal of its own, or all for the one named. */
async function park(rig: TestDaemon, count: number, signal?: string): Promise<void> {
  const name = signal ?? 'chat';
  await deliver(rig, count, (n) => ({ chatId: `${name}-${n}`, text: `wait ${signal ?? n}` }));
  await until('all are parked', async () => (await rig.daemon.journal.counts()).inbox.PARKED === count, LONGEST_MS);
  await rig.daemon.gateway.idle();
}

async function deliver(rig: TestDaemon, count: number, make: (n: number) => { chatId: string; text: string }): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i);
    await Promise.all(
      some.map((n) => {
        const { chatId, text } = make(n);
        return rig.channel.deliver({ chatId, senderId: chatId, text, platformId: `${chatId}-${n}` });
      }),
    );
  }
}

async function answerOthers(rig: TestDaemon, name: string): Promise<number> {
  const began = performance.now();
  await deliver(rig, OTHERS, (n) => ({ chatId: `${name}-${n}`, text: 'hello' }));
  await rig.daemon.gateway.idle();
  return performance.now() - began;
}

interface Size {
  readonly rss: number;
  readonly heap: number;
  readonly timers: number;
}

/** Of the process at rest: the lines of sessions are in their files. */
async function settle({ daemon }: TestDaemon): Promise<Size> {
  await until('no line waits for its file', async () => (await daemon.journal.unflushed(1)).length === 0, LONGEST_MS);
  for (let n = 0; n < 3; n += 1) globalThis.gc?.();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const { rss, heapUsed: heap } = process.memoryUsage();
  return { rss, heap, timers };
}

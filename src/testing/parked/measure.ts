import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, percentile } from '../../../bench/statistics.ts';
import type { SendResult } from '../../core/channel.ts';
import type { OutboundPart } from '../../core/message.ts';
import type { Model } from '../../core/model.ts';
import type { Logger } from '../../core/ports.ts';
import type { ToolKit } from '../../core/tool.ts';
import { until } from '../fakes.ts';
import { TestChannel } from '../test-channel.ts';
import { type TestDaemon, testDaemon } from '../test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../waiting-tools.ts';

export interface ParkedFigures {
  /** Without their children. */
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
   * One message in each of 100 chats at once, until it is answered: in a daemon in which nothing waits, and
   * beside the parked runs, in chats that have none and in chats whose own waits for the owner. p95 of a
   * round, the median of all rounds: one in which the machine stood still decides nothing. ms.
   */
  readonly quietP95: number;
  readonly othersP95: number;
  readonly askedP95: number;
}

const CHATS = 100;
/** The owner is asked as often in an hour, and no more. */
const QUESTIONS = 20;
/** Of messages to all chats of each daemon, which are asked in turn: so both meet the same machine. */
const ROUNDS = 10;
const RESUMED = 200;
const BATCH = 100;
const LONGEST_MS = 900_000;
/** What every fourth of them waits for: a signal, a timer, a person, a child that sleeps. */
const KINDS = ['wait', 'sleep', 'confirm', 'child'] as const;
const HOUR_MS = 3_600_000;
const GO = { ok: true, output: 'go' } as const;

export interface MeasureOptions {
  /** Of messages to all chats. */
  readonly rounds?: number;
  /** In place of `waitingTools`. */
  readonly tools?: ToolKit;
}

/**
 * Parks so many runs in one daemon, each in a chat of its own, and says what they cost. Needs `--expose-gc`.
 */
export async function measureParked(count: number, options: MeasureOptions = {}): Promise<ParkedFigures> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-parked-'));
  try {
    return await measureIn(dir, count, options);
  } finally {
    // So many sessions may still be on their way into their files.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  }
}

async function measureIn(dir: string, count: number, { rounds = ROUNDS, tools }: MeasureOptions): Promise<ParkedFigures> {
  const requested = new Map<string, (at: number) => void>();
  const model = modelOf((content) => requested.get(content)?.(performance.now()));
  await using rig = await rigOf(join(dir, 'parked'), model, tools);
  // The process is as large afterwards as this much work makes it.
  await deliver(rig, count, (n) => ({ chatId: `warm-${n}`, text: 'wait warm' }));
  await parked(rig, count);
  await rig.daemon.journal.commit([{ kind: 'settle', settled: { wait: 'wait warm', value: GO, by: 'test' } }]);
  await until('the first ones have ended', async () => (await rig.daemon.journal.counts()).inbox.PARKED === 0, LONGEST_MS);
  await rig.daemon.gateway.idle();
  await answer(rig, besideNames());
  const before = await settle(rig);
  await deliver(rig, count, (n) => ({ chatId: `chat-${n}`, text: `${KINDS[n % KINDS.length]} ${n}` }));
  await parked(rig, withChildren(count));
  const { lanes, running, waiting } = rig.daemon.lanes.stats();
  const after = await settle(rig);
  const answered = await compare(rig, join(dir, 'quiet'), model, { parked: count, rounds });
  const times: number[] = [];
  const commits: number[] = [];
  for (let n = 0; n < Math.min(RESUMED * KINDS.length, count); n += KINDS.length) {
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
      ...answered,
    },
  };
}

async function rigOf(dataDir: string, model: Model, tools: ToolKit = waitingTools): Promise<TimedDaemon> {
  const gateway = { high_water: 1_000_000, max_sessions: 100, owner: [{ channel: 'test', chat_id: 'owner' }] };
  const daemon = { extraTools: [tools], logger: SILENT };
  const channel = new TimedChannel('test');
  await mkdir(dataDir, { mode: 0o700 });
  const rig = await testDaemon({ dataDir, model, gateway, channel, policy: OPEN_TO_ALL, daemon });
  return { ...rig, channel };
}

type TimedDaemon = Omit<TestDaemon, 'channel'> & { readonly channel: TimedChannel };

/** Keeps when each chat was first written to, and not what. */
class TimedChannel extends TestChannel {
  readonly sentAt = new Map<string, number>();

  override async send(part: OutboundPart): Promise<SendResult> {
    if (!this.sentAt.has(part.chatId)) this.sentAt.set(part.chatId, performance.now());
    return { kind: 'sent', platformId: part.key };
  }
}

/** The quiet chats are answered by a second daemon, beside this one. */
async function compare(
  rig: TimedDaemon,
  quietDir: string,
  model: Model,
  { parked, rounds }: { readonly parked: number; readonly rounds: number },
): Promise<Pick<ParkedFigures, 'quietP95' | 'othersP95' | 'askedP95'>> {
  await using second = await rigOf(quietDir, model);
  await deliver(rig, QUESTIONS, (n) => ({ chatId: `asked ${n}`, text: 'ask the owner' }));
  await until(
    'all wait for the owner',
    async () => (await rig.daemon.journal.counts()).inbox.PARKED === withChildren(parked) + QUESTIONS,
  );
  await rig.daemon.gateway.idle();
  const p95s = { quiet: [] as number[], others: [] as number[], asked: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const answered = new Map([...(await answer(second, quietNames())), ...(await answer(rig, besideNames()))]);
    // In the first one there is more to be made, and to be compiled.
    if (round === 0) continue;
    for (const kind of ['quiet', 'others', 'asked'] as const) {
      const ms = [...answered].flatMap(([chatId, each]) => (chatId.startsWith(kind) ? [each] : []));
      p95s[kind].push(percentile(ms, 0.95));
    }
  }
  return { quietP95: median(p95s.quiet), othersP95: median(p95s.others), askedP95: median(p95s.asked) };
}

const quietNames = (): readonly string[] => Array.from({ length: CHATS }, (_, n) => `quiet ${n}`);

/** Those with a question are spread among the others. */
function besideNames(): readonly string[] {
  const every = CHATS / QUESTIONS;
  return Array.from({ length: CHATS }, (_, n) => (n % every === 0 ? `asked ${n / every}` : `others ${n}`));
}

/** How long each of the chats waited for its answer, in ms. */
async function answer(rig: TimedDaemon, chats: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { sentAt } = rig.channel;
  sentAt.clear();
  const began = performance.now();
  await deliver(rig, chats.length, (n) => ({ chatId: chats[n] ?? '', text: 'hello' }));
  await until('all are answered', () => chats.every((chatId) => sentAt.has(chatId)), LONGEST_MS);
  await rig.daemon.gateway.idle();
  return new Map(chats.map((chatId) => [chatId, (sentAt.get(chatId) ?? Number.NaN) - began]));
}

/** Rows that so many requests are. */
function withChildren(count: number): number {
  return count + Math.floor(count / KINDS.length);
}

/** Without an entry it is answered at once. */
const CALLS: Readonly<Record<string, (content: string) => { readonly name: string; readonly arguments: object }>> = {
  wait: (content) => ({ name: 'await_signal', arguments: { name: content } }),
  sleep: () => ({ name: 'sleep', arguments: { ms: HOUR_MS } }),
  confirm: (content) => ({ name: 'ask_person', arguments: { question: content } }),
  child: (content) => ({ name: 'run_child', arguments: { task: `sleep as ${content}` } }),
  ask: (content) => ({ name: 'ask_person', arguments: { question: content, of: 'owner' } }),
};

/** Keeps nothing of what it was asked. The first word says what it waits for before it answers. */
function modelOf(onResumed: (content: string) => void): Model {
  const base = { stop: 'end', usage: { tokensIn: 1, tokensOut: 1, tokensCached: 0 }, provider: 'p', model: 'm' } as const;
  return {
    ...{ id: 'p/m', contextWindow: 128_000 },
    async *call({ messages }) {
      const { content = '' } = messages.findLast(({ role }) => role === 'user') ?? {};
      const isOver = messages.at(-1)?.role === 'tool';
      if (isOver) onResumed(content);
      const call = CALLS[content.split(' ', 1)[0] ?? '']?.(content);
      const toolCalls = isOver || !call ? [] : [{ id: 'c', name: call.name, arguments: JSON.stringify(call.arguments) }];
      yield { type: 'done', answer: { ...base, text: 'ok', toolCalls } };
    },
  };
}

const SILENT: Logger = { child: () => SILENT, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function parked(rig: TimedDaemon, rows: number): Promise<void> {
  await until('all are parked', async () => (await rig.daemon.journal.counts()).inbox.PARKED === rows, LONGEST_MS);
  await rig.daemon.gateway.idle();
}

async function deliver(rig: TimedDaemon, count: number, make: (n: number) => { chatId: string; text: string }): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i);
    await Promise.all(
      some.map((n) => {
        const { chatId, text } = make(n);
        return rig.channel.deliver({ chatId, senderId: chatId, text });
      }),
    );
  }
}

interface Size {
  readonly rss: number;
  readonly heap: number;
  readonly timers: number;
}

/** Of the process at rest: the lines of sessions are in their files. */
async function settle({ daemon }: TimedDaemon): Promise<Size> {
  await until('no line waits for its file', async () => (await daemon.journal.unflushed(1)).length === 0, LONGEST_MS);
  for (let n = 0; n < 3; n += 1) globalThis.gc?.();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const { rss, heapUsed: heap } = process.memoryUsage();
  return { rss, heap, timers };
}

// How fast messages go through, beside a bare bot that talks to the same model server.
import type { Child } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import type { Load } from './load.ts';
import { median, percentile } from './statistics.ts';
import {
  BOT_READY,
  type BotMode,
  DAEMON_READY,
  type ModelProcess,
  makeWorkDir,
  type Platform,
  startBareBot,
  startDaemon,
  startModel,
  startPlatform,
  type WorkDir,
} from './subjects.ts';

const MESSAGES = 2_000;
const CHATS = 100;
const ROUNDS = 3;
/** Compiles the hot code of every process. */
const WARM_UP = 500;
const ONE_BY_ONE = 100;
const LATENCY_ROUNDS = 6;
const SLOW_MODEL_MS = 200;
const SLOW_MESSAGES = 500;
const SLOW_WARM_UP = 200;
/** The daemon's default for turns at once. */
const TURNS_AT_ONCE = 10;

interface Subject {
  readonly name: string;
  readonly platform: Platform;
}

const MODES: readonly BotMode[] = ['in-turn', 'at-once', 'ten-at-once'];
const RIVALS = ['in-turn', 'at-once'] as const;
const OURS = 'gatehouse';

/** Each subject waits on its own Telegram server while others are measured, so that rounds take turns. */
async function withSubjects(
  names: readonly string[],
  modelMs: number,
  measure: (subjects: readonly Subject[]) => Promise<Figure[]>,
) {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const model = resources.use(await startModel(modelMs));
  const subjects: Subject[] = [];
  for (const name of names) {
    const platform = resources.use(await startPlatform());
    resources.use(await startSubject(name, platform, model, work));
    subjects.push({ name, platform });
  }
  return await measure(subjects);
}

async function startSubject(name: string, platform: Platform, model: ModelProcess, work: WorkDir): Promise<Child> {
  const mode = MODES.find((bot) => name === botName(bot));
  const child = mode
    ? startBareBot({ platform, model, mode })
    : await startDaemon({
        platform,
        model,
        dir: await work.make('daemon'),
        build: 'dist',
        compileCache: await work.make('cache'),
      });
  try {
    await child.waitFor(mode ? BOT_READY : DAEMON_READY);
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
  return child;
}

function botName(mode: BotMode): string {
  return `bare bot, ${mode}`;
}

function toLoad(shape: Load['shape'], messages: number, firstChat: number): Load {
  return { shape, messages, chats: CHATS, firstChat, timeoutMs: 60_000 + messages * 20 };
}

/** Chats of the warm-up. One-by-one loads stay with them: who writes now and then has written before. */
const KNOWN_CHATS = 1_000;

/** Each burst meets chats of its own, without history. */
function newChats(round: number): number {
  return KNOWN_CHATS + CHATS * (round + 1);
}

export function measureThroughput(): Promise<Figure[]> {
  return withSubjects([OURS, ...RIVALS.map(botName)], 0, async (subjects) => {
    const rates = new Map<string, number[]>();
    for (const { platform } of subjects) await platform.run(toLoad('burst', WARM_UP, KNOWN_CHATS));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { name, platform } of subjects) {
        const { elapsedMs } = await platform.run(toLoad('burst', MESSAGES, newChats(round)));
        rates.set(name, [...(rates.get(name) ?? []), MESSAGES / (elapsedMs / 1_000)]);
      }
    }
    const bench = 'throughput';
    const rateOf = (name: string): number => median(rates.get(name) ?? []);
    const ratio = (mode: BotMode): number => rateOf(OURS) / rateOf(botName(mode));
    const note = `${MESSAGES} messages, ${CHATS} chats, 0 ms model; medians of ${ROUNDS}`;
    return [
      { bench, name: 'gatehouse / bare bot', value: ratio('in-turn'), unit: '', limit: { atLeast: 0.85 }, note },
      { bench, name: 'gatehouse / unbounded bot', value: ratio('at-once'), unit: '', note: 'baseline: bare bot, at-once' },
      ...subjects.map(({ name }) => ({ bench, name, value: rateOf(name), unit: 'msg/s', note: runs(rates.get(name)) })),
    ];
  });
}

export function measureLatency(): Promise<Figure[]> {
  return withSubjects([OURS, ...RIVALS.map(botName)], 0, async (subjects) => {
    const samples = new Map<string, number[]>();
    for (const { platform } of subjects) await platform.run(toLoad('burst', WARM_UP, KNOWN_CHATS));
    for (const { platform } of subjects) await platform.run(toLoad('one-by-one', ONE_BY_ONE, KNOWN_CHATS));
    for (let round = 0; round < LATENCY_ROUNDS; round += 1) {
      for (const { name, platform } of subjects) {
        const { latenciesMs } = await platform.run(toLoad('one-by-one', ONE_BY_ONE, KNOWN_CHATS));
        samples.set(name, [...(samples.get(name) ?? []), ...latenciesMs]);
      }
    }
    const bench = 'latency';
    const of = (name: string, share: number): number => percentile(samples.get(name) ?? [], share);
    const baseline = RIVALS.map(botName).reduce((best, name) => (of(name, 0.5) < of(best, 0.5) ? name : best));
    const added = (share: number, limit: number): Figure => ({
      bench,
      name: `added latency p${share * 100}`,
      value: of(OURS, share) - of(baseline, share),
      unit: 'ms',
      limit: { atMost: limit },
      note: `${OURS} ${toShort(of(OURS, share))} ms − ${baseline} ${toShort(of(baseline, share))} ms`,
    });
    return [
      added(0.5, 3.5),
      added(0.95, 20),
      ...subjects.map(({ name }) => ({
        bench,
        name: `${name} p50`,
        value: of(name, 0.5),
        unit: 'ms',
        note: `p95 ${toShort(of(name, 0.95))}, p99 ${toShort(of(name, 0.99))}, ${samples.get(name)?.length} messages one by one`,
      })),
    ];
  });
}

/** With a slow model the gateway must add next to nothing to what the bound on turns allows. */
export function measureSlowModel(): Promise<Figure[]> {
  const ideal = TURNS_AT_ONCE * (1_000 / SLOW_MODEL_MS);
  return withSubjects([OURS, botName('ten-at-once')], SLOW_MODEL_MS, async (subjects) => {
    const figures: Figure[] = [];
    for (const { name, platform } of subjects) {
      await platform.run(toLoad('burst', SLOW_WARM_UP, KNOWN_CHATS));
      const rates: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const { elapsedMs } = await platform.run(toLoad('burst', SLOW_MESSAGES, newChats(round)));
        rates.push(SLOW_MESSAGES / (elapsedMs / 1_000));
      }
      figures.push({
        bench: 'slow-model',
        name: `${name} / ideal`,
        value: median(rates) / ideal,
        unit: '',
        ...(name === OURS ? { limit: { atLeast: 0.95 } } : {}),
        note: `${runs(rates)} of ${ideal} msg/s: ${SLOW_MODEL_MS} ms model, ${TURNS_AT_ONCE} turns at once, ${SLOW_MESSAGES} messages, ${CHATS} chats`,
      });
    }
    return figures;
  });
}

function runs(values: readonly number[] | undefined): string {
  return `runs: ${(values ?? []).map(toShort).join(', ')}`;
}

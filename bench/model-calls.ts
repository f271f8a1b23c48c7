// What a call of a model costs through our stack, beside the provider's SDK alone against the same server.
import { join } from 'node:path';
import type { CallerAnswer, CallerKind, LoadedPackages, WireName } from './caller-load.ts';
import { Child } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { median, percentile } from './statistics.ts';
import { makeWorkDir, startModel, type WorkDir } from './subjects.ts';

const bench = 'model-calls';
const KINDS: readonly CallerKind[] = ['bare', 'wire', 'stack'];
const WARM_UP_CALLS = 500;
const CALLS = 100;
const CALL_ROUNDS = 10;
/** One word per event, as providers stream, all written at once: the hardest case, nothing else costs CPU. */
const STREAM_BYTES = 100_000;
const WORDS_PER_EVENT = 1;
const WARM_UP_STREAMS = 10;
const STREAMS = 10;
const STREAM_ROUNDS = 9;
const TIMEOUT_MS = 120_000;

/** Package of each wire. */
const SDKS: Readonly<Record<WireName, string>> = {
  openai: 'openai',
  'openai-responses': 'openai',
  anthropic: '@anthropic-ai/sdk',
  gemini: '@google/genai',
};

export async function measureModelCalls(): Promise<Figure[]> {
  await using work = await makeWorkDir();
  return [...(await measureAdded(work)), ...(await measureStreams(work)), ...(await measureLoaded(work))];
}

type Answers = Readonly<Record<CallerKind, readonly CallerAnswer[]>>;

/** Rounds take turns, so that what else the machine does falls on all alike. */
async function callAll(
  baseUrl: string,
  work: WorkDir,
  load: { warmUp: number; calls: number; rounds: number },
): Promise<Answers> {
  await using resources = new AsyncDisposableStack();
  const callers: { kind: CallerKind; child: Child }[] = [];
  const answers: Record<CallerKind, CallerAnswer[]> = { bare: [], wire: [], stack: [] };
  for (const kind of KINDS) {
    const dir = await work.make(`${kind}-${load.calls}`);
    const child = resources.use(new Child({ args: [join(import.meta.dirname, 'caller.ts'), kind, baseUrl, dir] }));
    await child.waitFor(/ready\n/);
    await child.ask<CallerAnswer>({ calls: load.warmUp }, TIMEOUT_MS);
    callers.push({ kind, child });
  }
  for (let round = 0; round < load.rounds; round += 1) {
    for (const { kind, child } of callers) answers[kind].push(await child.ask<CallerAnswer>({ calls: load.calls }, TIMEOUT_MS));
  }
  const lengths = new Set(Object.values(answers).flatMap((all) => all.map(({ characters }) => characters)));
  if (lengths.size !== 1) throw new Error(`the callers read answers of different lengths: ${[...lengths].join(', ')}`);
  return answers;
}

async function measureAdded(work: WorkDir): Promise<Figure[]> {
  await using server = await startModel(0);
  const answers = await callAll(server.baseUrl, work, { warmUp: WARM_UP_CALLS, calls: CALLS, rounds: CALL_ROUNDS });
  const of = (kind: CallerKind, share: number): number =>
    percentile(
      answers[kind].flatMap(({ latenciesMs }) => latenciesMs),
      share,
    );
  const note = (kind: CallerKind): string => `p95 ${toShort(of(kind, 0.95))}, ${CALLS * CALL_ROUNDS} calls one by one`;
  return [
    {
      ...{ bench, name: 'added per call p50', value: of('stack', 0.5) - of('bare', 0.5), unit: 'ms', limit: { atMost: 1 } },
      note: 'wire, cost, retry, budget, router over two slots, ledger row synced to disk − bare SDK',
    },
    { bench, name: 'whole stack p50', value: of('stack', 0.5), unit: 'ms', note: note('stack') },
    { bench, name: 'wire alone p50', value: of('wire', 0.5), unit: 'ms', note: note('wire') },
    { bench, name: 'bare SDK p50', value: of('bare', 0.5), unit: 'ms', note: note('bare') },
  ];
}

async function measureStreams(work: WorkDir): Promise<Figure[]> {
  await using server = new Child({
    args: [join(import.meta.dirname, 'stream-server.ts'), String(STREAM_BYTES), String(WORDS_PER_EVENT)],
  });
  const [, url = ''] = await server.waitFor(/(http:\S+)\n/);
  const answers = await callAll(`${url}/v1`, work, { warmUp: WARM_UP_STREAMS, calls: STREAMS, rounds: STREAM_ROUNDS });
  const cpu = (kind: CallerKind): number[] => answers[kind].map(({ cpuMs }) => cpuMs);
  const runs = (kind: CallerKind): string =>
    `CPU of a ${STREAM_BYTES / 1_000} kB answer, one word per event; runs: ${cpu(kind).map(toShort).join(', ')}`;
  return [
    {
      ...{ bench, name: 'stream: wire / bare SDK', value: median(cpu('wire')) / median(cpu('bare')), unit: '' },
      ...{ limit: { atMost: 1.3 }, note: `medians of ${STREAM_ROUNDS}` },
    },
    {
      ...{ bench, name: 'stream: stack / bare SDK', value: median(cpu('stack')) / median(cpu('bare')), unit: '' },
      limit: { atMost: 1.3 },
    },
    ...KINDS.map((kind) => ({ bench, name: `stream: ${kind}`, value: median(cpu(kind)), unit: 'ms', note: runs(kind) })),
  ];
}

async function measureLoaded(work: WorkDir): Promise<Figure[]> {
  await using server = await startModel(0);
  const figures: Figure[] = [];
  for (const [wire, own] of Object.entries(SDKS)) {
    const dir = await work.make(`loaded-${wire}`);
    const args = ['--expose-gc', join(import.meta.dirname, 'loaded-packages.ts'), wire, server.baseUrl, dir];
    await using child = new Child({ args });
    const [, line = ''] = await child.waitFor(/^(\{"packages".*\})$/m, TIMEOUT_MS);
    const loaded = JSON.parse(line) as LoadedPackages;
    const sdks = loaded.packages.filter((name) => Object.values(SDKS).includes(name));
    const others = sdks.filter((name) => name !== own).length;
    // Not even the own one: then it was not looked at what it should be.
    const value = sdks.includes(own) ? others : Number.NaN;
    figures.push(
      {
        bench,
        name: `${wire}: SDKs of others`,
        value,
        unit: '',
        limit: { atMost: 0 },
        note: `loaded: ${loaded.packages.join(', ')}`,
      },
      {
        bench,
        name: `${wire}: memory`,
        value: loaded.residentMb,
        unit: 'MB',
        note: `${toShort(loaded.beforeMb)} MB before its first call`,
      },
    );
  }
  return figures;
}

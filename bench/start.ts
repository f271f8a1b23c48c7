// How long until it is ready, and how much memory it takes while nobody writes.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, residentMb } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { median } from './statistics.ts';
import {
  BOT_READY,
  DAEMON_READY,
  type DaemonBuild,
  type ModelProcess,
  makeWorkDir,
  type Platform,
  startBareBot,
  startDaemon,
  startModel,
  startPlatform,
  type WorkDir,
} from './subjects.ts';

const RUNS = 7;
/** From ready to the look at the memory. */
const SETTLE_MS = 2_000;

interface Start {
  readonly readyMs: number;
  readonly idleMb: number;
}

interface Bench {
  readonly platform: Platform;
  readonly model: ModelProcess;
  readonly work: WorkDir;
}

export async function measureStart(): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const bench: Bench = {
    work: resources.use(await makeWorkDir()),
    model: resources.use(await startModel(0)),
    platform: resources.use(await startPlatform()),
  };
  // Nothing compiled is cached yet; what the operating system caches of the files is.
  const first = { dist: await startOnce(bench, 'dist', 'first'), sources: await startOnce(bench, 'sources', 'first') };
  const starts: Record<DaemonBuild, Start[]> = { dist: [], sources: [] };
  const bots: Start[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    for (const build of ['dist', 'sources'] as const) starts[build].push(await startOnce(bench, build, String(run)));
    bots.push(await observe(() => startBareBot({ ...bench, mode: 'at-once' }), BOT_READY));
  }
  const afterwards = await residentAfterMessages(bench);
  const [dist, sources, bot] = [summary(starts.dist), summary(starts.sources), summary(bots)];
  const warm = `medians of ${RUNS}, compile cache warm`;
  const name = 'start';
  return [
    {
      bench: name,
      name: 'dist: start to ready',
      value: dist.readyMs,
      unit: 'ms',
      limit: { atMost: 600 },
      note: `${warm}; ${each(starts.dist, 'readyMs')}`,
    },
    {
      bench: name,
      name: 'dist: idle memory',
      value: dist.idleMb,
      unit: 'MB',
      limit: { atMost: 108 },
      note: `resident, ${SETTLE_MS / 1_000} s after ready; ${each(starts.dist, 'idleMb')}`,
    },
    {
      bench: name,
      name: 'sources / dist: start',
      value: sources.readyMs / dist.readyMs,
      unit: '',
      limit: { atMost: 1.4 },
      note: `${toShort(sources.readyMs)} ms; what npm start runs, without npm itself`,
    },
    {
      bench: name,
      name: 'sources / dist: memory',
      value: sources.idleMb / dist.idleMb,
      unit: '',
      limit: { atMost: 1.4 },
      note: `${toShort(sources.idleMb)} MB`,
    },
    { bench: name, name: 'dist: very first start', value: first.dist.readyMs, unit: 'ms', note: 'no compile cache' },
    { bench: name, name: 'sources: very first start', value: first.sources.readyMs, unit: 'ms', note: 'no compile cache' },
    {
      bench: name,
      name: 'dist: memory after 100 messages',
      value: afterwards,
      unit: 'MB',
      note: "the provider's SDK is loaded at the first message",
    },
    { bench: name, name: 'bare bot: start to ready', value: bot.readyMs, unit: 'ms', note: `${toShort(bot.idleMb)} MB idle` },
  ];
}

/** The first start of a build fills the cache that its later ones use. Data directories are always new. */
async function startOnce({ platform, model, work }: Bench, build: DaemonBuild, run: string): Promise<Start> {
  const dir = await work.make(`${build}-${run}`);
  const compileCache = await work.make(`${build}-cache`);
  return await observe(() => startDaemon({ platform, model, dir, build, compileCache }), DAEMON_READY);
}

async function observe(start: () => Child | Promise<Child>, ready: RegExp): Promise<Start> {
  await using child = await start();
  await child.waitFor(ready);
  const readyMs = performance.now() - child.startedAt;
  await sleep(SETTLE_MS);
  return { readyMs, idleMb: await residentMb(child.pid) };
}

async function residentAfterMessages({ platform, model, work }: Bench): Promise<number> {
  const options = {
    platform,
    model,
    dir: await work.make('used'),
    build: 'dist',
    compileCache: await work.make('dist-cache'),
  } as const;
  await using child = await startDaemon(options);
  await child.waitFor(DAEMON_READY);
  await platform.run({ shape: 'one-by-one', messages: 100, chats: 10, firstChat: 1_000, timeoutMs: 60_000 });
  await sleep(SETTLE_MS);
  return await residentMb(child.pid);
}

function summary(starts: readonly Start[]): Start {
  return { readyMs: median(starts.map(({ readyMs }) => readyMs)), idleMb: median(starts.map(({ idleMb }) => idleMb)) };
}

function each(starts: readonly Start[], key: keyof Start): string {
  return `runs: ${starts.map((start) => toShort(start[key])).join(', ')}`;
}

// A disk that takes its time to sync: what it costs the event loop, and the people who wait.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Child } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { percentile } from './statistics.ts';
import { DAEMON_READY, makeWorkDir, type Platform, ROOT, startDaemon, startModel, startPlatform } from './subjects.ts';

const SYNC_MS = 30;
const STEADY = { shape: 'steady', perSecond: 10, messages: 300, chats: 100, firstChat: 1_000, timeoutMs: 60_000 } as const;
const BURST = { shape: 'burst', messages: 200, chats: 100, firstChat: 2_000, timeoutMs: 60_000 } as const;

interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface Seen {
  readonly loop: LoopDelay;
  readonly steadyMs: readonly number[];
  readonly burstMs: readonly number[];
}

export async function measureSlowDisk(): Promise<Figure[]> {
  await using work = await makeWorkDir();
  const library = join(work.path, 'slow-sync.so');
  await promisify(execFile)('cc', ['-O2', '-shared', '-fPIC', '-o', library, join(ROOT, 'bench/slow-sync.c'), '-ldl']);
  const slow = await measure(await work.make('slow'), { LD_PRELOAD: library, SLOW_SYNC_MS: String(SYNC_MS) });
  const asIs = await measure(await work.make('as-is'), {});
  return [...figures(`${SYNC_MS} ms a sync`, slow, { atMost: 10 }), ...figures('this disk', asIs)];
}

async function measure(dir: string, env: Readonly<Record<string, string>>): Promise<Seen> {
  await using resources = new AsyncDisposableStack();
  const model = resources.use(await startModel(0));
  const platform = resources.use(await startPlatform());
  const nodeArgs = ['--import', import.meta.resolve('./loop-probe.mjs')];
  const daemon = resources.use(
    await startDaemon({ ...{ platform, model, dir, env, nodeArgs }, build: 'dist', compileCache: join(dir, 'cache') }),
  );
  await daemon.waitFor(DAEMON_READY);
  await platform.run({ ...BURST, firstChat: STEADY.firstChat });
  return await watch(daemon, platform);
}

async function watch(daemon: Child, platform: Platform): Promise<Seen> {
  await daemon.ask('watch', 5_000);
  const steady = await platform.run(STEADY);
  const loop = await daemon.ask<LoopDelay>('tell', 5_000);
  const burst = await platform.run(BURST);
  return { loop, steadyMs: steady.latenciesMs, burstMs: burst.latenciesMs };
}

function figures(disk: string, { loop, steadyMs, burstMs }: Seen, limit?: Figure['limit']): Figure[] {
  const bench = 'slow-disk';
  const answers = (name: string, values: readonly number[], note: string): Figure => ({
    ...{ bench, name: `${disk}: ${name}`, value: percentile(values, 0.5), unit: 'ms' },
    note: `p95 ${toShort(percentile(values, 0.95))}, ${note}`,
  });
  return [
    {
      ...{ bench, name: `${disk}: event loop p99`, value: loop.p99, unit: 'ms' },
      ...(limit ? { limit } : {}),
      note: `held up at ${STEADY.perSecond} messages a second; p50 ${toShort(loop.p50)}, most ${toShort(loop.max)}`,
    },
    answers('answer p50', steadyMs, `${STEADY.messages} messages at ${STEADY.perSecond} a second`),
    answers('burst p50', burstMs, `${BURST.messages} messages at once, ${BURST.chats} chats`),
  ];
}

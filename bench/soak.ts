// What grows: memory, handles and timers over many messages.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { slope } from './statistics.ts';
import { DAEMON_READY, makeWorkDir, startDaemon, startModel, startPlatform } from './subjects.ts';

const MESSAGES = 20_000;
const WAVE = 500;
const CHATS = 100;
/** The first fifth fills caches and lets the heap find its size. */
const SETTLED_AFTER = MESSAGES * 0.2;
/** After a wave: sessions reach their files 100 ms later, and idle connections stay open as they would between messages. */
const PAUSE_MS = 400;

interface Sample {
  readonly messages: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly handles: Readonly<Record<string, number>>;
  readonly descriptors: number;
}

export async function measureSoak(): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const model = resources.use(await startModel(0));
  const platform = resources.use(await startPlatform());
  const daemon = resources.use(
    await startDaemon({
      platform,
      model,
      dir: await work.make('daemon'),
      build: 'dist',
      compileCache: await work.make('cache'),
      nodeArgs: ['--expose-gc', '--import', join(import.meta.dirname, 'resource-probe.mjs')],
    }),
  );
  await daemon.waitFor(DAEMON_READY);
  const samples: Sample[] = [];
  const referenced: number[] = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < MESSAGES; sent += WAVE) {
    await platform.run({ shape: 'burst', messages: WAVE, chats: CHATS, firstChat: 1_000, timeoutMs: 60_000 });
    await sleep(PAUSE_MS);
    samples.push(await look(daemon, sent + WAVE, 'as-is'));
    if (sent + WAVE === SETTLED_AFTER || sent + WAVE === MESSAGES)
      referenced.push((await look(daemon, sent + WAVE, 'after-gc')).heapUsed);
  }
  return judge(samples, referenced, performance.now() - startedAt);
}

async function look(daemon: Child, messages: number, how: 'as-is' | 'after-gc'): Promise<Sample> {
  return { ...(await daemon.ask<Omit<Sample, 'messages'>>(how, 10_000)), messages };
}

function judge(samples: readonly Sample[], referenced: readonly number[], elapsedMs: number): Figure[] {
  const settled = samples.filter(({ messages }) => messages > SETTLED_AFTER);
  const perThousand = (of: (sample: Sample) => number): number =>
    slope(settled.map((sample) => ({ x: sample.messages, y: of(sample) }))) * 1_000;
  const spread = (of: (sample: Sample) => number): string => {
    const values = settled.map(of);
    return `${toShort(Math.min(...values))} to ${toShort(Math.max(...values))}`;
  };
  const resident = ({ rss }: Sample): number => rss / 1e6;
  const timers = ({ handles }: Sample): number => handles['Timeout'] ?? 0;
  const open = (sample: Sample): number => Object.values(sample.handles).reduce((sum, count) => sum + count, 0) - timers(sample);
  const bench = 'soak';
  const growth = (name: string, of: (sample: Sample) => number, unit: string, atMost: number): Figure => ({
    bench,
    name,
    value: perThousand(of),
    unit,
    limit: { atMost },
    note: spread(of),
  });
  const [early = Number.NaN, late = Number.NaN] = referenced;
  return [
    {
      ...growth('resident memory', resident, 'MB / 1,000', 0.5),
      note: `${MESSAGES} messages in ${toShort(elapsedMs / 1_000)} s; ${spread(resident)} MB after the first fifth`,
    },
    growth('handles', open, '/ 1,000', 0.1),
    growth('timers', timers, '/ 1,000', 0.1),
    growth('file descriptors', ({ descriptors }) => descriptors, '/ 1,000', 0.1),
    {
      bench,
      name: 'referenced memory',
      value: (late - early) / 1e6 / ((MESSAGES - SETTLED_AFTER) / 1_000),
      unit: 'MB / 1,000',
      note: `heap after a collection: ${toShort(early / 1e6)} → ${toShort(late / 1e6)} MB; histories and dedup caches grow with the messages`,
    },
  ];
}

// What grows: memory, handles and timers over many messages.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './child.ts';
import { type Figure, toShort } from './figure.ts';
import { slope } from './statistics.ts';
import { DAEMON_READY, makeWorkDir, startDaemon, startModel, startPlatform } from './subjects.ts';

const MESSAGES = 20_000;
const WAVE = 2_000;
const CHATS = 100;
/** The first fifth fills caches. */
const SETTLED_AFTER = MESSAGES * 0.2;
/** Rest after each wave: session files are written, and idle connections are closed (after 15 s). */
const REST_MS = 17_000;

interface Sample {
  readonly messages: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly handles: Readonly<Record<string, number>>;
  readonly descriptors: number;
}

interface Run {
  /** One after each wave, at rest. */
  readonly rested: readonly Sample[];
  /** Right after each wave. bytes. */
  readonly busyRss: readonly number[];
  /** Heap after a collection: at the end of the first fifth, and at the end. bytes. */
  readonly referenced: readonly number[];
  readonly busyMs: number;
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
      nodeArgs: ['--expose-gc', '--import', import.meta.resolve('./resource-probe.mjs')],
    }),
  );
  await daemon.waitFor(DAEMON_READY);
  const rested: Sample[] = [];
  const busyRss: number[] = [];
  const referenced: number[] = [];
  let busyMs = 0;
  for (let sent = WAVE; sent <= MESSAGES; sent += WAVE) {
    const load = { shape: 'burst', messages: WAVE, chats: CHATS, firstChat: 1_000, timeoutMs: 60_000 } as const;
    busyMs += (await platform.run(load)).elapsedMs;
    busyRss.push((await look(daemon, 'as-is')).rss);
    await sleep(REST_MS);
    rested.push({ ...(await look(daemon, 'as-is')), messages: sent });
    // Only twice, and after the sample: a collection that we force would make the figures prettier.
    if (sent === SETTLED_AFTER || sent === MESSAGES) referenced.push((await look(daemon, 'after-gc')).heapUsed);
  }
  return judge({ rested, busyRss, referenced, busyMs });
}

async function look(daemon: Child, how: 'as-is' | 'after-gc'): Promise<Omit<Sample, 'messages'>> {
  return await daemon.ask(how, 10_000);
}

function judge({ rested, busyRss, referenced, busyMs }: Run): Figure[] {
  const settled = rested.filter(({ messages }) => messages >= SETTLED_AFTER);
  const over = MESSAGES - SETTLED_AFTER;
  const growth = (of: (sample: Sample) => number): number =>
    slope(settled.map((sample) => ({ x: sample.messages, y: of(sample) }))) * over;
  const each = (of: (sample: Sample) => number): string => `at rest: ${settled.map((sample) => toShort(of(sample))).join(', ')}`;
  const resident = ({ rss }: Sample): number => rss / 1e6;
  const timers = ({ handles }: Sample): number => handles['Timeout'] ?? 0;
  const open = (sample: Sample): number => Object.values(sample.handles).reduce((sum, n) => sum + n, 0) - timers(sample);
  const bench = 'soak';
  const counted = (name: string, of: (sample: Sample) => number): Figure => ({
    bench,
    name: `growth of ${name}`,
    value: growth(of),
    unit: '',
    limit: { atMost: 1 },
    note: each(of),
  });
  const meanMb = settled.reduce((sum, sample) => sum + resident(sample), 0) / settled.length;
  const [early = Number.NaN, late = Number.NaN] = referenced;
  return [
    {
      bench,
      name: 'growth of resident memory',
      value: (growth(resident) / meanMb) * 100,
      unit: '%',
      limit: { atMost: 10 },
      note: `fitted over the last ${over} of ${MESSAGES} messages; MB ${each(resident)}`,
    },
    counted('handles', open),
    counted('timers', timers),
    counted('file descriptors', ({ descriptors }) => descriptors),
    {
      bench,
      name: 'growth of what is referenced',
      value: (late - early) / 1e6,
      unit: 'MB',
      note: `heap after a collection ${toShort(early / 1e6)} → ${toShort(late / 1e6)} MB: conversations kept in memory, bounded at 64 MiB`,
    },
    {
      bench,
      name: 'resident memory under load',
      value: Math.max(...busyRss) / 1e6,
      unit: 'MB',
      limit: { atMost: 260 },
      note: `the most seen right after a burst of ${WAVE}; ${toShort((MESSAGES / busyMs) * 1_000)} msg/s over all`,
    },
  ];
}

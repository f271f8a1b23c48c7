// A year of use: a million finished messages over 100,000 chats, and 50,000 lanes of a channel that is down.
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Journal } from '../src/core/journal.ts';
import { createPrivateFile, Database } from '../src/journal/database.ts';
import { openJournal } from '../src/journal/open.ts';
import { MIGRATIONS, migrate } from '../src/journal/schema.ts';
import { systemClock } from '../src/lib/clock.ts';
import { inbound, outbound } from '../src/testing/fakes.ts';
import { residentMb } from './child.ts';
import { type Figure, notMeasured } from './figure.ts';
import { median, percentile } from './statistics.ts';
import {
  DAEMON_READY,
  type ModelProcess,
  makeWorkDir,
  type Platform,
  startDaemon,
  startModel,
  startPlatform,
} from './subjects.ts';

const BENCH = 'scale';
const MESSAGES = 1_000_000;
const CHATS = 100_000;
const LANES = 50_000;
/** The last version before runs: what a long-lived installation brings to its first start. */
const OLD_VERSION = 4;
const DAY_MS = 86_400_000;
/** Content is kept for 7 days: what is younger stays. */
const KEPT_DAYS = 6;
const STARTS = 5;
const SETTLE_MS = 2_000;
const WATCH_MS = 20_000;
/** Of USER_HZ, which Linux reports as 100 everywhere. */
const TICK_MS = 10;

export async function measureScale(): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const [model, platform] = [resources.use(await startModel(0)), resources.use(await startPlatform())];
  const subject: Subject = { model, platform, compileCache: await work.make('cache') };
  const [empty, full] = [await work.make('empty'), await work.make('full')];
  for (const dir of [empty, full]) await mkdir(join(dir, 'data'), { recursive: true });
  await writeOldJournal(join(full, 'data/journal.db'), systemClock.now());
  const first = await observe(subject, full);
  writeChats(join(full, 'data/journal.db'), systemClock.now());
  await observe(subject, empty);
  const [without, loaded] = [await several(subject, empty), await several(subject, full)];
  return [
    figure(
      `from version ${OLD_VERSION} to ${MIGRATIONS.length}`,
      first.readyMs,
      'ms',
      60_000,
      `${MESSAGES} messages; start to ready`,
    ),
    ...compare(without, loaded),
    ...(await coldStarts(subject, empty, full)),
    ...(await measurePrune(join(full, 'data'))),
    ...(await measureDownLanes(subject, await work.make('lanes'))),
  ];
}

interface Subject {
  readonly model: ModelProcess;
  readonly platform: Platform;
  readonly compileCache: string;
}

interface Seen {
  readonly readyMs: number;
  readonly endMs: number;
  readonly rssMb: number;
}

function figure(name: string, value: number, unit: string, atMost: number, note: string): Figure {
  return { bench: BENCH, name, value, unit, limit: { atMost }, note };
}

/** As version 4 left it: each message with its answer and the key that recognises it when it is repeated. */
async function writeOldJournal(file: string, now: number): Promise<void> {
  await createPrivateFile(file);
  using db = new Database(file, { busyMs: 0 });
  migrate(db, MIGRATIONS.slice(0, OLD_VERSION));
  db.exec('PRAGMA synchronous = OFF; BEGIN');
  for (let n = 1; n <= MESSAGES; n += 1) {
    const [chat, at] = [n % CHATS, Math.floor(now - (KEPT_DAYS * DAY_MS * (MESSAGES - n)) / MESSAGES)];
    const to = { channel: 'telegram', account: '42', chatId: `${chat}` };
    const { id: key, ...message } = inbound({ ...to, platformId: `${n}`, text: `question ${n} ${'x'.repeat(200)}` });
    const lane = `telegram/42/${chat}`;
    db.run(
      `INSERT INTO inbox (key, lane, session, message, state, attempts, accepted_at, aged_from, finished_at, outcome)
       VALUES (?, ?, ?, ?, 'DONE', 1, ?, ?, ?, 'answered')`,
      ...[key, lane, `_main:telegram:${chat}`, JSON.stringify({ id: key, ...message }), at, at, at],
    );
    db.run(
      `INSERT INTO outbox (key, lane, part, state, attempts, created_at, expires_at, settled_at, platform_id)
       VALUES (?, ?, ?, 'SENT', 1, ?, ?, ?, ?)`,
      ...[key, lane, JSON.stringify(outbound({ ...to, key, text: 'y'.repeat(400) })), at, at + DAY_MS, at, `${n}`],
    );
    db.run('INSERT INTO dedup VALUES (0, ?, ?)', key, at);
  }
  db.exec('COMMIT');
}

function writeChats(file: string, now: number): void {
  using db = new Database(file, { busyMs: 0 });
  db.exec('BEGIN');
  for (let n = 0; n < CHATS; n += 1) {
    const address = JSON.stringify({ channel: 'telegram', account: '42', chatId: `${n}` });
    db.run(
      'INSERT OR IGNORE INTO chat (key, address, is_group, last_in, last_out) VALUES (?, ?, 0, ?, ?)',
      ...[`telegram/42/${n}`, address, now, now],
    );
  }
  db.exec('COMMIT');
}

async function observe(subject: Subject, dir: string): Promise<Seen> {
  await using child = await startDaemon({ ...subject, dir, build: 'dist' });
  await child.waitFor(DAEMON_READY, 180_000);
  const readyMs = performance.now() - child.startedAt;
  await sleep(SETTLE_MS);
  const rssMb = await residentMb(child.pid);
  const askedAt = performance.now();
  await child[Symbol.asyncDispose]();
  return { readyMs, endMs: performance.now() - askedAt, rssMb };
}

async function several(subject: Subject, dir: string): Promise<readonly Seen[]> {
  const all: Seen[] = [];
  for (let n = 0; n < STARTS; n += 1) all.push(await observe(subject, dir));
  return all;
}

function compare(without: readonly Seen[], loaded: readonly Seen[]): Figure[] {
  const of = (all: readonly Seen[], key: keyof Seen): number => median(all.map((each) => each[key]));
  const both = (key: keyof Seen, unit: string): string =>
    `${of(loaded, key).toFixed(0)} and ${of(without, key).toFixed(0)} ${unit}; medians of ${STARTS}`;
  const ratio = (key: keyof Seen): number => of(loaded, key) / of(without, key);
  return [
    figure('start to ready: full / empty', ratio('readyMs'), '', 1.2, both('readyMs', 'ms')),
    figure('memory: full / empty', ratio('rssMb'), '', 1.1, both('rssMb', 'MB')),
    figure('end after SIGTERM', Math.max(...loaded.map(({ endMs }) => endMs)), 'ms', 1_000, both('endMs', 'ms')),
  ];
}

/** With nothing of the files in the page cache; only root may empty it. */
async function coldStarts(subject: Subject, empty: string, full: string): Promise<Figure[]> {
  const cold = { bench: BENCH, name: 'cold start: full / empty', unit: '', limit: { atMost: 1.2 } };
  const readyMs = new Map<string, number[]>([
    [empty, []],
    [full, []],
  ]);
  for (let n = 0; n < 3; n += 1)
    for (const [dir, all] of readyMs) {
      try {
        await writeFile('/proc/sys/vm/drop_caches', '3');
      } catch {
        return [notMeasured(cold, 'needs root')];
      }
      all.push((await observe(subject, dir)).readyMs);
    }
  const [without = Number.NaN, loaded = Number.NaN] = [...readyMs.values()].map(median);
  return [{ ...cold, value: loaded / without, note: `${loaded.toFixed(0)} and ${without.toFixed(0)} ms; medians of 3` }];
}

/**
 * Half of the rows become too old, in days that pass one after the other, because housekeeping goes by the
 * days that it saw. Messages come in all the while.
 */
async function measurePrune(dir: string): Promise<Figure[]> {
  const file = join(dir, 'journal.db');
  const before = (await stat(file)).size;
  const waits: number[] = [];
  {
    let aheadMs = 0;
    await using opened = await openJournal({ dir, clock: { ...systemClock, now: () => systemClock.now() + aheadMs } });
    for (let day = 0; day <= KEPT_DAYS / 2; day += 1) {
      aheadMs += DAY_MS;
      waits.push(...(await acceptUntil(opened.journal, opened.prune())));
    }
  }
  const after = (await stat(file)).size;
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const note = `${waits.length} messages, the slowest ${Math.max(...waits).toFixed(0)} ms`;
  return [
    figure('accept while pruning p99', percentile(waits, 0.99), 'ms', 20, note),
    figure('file after pruning / before', after / before, '', 0.7, `${mb(before)} to ${mb(after)}`),
  ];
}

/** A message every few ms until `work` has ended. Resolves with what each waited, in ms. */
async function acceptUntil(journal: Pick<Journal, 'accept'>, work: Promise<void>): Promise<readonly number[]> {
  const waits: number[] = [];
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const message = inbound({ channel: 'telegram', account: '42', chatId: 'new', platformId: randomUUID() });
    const startedAt = performance.now();
    await journal.accept([{ kind: 'admit', message, lane: 'telegram/42/new', session: '_main:telegram:new' }]);
    waits.push(performance.now() - startedAt);
    await sleep(5);
  }
  await ended;
  return waits;
}

async function measureDownLanes(subject: Subject, dir: string): Promise<Figure[]> {
  const data = join(dir, 'data');
  {
    await using opened = await openJournal({ dir: data, clock: systemClock });
    const expiresAt = systemClock.now() + DAY_MS;
    for (let n = 0; n < LANES; n += 1_000)
      await opened.journal.enqueue(
        Array.from({ length: 1_000 }, (_, k) => {
          const to = { channel: 'telegram', account: '42', chatId: `${n + k}` };
          return { lane: `telegram/42/${n + k}`, expiresAt, part: outbound({ ...to, key: `k${n + k}`, text: 'x'.repeat(500) }) };
        }),
      );
  }
  // Nothing listens there.
  const platform = { ...subject.platform, url: 'http://127.0.0.1:9', token: '42:down' };
  await using child = await startDaemon({ ...subject, platform, dir, build: 'dist' });
  await child.waitFor(DAEMON_READY);
  await sleep(WATCH_MS);
  const [cpuBefore, startedAt] = [await cpuMs(child.pid), performance.now()];
  await sleep(WATCH_MS);
  const share = ((await cpuMs(child.pid)) - cpuBefore) / (performance.now() - startedAt);
  return [
    figure('lanes of a channel that is down', await residentMb(child.pid), 'MB', 150, `${LANES} lanes with an answer each`),
    figure('their CPU', share * 100, '%', 1, `of one processor, over ${WATCH_MS / 1_000} s`),
  ];
}

async function cpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

// A ledger of a million calls: how long its sums take, and whether a daemon with it needs more memory than
// one without.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DaemonRecord, statusHeaders } from '../src/core/status.ts';
import { createPrivateFile, Database } from '../src/journal/database.ts';
import { openJournal } from '../src/journal/open.ts';
import { MIGRATIONS, migrate } from '../src/journal/schema.ts';
import { systemClock } from '../src/lib/clock.ts';
import { Child, residentMb } from './child.ts';
import type { Figure } from './figure.ts';
import { median } from './statistics.ts';
import {
  DAEMON_READY,
  type ModelProcess,
  makeWorkDir,
  type Platform,
  ROOT,
  startDaemon,
  startModel,
  startPlatform,
} from './subjects.ts';

const ROWS = 1_000_000;
/** The last version without sums: what a long-lived installation brings to its first start. */
const WITHOUT_SUMS = 3;
const DAY_MS = 86_400_000;
const DAYS = 365;
/** Of the rows, those of the last hours: the sums of today must not depend on how many there are. */
const TODAY_SHARE = 0.25;
const TODAY_MS = 4 * 3_600_000;
const RUNS = 7;
const SETTLE_MS = 2_000;
const BENCH = 'ledger';

export async function measureLedger(): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const [model, platform] = [resources.use(await startModel(0)), resources.use(await startPlatform())];
  const dirs = { empty: await work.make('empty'), full: await work.make('full') };
  const subject: Subject = { model, platform, compileCache: await work.make('cache') };
  const migrated = await makeJournals(dirs);
  const without = await observe(subject, dirs.empty);
  const loaded = await observe(subject, dirs.full);
  return [
    ...(await measureUsage(subject, dirs)),
    migrated,
    {
      ...{ bench: BENCH, name: '/status', value: Math.max(...loaded.statusMs), unit: 'ms', limit: { atMost: 50 } },
      note: `slowest of ${RUNS}; ${Math.max(...without.statusMs).toFixed(0)} ms with an empty ledger`,
    },
    {
      ...{ bench: BENCH, name: 'memory: full / empty', value: loaded.rssMb / without.rssMb, unit: '', limit: { atMost: 1.1 } },
      note: `${loaded.rssMb.toFixed(0)} and ${without.rssMb.toFixed(0)} MB resident after ${RUNS} times /status`,
    },
    {
      ...{ bench: BENCH, name: 'start to ready', value: loaded.readyMs, unit: 'ms' },
      note: `${without.readyMs.toFixed(0)} ms with an empty ledger`,
    },
  ];
}

interface Subject {
  readonly model: ModelProcess;
  readonly platform: Platform;
  readonly compileCache: string;
}

interface Dirs {
  readonly empty: string;
  readonly full: string;
}

/** An empty journal and one of a million rows, brought from the old version to the newest. */
async function makeJournals({ empty, full }: Dirs): Promise<Figure> {
  for (const dir of [empty, full]) await mkdir(join(dir, 'data'), { recursive: true });
  const file = join(full, 'data/journal.db');
  await createPrivateFile(file);
  writeRows(file);
  const opened = async (dir: string): Promise<void> => {
    await using _journal = await openJournal({ dir: join(dir, 'data'), clock: systemClock });
  };
  await opened(empty);
  const ms = await timed(() => opened(full));
  const note = `${ROWS} rows; with the copy that is kept of the old file`;
  return {
    bench: BENCH,
    name: `from version ${WITHOUT_SUMS} to ${MIGRATIONS.length}`,
    value: ms,
    unit: 'ms',
    limit: { atMost: 60_000 },
    note,
  };
}

function writeRows(file: string): void {
  using db = new Database(file, { busyMs: 0 });
  migrate(db, MIGRATIONS.slice(0, WITHOUT_SUMS));
  const random = seededRandom();
  const now = systemClock.now();
  const one = (count: number): string => `v${Math.floor(random() * count)}`;
  db.exec('PRAGMA synchronous = OFF; BEGIN');
  for (let n = 0; n < ROWS; n += 1) {
    const age = n < ROWS * TODAY_SHARE ? random() * TODAY_MS : random() * DAYS * DAY_MS;
    db.run(
      'INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ...[`telegram/bot/${n}#u0`, Math.floor(now - age), one(2), one(4), 5_000, 300, 4_000],
      ...[`_main:telegram:${one(1_000)}`, one(5), `telegram:${one(1_000)}`, one(3), random(), n % 50 === 0 ? one(20) : null],
    );
  }
  db.exec('COMMIT');
}

/** The command as a person calls it, as a process of its own. */
async function measureUsage({ compileCache }: Subject, { empty, full }: Dirs): Promise<Figure[]> {
  const usage = (dir: string, by: string): Promise<number> =>
    timed(async () => {
      const main = join(ROOT, 'dist/src/cli/main.js');
      const args = ['usage', '--by', by, '--since', `${DAYS + 1}d`, '--config', join(dir, 'config.json')];
      await using command = new Child({
        args: [main, ...args, '--data-dir', join(dir, 'data')],
        env: { NODE_COMPILE_CACHE: compileCache },
      });
      await command.waitFor(/\ntotal +\d|no model call/);
    });
  await usage(empty, 'day');
  const bare = median(await times(() => usage(empty, 'day')));
  const figures: Figure[] = [];
  for (const by of ['day', 'provider', 'model', 'channel', 'purpose']) {
    const runs = await times(() => usage(full, by));
    const note = `whole process, ${bare.toFixed(0)} ms with an empty ledger; ${ROWS} rows in ${DAYS} days; runs: ${runs.map((ms) => ms.toFixed(0)).join(', ')}`;
    figures.push({ bench: BENCH, name: `usage --by ${by}`, value: median(runs), unit: 'ms', limit: { atMost: 300 }, note });
  }
  return figures;
}

/** The second start of a daemon: the first one fills the cache of compiled code. */
async function observe(subject: Subject, dir: string) {
  await observeOnce(subject, dir);
  return await observeOnce(subject, dir);
}

async function observeOnce(subject: Subject, dir: string) {
  await using child = await startDaemon({ ...subject, dir, build: 'dist' });
  const [, url = ''] = await child.waitFor(DAEMON_READY);
  const readyMs = performance.now() - child.startedAt;
  const record = JSON.parse(await readFile(join(dir, 'data', 'daemon.json'), 'utf8')) as DaemonRecord;
  const init = { headers: statusHeaders(record) };
  const statusMs = await times(() => timed(async () => void (await (await fetch(`${url}/status`, init)).json())));
  await sleep(SETTLE_MS);
  return { readyMs, statusMs, rssMb: await residentMb(child.pid) };
}

async function times(run: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let n = 0; n < RUNS; n += 1) values.push(await run());
  return values;
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

/** The same ledger every time but for its dates (mulberry32). */
function seededRandom(): () => number {
  let state = 12_345;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

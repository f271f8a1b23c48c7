import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { begin, done, LANE, part } from '../testing/journal-rows.ts';
import { needs } from '../testing/needs.ts';
import { Database } from './database.ts';
import { journalOn, openJournal } from './open.ts';
import { migrate } from './schema.ts';

const PRELUDE = `
  const { openJournal } = await import('${new URL('./open.ts', import.meta.url).href}');
  const { systemClock: clock } = await import('${new URL('../lib/clock.ts', import.meta.url).href}');
  const admit = (n, text = 'x') => ({
    kind: 'admit', lane: 'lane-' + (n % 3), session: 's',
    message: {
      id: 'test/bot/m-' + n, kind: 'message', channel: 'test', account: 'bot', chatId: 'c', platformId: 'm-' + n, senderId: 'u',
      senderName: 'U', text, media: [], isGroup: false, mentionsBot: false, timestamp: 0,
    },
  });
  const code = (promise) => promise.then(() => 'ok', (error) => error.code);
`;

function child(program: string, wrapper: readonly string[] = []): ChildProcess {
  const [command = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', PRELUDE + program];
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function output(started: ChildProcess): Promise<readonly string[]> {
  if (!started.stdout) throw new Error('the child has no output');
  const lines: string[] = [];
  for await (const line of createInterface({ input: started.stdout })) lines.push(line);
  return lines;
}

/** Runs a shell line in a mount namespace of its own, with 1 MB of tmpfs on `$1`; then the program. */
function onTinyDisk(dir: string, program: string): ChildProcess {
  const shell = 'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"';
  return child(program, ['unshare', '-rm', 'sh', '-c', shell, 'sh', dir]);
}

it('F1 F11 whatever was acknowledged before a SIGKILL inside a burst is there afterwards', async () => {
  await using dir = await tempDir();
  const acknowledged = new Set<number>();
  for (let round = 0; round < 4; round += 1) {
    const burst = child(`
      const { journal } = await openJournal({ dir: ${JSON.stringify(dir.path)}, clock });
      const { writeSync } = await import('node:fs');
      for (let n = ${round} * 1_000_000; ; n += 10) {
        await Promise.all(Array.from({ length: 10 }, async (_, i) => {
          await journal.accept([admit(n + i)]);
          writeSync(1, (n + i) + '\\n');
        }));
      }`);
    const lines = output(burst);
    let told = 0;
    burst.stdout?.on('data', (chunk) => {
      const before = told;
      told += String(chunk).split('\n').length - 1;
      if (before <= 20 && told > 20) setTimeout(() => burst.kill('SIGKILL'), round * 17);
    });
    for (const line of await lines) acknowledged.add(Number(line));
    if (burst.exitCode === null && burst.signalCode === null) await once(burst, 'exit');
  }
  expect(acknowledged.size).toBeGreaterThan(40);
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const rows = await Promise.all([0, 1, 2].map((lane) => opened.journal.waiting(`lane-${lane}`, 1_000_000)));
  const kept = new Set(rows.flat().map((row) => Number(row.message?.platformId.slice(2))));
  expect([...acknowledged].filter((n) => !kept.has(n))).toEqual([]);
});

/**
 * Whether each line `ACK n` of the traced program came after a sync of the log that began when all of the log
 * had been written.
 */
function acknowledged(trace: string): { readonly synced: readonly boolean[]; readonly directorySynced: boolean } {
  let written = 0; // calls that wrote to the log
  let covered = 0; // of these, on disk
  let before = 0; // written at the acknowledgement before
  let directorySynced = false;
  const begun = new Map<string, number>(); // by thread: what was written when its sync began
  const synced: boolean[] = [];
  for (const line of trace.split('\n')) {
    const thread = line.split(' ', 1)[0] ?? '';
    if (/ pwrite64\(\d+<[^>]*journal\.db-wal>/.test(line)) written += 1;
    if (/ f(?:data)?sync\(\d+<[^>]*journal\.db-wal>/.test(line)) begun.set(thread, written);
    // One line, or two halves when other threads were seen meanwhile.
    const from = begun.get(thread);
    if (from !== undefined && /(?:^\S+ +f(?:data)?sync\(.*|f(?:data)?sync resumed>.*)= 0(?: \(DELAYED\))?$/.test(line)) {
      covered = Math.max(covered, from);
      begun.delete(thread);
    }
    if (synced.length === 0 && written > 0 && / fsync\(\d+<[^>]*\/data>/.test(line)) directorySynced = true;
    if (!/ write\(1<[^>]*>, "ACK /.test(line)) continue;
    synced.push(covered === written && written > before);
    before = written;
  }
  return { synced, directorySynced };
}

it('F12 each acknowledgement comes after a sync that is younger than its write', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  for (const sync of ['beside', 'in-commit']) {
    await using dir = await tempDir();
    const trace = join(dir.path, 'trace');
    const data = join(dir.path, 'data');
    const acks = await output(
      child(
        // However busy this machine is, its disk counts as a quick one.
        `performance.now = () => 0;
         const { journal } = await openJournal({ dir: ${JSON.stringify(data)}, clock, sync: '${sync}' });
         const { writeSync } = await import('node:fs');
         for (let n = 0; n < 60; n += 1) { await journal.accept([admit(n)]); writeSync(1, 'ACK ' + n + '\\n'); }`,
        ['strace', '-f', '-y', '-o', trace, '-e', 'trace=write,pwrite64,fdatasync,fsync'],
      ),
    );
    expect(acks).toHaveLength(60);
    const lines = await readFile(trace, 'utf8');
    const seen = acknowledged(lines);
    expect(seen.synced, sync).toEqual(Array.from({ length: 60 }, () => true));
    // The thread that acknowledges is the event loop's.
    const loop = /^(\d+) +write\(1<[^>]*>, "ACK /m.exec(lines)?.[1];
    const syncing = [...lines.matchAll(/^(\d+) +fdatasync\(/gm)].map(([, thread]) => thread === loop);
    if (sync === 'beside') expect([syncing.at(-1), syncing.includes(false)]).toEqual([true, true]);
    expect(seen.directorySynced, 'the name of the log is on disk').toBe(true);
  }
});

it('F12 what a reader may act on is on disk, also when another wrote it', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const trace = join(dir.path, 'trace');
  const data = join(dir.path, 'data');
  await output(
    child(
      `const { journal } = await openJournal({ dir: ${JSON.stringify(data)}, clock });
       const { writeSync } = await import('node:fs');
       for (let n = 0; n < 20; n += 1) {
         const accepting = journal.accept([admit(n)], { channel: 'test', account: 'bot', value: String(n) });
         let cursor;
         do { await new Promise(setImmediate); cursor = await journal.cursor('test', 'bot'); } while (cursor !== String(n));
         writeSync(1, 'ACK ' + n + '\\n');
         await accepting;
       }`,
      // The disk is slow: a reader that did not wait would be first.
      [
        'strace',
        '-f',
        '-y',
        '-o',
        trace,
        '-e',
        'trace=write,pwrite64,fdatasync,fsync',
        '-e',
        'inject=fdatasync:delay_exit=20000',
      ],
    ),
  );
  expect(acknowledged(await readFile(trace, 'utf8')).synced).toEqual(Array.from({ length: 20 }, () => true));
});

it('F12 what a killed predecessor committed and never synced is on disk before it is read', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const trace = join(dir.path, 'trace');
  const data = JSON.stringify(join(dir.path, 'data'));
  const killed = child(`
    const { journal } = await openJournal({ dir: ${data}, clock });
    await journal.accept([admit(1)], { channel: 'test', account: 'bot', value: '7' });
    process.kill(process.pid, 'SIGKILL');`);
  await output(killed);
  const lines = await output(
    child(
      `const { journal } = await openJournal({ dir: ${data}, clock });
       const { writeSync } = await import('node:fs');
       writeSync(1, 'ACK ' + (await journal.cursor('test', 'bot')) + '\\n');`,
      ['strace', '-f', '-y', '-o', trace, '-e', 'trace=write,fdatasync'],
    ),
  );
  expect(lines).toEqual(['ACK 7']);
  const before = (await readFile(trace, 'utf8')).split('"ACK 7')[0];
  expect(before).toMatch(/fdatasync\(\d+<[^>]*journal\.db-wal>\) += 0/);
});

it('a journal that cannot be opened on a full disk says to make room and start again', async (context) => {
  await using dir = await tempDir();
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', dir.path);
  const lines = await output(
    onTinyDisk(
      dir.path,
      `const { openSync, writeSync } = await import('node:fs');
       const dir = ${JSON.stringify(dir.path)};
       { await using first = await openJournal({ dir, clock }); }
       const filler = openSync(dir + '/filler', 'w');
       for (let size = 65_536; size >= 1; size /= 16)
         try { for (;;) writeSync(filler, Buffer.alloc(size)); }
         catch (error) { if (error.code !== 'ENOSPC') throw error; }
       await openJournal({ dir, clock }).catch(({ code, hint }) => console.log(code, hint));`,
    ),
  );
  expect(lines).toEqual(['GH1301 free disk space, then start again']);
});

it('F13 F14 a full disk rejects the write with GH1301 and keeps what was there; with room again it works', async (context) => {
  await using dir = await tempDir();
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', dir.path);
  const lines = await output(
    onTinyDisk(
      dir.path,
      `const { writeFileSync, rmSync } = await import('node:fs');
       const dir = ${JSON.stringify(dir.path)};
       let fatal = 0;
       const { journal } = await openJournal({ dir, clock, onFatal: () => { fatal += 1; } });
       console.log('first', await code(journal.accept([admit(1)])));
       try { writeFileSync(dir + '/filler', Buffer.alloc(2_000_000)); } catch (error) { console.log('filler', error.code); }
       console.log('full', await code(journal.accept([admit(2, 'y'.repeat(100_000))])));
       console.log('full', await code(journal.accept([admit(2, 'y'.repeat(100_000))])));
       console.log('kept', (await journal.counts()).inbox.NEW, 'room', journal.room());
       rmSync(dir + '/filler');
       console.log('again', await code(journal.accept([admit(2, 'y'.repeat(100_000))])));
       console.log('kept', (await journal.counts()).inbox.NEW, 'room', journal.room(), 'fatal', fatal);
       await journal[Symbol.asyncDispose]();`,
    ),
  );
  expect(lines).toEqual([
    'first ok',
    'filler ENOSPC',
    'full GH1301',
    'full GH1301',
    'kept 1 room 9999',
    'again ok',
    'kept 2 room 9998 fatal 0',
  ]);
});

it('F16 a read-only file system is refused at start in one line', async (context) => {
  await using dir = await tempDir();
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', dir.path);
  await (await openJournal({ dir: dir.path, clock: new FakeClock() }))[Symbol.asyncDispose]();
  const shell = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';
  const program = `
    const { lockDataDir } = await import('${new URL('./lock.ts', import.meta.url).href}');
    const dir = ${JSON.stringify(dir.path)};
    for (const start of [() => lockDataDir(dir, clock), () => openJournal({ dir, clock })]) {
      await start().catch((error) => console.log(error.code, error.message));
    }`;
  const lines = await output(child(program, ['unshare', '-rm', 'sh', '-c', shell, 'sh', dir.path]));
  const line = `GH1202 ${dir.path} cannot be written: the file system is read-only`;
  expect(lines).toEqual([line, line]);
});

it('F15 a sync that fails is never tried again: the write and every later one reject with GH1302', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  // Counted per thread: with one thread for syncs, some succeed first.
  const ways = [
    ['beside', 'fdatasync', 5],
    // More than the thread ever makes: the event loop's own.
    ['beside', 'fdatasync', 40],
    ['in-commit', 'fsync', 20],
  ] as const;
  for (const [sync, call, when] of ways) {
    await using dir = await tempDir();
    const trace = join(dir.path, 'trace');
    const data = join(dir.path, 'data');
    await mkdir(data);
    const lines = await output(
      child(
        `const opened = await openJournal({ dir: ${JSON.stringify(data)}, clock, sync: '${sync}', onFatal: (error) => console.log('fatal', error.code) });
         let n = 0;
         for (; n < 100; n += 1) if (await code(opened.journal.accept([admit(n)])) !== 'ok') break;
         console.log(n > 0 && n < 100 ? 'failed in the middle' : 'failed at ' + n);
         console.log('later', await code(opened.journal.accept([admit(100)])));
         console.log('later', await code(opened.journal.claim(1)));
         await opened[Symbol.asyncDispose]();`,
        [
          ...['env', 'UV_THREADPOOL_SIZE=1', 'strace', '-f', '-y', '-o', trace],
          ...['-e', 'trace=fsync,fdatasync', '-e', `inject=${call}:error=EIO:when=${when}`],
        ],
      ),
    );
    expect(lines, sync).toEqual(['fatal GH1302', 'failed in the middle', 'later GH1302', 'later GH1302']);
    const syncs = (await readFile(trace, 'utf8')).split('\n').filter((line) => /sync\(\d+<[^>]*-wal>|EIO/.test(line));
    // Within COMMIT, SQLite takes the transaction back: what it copies out of the log when it closes was
    // synced before.
    if (sync === 'beside') expect(syncs.at(-1)).toContain('EIO');
  }
});

it('F15 after a sync that failed nothing is read, and closing copies nothing out of the log', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const data = join(dir.path, 'data');
  await mkdir(data);
  const lines = await output(
    child(
      `const { readdirSync, statSync } = await import('node:fs');
       const dir = ${JSON.stringify(data)};
       const opened = await openJournal({ dir, clock });
       while (await code(opened.journal.accept([admit(1), admit(2), admit(3)])) === 'ok');
       const before = statSync(dir + '/journal.db').mtimeMs;
       console.log('reads', await code(opened.journal.cursor('test', 'bot')), await code(opened.journal.waiting('lane-1', 9)));
       await opened[Symbol.asyncDispose]();
       console.log(readdirSync(dir).includes('journal.db-wal'), statSync(dir + '/journal.db').mtimeMs === before);`,
      [
        'env',
        'UV_THREADPOOL_SIZE=1',
        'strace',
        '-f',
        '-o',
        '/dev/null',
        '-e',
        'trace=fdatasync',
        '-e',
        'inject=fdatasync:error=EIO:when=5',
      ],
    ),
  );
  expect(lines).toEqual(['reads GH1302 GH1302', 'true true']);
  await using again = await openJournal({ dir: data, clock: new FakeClock() });
  expect((await again.journal.counts()).inbox.NEW).toBe(3);
});

it('F14 when the file may not grow, a batch that does not fit leaves no half of itself', async () => {
  await using dir = await tempDir();
  using db = new Database(join(dir.path, 'journal.db'), { busyMs: 0 });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  migrate(db);
  db.exec(`PRAGMA max_page_count = ${(db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0) + 4}`);
  const { journal } = journalOn(db, { clock: new FakeClock() });
  const large = { ...part('large'), part: { ...part('large').part, text: 'x'.repeat(100_000) } };
  const row = await begin(journal, 1);
  const finish = (parts: readonly (typeof large)[]) => journal.finish(done(row, parts));
  await expect(finish([part('small'), large])).rejects.toMatchObject({ code: 'GH1301' });
  expect((await journal.counts()).inbox).toMatchObject({ RUNNING: 1, DONE: 0 });
  expect(await journal.pending(LANE, 9)).toEqual([]);
  db.exec('PRAGMA max_page_count = 100000');
  expect(await finish([part('small'), large])).toBe(true);
  expect(await journal.pending(LANE, 9)).toHaveLength(2);
  await journal[Symbol.asyncDispose]();
});

import { AsyncLocalStorage } from 'node:async_hooks';
import { readdir, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { type Change, CommitQueue } from './commit-queue.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';
import { WalSync } from './wal-sync.ts';

/** A disk whose syncs end when told, in the order they began. */
class HeldDisk {
  readonly descriptors: number[] = [];
  readonly #held: PromiseWithResolvers<void>[] = [];

  readonly datasync = (descriptor: number): Promise<void> => {
    this.descriptors.push(descriptor);
    const held = Promise.withResolvers<void>();
    this.#held.push(held);
    return held.promise;
  };

  /** The sync that began as the `n`th, from 0. */
  async end(n: number, error?: Error): Promise<void> {
    if (error) this.#held[n]?.reject(error);
    else this.#held[n]?.resolve();
    // One round for those who waited for it, one for the commit that waited for room.
    await turn();
    await turn();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function rig() {
  const dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  const db = new Database(path, { busyMs: 0 });
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n)');
  const disk = new HeldDisk();
  const sync = new WalSync(db, disk);
  const fatal: string[] = [];
  const told: (string | undefined)[] = [];
  const commits: Change[] = [];
  const queue = new CommitQueue({
    ...{ db, sync },
    onFatal: (error) => fatal.push(error.code),
    onWritable: (failing) => told.push(failing?.code),
    onCommit: (change) => commits.push(change),
  });
  const ended: string[] = [];
  const end = (name: string, promise: Promise<unknown>) =>
    promise.then(
      () => ended.push(name),
      (error: { code: string }) => ended.push(`${name} ${error.code}`),
    );
  return {
    ...{ path, disk, queue, sync, ended, fatal, told, commits, end },
    /** Commits, and tells in `ended` when it resolved. */
    async write(name: string) {
      void end(
        name,
        queue.write(() => db.run('INSERT INTO t VALUES (1)')),
      );
      await turn();
      await turn();
    },
    read: (run = () => db.get<{ count: number }>('SELECT count(*) AS count FROM t')?.count) => queue.read(run),
    peek: () => queue.peek(() => db.get<{ count: number }>('SELECT count(*) AS count FROM t')?.count),
    async [Symbol.asyncDispose]() {
      db.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

it('F12 a commit waits for a sync that began after it: two may be under way, and later commits share the next', async () => {
  await using it = await rig();
  for (const name of ['a', 'b', 'c', 'd']) await it.write(name);
  expect(it.disk.descriptors).toHaveLength(2);
  expect(it.ended).toEqual([]);
  await it.disk.end(0);
  expect(it.ended).toEqual(['a']);
  expect(it.disk.descriptors).toHaveLength(3);
  await it.disk.end(1);
  expect(it.ended).toEqual(['a', 'b']);
  await it.disk.end(2);
  expect(it.ended).toEqual(['a', 'b', 'c', 'd']);
  expect(it.disk.descriptors).toHaveLength(3);
  expect(it.sync.pending).toBeUndefined();
});

it('syncs that run at once have descriptors of their own, and their commits resolve in order', async () => {
  await using it = await rig();
  await it.write('a');
  await it.write('b');
  expect(new Set(it.disk.descriptors).size).toBe(2);
  await it.disk.end(1);
  expect(it.ended).toEqual([]);
  await it.disk.end(0);
  expect(it.ended).toEqual(['a', 'b']);
});

it('F12 what a commit begins at once shares its sync, and what comes later never puts it off', async () => {
  await using it = await rig();
  let next: Promise<unknown> = Promise.resolve();
  const writeNext = (left: number): Promise<void> =>
    it.queue.write(
      () => undefined,
      () => {
        if (left > 0) next = it.end(`after ${left}`, writeNext(left - 1));
      },
    );
  const first = it.end('first', writeNext(3));
  await turn();
  expect(it.disk.descriptors).toHaveLength(1);
  await it.disk.end(0);
  expect(it.ended).toEqual(['first', 'after 3']);
  await turn();
  await it.disk.end(1);
  await Promise.all([first, next]);
  expect(it.ended).toEqual(['first', 'after 3', 'after 2', 'after 1']);
});

it('F12 a commit that begins nothing after all is synced at once, and so when what it begins fails', async () => {
  await using it = await rig();
  const told = () => undefined;
  void it.end(
    'alone',
    it.queue.write(() => undefined, told),
  );
  await turn();
  expect(it.disk.descriptors).toHaveLength(1);
  await it.disk.end(0);
  expect(it.ended).toEqual(['alone']);
  using other = new Database(it.path, { busyMs: 0 });
  const fails = async () => {
    await Promise.resolve();
    other.run('BEGIN IMMEDIATE');
    void it.end(
      'failed',
      it.queue.write(() => undefined),
    );
  };
  void it.end(
    'before',
    it.queue.write(() => undefined, fails),
  );
  for (let n = 0; n < 3; n += 1) await turn();
  expect(it.ended).toEqual(['alone', 'failed GH1301']);
  await it.disk.end(1);
  expect(it.ended.at(-1)).toBe('before');
});

it('F12 while no sync could begin, writes are gathered, and all of them share one commit and one sync', async () => {
  await using it = await rig();
  await it.write('a');
  await it.write('b');
  const commits = it.commits.length;
  for (const name of ['c', 'd', 'e']) await it.write(name);
  expect([it.commits.length, await it.peek()]).toEqual([commits, 2]);
  await it.disk.end(0);
  await turn();
  expect([it.commits.length, await it.peek()]).toEqual([commits + 1, 5]);
  expect(it.disk.descriptors).toHaveLength(3);
  await it.disk.end(1);
  expect(it.ended).toEqual(['a', 'b']);
  await it.disk.end(2);
  expect(it.ended).toEqual(['a', 'b', 'c', 'd', 'e']);
});

it('each one that is told of a commit is told on its own behalf, not on that of the first', async () => {
  await using it = await rig();
  const behalf = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const see = () => void seen.push(behalf.getStore());
  for (const who of ['a', 'b'])
    behalf.run(who, () => {
      void it.end(
        who,
        it.queue.write(() => undefined, see),
      );
    });
  await turn();
  expect(seen).toEqual(['a', 'b']);
});

it('one that is told of its commit and throws keeps no other from being told, and no write from its end', async () => {
  await using it = await rig();
  const strays: unknown[] = [];
  const before = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => strays.push(error));
  using _after = {
    [Symbol.dispose]() {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    },
  };
  const told: string[] = [];
  const throws = () => {
    throw new Error('a bug');
  };
  void it.end(
    'first',
    it.queue.write(() => undefined, throws),
  );
  void it.end(
    'second',
    it.queue.write(
      () => undefined,
      () => void told.push('second'),
    ),
  );
  await turn();
  await turn();
  await it.disk.end(0);
  expect(it.ended).toEqual(['first', 'second']);
  expect(told).toEqual(['second']);
  expect(strays.map(String)).toEqual(['Error: a bug']);
});

it('F15 a sync that fails takes everything that is not on disk with it, and none is begun again', async () => {
  await using it = await rig();
  for (const name of ['a', 'b', 'c']) await it.write(name);
  await it.disk.end(1, new Error('EIO'));
  expect(it.ended).toEqual(['a GH1302', 'b GH1302', 'c GH1302']);
  await it.disk.end(0);
  await it.write('d');
  expect(it.ended.at(-1)).toBe('d GH1302');
  await expect(it.peek()).rejects.toMatchObject({ code: 'GH1302' });
  expect(it.disk.descriptors).toHaveLength(2);
  expect([it.fatal, it.told]).toEqual([['GH1302'], ['GH1302']]);
});

it('a read resolves when what it saw is on disk; one that a write follows does not wait', async () => {
  await using it = await rig();
  await it.write('a');
  const seen: string[] = [];
  void it.read().then((count) => seen.push(`read ${count}`));
  void it.peek().then((count) => seen.push(`peek ${count}`));
  await turn();
  expect(seen).toEqual(['peek 1']);
  // Committed after the read: not what it saw.
  await it.write('b');
  await it.disk.end(0);
  expect(seen).toEqual(['peek 1', 'read 1']);
  await it.disk.end(1);
  expect(await it.read()).toBe(2);
});

it('a write that found nothing to do waits for what it saw, as its caller acts on that', async () => {
  await using it = await rig();
  await it.write('a');
  void it.end(
    'duplicate',
    it.queue.write(() => 0),
  );
  await turn();
  expect(it.ended).toEqual([]);
  await it.disk.end(0);
  await it.disk.end(1);
  expect(it.ended).toEqual(['a', 'duplicate']);
});

it('closing commits what waits and resolves when it is on disk', async () => {
  await using it = await rig();
  await it.write('a');
  void it.end(
    'b',
    it.queue.write(() => 1),
  );
  void it.end('closed', it.queue.close());
  await turn();
  expect(it.ended).toEqual([]);
  await it.disk.end(0);
  await it.disk.end(1);
  expect(it.ended).toEqual(['a', 'b', 'closed']);
});

it('the log is found where a symbolic link leads', async () => {
  await using dir = await tempDir();
  const [place, clock] = [join(dir.path, 'data'), new FakeClock()];
  await (await openJournal({ dir: place, clock }))[Symbol.asyncDispose]();
  await rename(join(place, 'journal.db'), join(dir.path, 'elsewhere.db'));
  await symlink('../elsewhere.db', join(place, 'journal.db'));
  await using opened = await openJournal({ dir: place, clock });
  await opened.journal.accept([admit(message(1))]);
  expect(await readdir(dir.path)).toContain('elsewhere.db-wal');
});

it('on a quick disk a sync runs in the loop for one or two writes, and beside it for more', async () => {
  const dir = await tempDir();
  const db = new Database(join(dir.path, 'journal.db'), { busyMs: 0 });
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n)');
  const seen: string[] = [];
  const sync = new WalSync(db, {
    datasync: async () => void seen.push('beside'),
    datasyncNow: () => void seen.push('in the loop'),
  });
  // By these the disk is known to be quick.
  for (let n = 0; n < 32; n += 1) await sync.committed().then(turn);
  for (const writes of [1, 2, 3, 20, 1]) await sync.committed(false, writes).then(turn);
  expect(seen.splice(0, 32)).toEqual(new Array(32).fill('beside'));
  expect(seen).toEqual(['in the loop', 'in the loop', 'beside', 'beside', 'in the loop']);
  await sync.close();
  db.close();
  await dir[Symbol.asyncDispose]();
});

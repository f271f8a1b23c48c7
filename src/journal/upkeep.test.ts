import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { FakeClock, inbound, outbound, tempDir } from '../testing/fakes.ts';
import { JumpingClock, job } from '../testing/jobs.ts';
import { admit, begin, dead, done, LANE, message, part, stopLane } from '../testing/journal-rows.ts';
import { backupJournal } from './backup.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BOUNDS = { maxAttempts: 3, maxAgeMs: DAY };

/**
 * Housekeeping as the daemon does it. Hourly is what the figures assume; a few times a day is enough for a
 * test.
 */
async function live(opened: { prune(): Promise<void> }, clock: FakeClock, days: number): Promise<void> {
  for (let step = 0; step < days * 2; step += 1) {
    await clock.advance(12 * HOUR);
    await opened.prune();
  }
}

function rowCount(dir: string, table: string): number {
  using db = new Database(join(dir, 'journal.db'), { readOnly: true, busyMs: 100 });
  return db.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count ?? 0;
}

it('content goes 7 days after its end, what is unfinished or dead stays, and totals never fall', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const row = await begin(journal, 1);
  await journal.step(row.seq, row.generation, { n: 0, kind: 'model', state: 'DONE', value: 'secret plan' });
  await journal.finish(done(row, [part('a'), part('b'), part('c')]));
  const failed = await begin(journal, 2);
  await journal.finish(dead(failed));
  await journal.accept([admit(message(3))]);
  const [sent, lost] = await journal.pending(LANE, 2);
  await journal.sending(sent?.seq ?? 0);
  await journal.settle(sent?.seq ?? 0, { kind: 'sent', platformId: 'p' });
  await journal.settle(lost?.seq ?? 0, { kind: 'dead', reason: 'blocked' });
  const before = await journal.counts();
  await live(opened, clock, 6);
  // What its turn said and its tools returned is gone with the first housekeeping, the row is not.
  expect(await journal.steps(row.seq)).toEqual([]);
  expect(rowCount(dir.path, 'run')).toBe(3);
  await live(opened, clock, 2);
  expect(rowCount(dir.path, 'run')).toBe(2);
  expect(await journal.steps(row.seq)).toEqual([]);
  expect(await journal.counts()).toEqual(before);
  expect((await journal.dead.list()).map(({ id }) => id)).toEqual([`in-${failed.seq}`, `out-${lost?.seq}`]);
  expect(await journal.waiting(LANE, 9)).toHaveLength(1);
  expect(await journal.pending(LANE, 9)).toHaveLength(1);
  // The content is gone, its key is not.
  expect((await journal.accept([admit(message(1))]))[0]?.kind).toBe('duplicate');
});

it('steps go as soon as their message is DONE; of what is dead, waits or did something outside they stay', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const rows = new Map<string, RunRow>();
  for (const name of ['done', 'dead', 'waits', 'outside']) {
    const row = await begin(journal, name);
    rows.set(name, row);
    await journal.step(row.seq, row.generation, { n: 0, kind: 'tool', state: 'DONE', callId: 'c', value: 'long output' });
    if (name === 'waits') await journal.release(row.seq, row.generation);
    else await journal.finish(name === 'dead' ? dead(row) : done(row));
  }
  {
    using db = new Database(join(dir.path, 'journal.db'), { busyMs: 100 });
    db.run("UPDATE step SET effect = 'outside' WHERE run_seq = ?", rows.get('outside')?.seq ?? 0);
  }
  await opened.prune();
  const left = await Promise.all([...rows].map(async ([name, { seq }]) => [name, (await journal.steps(seq)).length]));
  expect(Object.fromEntries(left)).toEqual({ done: 0, dead: 1, waits: 1, outside: 1 });
});

it('the file is small again when its content is gone', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const path = join(dir.path, 'journal.db');
  const text = 'x'.repeat(10_000);
  {
    await using opened = await openJournal({ dir: dir.path, clock });
    await opened.journal.accept(Array.from({ length: 1_000 }, (_, n) => admit(message(n, { text }))));
    await stopLane(opened.journal);
  }
  expect((await stat(path)).size).toBeGreaterThan(10_000_000);
  {
    await using opened = await openJournal({ dir: dir.path, clock });
    await live(opened, clock, 8);
  }
  expect((await stat(path)).size).toBeLessThan(2_000_000);
});

it('housekeeping lets others in after a few milliseconds, however much there is to do', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  await opened.journal.accept(Array.from({ length: 5_000 }, (_, n) => admit(message(n))));
  await stopLane(opened.journal);
  await clock.advance(8 * DAY);
  let isPruned = false;
  const pruning = opened.prune().then(() => {
    isPruned = true;
  });
  let accepted = 0;
  for (; !isPruned; accepted += 1) await opened.journal.accept([admit(message(`live-${accepted}`), 'live')]);
  await pruning;
  expect(accepted).toBeGreaterThan(50);
  expect((await opened.journal.counts()).inbox).toMatchObject({ NEW: accepted, DONE: 5_001 });
});

it('the copy of before an upgrade goes after 30 days of aging, and nothing else that lies there', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const others = ['journal.db.bak', 'journal.db.v3.bak.mine', 'my-journal.db.v3.bak'];
  for (const name of ['journal.db.v3.bak', ...others]) await writeFile(join(dir.path, name), 'copy');
  await using opened = await openJournal({ dir: dir.path, clock });
  const left = async () => (await readdir(dir.path)).filter((name) => name.includes('.bak')).sort();
  await opened.prune();
  // F22 A clock that jumps a year ahead is one day of aging.
  await clock.advance(365 * DAY);
  await live(opened, clock, 28);
  expect(await left()).toEqual([...others, 'journal.db.v3.bak'].sort());
  await live(opened, clock, 2);
  expect(await left()).toEqual(others.sort());
});

it('an answer whose fate is unknown is kept 30 days, so that it can be looked into', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await journal.enqueue([part('a'), part('b')]);
  const [lost, sent] = await journal.pending(LANE, 2);
  for (const row of [lost, sent]) await journal.sending(row?.seq ?? 0);
  await journal.settle(lost?.seq ?? 0, { kind: 'unknown', reason: 'timed out' });
  await journal.settle(sent?.seq ?? 0, { kind: 'sent', platformId: 'p' });
  await opened.prune();
  expect(await journal.part('a')).toMatchObject({ state: 'UNKNOWN' });
  await live(opened, clock, 29);
  expect(await journal.part('a')).toMatchObject({ state: 'UNKNOWN' });
  expect(await journal.part('b')).toBeUndefined();
  await live(opened, clock, 2);
  expect(await journal.part('a')).toBeUndefined();
  expect((await journal.counts()).outbox).toMatchObject({ UNKNOWN: 1, SENT: 1 });
});

it('more rows than one small transaction holds are all purged', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock, dedupDays: 8 });
  await opened.journal.accept(Array.from({ length: 450 }, (_, n) => admit(message(n))));
  await stopLane(opened.journal);
  await live(opened, clock, 9);
  const again = await opened.journal.accept(Array.from({ length: 450 }, (_, n) => admit(message(n))));
  expect(new Set(again.map(({ kind }) => kind))).toEqual(new Set(['new']));
  expect((await opened.journal.counts()).inbox).toMatchObject({ NEW: 450, DONE: 451 });
});

it('a dedup key, primary or secondary, lives 30 days', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const mail = inbound({ platformId: 'uid-1', secondaryId: '<a@x>' });
  await opened.journal.accept([admit(mail)]);
  await live(opened, clock, 29);
  const moved = { ...mail, platformId: 'uid-2' };
  expect((await opened.journal.accept([admit(mail), admit(moved)])).map(({ kind }) => kind)).toEqual(['duplicate', 'duplicate']);
  await live(opened, clock, 2);
  expect((await opened.journal.accept([admit(moved)]))[0]?.kind).toBe('new');
});

it('F22 a clock that jumps a year ahead, or back, forgets no dedup key', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  {
    await using opened = await openJournal({ dir: dir.path, clock });
    await opened.journal.accept([admit(message(1))]);
    await live(opened, clock, 1);
    await clock.advance(365 * DAY);
    await opened.prune();
    await live(opened, clock, 1);
    expect((await opened.journal.accept([admit(message(1))]))[0]?.kind).toBe('duplicate');
  }
  const wrong = new FakeClock(clock.now() - 2 * 365 * DAY);
  await using restarted = await openJournal({ dir: dir.path, clock: wrong });
  await restarted.prune();
  await live(restarted, wrong, 20);
  expect((await restarted.journal.accept([admit(message(1))]))[0]?.kind).toBe('duplicate');
});

it('F48 a copy made while running is whole, and a daemon restored from it sends and runs nothing a second time', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const copy = join(dir.path, 'restored', 'journal.db');
  {
    await using opened = await openJournal({ dir: join(dir.path, 'live'), clock });
    const { journal } = opened;
    await journal.enqueue([part('sent'), part('sending'), part('pending')]);
    const [sent, sending] = await journal.pending(LANE, 3);
    await journal.sending(sent?.seq ?? 0);
    await journal.settle(sent?.seq ?? 0, { kind: 'sent', platformId: 'p' });
    await journal.sending(sending?.seq ?? 0);
    await begin(journal, 'running');
    await journal.accept([admit(message('new'))], { channel: 'test', account: 'bot', value: '7' });
    await (await openJournal({ dir: join(dir.path, 'restored'), clock }))[Symbol.asyncDispose]();
    let writing = true;
    const writer = (async () => {
      for (let n = 0; writing; n += 1) await journal.accept([admit(message(`busy-${n}`), 'busy')]);
      return 'done';
    })();
    await opened.backup(copy);
    writing = false;
    expect(await writer).toBe('done');
    // The live journal goes on with what the copy calls dead.
    expect((await journal.pending(LANE, 9)).map((row) => row.part.key)).toEqual(['pending']);
    expect(await readdir(join(dir.path, 'restored'))).toEqual(['journal.db']);
  }
  await using restored = await openJournal({ dir: join(dir.path, 'restored'), clock });
  expect(await restored.journal.recover(BOUNDS, () => [])).toEqual({
    resumed: 0,
    buried: 0,
    left: [],
    expired: 0,
    unheard: [],
    sending: [],
    lanes: [],
    outboxLanes: [],
  });
  expect((await restored.journal.counts()).outbox).toMatchObject({ PENDING: 0, SENDING: 0, SENT: 1, DEAD: 2 });
  expect(await restored.journal.cursor('test', 'bot')).toBe('7');
  expect((await restored.journal.accept([admit(message('running'))]))[0]?.kind).toBe('duplicate');
  const running = (await restored.journal.dead.list()).find(({ payload }) => JSON.stringify(payload).includes('text running'));
  expect(running?.reason).toContain('backup');
  expect(await restored.journal.dead.replay(running?.id ?? '')).toBe(true);
});

it('F48 what waited when the copy was made has ended in it with all others, and no date of it comes any more', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const copy = join(dir.path, 'journal.db');
  {
    await using opened = await openJournal({ dir: join(dir.path, 'live'), clock });
    const { journal } = opened;
    const { seq, generation } = await begin(journal, 'parked');
    const waits = [
      { callId: 'timer', kind: 'timer', about: 'a while', due: clock.now() + HOUR },
      { callId: 'signal', kind: 'signal', about: 'yes' },
    ] as const;
    await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
    await opened.backup(copy);
    expect(await journal.waits.earliest()).toBe(clock.now() + HOUR);
  }
  await clock.advance(2 * HOUR);
  await using restored = await openJournal({ dir: dir.path, clock });
  const { journal } = restored;
  expect(await journal.recover(BOUNDS, () => [])).toMatchObject({ resumed: 0, buried: 0, lanes: [] });
  expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, PARKED: 0, DEAD: 1 });
  const [letter] = await journal.dead.list();
  expect(letter?.reason).toBe('restored from a backup: it may have been dealt with since');
  expect([await journal.waits.earliest(), await journal.waits.due(clock.now(), 9)]).toEqual([undefined, []]);
  const over = { by: 'restored', value: { ok: false, output: `Error: ${letter?.reason}` } };
  expect(await journal.waits.of(Number(letter?.id.slice(3)))).toMatchObject([over, over]);
  const late = { wait: 'test/bot/m-parked#timer', value: { ok: true, output: 'late' }, by: 'timer' };
  await journal.commit([{ kind: 'settle', settled: late }]);
  expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, DEAD: 1 });
});

it('F48 due times between the copy and its first start count as served, with the reason; later ones come', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  const due = clock.now() + HOUR;
  const past = job({ id: 'past', nextDue: due });
  const future = job({ id: 'future', nextDue: due + DAY });
  {
    await using opened = await openJournal({ dir: join(dir.path, 'live'), clock });
    const all = [past, future, job({ id: 'off', enabled: false, nextDue: due })];
    await opened.journal.commit(all.map((one) => ({ kind: 'job', job: one })));
    await opened.backup(join(dir.path, 'journal.db'));
  }
  await clock.advance(2 * HOUR);
  await using restored = await openJournal({ dir: dir.path, clock });
  const { jobs, record } = restored.journal;
  await restored.journal.recover(BOUNDS, () => []);
  expect(await jobs.get('past')).toEqual({ ...past, lastDue: due });
  expect(await jobs.get('future')).toEqual(future);
  expect([await jobs.fired('past', due), await jobs.fired('off', due)]).toEqual([true, false]);
  const [skipped] = await record.of(`job/past/${due}`);
  expect(skipped?.event).toMatchObject({ type: 'job', job: 'past', state: 'skipped', reason: expect.stringContaining('backup') });
  // A later start is that of no copy: what passed while the daemon was down is made up for, as the job says.
  await clock.advance(2 * DAY);
  await restored.journal.recover(BOUNDS, () => []);
  expect(await jobs.get('future')).toEqual(future);
});

it('a backup that cannot be written leaves an older one alone and the journal working', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  await expect(opened.backup(join(dir.path, 'absent', 'b.db'))).rejects.toMatchObject({ code: 'GH1301' });
  await expect(opened.backup(join(dir.path, 'journal.db'))).rejects.toMatchObject({ code: 'GH1301' });
  expect((await opened.journal.accept([admit(message(1))]))[0]?.kind).toBe('new');
});

it.each(['run', 'audit'])('a journal whose table %s is damaged is not backed up, and an older backup stays', async (table) => {
  await using dir = await tempDir();
  const path = join(dir.path, 'live', 'journal.db');
  const copy = join(dir.path, 'copy.db');
  await (await openJournal({ dir: join(dir.path, 'live'), clock: new FakeClock() }))[Symbol.asyncDispose]();
  {
    using db = new Database(path, { busyMs: 0 });
    const page = db.get<{ rootpage: number }>('SELECT rootpage FROM sqlite_schema WHERE name = ?', table)?.rootpage ?? 0;
    await using file = await open(path, 'r+');
    await file.write(Buffer.alloc(4_096, 0xff), 0, 4_096, (page - 1) * 4_096);
  }
  await writeFile(copy, 'an older one');
  const message = expect.stringMatching(/live\/journal\.db is damaged, and no backup/);
  await expect(backupJournal(path, copy, new FakeClock())).rejects.toMatchObject({ code: 'GH1302', message });
  expect(await readFile(copy, 'utf8')).toBe('an older one');
  expect((await readdir(dir.path)).toSorted()).toEqual(['copy.db', 'live']);
});

it('F22 what a clock a year behind dated stays as long as anything else, once the clock is right', async () => {
  await using dir = await tempDir();
  const clock = new JumpingClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await live(opened, clock, 1);
  clock.jump(-365 * DAY);
  await journal.recover(BOUNDS, () => []);
  await journal.finish(done(await begin(journal, 1)));
  clock.jump(365 * DAY);
  await opened.prune();
  await live(opened, clock, 5);
  expect(rowCount(dir.path, 'run')).toBe(1);
  await live(opened, clock, 4);
  expect(rowCount(dir.path, 'run')).toBe(0);
});

it('F22 a clock that is a year ahead at one start takes nothing from the record, and later everything goes at its time', async () => {
  await using dir = await tempDir();
  const clock = new JumpingClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await live(opened, clock, 1);
  const row = await begin(journal, 1);
  const key = `${row.key}#0`;
  await journal.finish(done(row, [part(key, { part: outbound({ key, messageId: row.key }), expiresAt: clock.now() + DAY })]));
  const [lost] = await journal.pending(LANE, 1);
  await journal.sending(lost?.seq ?? 0);
  await journal.settle(lost?.seq ?? 0, { kind: 'unknown', reason: 'timed out' });
  const left = async () => {
    const types = (await journal.record.of(row.key)).map(({ event }) => event.type);
    return [rowCount(dir.path, 'run'), (await journal.part(key))?.state, types.join(' ')];
  };
  const all = [1, 'UNKNOWN', 'received admitted finished part.unknown'];
  clock.jump(365 * DAY);
  await journal.recover(BOUNDS, () => []);
  await opened.prune();
  expect(await left()).toEqual(all);
  clock.jump(-365 * DAY);
  await live(opened, clock, 5);
  expect(await left()).toEqual(all);
  await live(opened, clock, 3);
  expect(await left()).toEqual([0, ...all.slice(1)]);
  // What has no run any more is found by its key: the events stay as long as the part.
  await live(opened, clock, 20);
  expect(await left()).toEqual([0, ...all.slice(1)]);
  await live(opened, clock, 4);
  expect(await left()).toEqual([0, undefined, '']);
});

it('events are kept for 30 days', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { record } = opened.journal;
  await opened.journal.accept([admit(message(1))]);
  const left = async (days: number): Promise<number> => {
    await live(opened, clock, days);
    return (await record.after(0, { limit: 9 })).length;
  };
  expect(await left(29)).toBe(2);
  expect(await left(2)).toBe(0);
});

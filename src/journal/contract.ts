/** What every implementation of the `Journal` port must do. Run by `journal.test.ts`. */
import { describe, expect, it } from 'vitest';
import type { Admission, InboxRow, Journal, StepRecord } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { SessionMessage } from '../core/session.ts';
import { type FakeClock, inbound, outbound } from '../testing/fakes.ts';
import { admit, begin, dead, done, LANE, line, message, part, refuse, SESSION, usage } from '../testing/journal-rows.ts';
import { ledgerContract } from '../testing/ledger-contract.ts';

export interface JournalHarness extends AsyncDisposable {
  readonly clock: FakeClock;
  /** Another start on the same data: a new boot id. Earlier ones may be left open and idle, as a killed process leaves them. */
  open(options?: { highWater?: number }): Promise<Journal>;
  /** Housekeeping of the last start, as the daemon does it hourly. */
  prune(): Promise<void>;
}

const BOUNDS = { maxAttempts: 3, maxAgeMs: 86_400_000 };

async function kinds(journal: Journal, batch: readonly Admission[]): Promise<readonly string[]> {
  return (await journal.accept(batch)).map(({ kind }) => kind);
}

async function texts(journal: Journal, lane = LANE): Promise<readonly string[]> {
  return (await journal.waiting(lane, 100)).map((row) => row.message.text);
}

async function pendingKeys(journal: Journal, lane = LANE): Promise<readonly string[]> {
  return (await journal.pending(lane, 100)).map((row) => row.part.key);
}

export function journalContract(name: string, create: () => Promise<JournalHarness>): void {
  describe(name, () => {
    acceptContract(create);
    amendContract(create);
    turnContract(create);
    ledgerContract(create);
    outboxContract(create);
    recoverContract(create);
    deadLetterContract(create);
  });
}

type Create = () => Promise<JournalHarness>;

function acceptContract(create: Create): void {
  it('a batch is accepted in order and its cursor moves with it', async () => {
    await using harness = await create();
    const journal = await harness.open();
    expect(await journal.cursor('test', 'bot')).toBeUndefined();
    const accepted = await journal.accept([admit(message(1)), admit(message(2))], {
      channel: 'test',
      account: 'bot',
      value: '42',
    });
    expect(accepted.map(({ kind }) => kind)).toEqual(['new', 'new']);
    expect(await texts(journal)).toEqual(['text 1', 'text 2']);
    expect(await journal.cursor('test', 'bot')).toBe('42');
    expect(await journal.cursor('test', 'other')).toBeUndefined();
    const [row] = await journal.waiting(LANE, 1);
    expect(row).toMatchObject({ lane: LANE, session: SESSION, attempts: 0, acceptedAt: harness.clock.now() });
    expect(row?.message).toEqual(message(1));
  });

  it('F2 a message that comes again is a duplicate: in the batch, later, in another start, after its turn', async () => {
    await using harness = await create();
    const journal = await harness.open();
    expect(await kinds(journal, [admit(message(1)), admit(message(1))])).toEqual(['new', 'duplicate']);
    expect(await kinds(journal, [admit(message(1))])).toEqual(['duplicate']);
    const row = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    if (row) await journal.finish(done(row));
    expect(await kinds(await harness.open(), [admit(message(1))])).toEqual(['duplicate']);
  });

  it('A37 the dedup key is per channel and account, and never confuses two ids', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const batch = [
      message(1),
      message(1, { account: 'bot2' }),
      message(1, { channel: 'test2' }),
      inbound({ channel: 'a/b', account: 'c', platformId: 'd' }),
      inbound({ channel: 'a', account: 'b/c', platformId: 'd' }),
      inbound({ platformId: 'x\ud800' }),
      inbound({ platformId: 'x\ud801' }),
      inbound({ platformId: 'x\u0000y' }),
      inbound({ platformId: 'x\u0000z' }),
    ];
    expect(
      new Set(
        await kinds(
          journal,
          batch.map((one) => admit(one)),
        ),
      ),
    ).toEqual(new Set(['new']));
    expect(
      new Set(
        await kinds(
          journal,
          batch.map((one) => admit(one)),
        ),
      ),
    ).toEqual(new Set(['duplicate']));
  });

  it('the same message under a second transport id is a duplicate by its secondary key', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const mail = (uid: string, secondaryId: string) => admit(inbound({ platformId: uid, secondaryId }));
    expect(await kinds(journal, [mail('uid-1', '<a@x>'), mail('uid-9', '<a@x>'), mail('uid-2', '<b@x>')])).toEqual([
      'new',
      'duplicate',
      'new',
    ]);
    // A transport id that looks like somebody's secondary id is another thing.
    expect(await kinds(journal, [admit(inbound({ platformId: '<a@x>' }))])).toEqual(['new']);
  });

  it('a refusal keeps a count and nothing else', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const batch = [refuse(message(1), 'not-allowed'), refuse(message(2), 'not-allowed'), refuse(message(3), 'empty')];
    expect(await kinds(journal, batch)).toEqual(['refused', 'refused', 'refused']);
    expect((await journal.counts()).refused).toEqual([
      { channel: 'test', reason: 'empty', count: 1 },
      { channel: 'test', reason: 'not-allowed', count: 2 },
    ]);
    expect((await journal.counts()).inbox).toEqual({ NEW: 0, RUNNING: 0, DONE: 0, DEAD: 0 });
    // Once the sender is let in, a message that was refused before may be sent again by the platform.
    expect(await kinds(journal, [admit(message(1))])).toEqual(['new']);
  });

  it('an answer at the door is DONE with its parts queued, exactly once', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const answer: Admission = {
      kind: 'answer',
      message: message(1),
      lane: LANE,
      session: SESSION,
      outcome: 'command:help',
      parts: [part('a')],
    };
    expect(await kinds(journal, [answer, answer])).toEqual(['answered', 'duplicate']);
    expect(await pendingKeys(journal)).toEqual(['a']);
    expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, DONE: 1 });
    expect(await journal.waiting(LANE, 10)).toEqual([]);
  });

  it('many accepts in one tick are all kept, in the order asked; of equal ones, one', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const results = await Promise.all(Array.from({ length: 300 }, (_, n) => journal.accept([admit(message(n))])));
    expect(results.every(([first]) => first?.kind === 'new')).toBe(true);
    expect(await texts(journal)).toEqual(Array.from({ length: 100 }, (_, n) => `text ${n}`));
    const again = await Promise.all(Array.from({ length: 20 }, () => kinds(journal, [admit(message('same'))])));
    expect(again.flat().filter((kind) => kind === 'new')).toHaveLength(1);
    expect((await journal.counts()).inbox.NEW).toBe(301);
  });

  it('one write that fails leaves the others of its tick standing', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const broken = { ...message('bad'), raw: 1n } as unknown as InboundMessage; // a bigint has no JSON
    const [before, failed, after] = await Promise.allSettled([
      journal.accept([admit(message(1))]),
      journal.accept([admit(message(2)), admit(broken)], { channel: 'test', account: 'bot', value: 'never' }),
      journal.accept([admit(message(3))]),
    ]);
    expect([before.status, failed.status, after.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await texts(journal)).toEqual(['text 1', 'text 3']);
    expect(await journal.cursor('test', 'bot')).toBeUndefined();
    expect(await kinds(journal, [admit(message(2))])).toEqual(['new']);
  });

  it('F44 room shrinks with what waits, runs or is being accepted, and never goes below zero', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 3 });
    expect(journal.room()).toBe(3);
    const accepting = journal.accept([admit(message(1)), admit(message(2)), refuse(message('x'), 'empty')]);
    expect(journal.room()).toBe(1);
    await accepting;
    expect(journal.room()).toBe(1);
    await kinds(journal, [admit(message(1))]);
    expect(journal.room()).toBe(1); // the duplicate took no room
    await kinds(journal, [admit(message(3)), admit(message(4))]);
    expect(journal.room()).toBe(0);
    const row = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    expect(journal.room()).toBe(0);
    if (row) await journal.finish(done(row));
    expect(journal.room()).toBe(0); // four were in, three may be
    await journal.cancelWaiting(LANE, 'cancelled');
    expect(journal.room()).toBe(3);
    expect((await harness.open({ highWater: 3 })).room()).toBe(3);
  });
}

function amendContract(create: Create): void {
  const edit = (n: number, target: number, text: string, override: Partial<InboundMessage> = {}) =>
    admit(message(`edit-${n}`, { kind: 'edit', targetId: `m-${target}`, text, ...override }));
  const remove = (n: number, target: number) =>
    admit(message(`delete-${n}`, { kind: 'delete', targetId: `m-${target}`, text: '' }));

  it('an edit of a message that has not begun replaces its text and nothing else', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const media = [{ kind: 'photo', ref: 'r' }] as const;
    await journal.accept([admit(message(1, { media })), admit(message(2))]);
    const [first] = await journal.waiting(LANE, 1);
    expect(await journal.accept([edit(1, 1, 'better')])).toEqual([{ kind: 'amended', row: first?.seq }]);
    expect(await kinds(journal, [edit(1, 1, 'better')])).toEqual(['duplicate']);
    expect(await texts(journal)).toEqual(['better', 'text 2']);
    expect((await journal.waiting(LANE, 1))[0]?.message).toEqual(message(1, { media, text: 'better' }));
  });

  it('an edit after the turn began is a row of its own', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    expect(await kinds(journal, [edit(1, 1, 'running')])).toEqual(['new']);
    await journal.step(row.seq, row.generation, { n: 0, kind: 'model', state: 'DONE', value: 'x' });
    await journal.release(row.seq, row.generation);
    // Parked, but the model has read the old text.
    expect(await kinds(journal, [edit(2, 1, 'parked'), edit(3, 77, 'unknown target')])).toEqual(['new', 'new']);
    expect(await texts(journal)).toEqual(['text 1', 'running', 'parked', 'unknown target']);
  });

  it('A37 an edit by another author, or in another chat, changes no message', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const foreign = [edit(1, 1, 'evil', { senderId: 'user-2' }), edit(2, 1, 'evil', { chatId: 'chat-2' })];
    expect(await kinds(journal, foreign)).toEqual(['new', 'new']);
    expect((await texts(journal))[0]).toBe('text 1');
  });

  it('a delete ends a message that has not begun; later it is refused and counted', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    const running = await begin(journal, 1);
    await journal.accept([admit(message(2))]);
    const [waiting] = await journal.waiting(LANE, 1);
    expect(await journal.accept([remove(1, 2), remove(2, 1)])).toEqual([
      { kind: 'amended', row: waiting?.seq },
      { kind: 'refused' },
    ]);
    expect(await journal.waiting(LANE, 10)).toEqual([]);
    expect(await journal.claim(waiting?.seq ?? 0)).toBeUndefined();
    expect((await journal.counts()).refused).toEqual([{ channel: 'test', reason: 'deleted', count: 1 }]);
    expect(journal.room()).toBe(9);
    expect(await journal.finish(done(running))).toBe(true);
  });
}

function turnContract(create: Create): void {
  it('a lane gives its rows in order, after a row, within a limit, and never those of another lane', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1)), admit(message(2), 'other'), admit(message(3)), admit(message(4))]);
    expect(await texts(journal)).toEqual(['text 1', 'text 3', 'text 4']);
    expect(await texts(journal, 'other')).toEqual(['text 2']);
    const [first] = await journal.waiting(LANE, 1);
    const rest = await journal.waiting(LANE, 1, first?.seq);
    expect(rest.map((row) => row.message.text)).toEqual(['text 3']);
  });

  it('one of many claims in a tick wins, and each claim has a new generation', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const seq = (await journal.waiting(LANE, 1))[0]?.seq ?? 0;
    const won = (await Promise.all(Array.from({ length: 10 }, () => journal.claim(seq)))).filter((row) => row !== undefined);
    expect(won).toHaveLength(1);
    expect(won[0]).toMatchObject({ seq, attempts: 1 });
    expect(await journal.waiting(LANE, 10)).toEqual([]);
    await journal.release(seq, won[0]?.generation ?? -1);
    const again = await journal.claim(seq);
    expect(again?.generation).toBeGreaterThan(won[0]?.generation ?? 0);
    expect(await journal.claim(999)).toBeUndefined();
  });

  it('a parked turn gives its attempt back; a failed one counts and waits, and its lane waits with it', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    await journal.accept([admit(message(2))]);
    expect(await journal.release(row.seq, row.generation)).toBe(true);
    expect((await journal.waiting(LANE, 1))[0]?.attempts).toBe(0);
    const second = await journal.claim(row.seq);
    expect(second?.attempts).toBe(1);
    const notBefore = harness.clock.now() + 5_000;
    expect(await journal.release(row.seq, second?.generation ?? 0, { notBefore, reason: 'GH2103' })).toBe(true);
    expect(await texts(journal)).toEqual([]);
    await harness.clock.advance(5_000);
    expect(await texts(journal)).toEqual(['text 1', 'text 2']);
    expect((await journal.claim(row.seq))?.attempts).toBe(2);
  });

  it('every write of a stale claim is refused and changes nothing', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const old = await begin(journal, 1);
    await journal.release(old.seq, old.generation);
    const step: StepRecord = { n: 0, kind: 'model', state: 'DONE', value: 'late' };
    const tryAll = async () => [
      await journal.step(old.seq, old.generation, step, usage('late', harness.clock.now())),
      await journal.release(old.seq, old.generation),
      await journal.finish(done(old, [part('late')], [line('late')])),
    ];
    expect(await tryAll()).toEqual([false, false, false]); // nobody owns it
    const current = await journal.claim(old.seq);
    expect(await tryAll()).toEqual([false, false, false]); // somebody else owns it
    expect(await journal.steps(old.seq)).toEqual([]);
    expect(await pendingKeys(journal)).toEqual([]);
    expect(await journal.unflushed(10)).toEqual([]);
    expect(await journal.usage(0)).toEqual([]);
    if (current) expect(await journal.finish(done(current))).toBe(true);
    expect(await tryAll()).toEqual([false, false, false]); // it is over
  });

  it('steps come back in order; DONE replaces STARTED and is never undone', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const { seq, generation } = await begin(journal, 1);
    const model: StepRecord = { n: 0, kind: 'model', state: 'DONE', value: { text: 'ü', calls: ['a', 'b'] } };
    const started = (callId: string): StepRecord => ({ n: 1, kind: 'tool', state: 'STARTED', callId, argsHash: 'h' });
    const ended: StepRecord = { n: 1, kind: 'tool', state: 'DONE', callId: 'a', value: 'result' };
    for (const step of [model, started('a'), started('b'), ended, started('a')]) {
      expect(await journal.step(seq, generation, step)).toBe(true);
    }
    expect(await journal.steps(seq)).toEqual([model, { ...ended, argsHash: 'h' }, started('b')]);
    await journal.release(seq, generation);
    expect(await journal.steps(seq)).toHaveLength(3);
  });

  it('F7 the end of a turn is one thing: lines, parts and state together, or none of them', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    const broken = { ...line('b'), content: 1n } as unknown as SessionMessage;
    await expect(journal.finish(done(row, [part('a')], [line('a'), broken]))).rejects.toThrow();
    expect(await pendingKeys(journal)).toEqual([]);
    expect(await journal.unflushed(10)).toEqual([]);
    expect(await journal.finish(done(row, [part('a'), part('b')], [line('a'), line('b')]))).toBe(true);
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    expect((await journal.counts()).inbox).toEqual({ NEW: 0, RUNNING: 0, DONE: 1, DEAD: 0 });
  });

  it('session lines wait for the flusher in order, per session, and are gone once flushed', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const other: Admission = { kind: 'admit', message: message(2, { chatId: 'c2' }), lane: 'l2', session: 's2' };
    await journal.finish(done(await begin(journal, 1), [], [line('a'), line('b')]));
    await journal.accept([other]);
    const row = await journal.claim((await journal.waiting('l2', 1))[0]?.seq ?? 0);
    if (row) await journal.finish(done(row, [], [line('c')]));
    await journal.finish(done(await begin(journal, 3), [], [line('d')]));
    const waiting = await journal.unflushed(10);
    expect(waiting.map(({ session, lines }) => [session, lines.map((entry) => entry.line.id)])).toEqual([
      [SESSION, ['a', 'b', 'd']],
      ['s2', ['c']],
    ]);
    expect(waiting[0]?.lines[0]?.line).toEqual(line('a'));
    const first = await journal.unflushed(1);
    await journal.flushed(first.flatMap(({ lines }) => lines.map(({ seq }) => seq)));
    expect((await journal.unflushed(10))[0]?.lines.map((entry) => entry.line.id)).toEqual(['b', 'd']);
  });

  it('clearing a lane ends what waits and leaves what runs', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const running = await begin(journal, 1);
    await journal.accept([admit(message(2)), admit(message(3)), admit(message(4), 'other')]);
    expect(await journal.cancelWaiting(LANE, 'cancelled')).toBe(2);
    expect(await journal.cancelWaiting(LANE, 'cancelled')).toBe(0);
    expect(await texts(journal, 'other')).toEqual(['text 4']);
    expect(await journal.finish(done(running))).toBe(true);
    expect((await journal.counts()).inbox).toEqual({ NEW: 1, RUNNING: 0, DONE: 3, DEAD: 0 });
  });
}

function outboxContract(create: Create): void {
  it('parts of a lane come in order, whether due or not, and each is taken once', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.enqueue([part('a'), part('b'), part('x', { lane: 'other' })]);
    await journal.enqueue([part('a')]); // the same key is the same part
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    const [first] = await journal.pending(LANE, 1);
    expect(first).toMatchObject({ ...part('a'), state: 'PENDING', attempts: 0, notBefore: 0, plain: false });
    const seq = first?.seq ?? 0;
    expect(await Promise.all([journal.sending(seq), journal.sending(seq)])).toEqual([true, false]);
    expect(await pendingKeys(journal)).toEqual(['b']);
    const notBefore = harness.clock.now() + 60_000;
    await journal.settle(seq, { kind: 'retry', notBefore, reason: '429', plain: true });
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    expect((await journal.pending(LANE, 1))[0]).toMatchObject({ attempts: 1, notBefore, plain: true });
    await journal.settle(seq, { kind: 'retry', notBefore, reason: '429' });
    expect((await journal.pending(LANE, 1))[0]?.plain).toBe(true);
  });

  it('F37 a settled part never goes back to be sent; only a part of unknown fate can still turn out to be sent', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const ends = [
      { kind: 'sent', platformId: 'p1' },
      { kind: 'unknown', reason: 'timeout' },
      { kind: 'dead', reason: 'blocked' },
      { kind: 'expired' },
    ] as const;
    await journal.enqueue(ends.map(({ kind }) => part(kind)));
    const rows = await journal.pending(LANE, 10);
    for (const [n, row] of rows.entries()) {
      await journal.sending(row.seq);
      const end = ends[n];
      if (end) await journal.settle(row.seq, end);
    }
    expect((await journal.counts()).outbox).toEqual({ PENDING: 0, SENDING: 0, SENT: 1, UNKNOWN: 1, DEAD: 1, EXPIRED: 1 });
    for (const { seq } of rows) {
      await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: 'late' });
      expect(await journal.sending(seq)).toBe(false);
      await journal.settle(seq, { kind: 'sent', platformId: 'found' });
    }
    expect((await journal.counts()).outbox).toEqual({ PENDING: 0, SENDING: 0, SENT: 2, UNKNOWN: 0, DEAD: 1, EXPIRED: 1 });
  });
}

function recoverContract(create: Create): void {
  const noNotice = () => [];

  it('F3 F5 a killed start leaves its turn to the next one: steps kept, attempt counted, old claim fenced', async () => {
    await using harness = await create();
    const killed = await harness.open();
    const old = await begin(killed, 1);
    const step: StepRecord = { n: 0, kind: 'tool', state: 'STARTED', callId: 'c', argsHash: 'h' };
    await killed.step(old.seq, old.generation, step);
    await killed.accept([admit(message(2), 'other'), admit(message(3))]);
    // A retry that waited for its time is due at once: the timer that would have woken its lane died with the process.
    const retry = await killed.claim(old.seq + 1);
    await killed.release(old.seq + 1, retry?.generation ?? 0, { notBefore: harness.clock.now() + 60_000 });
    const journal = await harness.open();
    expect(journal.bootId).not.toBe(killed.bootId);
    expect(await journal.recover(BOUNDS, noNotice)).toEqual({
      resumed: 1,
      buried: 0,
      sending: [],
      lanes: [LANE, 'other'],
      outboxLanes: [],
    });
    expect(await texts(journal, 'other')).toEqual(['text 2']);
    expect(await killed.finish(done(old))).toBe(false);
    expect((await journal.claim(old.seq))?.attempts).toBe(2);
    expect(await journal.steps(old.seq)).toEqual([step]);
    expect((await journal.recover(BOUNDS, noNotice)).resumed).toBe(0); // its own claims are not adopted
  });

  it('F38 attempts or age end a message, each alone: DEAD with its payload, one notice, and only once (F10)', async () => {
    await using harness = await create();
    let journal = await harness.open({ highWater: 10 });
    await begin(journal, 'poison');
    for (let n = 1; n < BOUNDS.maxAttempts; n += 1) {
      journal = await harness.open({ highWater: 10 });
      expect(await journal.recover(BOUNDS, noNotice)).toMatchObject({ resumed: 1, buried: 0 });
      await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    }
    await journal.accept([admit(message('behind'))]);
    const notice = (row: InboxRow, reason: string) => [
      part(`notice-${row.message.platformId}`, { part: outbound({ key: row.message.id, text: reason }) }),
    ];
    journal = await harness.open({ highWater: 10 });
    expect(await journal.recover(BOUNDS, notice)).toMatchObject({ resumed: 0, buried: 1, lanes: [LANE], outboxLanes: [LANE] });
    expect(await texts(journal)).toEqual(['text behind']);
    expect(journal.room()).toBe(9);
    expect((await journal.pending(LANE, 9)).map((row) => row.part.text)).toEqual(['gave up after 3 attempts']);
    expect(await journal.recover(BOUNDS, notice)).toMatchObject({ resumed: 0, buried: 0 });
    await harness.clock.advance(BOUNDS.maxAgeMs + 1);
    expect(await (await harness.open()).recover(BOUNDS, notice)).toMatchObject({ buried: 1, lanes: [] });
    const letters = await journal.dead.list();
    expect(letters.map(({ attempts, payload }) => [attempts, payload])).toEqual([
      [3, message('poison')],
      [0, message('behind')],
    ]);
  });

  it('F8 F9 parts that were being sent are handed over until settled; the others of the lane still wait in order', async () => {
    await using harness = await create();
    const killed = await harness.open();
    await killed.enqueue([part('a'), part('b'), part('c'), part('late', { expiresAt: harness.clock.now() + 10 })]);
    const [first] = await killed.pending(LANE, 1);
    await killed.sending(first?.seq ?? 0);
    await harness.clock.advance(11);
    for (let restart = 0; restart < 2; restart += 1) {
      const { sending, outboxLanes } = await (await harness.open()).recover(BOUNDS, noNotice);
      expect(sending.map((row) => [row.part.key, row.state, row.attempts])).toEqual([['a', 'SENDING', 1]]);
      expect(outboxLanes).toEqual([LANE]);
    }
    const journal = await harness.open();
    await journal.settle(first?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: 'asked: not there' });
    expect((await journal.recover(BOUNDS, noNotice)).sending).toEqual([]);
    expect(await pendingKeys(journal)).toEqual(['a', 'b', 'c']);
    expect((await journal.counts()).outbox.EXPIRED).toBe(1);
  });
}

function deadLetterContract(create: Create): void {
  it('a dead message is listed, shown, replayed with its steps and a fresh life, and still known by its dedup key', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    const row = await begin(journal, 1);
    const step: StepRecord = { n: 0, kind: 'tool', state: 'DONE', callId: 'c', value: 'effect' };
    await journal.step(row.seq, row.generation, step);
    await journal.finish(dead(row, [part('answer')]));
    const [letter] = await journal.dead.list();
    expect(letter).toMatchObject({
      id: `in-${row.seq}`,
      channel: 'test',
      chatId: 'chat-1',
      sender: 'user-1',
      reason: 'failed:GH2103',
      attempts: 1,
    });
    expect(await journal.dead.show(`in-${row.seq}`)).toEqual(letter);
    expect(journal.room()).toBe(10);
    await harness.clock.advance(BOUNDS.maxAgeMs * 2);
    expect(await journal.dead.replay(`in-${row.seq}`)).toBe(true);
    expect(await journal.dead.replay(`in-${row.seq}`)).toBe(false);
    expect(journal.room()).toBe(9);
    expect((await journal.recover(BOUNDS, () => [])).buried).toBe(0); // its age starts over
    expect(await kinds(journal, [admit(message(1))])).toEqual(['duplicate']);
    const again = await journal.claim(row.seq);
    expect(again?.attempts).toBe(1);
    expect(await journal.steps(row.seq)).toEqual([step]);
    // The notice of the first failure has the key the answer would have; the answer must reach the chat all the same.
    if (again) await journal.finish(done(again, [part('answer', { part: outbound({ key: 'answer', text: 'the answer' }) })]));
    const parts = (await journal.pending(LANE, 9)).map((entry) => entry.part);
    expect(parts.map(({ text }) => text)).toContain('the answer');
    expect(new Set(parts.map(({ key }) => key)).size).toBe(parts.length);
  });

  it('a dead part is replayed with the life it was given at first', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.enqueue([part('a', { expiresAt: harness.clock.now() + 1_000 })]);
    const seq = (await journal.pending(LANE, 1))[0]?.seq ?? 0;
    await journal.sending(seq);
    await journal.settle(seq, { kind: 'dead', reason: 'chat-gone' });
    expect(await journal.dead.show(`out-${seq}`)).toMatchObject({ reason: 'chat-gone', attempts: 1, payload: { key: 'a' } });
    await harness.clock.advance(5_000);
    expect(await journal.dead.replay(`out-${seq}`)).toBe(true);
    expect((await journal.pending(LANE, 1))[0]).toMatchObject({ attempts: 0, expiresAt: harness.clock.now() + 1_000 });
  });

  it('a dropped letter is gone; what is not a dead letter cannot be shown, replayed or dropped', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.finish(dead(await begin(journal, 1)));
    await journal.accept([admit(message(2))]);
    await journal.enqueue([part('a')]);
    for (const id of ['in-2', 'out-1', 'in-99', 'in-', '1', 'in-1; DROP TABLE inbox', '']) {
      expect(await journal.dead.show(id)).toBeUndefined();
      expect(await journal.dead.replay(id)).toBe(false);
      expect(await journal.dead.drop(id)).toBe(false);
    }
    expect(await journal.dead.drop('in-1')).toBe(true);
    expect(await journal.dead.list()).toEqual([]);
    expect(await kinds(journal, [admit(message(1))])).toEqual(['duplicate']);
    expect((await journal.counts()).oldestNewAt).toBe(harness.clock.now());
  });
}

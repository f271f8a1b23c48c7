/** What every implementation of the `Journal` port must do. Run by `journal.test.ts`. */
import { describe, expect, it } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import type { Admission, StepRecord } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { inbound } from '../testing/fakes.ts';
import { type CreateJournal as Create, kinds, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, line, message, part, refuse, SESSION, stopLane, usage } from '../testing/journal-rows.ts';
import { ledgerContract } from '../testing/ledger-contract.ts';
import { amendContract } from './amend-contract.ts';
import { endedContract } from './ended-contract.ts';
import { outboxContract } from './outbox-contract.ts';
import { deadLetterContract, recoverContract, stoppedContract } from './recovery-contract.ts';

export function journalContract(name: string, create: Create): void {
  describe(name, () => {
    acceptContract(create);
    amendContract(create);
    turnContract(create);
    ledgerContract(create);
    outboxContract(create);
    recoverContract(create);
    stoppedContract(create);
    endedContract(create);
    deadLetterContract(create);
  });
}

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
    expect((await journal.counts()).inbox).toEqual({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0 });
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
    await stopLane(journal);
    expect(journal.room()).toBe(3);
    expect((await harness.open({ highWater: 3 })).room()).toBe(3);
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
    expect(rest.map((row) => row.message?.text)).toEqual(['text 3']);
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

  it('a parked turn gives its attempt back', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    await journal.accept([admit(message(2))]);
    expect(await journal.release(row.seq, row.generation)).toBe(true);
    expect((await journal.waiting(LANE, 1))[0]?.attempts).toBe(0);
    const second = await journal.claim(row.seq);
    expect(second?.attempts).toBe(1);
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

  it('which tool began, what it changes and when it began stand after DONE; DONE alone says when it ended', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const { seq, generation } = await begin(journal, 1);
    const call = (callId: string) => ({ n: 1, kind: 'tool', callId }) as const;
    const began = { tool: 'pay', effect: 'outside', startedAt: 5 } as const;
    for (const callId of ['ended', 'unknown', 'not-run']) {
      expect(await journal.step(seq, generation, { ...call(callId), state: 'STARTED', ...began })).toBe(true);
    }
    await journal.step(seq, generation, { ...call('ended'), state: 'DONE', endedAt: 9 });
    await journal.step(seq, generation, { ...call('unknown'), state: 'DONE' });
    await journal.step(seq, generation, { ...call('not-run'), state: 'DONE', effect: 'none', endedAt: 9 });
    expect(await journal.steps(seq)).toEqual([
      { ...call('ended'), state: 'DONE', ...began, endedAt: 9 },
      { ...call('unknown'), state: 'DONE', ...began },
      { ...call('not-run'), state: 'DONE', ...began, effect: 'none', endedAt: 9 },
    ]);
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
    expect((await journal.counts()).inbox).toEqual({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 1, DEAD: 0 });
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
    const rest = await journal.unflushed(2, first[0]?.lines[0]?.seq);
    expect(rest.map(({ lines }) => lines.map((entry) => entry.line.id))).toEqual([['b'], ['c']]);
    await journal.flushed(first.flatMap(({ lines }) => lines.map(({ seq }) => seq)));
    expect((await journal.unflushed(10))[0]?.lines.map((entry) => entry.line.id)).toEqual(['b', 'd']);
  });
}

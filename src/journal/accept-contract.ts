/**
 * What every journal does with what a channel hands over: keep it once, refuse it, answer it, have no room.
 */
import { expect, it } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import type { Admission } from '../core/run.ts';
import { inbound } from '../testing/fakes.ts';
import { type CreateJournal as Create, kinds, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, done, LANE, message, part, refuse, SESSION, stopLane } from '../testing/journal-rows.ts';

export function acceptContract(create: Create): void {
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

  it('the account of the first message that is let in stays the first of its channel, also in another start', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const from = (account: string, platformId: string) => message(platformId, { account });
    await journal.accept([refuse(from('stranger', '1'), 'not-allowed')]);
    expect(await journal.chats.firstAccount('test')).toBeUndefined();
    await journal.accept([admit(from('bot', '2'))]);
    await journal.accept([admit(from('bot-2', '3'))]);
    expect(await journal.chats.firstAccount('test')).toBe('bot');
    expect(await journal.chats.firstAccount('other')).toBeUndefined();
    for (const id of ['1234567890', '0012', '1e3', '9007199254740993']) {
      await journal.accept([admit(message(id, { channel: `c${id}`, account: id }))]);
      expect(await journal.chats.firstAccount(`c${id}`)).toBe(id);
    }
    expect(await (await harness.open()).chats.firstAccount('test')).toBe('bot');
  });

  it('F12 what was accepted is told when readers see it, before it is promised to be on disk', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const order: string[] = [];
    let seen: Promise<readonly string[]> | undefined;
    const accepting = journal.accept([admit(message(1)), refuse(message(2), 'not-mentioned')], undefined, (accepted) => {
      order.push(...accepted.map(({ kind }) => kind));
      seen = texts(journal);
    });
    await accepting.finally(() => order.push('on disk'));
    expect(order).toEqual(['new', 'refused', 'on disk']);
    expect(await seen).toEqual(['text 1']);
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
    const admissions = batch.map((one) => admit(one));
    expect(new Set(await kinds(journal, admissions))).toEqual(new Set(['new']));
    expect(new Set(await kinds(journal, admissions))).toEqual(new Set(['duplicate']));
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
    // A transport id that looks like the secondary id of a message is another thing.
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

/** What every journal does with edits and deletions of messages it has. */
import { expect, it } from 'vitest';
import { type InboundMessage, UNKNOWN_SENDER } from '../core/message.ts';
import { type Admission, decidedOf } from '../core/run.ts';
import { type CreateJournal as Create, kinds, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, dead, done, LANE, message, part, SESSION } from '../testing/journal-rows.ts';

export function amendContract(create: Create): void {
  const edit = (n: number, target: number, text: string, override: Partial<InboundMessage> = {}) =>
    admit(message(`edit-${n}`, { kind: 'edit', targetId: `m-${target}`, text, ...override }));
  const remove = (n: number, target: number, override: Partial<InboundMessage> = {}) =>
    admit(message(`delete-${n}`, { kind: 'delete', targetId: `m-${target}`, text: '', ...override }));

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

  it('A4 an edit of a message that has not begun brings its own marks, and those of the old text are gone', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const marks = [[0, 9]] as const;
    await journal.accept([admit(message(1, { text: '[forward]', marks }))]);
    await journal.accept([edit(1, 1, '[forward] me')]);
    expect((await journal.waiting(LANE, 1))[0]?.message).toEqual(message(1, { text: '[forward] me' }));
    await journal.accept([edit(2, 1, '[forward]', { marks })]);
    expect((await journal.waiting(LANE, 1))[0]?.message).toEqual(message(1, { text: '[forward]', marks }));
  });

  it('an edit after the turn began is a row of its own', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    expect(await kinds(journal, [edit(1, 1, 'running')])).toEqual(['new']);
    await journal.step(row.seq, row.generation, { n: 0, kind: 'model', state: 'DONE', value: 'x' });
    await journal.release(row.seq, row.generation);
    // Parked, but the model has read the old text.
    expect(await kinds(journal, [edit(2, 1, 'parked'), edit(3, 77, 'unknown target')])).toEqual(['amended', 'new']);
    expect(await texts(journal)).toEqual(['text 1', 'parked', 'unknown target']);
  });

  it('a further edit replaces the text of the one that waits, and is known from then on', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    await begin(journal, 1);
    const [first] = await journal.accept([edit(1, 1, 'one')]);
    const row = first?.kind === 'new' ? first.row.seq : undefined;
    const burst = [edit(2, 1, 'two', { secondaryId: 's-2' }), edit(3, 1, 'three')];
    const cursor = { channel: 'test', account: 'bot', value: '3' };
    expect(await journal.accept(burst, cursor)).toEqual([
      { kind: 'amended', row },
      { kind: 'amended', row },
    ]);
    expect(await journal.cursor('test', 'bot')).toBe('3');
    const again = [...burst, edit(4, 1, 'two', { secondaryId: 's-2' })];
    expect(await kinds(journal, again)).toEqual(['duplicate', 'duplicate', 'duplicate']);
    expect((await journal.waiting(LANE, 9)).map(({ message }) => message)).toEqual([
      message('edit-1', { kind: 'edit', targetId: 'm-1', text: 'three' }),
    ]);
    expect(journal.room()).toBe(8);
  });

  it('a further edit is a row of its own once the one before it has begun', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const original = await begin(journal, 1);
    await journal.accept([edit(1, 1, 'one')]);
    await journal.finish(done(original));
    const row = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    expect(await kinds(journal, [edit(2, 1, 'two'), edit(3, 1, 'three')])).toEqual(['new', 'amended']);
    await journal.step(row?.seq ?? 0, row?.generation ?? 0, { n: 0, kind: 'model', state: 'DONE', value: 'x' });
    await journal.release(row?.seq ?? 0, row?.generation ?? 0);
    expect(await kinds(journal, [edit(4, 1, 'four')])).toEqual(['amended']);
    expect(await texts(journal)).toEqual(['one', 'four']);
  });

  it('one that waits again, older than a correction that has begun, is not the newest word', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const original = await begin(journal, 1);
    await journal.accept([edit(1, 1, 'one')]);
    await journal.finish(done(original));
    const first = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    await journal.accept([edit(2, 1, 'two')]);
    if (first) await journal.finish(dead(first));
    await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    await journal.dead.replay(`in-${first?.seq}`);
    expect(await kinds(journal, [edit(3, 1, 'three')])).toEqual(['new']);
    expect(await texts(journal)).toEqual(['one', 'three']);
  });

  it('A37 an edit by another author, or in another chat, changes no correction that waits', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await begin(journal, 1);
    await journal.accept([edit(1, 1, 'one')]);
    const foreign = [edit(2, 1, 'evil', { senderId: 'user-2' }), edit(3, 1, 'evil', { chatId: 'chat-2' })];
    expect(await kinds(journal, foreign)).toEqual(['new', 'new']);
    expect(await kinds(journal, [edit(4, 1, 'two')])).toEqual(['amended']);
    expect(await texts(journal)).toEqual(['two', 'evil', 'evil']);
  });

  it('a delete ends a correction that waits, whose words are news when they come back', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    await begin(journal, 1);
    await journal.accept([edit(1, 1, 'one')]);
    expect(await kinds(journal, [remove(1, 1, { senderId: 'user-2' }), remove(2, 1)])).toEqual(['refused', 'amended']);
    expect(await texts(journal)).toEqual([]);
    expect(journal.room()).toBe(9);
    expect(await kinds(journal, [edit(2, 1, 'text 1'), edit(3, 1, 'one')])).toEqual(['refused', 'new']);
  });

  it('an edit that changes nothing since the newest version is refused, one that goes back to an older version is not', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const media = [{ kind: 'photo', ref: 'r' }] as const;
    await journal.accept([admit(message(1, { media }))]);
    const row = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    if (row) await journal.finish(done(row));
    expect(await kinds(journal, [edit(1, 1, 'text 1'), edit(2, 1, 'text 1', { media })])).toEqual(['refused', 'refused']);
    const other = [{ kind: 'photo', ref: 'other' }] as const;
    const changes = [
      edit(3, 1, 'other'),
      edit(5, 1, 'text 1'),
      edit(6, 1, 'text 1', { media: other }),
      edit(7, 1, 'text 1', { mentionsBot: true }),
    ];
    for (const change of changes) {
      expect(await kinds(journal, [change])).toEqual(['new']);
      const correction = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
      if (correction) await journal.finish(done(correction));
      if (change === changes[0]) expect(await kinds(journal, [edit(4, 1, 'other')])).toEqual(['refused']);
    }
  });

  it('A37 an edit by another author, or in another chat, changes no message', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const foreign = [edit(1, 1, 'evil', { senderId: 'user-2' }), edit(2, 1, 'evil', { chatId: 'chat-2' })];
    expect(await kinds(journal, foreign)).toEqual(['new', 'new']);
    expect((await texts(journal))[0]).toBe('text 1');
  });

  it('an edit that only corrects is refused unless its message waits, runs or was answered', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const correct = (n: number, override: Partial<InboundMessage> = {}): Admission[] => {
      const { message } = edit(n, 1, `better ${n}`, override);
      return [{ kind: 'admit', message, lane: LANE, session: SESSION, onlyCorrects: 'not-mentioned' }];
    };
    expect(await kinds(journal, correct(1))).toEqual(['refused']);
    await journal.accept([admit(message(1))]);
    expect(await kinds(journal, correct(2))).toEqual(['amended']);
    const row = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    expect(await kinds(journal, correct(3))).toEqual(['new']);
    if (row) await journal.finish(done(row));
    expect(await kinds(journal, correct(4))).toEqual(['amended']);
    const correction = await journal.claim((await journal.waiting(LANE, 1))[0]?.seq ?? 0);
    if (correction) await journal.finish(done(correction));
    expect(await kinds(journal, correct(6))).toEqual(['new']);
    expect(await kinds(journal, correct(5, { senderId: 'user-2' }))).toEqual(['refused']);
    expect((await journal.counts()).refused).toEqual([{ channel: 'test', reason: 'not-mentioned', count: 2 }]);
  });

  it('an edit that may be no row of its own changes what waits, and otherwise becomes what is decided in its place', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    await begin(journal, 1);
    await journal.accept([admit(message(2))]);
    const asked: string[] = [];
    const over = (one: Admission): Admission => {
      const { message: of } = one;
      const ifOwnRow = () => {
        asked.push(of.text);
        const isFirst = asked.length === 1;
        if (!isFirst) return { kind: 'refuse', message: of, reason: 'flood:chat_messages' } as const;
        return {
          kind: 'answer',
          message: of,
          lane: LANE,
          session: SESSION,
          outcome: 'flood:chat_messages',
          parts: [part('notice')],
        } as const;
      };
      return one.kind === 'admit' ? { ...one, ifOwnRow } : one;
    };
    const batch = [edit(1, 2, 'waits'), edit(2, 1, 'text 1'), edit(3, 1, 'late'), edit(4, 1, 'later')].map(over);
    const accepted = await journal.accept(batch);
    expect(accepted.map(({ kind }) => kind)).toEqual(['amended', 'refused', 'answered', 'refused']);
    expect(asked).toEqual(['late', 'later']);
    const decided = batch.map((one, n) => decidedOf(one, accepted[n]));
    expect(decided.map(({ kind }) => kind)).toEqual(['admit', 'admit', 'answer', 'refuse']);
    expect(await kinds(journal, [over(edit(3, 1, 'late'))])).toEqual(['duplicate']);
    expect(await texts(journal)).toEqual(['waits']);
    expect(await pendingKeys(journal)).toEqual(['notice']);
    expect((await journal.counts()).refused).toEqual([
      { channel: 'test', reason: 'flood:chat_messages', count: 1 },
      { channel: 'test', reason: 'unchanged', count: 1 },
    ]);
    const reasons = async (id: string) =>
      (await journal.record.of(`test/bot/m-${id}`)).map(({ event }) => ('reason' in event ? event.reason : event.type));
    expect([await reasons('edit-3'), await reasons('edit-4')]).toEqual([
      ['received', 'finished'],
      ['received', 'flood:chat_messages'],
    ]);
    expect(journal.room()).toBe(8);
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

  it('a delete of a message whose turn was cut off takes nothing from those that were joined to it or told to it', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1)), admit(message(2))]);
    const [first, second] = await journal.waiting(LANE, 2);
    const row = await journal.claim(first?.seq ?? 0, undefined, { merged: [second?.seq ?? 0], superseded: [] });
    await journal.release(row?.seq ?? 0, row?.generation ?? 0);
    expect(await journal.accept([remove(1, 1)])).toEqual([{ kind: 'amended', row: row?.seq, goesOn: true }]);
    expect(await texts(journal)).toEqual(['text 2']);
    const left = await journal.claim(row?.seq ?? 0);
    if (left) await journal.finish(done(left));

    const running = await begin(journal, 3);
    const during = { kind: 'steer', note: (one: InboundMessage) => one.text } as const;
    expect(await kinds(journal, [{ ...admit(message(4)), during } as Admission])).toEqual(['steered']);
    await journal.release(running.seq, running.generation);
    expect(await kinds(journal, [remove(2, 3)])).toEqual(['amended']);
    expect(await texts(journal)).toEqual(['text 4']);
    expect(journal.room()).toBeGreaterThan(0);
  });

  it('a delete of a message leaves those that were joined to it as the words of who wrote them', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const replyTo = { platformId: 'old', fromBot: false, text: 'an old one' };
    const ben = { senderId: 'user-2', senderName: 'Ben', isGroup: true };
    await journal.accept([admit(message(1, { isGroup: true, replyTo })), admit(message(2, ben))]);
    const [first, second] = await journal.waiting(LANE, 2);
    const row = await journal.claim(first?.seq ?? 0, undefined, { merged: [second?.seq ?? 0], superseded: [] });
    await journal.release(row?.seq ?? 0, row?.generation ?? 0);
    await journal.accept([remove(1, 1)]);
    const [left] = await journal.waiting(LANE, 1);
    expect(left?.message).toMatchObject({ text: 'text 2', senderId: 'user-2', senderName: 'Ben' });
    expect(left?.message).not.toHaveProperty('replyTo');
  });

  it('A37 a delete by another person ends no message; one by nobody known ends one of the same chat', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const foreign = [remove(1, 1, { senderId: 'user-2' }), remove(2, 1, { senderId: UNKNOWN_SENDER, chatId: 'chat-2' })];
    expect(await kinds(journal, foreign)).toEqual(['refused', 'refused']);
    expect(await kinds(journal, [remove(3, 1, { senderId: UNKNOWN_SENDER })])).toEqual(['amended']);
  });
}

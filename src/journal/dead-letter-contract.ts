/** What every journal does with messages and parts that were given up: list, show, replay and drop them. */
import { expect, it } from 'vitest';
import type { OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { StepRecord } from '../core/step.ts';
import { outbound } from '../testing/fakes.ts';
import { BOUNDS, type CreateJournal as Create, kinds } from '../testing/journal-harness.ts';
import { admit, begin, dead, done, LANE, message, part } from '../testing/journal-rows.ts';

export function deadLetterContract(create: Create): void {
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
    // The notice of the first failure has the key the answer would have; the answer must reach the chat all
    // the same.
    if (again) await journal.finish(done(again, [part('answer', { part: outbound({ key: 'answer', text: 'the answer' }) })]));
    const parts = (await journal.pending(LANE, 9)).map((entry) => entry.part);
    expect(parts.map(({ text }) => text)).toContain('the answer');
    expect(new Set(parts.map(({ key }) => key)).size).toBe(parts.length);
  });

  it('the answer of a replay takes the place of the notice, without becoming an edit of it', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const answer = (ordinal: number, more: Partial<OutboundPart> = {}): NewPart =>
      part('', { part: outbound({ key: `m-1#${ordinal}`, ordinal, ...more }) });
    const row = await begin(journal, 1);
    await journal.finish(dead(row, [answer(0), answer(1)]));
    for (const { seq } of await journal.pending(LANE, 9)) {
      await journal.sending(seq);
      await journal.settle(seq, { kind: 'sent', platformId: `p${seq}` });
    }
    await journal.dead.replay(`in-${row.seq}`);
    const again = await journal.claim(row.seq);
    if (again) await journal.finish(done(again, [answer(0), answer(1), answer(2)]));
    const [first, second, third] = (await journal.pending(LANE, 9)).map((entry) => entry.part);
    expect(first).toMatchObject({ ordinal: 0, supersedes: 'm-1#0' });
    for (const one of [first, second, third]) expect(one).not.toHaveProperty('edits');
    for (const one of [second, third]) expect(one).not.toHaveProperty('supersedes');
    expect(await journal.part('m-1#0')).toMatchObject({ state: 'SENT', replacedBy: first?.key });
  });

  it('the answer of a replayed correction takes the place of what the correction is about', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    const notice = part('', { part: outbound({ key: 'm-1#0' }) });
    await journal.finish(dead(row, [notice]));
    await journal.dead.replay(`in-${row.seq}`);
    const again = await journal.claim(row.seq);
    if (again) await journal.finish(done(again, [{ ...notice, part: { ...notice.part, supersedes: 'old' } }]));
    const [, answer] = (await journal.pending(LANE, 9)).map((entry) => entry.part);
    expect(answer).toMatchObject({ supersedes: 'old' });
    expect(await journal.part('m-1#0')).not.toHaveProperty('replacedBy');
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

  it('an expired part is a dead letter as well; one whose place something newer took is none', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.enqueue([part('late', { expiresAt: harness.clock.now() + 1_000 }), part('replaced')]);
    const [late, replaced] = await journal.pending(LANE, 2);
    await journal.settle(replaced?.seq ?? 0, { kind: 'expired' });
    await harness.clock.advance(5_000);
    await journal.recover(BOUNDS, () => []);
    expect(await journal.dead.list()).toMatchObject([{ id: `out-${late?.seq}`, reason: 'expired', payload: { key: 'late' } }]);
    expect(await journal.dead.replay(`out-${replaced?.seq}`)).toBe(false);
    expect(await journal.dead.replay(`out-${late?.seq}`)).toBe(true);
    expect((await journal.pending(LANE, 1))[0]).toMatchObject({ attempts: 0, expiresAt: harness.clock.now() + 1_000 });
  });

  it('a dropped part does not part the answer before it from the one behind it', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const instead = (key: string, supersedes: string): NewPart => part('', { part: outbound({ key, supersedes }) });
    await journal.enqueue([part('a'), instead('b', 'a'), instead('c', 'b')]);
    const seq = (await journal.part('b'))?.seq ?? 0;
    await journal.settle(seq, { kind: 'dead', reason: 'refused' });
    expect(await journal.dead.drop(`out-${seq}`)).toBe(true);
    expect(await journal.part('a')).toMatchObject({ replacedBy: 'c' });
    const last = (await journal.part('c'))?.seq ?? 0;
    await journal.settle(last, { kind: 'dead', reason: 'refused' });
    expect(await journal.dead.drop(`out-${last}`)).toBe(true);
    expect(await journal.part('a')).toBeDefined();
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

/** What every journal does at a start after a kill, and with what was given up. */
import { expect, it } from 'vitest';
import { abandonedKey, draftKey } from '../core/ids.ts';
import type { OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { RunRow, StepRecord } from '../core/run.ts';
import { outbound } from '../testing/fakes.ts';
import {
  BOUNDS,
  type CreateJournal as Create,
  type JournalHarness,
  kinds,
  pendingKeys,
  texts,
} from '../testing/journal-harness.ts';
import { admit, begin, dead, done, LANE, message, part, SESSION } from '../testing/journal-rows.ts';

const HOUR = 3_600_000;

export function recoverContract(create: Create): void {
  const noNotice = () => [];

  it('F3 F5 a killed start leaves its turn to the next one: steps kept, attempt counted, old claim fenced', async () => {
    await using harness = await create();
    const killed = await harness.open();
    const old = await begin(killed, 1);
    const step: StepRecord = { n: 0, kind: 'tool', state: 'STARTED', callId: 'c', argsHash: 'h' };
    await killed.step(old.seq, old.generation, step);
    await killed.accept([admit(message(2), 'other'), admit(message(3))]);
    const journal = await harness.open();
    expect(journal.bootId).not.toBe(killed.bootId);
    expect(await journal.recover(BOUNDS, noNotice)).toEqual({
      resumed: 1,
      buried: 0,
      unheard: [],
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
    const notice = (row: RunRow, reason: string) => [
      part(`notice-${row.message?.platformId}`, { part: outbound({ key: row.key, text: reason }) }),
    ];
    journal = await harness.open({ highWater: 10 });
    expect(await journal.recover(BOUNDS, notice)).toMatchObject({
      resumed: 0,
      buried: 1,
      lanes: [LANE],
      outboxLanes: [{ lane: LANE }],
    });
    expect(await texts(journal)).toEqual(['text behind']);
    expect(journal.room()).toBe(9);
    expect((await journal.pending(LANE, 9)).map((row) => row.part.text)).toEqual(['gave up after 3 attempts']);
    expect(await journal.recover(BOUNDS, notice)).toMatchObject({ resumed: 0, buried: 0 });
    // One gap between two starts counts for half of the age at most.
    for (const buried of [0, 0, 1]) {
      await harness.clock.advance(BOUNDS.maxAgeMs / 2);
      expect(await (await harness.open()).recover(BOUNDS, notice)).toMatchObject({ buried });
    }
    expect((await journal.work()).lanes).toEqual([]);
    // The notices have expired by now and are letters of their own.
    const letters = (await journal.dead.list()).filter(({ id }) => id.startsWith('in-'));
    expect(letters.map(({ attempts, payload }) => [attempts, payload])).toEqual([
      [3, message('poison')],
      [0, message('behind')],
    ]);
  });

  it('F22 starts with a clock days ahead, and then with the right one, neither expire an answer nor bury what waits', async () => {
    await using harness = await create();
    const killed = await harness.open();
    await killed.recover(BOUNDS, noNotice);
    await begin(killed, 'runs');
    await killed.accept([admit(message('waits'), 'other')]);
    const day = { expiresAt: harness.clock.now() + 24 * HOUR };
    await killed.enqueue([part('sending', day), part('pending', day)]);
    await killed.sending((await killed.pending(LANE, 1))[0]?.seq ?? 0);
    await harness.clock.advance(48 * HOUR);
    const ahead = await harness.open();
    const recovered = await ahead.recover(BOUNDS, noNotice);
    expect(recovered).toMatchObject({ buried: 0, lanes: [LANE, 'other'], outboxLanes: [{ lane: LANE }] });
    expect(recovered.sending[0]?.expiresAt).toBe(harness.clock.now() + 12 * HOUR);
    expect((await ahead.pending(LANE, 1))[0]?.expiresAt).toBe(harness.clock.now() + 12 * HOUR);
    await harness.prune();
    // What a clock that is right says about lives is right as well: half of one is left.
    await harness.clock.advance(11 * HOUR);
    expect(await (await harness.open()).recover(BOUNDS, noNotice)).toMatchObject({ buried: 0 });
    expect((await ahead.counts()).outbox).toMatchObject({ PENDING: 1, SENDING: 1, EXPIRED: 0 });
  });

  it('F38 what was overheard and never listened to ends DONE without a notice; an answer that had begun is told of', async () => {
    await using harness = await create();
    const killed = await harness.open({ highWater: 10 });
    const group = (n: string) => admit({ ...message(n), isGroup: true, overheard: true });
    await killed.accept(['silent', 'asked', 'shown'].map(group));
    const [, asked, shown] = await killed.waiting(LANE, 3);
    const claim = await killed.claim(asked?.seq ?? 0);
    await killed.step(claim?.seq ?? 0, claim?.generation ?? 0, { n: 0, kind: 'model', state: 'DONE', value: {} });
    const id = shown?.key ?? '';
    await killed.enqueue([part(draftKey(id), { part: outbound({ key: draftKey(id), messageId: id, text: 'half …' }) })]);
    await harness.clock.advance(BOUNDS.maxAgeMs + 1);
    const journal = await harness.open({ highWater: 10 });
    const told: string[] = [];
    const recovery = await journal.recover(BOUNDS, (row) => {
      told.push(row.message?.platformId ?? '');
      return [];
    });
    expect(told).toEqual(['m-asked', 'm-shown']);
    expect(recovery).toMatchObject({ buried: 2, unheard: [{ message: { platformId: 'm-silent' } }], lanes: [] });
    expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, DONE: 1, DEAD: 2 });
    expect(journal.room()).toBe(10);
    expect((await journal.recover(BOUNDS, noNotice)).unheard).toEqual([]);
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
      expect(outboxLanes).toEqual([{ lane: LANE, expiresAt: part('b').expiresAt }]);
    }
    const journal = await harness.open();
    await journal.settle(first?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: 'asked: not there' });
    expect((await journal.recover(BOUNDS, noNotice)).sending).toEqual([]);
    expect(await pendingKeys(journal)).toEqual(['a', 'b', 'c']);
    expect((await journal.counts()).outbox.EXPIRED).toBe(1);
  });

  it('F34 a part that waits for a refused login is tried at once by the next start, one that waits for anything else is not', async () => {
    await using harness = await create();
    const killed = await harness.open();
    await killed.enqueue([part('login'), part('busy')]);
    const notBefore = harness.clock.now() + 300_000;
    for (const [n, { seq }] of (await killed.pending(LANE, 9)).entries()) {
      await killed.sending(seq);
      await killed.settle(seq, { kind: 'retry', notBefore, reason: n === 0 ? 'auth: revoked' : '429' });
    }
    const journal = await harness.open();
    await journal.recover(BOUNDS, noNotice);
    expect((await journal.pending(LANE, 9)).map((row) => row.notBefore)).toEqual([0, notBefore]);
  });
}

/** Half an answer in a chat whose turn somebody stopped. */
export function stoppedContract(create: Create): void {
  const MARK = ' (stopped)';
  const draftOf = (id: string) => part(draftKey(id), { part: outbound({ key: draftKey(id), messageId: id, text: 'half …' }) });

  async function stopped(harness: JournalHarness, sent: boolean) {
    const killed = await harness.open();
    const row = await begin(killed, 1);
    await killed.enqueue([draftOf(row.key)]);
    const seq = (await killed.pending(LANE, 1))[0]?.seq ?? 0;
    await killed.sending(seq);
    await killed.settle(seq, sent ? { kind: 'sent', platformId: 'p' } : { kind: 'unknown', reason: 'timeout' });
    const place = { message: message('stop'), lane: LANE, session: SESSION };
    const parts = [part('stopped', { expiresAt: Date.UTC(2030, 0) })];
    const stop = { kind: 'answer', ...place, outcome: 'stop', parts, cancels: { where: 'lane', stoppedMark: MARK } } as const;
    return { killed, row, stop };
  }

  it.each([
    ['that is there gets the mark, once', true],
    ['of unknown fate cannot', false],
  ] as const)('a draft %s, when its turn waited', async (_title, sent) => {
    await using harness = await create();
    const { killed, row, stop } = await stopped(harness, sent);
    expect(await killed.release(row.seq, row.generation)).toBe(true);
    await killed.accept([stop]);
    const waiting = await killed.pending(LANE, 9);
    const mark = { key: abandonedKey(row.key), text: `half${MARK}`, edits: draftKey(row.key), editOnly: true };
    expect(waiting.map((entry) => entry.part)).toMatchObject([...(sent ? [mark] : []), { key: 'stopped' }]);
    await (await harness.open()).recover({ ...BOUNDS, stoppedMark: MARK }, () => []);
    expect(await pendingKeys(killed)).toEqual(waiting.map((entry) => entry.part.key));
  });

  it('the turn that ran gives the mark; where its process ended first, the next start does, within a day', async () => {
    for (const [hours, keys] of [
      [0, ['stopped', 'abandoned']],
      [25, ['stopped']],
    ] as const) {
      await using harness = await create();
      const { killed, row, stop } = await stopped(harness, true);
      await killed.accept([stop]);
      expect(await pendingKeys(killed)).toEqual(['stopped']);
      await harness.clock.advance(hours * 3_600_000);
      const journal = await harness.open();
      await journal.recover({ ...BOUNDS, stoppedMark: MARK }, () => []);
      expect(await pendingKeys(journal)).toEqual(keys.map((key) => (key === 'abandoned' ? abandonedKey(row.key) : key)));
    }
  });
}

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
    // The notice of the first failure has the key the answer would have; the answer must reach the chat all the same.
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

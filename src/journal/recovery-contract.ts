/** What every journal does at a start after a kill. */
import { expect, it } from 'vitest';
import type { Authority } from '../core/authority.ts';
import { abandonedKey, draftKey, partKey } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { NewRun } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import type { StepRecord } from '../core/step.ts';
import { outbound } from '../testing/fakes.ts';
import { BOUNDS, type CreateJournal as Create, type JournalHarness, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, message, part, SESSION } from '../testing/journal-rows.ts';

const HOUR = 3_600_000;

function taskRun(authority: Authority): NewRun {
  return {
    ...{ key: 'api/task.cli/a', source: { kind: 'api', client: 'task.cli' }, profile: 'task', lane: 'task/a', session: 'task:a' },
    ...{ authority, prompt: { text: 'do it', media: [], at: '' }, record: { title: 'a', keepDays: 30 } },
  };
}

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
      expired: 0,
      unheard: [],
      left: [],
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

  it('a run that is given up after it waited, or once more after a replay, is told of in a message of its own', async () => {
    const once = { ...BOUNDS, maxAttempts: 1 };
    const notice = ({ key }: RunRow) => [
      part('notice', { part: outbound({ key: partKey(key, 0), messageId: key, edits: draftKey(key) }) }),
    ];
    const edits = async (journal: Journal) => (await journal.pending(LANE, 9)).map((row) => row.part.edits);
    await using harness = await create();
    const row = await begin(await harness.open(), 1);
    let journal = await harness.open();
    await journal.recover(once, notice);
    expect(await edits(journal)).toEqual([draftKey(row.key)]);
    const [letter] = await journal.dead.list();
    expect(await journal.dead.replay(letter?.id ?? '')).toBe(true);
    await journal.claim(row.seq);
    journal = await harness.open();
    await journal.recover(once, notice);
    expect(await edits(journal)).toEqual([draftKey(row.key), undefined]);

    await using other = await create();
    const parking = await other.open();
    const { seq, generation } = await begin(parking, 2);
    // Without a wait it goes on at once.
    await parking.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits: [], historyTo: '' } });
    await parking.claim(seq);
    journal = await other.open();
    await journal.recover(once, notice);
    expect(await edits(journal)).toEqual([undefined]);
  });

  it('P24 a task goes on from its steps once after a crash, then it has failed; a message may try as often as is set', async () => {
    for (const [maxAttempts, task, reason] of [
      [3, 2, 'gave up after 2 attempts, the most that a task has'],
      [2, 2, 'gave up after 2 attempts'],
      [1, 1, 'gave up after 1 attempts'],
    ] as const) {
      await using harness = await create();
      let journal = await harness.open();
      const { authority } = await begin(journal, 'chat');
      await journal.commit([{ kind: 'run', run: taskRun(authority) }]);
      const starts = { task: 0, chat: 1 };
      const reasons: string[] = [];
      for (let start = 0; start < maxAttempts; start += 1) {
        for (const row of [...(await journal.waiting('task/a', 1)), ...(await journal.waiting(LANE, 1))])
          if (await journal.claim(row.seq)) starts[row.message ? 'chat' : 'task'] += 1;
        journal = await harness.open();
        const notice = (row: RunRow, why: string): readonly [] => {
          if (!row.message) reasons.push(why);
          return [];
        };
        await journal.recover({ ...BOUNDS, maxAttempts }, notice);
      }
      expect({ starts, reasons }).toEqual({ starts: { task, chat: maxAttempts }, reasons: [reason] });
      expect(await journal.tasks.get('api/task.cli/a')).toMatchObject({ status: 'failed' });
    }
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

  it('an answer that expires at a start is counted, and the record says so once', async () => {
    await using harness = await create();
    const killed = await harness.open();
    const expiresAt = harness.clock.now() + 10;
    const late = (n: number) => part(`late-${n}`, { part: outbound({ key: `late-${n}`, messageId: message(n).id }), expiresAt });
    const notice = part('notice', { part: outbound({ key: 'notice' }), expiresAt });
    await killed.enqueue([late(1), part('in time'), late(2), notice]);
    await harness.clock.advance(21);
    const at = harness.clock.now();
    expect((await (await harness.open()).recover(BOUNDS, noNotice)).expired).toBe(3);
    const journal = await harness.open();
    expect((await journal.recover(BOUNDS, noNotice)).expired).toBe(0);
    const told = { at, channel: 'test', type: 'part.expired', reason: 'too old to be sent' };
    const all = await journal.record.after(0, { limit: 9 });
    expect(all.map(({ event }) => event)).toEqual([
      { ...told, key: 'late-1', messageId: message(1).id },
      { ...told, key: 'late-2', messageId: message(2).id },
      { ...told, key: 'notice' },
    ]);
    expect((await journal.record.of(message(2).id)).map(({ event }) => event.type)).toEqual(['part.expired']);
  });

  it('what a person had written to another, and is too old at a start, is left to its lane, which tells them', async () => {
    await using harness = await create();
    const killed = await harness.open();
    const told = { channel: 'test', account: 'bot', chatId: 'ada' };
    const sentFor = { readers: ['test:ben'], title: 'Ben (test, ben)', told };
    const expiresAt = harness.clock.now() + 10;
    await killed.enqueue([
      part('own', { expiresAt }),
      part('#to/r#0', { part: outbound({ key: '#to/r#0', sentFor }), lane: 'test/bot/ben', expiresAt }),
    ]);
    await harness.clock.advance(21);
    const journal = await harness.open();
    const { expired, outboxLanes } = await journal.recover(BOUNDS, noNotice);
    expect({ expired, outboxLanes }).toEqual({ expired: 1, outboxLanes: [{ lane: 'test/bot/ben', expiresAt }] });
    expect(await pendingKeys(journal, 'test/bot/ben')).toEqual(['#to/r#0']);
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

/** What tells delivery whose signs of work an earlier process may have left. */
export function leftContract(create: Create): void {
  const cancel = { kind: 'answer', message: message('stop'), lane: LANE, session: SESSION, outcome: 'stop', parts: [] } as const;
  const leftBy = async (journal: Journal) =>
    (await journal.recover(BOUNDS, () => [])).left.map(({ row, state }) => `${row.message.platformId} ${state}`);

  it('a start is told, once, of runs that were begun, and cancelled while no process could end them', async () => {
    await using harness = await create();
    const first = await harness.open();
    await first.recover(BOUNDS, () => []);
    await harness.clock.advance(1_000);
    await first.finish(done(await begin(first, 'answered')));
    await begin(first, 'running');
    await first.accept([admit(message('never begun'))]);
    await harness.clock.advance(HOUR);
    await first.accept([{ ...cancel, cancels: { where: 'lane' } }]);
    await harness.clock.advance(HOUR);
    expect(await leftBy(await harness.open())).toEqual(['m-running DONE']);
    await harness.clock.advance(HOUR);
    expect(await leftBy(await harness.open())).toEqual([]);
  });

  it('a start is told of the run that it gave up, and of none that never began', async () => {
    await using harness = await create();
    const first = await harness.open();
    await begin(first, 'running');
    await first.accept([admit(message('never begun'))]);
    await harness.clock.advance(BOUNDS.maxAgeMs + 1);
    const journal = await harness.open();
    expect(await leftBy(journal)).toEqual(['m-running DEAD']);
    expect(await leftBy(await harness.open())).toEqual([]);
  });
}

/** Half an answer in a chat whose turn was stopped. */
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

  it('a start looks at no draft whose turn had minutes to give the mark: other rows ended after it', async () => {
    await using harness = await create();
    const { killed, stop } = await stopped(harness, true);
    await killed.accept([stop]);
    await harness.clock.advance(601_000);
    await killed.finish(done(await begin(killed, 'later')));
    const journal = await harness.open();
    await journal.recover({ ...BOUNDS, stoppedMark: MARK }, () => []);
    expect(await pendingKeys(journal)).toEqual(['stopped']);
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

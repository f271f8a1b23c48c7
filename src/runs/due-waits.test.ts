import { expect, test } from 'vitest';
import { type Question, reminderId, type StoredWait, waitId } from '../core/wait.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { begin } from '../testing/journal-rows.ts';
import { dueWaits } from './due-waits.ts';

const TO = { channel: 'test', account: 'bot', chatId: 'ada' };

test('waits settle at their date with what they were given for that, and no other does', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const { seq, generation } = await begin(journal, 1);
  const at = clock.now() + 1_000;
  const waits = Array.from({ length: 250 }, (_, n) => ({
    ...{ callId: `c${n}`, kind: 'timer', about: 'a while', due: n < 249 ? at : at + 1 },
    ...(n === 0 ? { late: { ok: true, output: 'waited' } } : {}),
  })) as { callId: string; kind: 'timer'; about: string; due: number }[];
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  const dated = dueWaits(journal, { remind: () => undefined });
  expect(await dated.earliest()).toBe(at);
  await dated.fire(at - 1);
  expect(await dated.earliest()).toBe(at);
  await dated.fire(at);
  const stored = await journal.waits.of(seq);
  expect(stored.filter(({ isOpen }) => isOpen).map(({ callId }) => callId)).toEqual(['c249']);
  const outputs = new Set(stored.map(({ value }) => value?.output));
  expect(outputs).toEqual(new Set(['waited', 'Error: no answer came in time', undefined]));
  expect(await dated.earliest()).toBe(at + 1);
  await dated.fire(at + 1);
  expect([await dated.earliest(), (await journal.counts()).inbox.NEW]).toEqual([undefined, 1]);
});

test('F22 a clock that is set back lets no wait last longer than it was to last from the start', async () => {
  await using dir = await tempDir();
  const clock = new JumpingClock(Date.UTC(2026, 9, 2));
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const { seq, generation } = await begin(journal, 1);
  const wait = (callId: string, ms: number) => ({ callId, kind: 'timer', about: 'a while', due: clock.now() + ms }) as const;
  const waits = [wait('minute', 60_000), wait('hour', 3_600_000)];
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  const dated = dueWaits(journal, { remind: () => undefined });
  await clock.advance(30_000);
  for (const back of [10_000, 86_400_000, 86_400_000]) {
    clock.jump(-back);
    await dated.replan();
    const earliest = (await dated.earliest()) ?? 0;
    expect(earliest - clock.now()).toBeLessThanOrEqual(60_000);
    expect(earliest - clock.now()).toBeGreaterThanOrEqual(30_000);
  }
  await clock.advance(60_000);
  await dated.fire(clock.now());
  expect((await journal.waits.of(seq)).map(({ callId, isOpen }) => [callId, isOpen])).toEqual([
    ['hour', true],
    ['minute', false],
  ]);
});

test('a person is reminded once: in the commit that ends the timer, and not where the question is over', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const now = clock.now();
  const asks = async (n: number) => {
    const { seq, generation, key } = await begin(journal, n);
    const about: Question = {
      text: 'Which?',
      answer: 'text',
      by: ['test:ada'],
      to: TO,
      remindAt: now + 1_000,
      expiresAt: now + 9_000,
    };
    const asked = { code: `AAAAA${n}`, chat: 'test/bot/ada', parts: [] };
    const waits = [{ callId: 'c', kind: 'person', about, asked, due: about.expiresAt }] as const;
    await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
    return waitId(key, 'c');
  };
  const [open, over] = [await asks(2), await asks(3)];
  await journal.commit([{ kind: 'settle', settled: { wait: over, value: { ok: true, output: 'red' }, by: 'test:ada' } }]);
  const made: string[] = [];
  const remind = ({ id }: StoredWait) => {
    made.push(id);
    return {
      parts: [{ part: outbound({ key: `${reminderId(id)}#0` }), lane: 'test/bot/ada', expiresAt: now + 9_000 }],
      onDisk: () => undefined,
    };
  };
  const pending = async () => (await journal.pending('test/bot/ada', 9)).map(({ part }) => part.key);
  // The process is killed before the commit: it is made ready again, and there is one.
  const failing = { ...journal, waits: journal.waits, commit: () => Promise.reject(new Error('killed')) };
  await expect(dueWaits(failing, { remind }).fire(now + 1_000)).rejects.toThrow('killed');
  const dated = dueWaits(journal, { remind });
  await dated.fire(now + 1_000);
  await dated.fire(now + 1_000);
  expect([made.filter((id) => id === open).length, made.includes(over), await pending()]).toEqual([
    2,
    false,
    [`${reminderId(open)}#0`],
  ]);
  // Answered between the look and the commit.
  await journal.commit([
    {
      kind: 'remind',
      timer: reminderId(open),
      question: open,
      parts: [{ part: outbound({ key: 'late' }), lane: 'test/bot/ada', expiresAt: now }],
    },
  ]);
  expect(await pending()).toHaveLength(1);
  await dated.fire(now + 9_000);
  expect((await journal.waits.find(open))?.by).toBe('due');
});

test('a reminder whose time came together with the end of its question is not sent', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const now = clock.now();
  const { seq, generation } = await begin(journal, 2);
  const about = { text: 'Which?', answer: 'text', by: [], to: TO, remindAt: now + 1_000, expiresAt: now + 9_000 } as const;
  const waits = [{ callId: 'c', kind: 'person', about, asked: { code: 'AAAAAA', parts: [] }, due: about.expiresAt }] as const;
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  await dueWaits(journal, { remind: () => expect.fail('it is over') }).fire(now + 10_000);
  expect(await journal.waits.earliest()).toBeUndefined();
});

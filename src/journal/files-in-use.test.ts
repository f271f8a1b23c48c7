import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewPart } from '../core/outbox.ts';
import type { Admission, RunRow } from '../core/run.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { begin, dead, done, LANE, message, part, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const fileOf = (name: string) =>
  ({ path: `/data/outgoing/${name}`, name: 'f.txt', mime: 'text/plain', kind: 'document', bytes: 1 }) as const;

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  const { journal } = opened;
  const say = async (n: string, more: Partial<Extract<Admission, { kind: 'answer' }>>): Promise<void> => {
    const place = { message: message(n), lane: LANE, session: SESSION };
    await journal.accept([{ kind: 'answer', ...place, outcome: 'topic', parts: [], ...more }]);
  };
  /** A run whose tool took a copy of a file. */
  const tookCopy = async (n: string, name: string): Promise<RunRow> => {
    const row = await begin(journal, n);
    const value = { ok: true, output: '', files: [fileOf(name)] };
    await journal.step(row.seq, row.generation, { n: 1, kind: 'tool', callId: 'c', state: 'DONE', value });
    return row;
  };
  return {
    ...{ journal, clock, say, tookCopy },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const withFile = (key: string, name: string, more: Partial<NewPart> = {}): NewPart =>
  part(key, { part: outbound({ key, file: fileOf(name) }), ...more });

test('a file of a part that is held, or was given up, is in use; that of a part that was sent is not', async () => {
  await using at = await setup();
  const [held, deadLetter, tooOld, sent] = [`${randomUUID()}.pdf`, randomUUID(), randomUUID(), randomUUID()];
  await at.say('1', { topic: { to: 'work' } });
  await at.say('2', { topic: { to: '' } });
  await at.journal.enqueue([
    withFile('held', held, { topic: { name: 'work', notice: part('notice'), full: '' } }),
    ...[withFile('dead', deadLetter), withFile('old', tooOld), withFile('sent', sent)],
  ]);
  const settled = { dead: { kind: 'dead', reason: 'refused' }, sent: { kind: 'sent', platformId: 'p' } } as const;
  for (const [key, settlement] of Object.entries(settled)) {
    const { seq = 0 } = (await at.journal.part(key)) ?? {};
    await at.journal.sending(seq);
    await at.journal.settle(seq, settlement);
  }
  await at.journal.settle((await at.journal.part('old'))?.seq ?? 0, { kind: 'expired', isOld: true });
  expect((await at.journal.pending(LANE, 9)).map(({ part: { key } }) => key)).not.toContain('held');
  expect(await at.journal.filesInUse()).toEqual(new Set([held, deadLetter, tooOld]));
});

test('a file that a run took is in use while the run waits, and as long as it may be run again', async () => {
  await using at = await setup();
  const [parked, givenUp, running, answered] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const { seq, generation } = await at.tookCopy('parks', parked);
  const waits = [{ callId: 't', kind: 'timer', about: 'a month', due: at.clock.now() + 30 * 86_400_000 }] as const;
  await at.journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '', ms: 5 } });
  await at.journal.finish(dead(await at.tookCopy('fails', givenUp)));
  await at.journal.finish(done(await at.tookCopy('ends', answered)));
  await at.tookCopy('runs', running);
  expect(await at.journal.filesInUse()).toEqual(new Set([parked, givenUp, running]));
});

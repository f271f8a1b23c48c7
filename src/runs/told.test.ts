// What a run is told of others that wait, on a real journal.
import { expect, test } from 'vitest';
import { UNTRUSTED } from '../core/authority.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { toldTo } from './told.ts';

async function setup() {
  const dir = await tempDir();
  const opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  const begin = async (n: number, taint = 0) => {
    const [accepted] = await journal.accept([{ ...admit(message(n)), taint } as ReturnType<typeof admit>]);
    const row = accepted?.kind === 'new' ? await journal.claim(accepted.row.seq) : undefined;
    if (!row) throw new Error('no row');
    return row;
  };
  return {
    begin,
    park: async (n: number, taint = 0) => {
      const { seq, generation } = await begin(n, taint);
      const waits = [{ callId: 'c', kind: 'signal', about: 'yes' }] as const;
      await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
    },
    told: async (row: Awaited<ReturnType<typeof begin>>) =>
      await toldTo(row, { waits: journal.waits, transcripts: { load: async () => [] }, maxHistory: 10 }),
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('hostile: a run that is told what another request asks for is tainted as that one is', async () => {
  await using at = await setup();
  await at.park(1, UNTRUSTED);
  const told = await at.told(await at.begin(2));
  expect(told.notes.waiting).toContain('“text 1”');
  expect(told.taint).toBe(UNTRUSTED);
});

test('of many requests that wait the newest are quoted, and what is not quoted taints nothing', async () => {
  await using at = await setup();
  await at.park(1, UNTRUSTED);
  for (let n = 2; n <= 8; n += 1) await at.park(n);
  const told = await at.told(await at.begin(9));
  expect(told.notes.waiting?.match(/“text \d”/g)).toEqual(['“text 4”', '“text 5”', '“text 6”', '“text 7”', '“text 8”']);
  expect(told.notes.waiting).toContain('More requests wait.');
  expect(told.taint).toBe(0);
});

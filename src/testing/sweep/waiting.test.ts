import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { FakeClock, tempDir } from '../fakes.ts';
import { admit, message } from '../journal-rows.ts';
import { recordedCalls, WAITING_QUESTION } from './waiting.ts';

/** A journal with the question, parked behind one model call, as a kill leaves it. */
async function killedWhileParked(dir: string): Promise<void> {
  await using opened = await openJournal({ dir, clock: new FakeClock() });
  const { journal } = opened;
  const [accepted] = await journal.accept([admit(message('m', { text: WAITING_QUESTION }))]);
  const row = accepted?.kind === 'new' ? await journal.claim(accepted.row.seq) : undefined;
  const { seq, generation } = row ?? expect.fail('no row');
  await journal.step(seq, generation, { n: 0, kind: 'model', state: 'DONE', value: {} });
  const waits = [{ callId: 'c', kind: 'signal', about: 'yes' }] as const;
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
}

test('the model calls of a run that is parked are recorded, and none before there is a journal or a table', async () => {
  await using dir = await tempDir();
  expect(await recordedCalls(join(dir.path, 'missing'))).toEqual(new Set());
  await mkdir(join(dir.path, 'empty'));
  await writeFile(join(dir.path, 'empty', 'journal.db'), '');
  expect(await recordedCalls(join(dir.path, 'empty'))).toEqual(new Set());
  await killedWhileParked(dir.path);
  expect(await recordedCalls(dir.path)).toEqual(new Set([`${WAITING_QUESTION}:0`]));
});

test('a journal whose calls cannot be read is no journal without calls', async () => {
  await using dir = await tempDir();
  await killedWhileParked(dir.path);
  {
    using db = new DatabaseSync(join(dir.path, 'journal.db'));
    db.exec('ALTER TABLE step RENAME COLUMN run_seq TO seq');
  }
  await expect(recordedCalls(dir.path)).rejects.toThrow('run_seq');
  await writeFile(join(dir.path, 'journal.db'), 'no database'.repeat(1_000));
  await expect(recordedCalls(dir.path)).rejects.toThrow('not a database');
});

import { existsSync } from 'node:fs';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { Uploads } from '../../media/uploads.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { FakeClock, MemoryLogger, tempDir } from '../../testing/fakes.ts';
import { JumpingClock } from '../../testing/jobs.ts';
import { LANE, message, SESSION } from '../../testing/journal-rows.ts';
import type { DaemonOptions } from './options.ts';
import { pruning } from './tasks.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

test('a part of the housekeeping that fails keeps no other from its work, and the first failure is told', async () => {
  await using dir = await tempDir();
  const [clock, logger] = [new FakeClock(), new MemoryLogger()];
  await using opened = await openJournal({ dir: dir.path, clock });
  const place = { lane: LANE, session: SESSION, outcome: 'topic', parts: [] } as const;
  for (const [n, topic] of [{ to: 'work' }, { to: '' }, { gone: 'work' }].entries())
    await opened.journal.accept([{ kind: 'answer', message: message(n), ...place, topic }]);
  const workspace = sessionWorkspace(dir.path, `${SESSION}#work`);
  let pruned = 0;
  const uploads = {
    prune: async () => {
      pruned += 1;
      throw new Error('an upload stays');
    },
  } as unknown as Uploads;
  const options = { dataDir: dir.path, clock, logger } as unknown as DaemonOptions;
  const failing = { ...opened, prune: () => Promise.reject(new Error('a task stays')) };
  const prune = pruning({ options, uploads, journal: opened.journal }, failing, {} as Transcripts);
  await expect(prune()).rejects.toThrow('a task stays');
  expect([pruned, existsSync(workspace)]).toEqual([1, false]);
});

test('F22 a start with a clock that is a year ahead takes no file of a person; thirty days do', async () => {
  await using dir = await tempDir();
  const [clock, logger] = [new JumpingClock(), new MemoryLogger()];
  const folder = join(dir.path, 'workspaces/ada/one/uploads');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'contract.pdf'), 'x');
  await utimes(join(folder, 'contract.pdf'), clock.now() / 1_000, clock.now() / 1_000);
  const disk = {
    claim: () => Promise.reject(new Error('nothing is stored here')),
    measureAll: async () => undefined,
    [Symbol.dispose]: () => undefined,
  };
  const start = async (): Promise<readonly string[]> => {
    await using opened = await openJournal({ dir: dir.path, clock });
    await using uploads = new Uploads({ dataDir: dir.path, clock, disk });
    const options = { dataDir: dir.path, clock, logger } as unknown as DaemonOptions;
    await pruning({ options, uploads, journal: opened.journal }, opened, {} as Transcripts)();
    return await readdir(folder);
  };
  expect(await start()).toEqual(['contract.pdf']);
  clock.jump(YEAR_MS);
  expect(await start()).toEqual(['contract.pdf']);
  clock.jump(-YEAR_MS);
  expect(await start()).toEqual(['contract.pdf']);
  for (let day = 0; day < 31; day += 1) {
    await clock.advance(DAY_MS - 1);
    await start();
  }
  expect(await start()).toEqual([]);
});

import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import type { Uploads } from '../../media/uploads.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { FakeClock, MemoryLogger, tempDir } from '../../testing/fakes.ts';
import { LANE, message, SESSION } from '../../testing/journal-rows.ts';
import type { DaemonOptions } from './options.ts';
import { pruning } from './tasks.ts';

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

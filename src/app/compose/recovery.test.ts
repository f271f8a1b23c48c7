import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { tempDir } from '../../testing/fakes.ts';
import { part } from '../../testing/journal-rows.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { testDaemon } from '../../testing/test-daemon.ts';

test('a start says in the log what it took up, and how many answers had expired', async () => {
  await using dir = await tempDir();
  {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    await opened.journal.enqueue([part('late', { expiresAt: 1 }), part('later', { expiresAt: 2 })]);
  }
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel([]) });
  const [recovered] = rig.logger.lines.filter(({ event }) => event === 'recovered');
  expect(recovered?.data).toEqual({ resumed: 0, buried: 0, expired: 2, unheard: 0, sending: 0 });
});

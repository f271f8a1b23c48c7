import { expect, test } from 'vitest';
import type { ChannelHost } from '../core/channel.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { job } from '../testing/jobs.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

test('what is due does not wait for a channel that takes its time to start', async () => {
  await using dir = await tempDir();
  const due = systemClock.now();
  {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    const made = job({ schedule: { kind: 'every', ms: 600_000, from: due }, nextDue: due, missed: 'skip' });
    await opened.journal.commit([{ kind: 'job', job: made }]);
  }
  const slow = new TestChannel('test');
  const connected = Promise.withResolvers<void>();
  const start = slow.start.bind(slow);
  slow.start = async (host: ChannelHost) => {
    await connected.promise;
    await start(host);
  };
  const model = scriptedModel(['Noted.']);
  const starting = testDaemon({ dataDir: dir.path, model, channel: slow });
  try {
    await until('the run of the job', () => model.requests.length === 1);
  } finally {
    connected.resolve();
    await using _running = await starting;
  }
  expect(model.requests).toHaveLength(1);
});

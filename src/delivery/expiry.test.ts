import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { answer, HOUR } from '../testing/delivery-setup.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';
import { createDelivery } from './deliver.ts';

test('F22 an answer that expired can be replayed, also where the clock was set back meanwhile', async () => {
  await using dir = await tempDir();
  const clock = new JumpingClock(Date.UTC(2026, 9, 2));
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const channel = new ScriptedChannel(clock);
  await using delivery = createDelivery({
    ...{ journal, clock, channels: new Map([[channel.name, channel]]), ready: () => false },
    ...{ random: () => 0.5, emit: () => undefined, maxAttempts: 8 },
  });
  const parts = answer(1, {}, clock.now() + HOUR);
  await journal.enqueue(parts);
  delivery.poke(parts[0]?.lane ?? '');
  await until('the lane', () => clock.sleeping === 1);
  clock.jump(-200);
  await clock.advance(HOUR);
  await delivery.idle();
  expect((await journal.counts()).outbox.EXPIRED).toBe(1);
  expect(await journal.dead.list()).toMatchObject([{ id: 'out-1', reason: 'expired' }]);
  expect(await journal.dead.replay('out-1')).toBe(true);
});

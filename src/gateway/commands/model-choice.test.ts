import { expect, test } from 'vitest';
import type { ChatRow } from '../../core/run.ts';
import { FakeClock, inbound } from '../../testing/fakes.ts';
import { ModelChoice } from './model-choice.ts';

test('a person who may not change the model of a group is told so once an hour, each person for themselves', async () => {
  const clock = new FakeClock();
  const choose = async (): Promise<never> => expect.unreachable('nothing is changed');
  const commands = new ModelChoice({
    choices: { inForce: choose, choose },
    ...{ model: { id: 'p/m' }, thinking: 'auto', isOwner: () => false, clock },
  });
  const say = (senderId: string, kind: 'model' | 'think') =>
    commands.run({ message: inbound({ isGroup: true, senderId }) } as ChatRow, { kind, value: 'high' });
  const told = 'In a group only the owner of this assistant can change the model or its thinking. Nothing was changed.';
  expect([await say('ada', 'model'), await say('ada', 'think'), await say('bob', 'think')]).toEqual([told, undefined, told]);
  await clock.advance(3_600_000);
  expect([await say('ada', 'think'), await say('ada', 'think')]).toEqual([told, undefined]);
});

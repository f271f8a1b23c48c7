import { expect, test } from 'vitest';
import { wrong } from './rounds.ts';
import { Stage } from './stage.ts';
import { planTraffic, seeded } from './traffic.ts';

test('one daemon answers three channels at once, everybody once and in order', async () => {
  const names = ['telegram', 'slack', 'cli'];
  await using stage = await Stage.start({ channels: names, modelMs: 20 });
  const channels = [{ name: 'telegram' }, { name: 'slack' }, { name: 'cli', people: 1 }];
  const first = { firstPerson: 0, firstNumber: 0 };
  const questions = planTraffic({ channels, messages: 20, rate: 15, people: 5, ...first, random: seeded(1) });
  const { channels: records, finished, unknown, dead } = await stage.run(questions, {}, 40_000);
  expect({ finished, unknown, dead }).toEqual({ finished: true, unknown: 0, dead: 0 });
  for (const record of records)
    expect([record.channel, wrong(record, false, 0), record.latenciesMs.length]).toEqual([record.channel, [], 20]);
});

test('a platform that there is not is named, with those there are', async () => {
  await expect(Stage.start({ channels: ['telegram', 'pigeon'], modelMs: 1 })).rejects.toThrow('no platform is called pigeon');
});

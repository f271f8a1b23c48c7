import { expect, test } from 'vitest';
import { CALLING } from '../../simulator/platforms/index.ts';
import { byLoad } from '../sample.ts';
import { type FloodShape, planFlood, wrongFlood } from './flood.ts';
import { wrong } from './rounds.ts';
import { type PhaseRecord, Stage } from './stage.ts';
import { planTraffic, seeded } from './traffic.ts';

const UNSIGNED = byLoad(300, 1_000);

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

/** Two channels with some messages each; on one of them a person floods. */
async function flooded(stage: Stage, shape: FloodShape, firstNumber: number, messages = 80): Promise<PhaseRecord> {
  const channels = [{ name: 'telegram' }, { name: 'slack' }];
  const options = { channels, messages: 5, rate: 5, people: 5, firstPerson: firstNumber, firstNumber, random: seeded(1) };
  const flood = planFlood({ shape, channel: 'telegram', messages, overMs: 500 });
  return await stage.run(planTraffic(options), {}, 40_000, { flood });
}

test('of a flood by one chat, and by one person in many, each message has its outcome, one notice is sent, and others are answered', async () => {
  await using stage = await Stage.start({ channels: ['telegram', 'slack'], modelMs: 100, gateway: { high_water: 400 } });
  for (const [index, shape] of (['flood-chat', 'flood-sender'] as const).entries()) {
    const { channels, flood, finished } = await flooded(stage, shape, index * 5);
    expect([shape, finished, flood && wrongFlood(flood), flood?.noticed]).toEqual([shape, true, [], 1]);
    expect(flood?.refused).toBeGreaterThan(0);
    expect(channels.map((record) => wrong(record, false, 0))).toEqual([[], []]);
  }
});

test('while requests without a signature come to every webhook none is believed, and all genuine ones are answered', async () => {
  const names = Object.keys(CALLING);
  await using stage = await Stage.start({ channels: names, isCalled: true, modelMs: 50 });
  const channels = names.map((name) => ({ name }));
  const options = { channels, messages: 10, rate: 5, people: 5, firstPerson: 0, firstNumber: 0, random: seeded(1) };
  const {
    channels: records,
    unsigned,
    finished,
  } = await stage.run(planTraffic(options), {}, 60_000, {
    unsigned: { count: UNSIGNED, overMs: 2_000 },
  });
  expect([finished, unsigned?.count, unsigned?.believed, unsigned?.strayed]).toEqual([true, UNSIGNED, 0, 0]);
  for (const record of records)
    expect([record.channel, wrong(record, false, 0), record.latenciesMs.length]).toEqual([record.channel, [], 10]);
});

test('a flood without limits does not pass', async () => {
  await using stage = await Stage.start({ channels: ['telegram', 'slack'], modelMs: 50, gateway: { high_water: 8_000 } });
  const { flood } = await flooded(stage, 'flood-chat', 0, 40);
  expect(flood && wrongFlood(flood)).toEqual(['told 0 times']);
});

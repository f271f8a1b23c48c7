import { expect, test } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { inbound } from '../testing/fakes.ts';
import { OwnAnswers, type OwnAnswersOptions } from './own-answers.ts';

test('that there is no model is told again after an hour, also where the clock was set back meanwhile', async () => {
  let [hours, wall] = [0, Date.UTC(2026, 0, 2)];
  const clock = { now: () => wall, monotonic: () => hours * 3_600_000 };
  const ports = { clock, model: { demo: true }, demoAllowed: () => false } as unknown as OwnAnswersOptions;
  const answers = new OwnAnswers(ports);
  const row = { lane: 'test/bot/chat-1', message: inbound() } as RunRow;
  const asked = async () => (await answers.of(row, Promise.resolve(), new AbortController().signal))?.text !== undefined;
  expect([await asked(), await asked()]).toEqual([true, false]);
  wall -= 86_400_000;
  hours += 1;
  expect(await asked()).toBe(true);
});

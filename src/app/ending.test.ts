import { expect, it } from 'vitest';
import { Ending } from './ending.ts';

const logger = { warn: () => undefined };

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends in order with 0, and names itself as the reason', async (signal) => {
  const ending = new Ending();
  using _signals = ending.onSignals(logger);
  process.emit(signal, signal);
  expect(await ending.code).toBe(0);
  expect(ending.reason).toBe(signal);
  expect(ending.signal.aborted).toBe(true);
});

it('SIGHUP is what the caller makes of it, as often as it comes, and the others end as ever', async () => {
  const [ending, hangUps] = [new Ending(), [] as string[]];
  using _signals = ending.onSignals(logger, () => hangUps.push('again'));
  for (let times = 0; times < 3; times += 1) process.emit('SIGHUP', 'SIGHUP');
  expect([hangUps.length, ending.signal.aborted]).toEqual([3, false]);
  process.emit('SIGTERM', 'SIGTERM');
  expect([await ending.code, ending.reason]).toEqual([0, 'SIGTERM']);
});

it('takes no signal any more once disposed', () => {
  const before = process.listenerCount('SIGHUP');
  {
    using _signals = new Ending().onSignals(logger);
    expect(process.listenerCount('SIGHUP')).toBe(before + 1);
  }
  expect(process.listenerCount('SIGHUP')).toBe(before);
});

it('waits for the last answer after the end of the input, and the first reason stays', async () => {
  const ending = new Ending();
  const answered = Promise.withResolvers<void>();
  ending.inputEnded();
  ending.whenInputEnds(() => answered.promise);
  expect(ending.signal.aborted).toBe(false);
  answered.resolve();
  expect(await ending.code).toBe(0);
  ending.end(1, 'too late');
  expect([await ending.code, ending.reason]).toEqual([0, 'the input ended']);
});

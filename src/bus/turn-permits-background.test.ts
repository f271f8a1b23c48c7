import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { backgroundTurns, TurnPermits } from './turn-permits.ts';

/** Turns by what asked for them; each runs until it is ended. */
function rig(total: number, background?: number) {
  const permits = new TurnPermits({ total, channels: 1, background, clock: new FakeClock() });
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const ask = async (senderId: string, isBackground: boolean, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      const name = `${isBackground ? 'task' : 'chat'} ${senderId}${n}`;
      void permits.run({ channel: 'a', senderId, isBackground, role: 'owner' }, async () => {
        running.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        running.splice(running.indexOf(name), 1);
      });
    }
    await settle();
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  const count = (kind: string) => running.filter((name) => name.startsWith(kind)).length;
  return { permits, running, ask, end, count };
}

test('tasks and sub-agents have at most half of the permits, and conversations always the rest', async () => {
  const { ask, count, permits } = rig(10);
  await ask('a', true, 200);
  expect([count('task'), permits.waiting]).toEqual([5, 195]);
  await ask('p', false, 1);
  await ask('q', false, 1);
  await ask('r', false, 1);
  expect(count('chat')).toBe(3);
});

test('conversations that have all permits let a task begin when one of them ends', async () => {
  const { ask, end, count } = rig(2);
  await ask('a', false, 2);
  expect(count('chat')).toBe(2);
  await ask('t', true, 3);
  expect(count('task')).toBe(0);
  await end('chat a0');
  expect(count('task')).toBe(1);
  await end('chat a1');
  expect(count('task')).toBe(1);
});

test('people with tasks take turns: one with many delays another by one', async () => {
  const { ask, end, running } = rig(4);
  await ask('a', true, 20);
  await ask('b', true, 1);
  await end('task a0');
  expect(running).toEqual(['task a1', 'task b0']);
});

test('tasks.max_running lowers the share, and never raises it above half', () => {
  expect(backgroundTurns({ total: 10 })).toBe(5);
  expect(backgroundTurns({ total: 10, background: 2 })).toBe(2);
  expect(backgroundTurns({ total: 10, background: 9 })).toBe(5);
  expect(backgroundTurns({ total: 1, background: 5 })).toBe(1);
});

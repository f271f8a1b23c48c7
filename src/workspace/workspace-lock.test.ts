import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { WorkspaceBusy, WorkspaceLock } from './workspace-lock.ts';

function scene() {
  const clock = new FakeClock();
  const lock = new WorkspaceLock(clock);
  const entered: string[] = [];
  const enter = (kind: 'write' | 'alone', call: string, more: { workspace?: string; signal?: AbortSignal } = {}) => {
    const writer = { workspace: '/w', idempotencyKey: call, signal: new AbortController().signal, ...more };
    const hold = kind === 'write' ? lock.write(writer) : lock.alone(writer, 600_000);
    hold.then(
      () => entered.push(call),
      () => undefined,
    );
    return hold;
  };
  return { clock, lock, entered, enter };
}

const settle = () => sleep(0);

test('calls write beside each other, and while one has the workspace alone no other call does', async () => {
  const { lock, entered, enter } = scene();
  const [a, b] = await Promise.all([enter('write', 'a'), enter('write', 'b')]);
  const alone = enter('alone', 'c');
  const later = enter('write', 'd');
  await settle();
  a[Symbol.dispose]();
  a[Symbol.dispose]();
  await settle();
  expect(entered).toEqual(['a', 'b']);
  b[Symbol.dispose]();
  const held = await alone;
  await settle();
  expect(entered).toEqual(['a', 'b', 'c']);
  held[Symbol.dispose]();
  (await later)[Symbol.dispose]();
  expect([entered, lock.size]).toEqual([['a', 'b', 'c', 'd'], 0]);
});

test('another workspace is not kept waiting', async () => {
  const { enter } = scene();
  using _one = await enter('alone', 'a');
  using _other = await enter('write', 'b', { workspace: '/other' });
});

test('a call that has the workspace alone writes itself, and has it until the last of that is over', async () => {
  const { entered, enter } = scene();
  const alone = await enter('alone', 'a');
  const program = await enter('write', 'a');
  const other = enter('write', 'b');
  alone[Symbol.dispose]();
  await settle();
  expect(entered).toEqual(['a', 'a']);
  program[Symbol.dispose]();
  (await other)[Symbol.dispose]();
});

test('a call that writes already is not kept out by one that waits for it to end', async () => {
  const { enter } = scene();
  const writing = await enter('write', 'a');
  const alone = enter('alone', 'b');
  await settle();
  const more = await enter('write', 'a');
  for (const hold of [writing, more]) hold[Symbol.dispose]();
  (await alone)[Symbol.dispose]();
});

test('who waits too long is told so, and lets those behind it go on', async () => {
  const { clock, lock, entered, enter } = scene();
  const writing = await enter('write', 'a');
  const alone = enter('alone', 'b');
  const tooLong = expect(enter('write', 'c')).rejects.toThrow('Nothing was changed; try again later');
  await clock.advance(60_000);
  await tooLong;
  const behind = enter('write', 'd');
  const never = expect(alone).rejects.toBeInstanceOf(WorkspaceBusy);
  await clock.advance(30_000);
  expect(entered).toEqual(['a']);
  behind.catch(() => undefined);
  await clock.advance(510_000);
  await never;
  const after = await enter('write', 'e');
  for (const hold of [writing, after]) hold[Symbol.dispose]();
  await settle();
  expect(lock.size).toBe(0);
});

test('a wait ends with its signal, for its reason, and leaves nothing behind', async () => {
  const { lock, enter } = scene();
  const alone = await enter('alone', 'a');
  const stop = new AbortController();
  const waiting = enter('write', 'b', { signal: stop.signal });
  stop.abort(new Error('the call is over'));
  await expect(waiting).rejects.toThrow('the call is over');
  await expect(enter('write', 'b', { signal: stop.signal })).rejects.toThrow('the call is over');
  alone[Symbol.dispose]();
  expect(lock.size).toBe(0);
});

test('of a thousand calls in any order none writes beside one that has the workspace alone', async () => {
  const { lock, enter } = scene();
  let [writing, alone, most] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, n) => {
      const kind = n % 7 === 0 ? 'alone' : 'write';
      using _hold = await enter(kind, `call ${n}`);
      if (kind === 'alone') alone += 1;
      else writing += 1;
      most = Math.max(most, writing);
      expect([alone, writing]).toEqual(kind === 'alone' ? [1, 0] : [0, writing]);
      await settle();
      if (kind === 'alone') alone -= 1;
      else writing -= 1;
    }),
  );
  expect([most > 1, lock.size]).toEqual([true, 0]);
});

import { expect, test } from 'vitest';
import type { SessionStore } from '../src/core/session.ts';
import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { createMemoryStore } from '../src/testing/memory-sessions.ts';
import { cached } from './cache.ts';
import { message, messages, sessionStoreContract } from './contract.ts';
import { openJsonlStore } from './jsonl-store.ts';

sessionStoreContract('cached jsonl', async () => {
  const dir = await tempDir();
  const jsonl = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  return { store: cached(jsonl), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
});
sessionStoreContract('cached with room for one session', async () => ({
  store: cached(createMemoryStore({ clock: new FakeClock() }), { maxSessions: 1 }),
  [Symbol.asyncDispose]: async () => undefined,
}));

/** Counts loads, and fails or delays on demand. */
function instrumented() {
  const inner = createMemoryStore({ clock: new FakeClock() });
  const control = { loads: 0, failAppend: false, gate: Promise.resolve() };
  const store: SessionStore = {
    ...inner,
    async load(key) {
      control.loads += 1;
      const session = await inner.load(key);
      await control.gate;
      return session;
    },
    async append(key, lines) {
      if (control.failAppend) {
        await inner.append(key, lines.slice(0, 1)); // a write that failed half way
        throw new Error('disk full');
      }
      await inner.append(key, lines);
    },
  };
  return { store, control, inner };
}

test('a kept session is not read again, also after an append', async () => {
  const { store, control } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(2));
  await cache.load('a');
  await cache.append('a', messages(2, 2));
  expect((await cache.load('a'))?.messages).toEqual(messages(4));
  expect(control.loads).toBe(1);
});

test('a failed append drops the copy, so that the next load tells what the store really holds', async () => {
  const { store, control } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(1));
  await cache.load('a');
  control.failAppend = true;
  await expect(cache.append('a', messages(2, 1))).rejects.toThrow('disk full');
  expect((await cache.load('a'))?.messages).toEqual(messages(2));
});

test('a load that was overtaken by an append is not kept', async () => {
  const { store, control } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(1));
  let open = () => {};
  control.gate = new Promise((resolve) => {
    open = resolve;
  });
  const slow = cache.load('a');
  await cache.append('a', [message(1)]);
  open();
  await slow;
  expect((await cache.load('a'))?.messages).toEqual(messages(2));
});

test('F46 eviction by count and by bytes loses nothing', async () => {
  const { store, control } = instrumented();
  const cache = cached(store, { maxSessions: 10, maxBytes: 20_000 });
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 50; n += 1) {
      await cache.load(`s${n}`);
      await cache.append(`s${n}`, [message(round, { content: 'x'.repeat(1000) })]);
    }
  }
  for (let n = 0; n < 50; n += 1) expect((await cache.load(`s${n}`))?.messages).toHaveLength(3);
  expect(control.loads).toBeGreaterThan(100);
});

test('F20 what the store rotated away leaves the copy too, after a megabyte of appends at the latest', async () => {
  const { store, inner } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(1));
  await cache.load('a');
  await cache.append('a', [message(1, { content: 'x'.repeat(600_000) })]);
  await inner.rewrite('a', [message(1)]);
  await cache.append('a', [message(2, { content: 'x'.repeat(600_000) })]);
  expect((await cache.load('a'))?.messages.map(({ id }) => id)).toEqual(['m-1', 'm-2']);
});

test('a reader of the newest messages keeps no more than twice as many in memory, and never too few', async () => {
  const { store, control } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(100));
  const ids = async (newest?: number) => (await cache.load('a', newest))?.messages.map(({ id }) => id);
  for (let n = 100; n < 150; n += 1) {
    await cache.append('a', [message(n)]);
    const got = (await ids(10)) ?? [];
    expect(got.slice(-10)).toEqual(messages(10, n - 9).map(({ id }) => id));
    if (n > 100) expect(got.length).toBeLessThanOrEqual(20);
  }
  expect(control.loads).toBe(1);
  expect(await ids(60)).toHaveLength(150);
  expect(await ids()).toHaveLength(150);
  expect(control.loads).toBe(3);
  await cache.append('short', messages(3));
  for (let n = 3; n < 9; n += 1) {
    expect((await cache.load('short', 50))?.messages).toHaveLength(n);
    await cache.append('short', [message(n)]);
  }
  expect(control.loads).toBe(4);
});

test('lines that come again after the copy left the first of them out are shown in their order', async () => {
  const { store } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(1));
  await cache.load('a', 51);
  const turn = messages(150, 1);
  await cache.append('a', turn);
  // The lines could not be cleared in the journal, so its mover writes them once more.
  await cache.append('a', turn);
  expect((await cache.load('a', 51))?.messages.slice(-51)).toEqual(turn.slice(-51));
});

test('a released session is read again', async () => {
  const { store, control } = instrumented();
  const cache = cached(store);
  await cache.append('a', messages(2));
  await cache.load('a');
  cache.release('a');
  expect((await cache.load('a'))?.messages).toEqual(messages(2));
  expect(control.loads).toBe(2);
});

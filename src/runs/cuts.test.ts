import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { FakeClock } from '../testing/fakes.ts';
import { createMemoryStore } from '../testing/memory-sessions.ts';
import { appendWithCuts, behindLastCut, newestKept, titleOf, withLines } from './cuts.ts';

const timestamp = '2026-01-01T00:00:00.000Z';
const line = (id: string, role: SessionMessage['role'] = 'user'): SessionMessage => ({ id, role, content: id, timestamp });
const cut = (id: string, keep: number, gone?: true): SessionMessage => ({
  ...{ id, role: 'system', content: '', timestamp },
  cut: { keep, ...(gone ? { gone } : {}) },
});
const ids = (lines: readonly SessionMessage[] = []): readonly string[] => lines.map(({ id }) => id);

const LINES = [
  line('a'),
  line('b'),
  cut('C', 1),
  line('d'),
  line('e'),
  cut('F', 0),
  line('g'),
  line('h'),
  cut('I', 2),
  line('j'),
];

test('a reader sees what the last marks left, wherever they stand', () => {
  expect(ids(withLines([line('z')], LINES.slice(0, 3)))).toEqual(['b']);
  expect(ids(withLines([line('z')], LINES.slice(0, 5)))).toEqual(['b', 'd', 'e']);
  expect(ids(withLines([line('z')], LINES))).toEqual(['g', 'h', 'j']);
  expect(ids(withLines([line('z')], [line('a'), cut('C', 9, true), line('b')]))).toEqual(['b']);
});

test('what is kept never begins with a result whose call is not there', () => {
  expect(ids(newestKept([line('a'), line('t', 'tool'), line('b')], 2))).toEqual(['b']);
});

test('a file that is killed after any write and given the same lines again ends as if nothing had happened', async () => {
  const whole = createMemoryStore({ clock: new FakeClock() });
  await appendWithCuts(whole, 's', LINES);
  expect(ids((await whole.load('s'))?.messages)).toEqual(['g', 'h', 'j']);
  expect(ids(await whole.archived('s'))).toEqual(['a', 'b', 'd', 'e', 'g', 'h']);
  for (let killAt = 1; killAt <= 7; killAt += 1) {
    const store = createMemoryStore({ clock: new FakeClock() });
    let writes = 0;
    const counting =
      <A extends readonly unknown[]>(write: (...args: A) => Promise<void>) =>
      async (...args: A): Promise<void> => {
        await write(...args);
        writes += 1;
        if (writes === killAt) throw new Error('killed');
      };
    const dying = { ...store, append: counting(store.append), rewrite: counting(store.rewrite), remove: counting(store.remove) };
    await appendWithCuts(dying, 's', LINES).catch(() => undefined);
    await appendWithCuts(store, 's', LINES);
    expect([killAt, ids((await store.load('s'))?.messages)]).toEqual([killAt, ['g', 'h', 'j']]);
    expect(ids(await store.archived('s'))).toEqual(['a', 'b', 'd', 'e', 'g', 'h']);
  }
});

test('a session that was deleted and begun again keeps only what came after', async () => {
  const store = createMemoryStore({ clock: new FakeClock() });
  const lines = [line('a'), cut('C', 0, true), line('b')];
  await appendWithCuts(store, 's', lines);
  await appendWithCuts(store, 's', lines);
  expect([ids((await store.load('s'))?.messages), ids(await store.archived('s'))]).toEqual([['b'], []]);
});

test('only what stands behind the newest mark of the file is still to come', () => {
  expect(ids(behindLastCut(LINES, { cut: 'F' }))).toEqual(['g', 'h', 'I', 'j']);
  expect(behindLastCut(LINES, {})).toEqual(LINES);
});

test('a session is called by the first words of a person, on one line', () => {
  expect(titleOf([line('x', 'assistant'), { ...line('y'), content: 'two\nlines' }])).toBe('two lines');
  expect(titleOf([])).toBeUndefined();
});

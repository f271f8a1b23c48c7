import { expect, test } from 'vitest';
import type { SessionMessage, SessionStore } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { createMemoryStore } from '../testing/memory-sessions.ts';
import { LineMover } from './line-mover.ts';

const SESSIONS = 200;

/** So many lines, of one session after the other. */
function backlog(lines: number) {
  let rows = Array.from({ length: lines }, (_, index) => {
    const line: SessionMessage = { id: `l${index}`, role: 'user', content: 'words', timestamp: '2026-01-01T00:00:00Z' };
    return { seq: index + 1, session: `s${index % SESSIONS}`, line };
  });
  const read: number[] = [];
  return {
    read,
    left: () => rows.length,
    async unflushed(limit: number, after = 0) {
      const page = rows.filter(({ seq }) => seq > after).slice(0, limit);
      read.push(page.length);
      return [...Map.groupBy(page, ({ session }) => session)].map(([session, of]) => ({ session, lines: of }));
    },
    async flushed(seqs: readonly number[]) {
      const moved = new Set(seqs);
      rows = rows.filter(({ seq }) => !moved.has(seq));
    },
  };
}

test('a backlog is moved in rounds that grow, so that more lines of a session share one write', async () => {
  const journal = backlog(12_000);
  const files = new Map<string, string[]>();
  let writes = 0;
  const store = {
    async append(key: string, lines: readonly SessionMessage[]) {
      writes += 1;
      files.set(key, [...(files.get(key) ?? []), ...lines.map(({ id }) => id)]);
    },
  } as unknown as SessionStore;
  const onError = (error: unknown) => {
    throw error;
  };
  await using mover = new LineMover({ journal, store, clock: systemClock, onError });
  await mover.moveAll();
  expect(journal.left()).toBe(0);
  expect(journal.read).toEqual([500, 1_000, 2_000, 4_000, 4_000, 500]);
  expect(writes).toBe(6 * SESSIONS);
  expect(files.get('s7')?.slice(0, 3)).toEqual(['l7', 'l207', 'l407']);
  expect(new Set([...files.values()].flat()).size).toBe(12_000);
});

test('the session of a task or a sub-agent is released once its lines are in its file, that of a chat is not', async () => {
  const sessions = [
    '_main:telegram:1',
    '_main:telegram:1#task:t',
    'task:t',
    '_main:telegram:1#run:call',
    '_main:telegram:1#plans',
  ];
  let rows = sessions.map((session, seq) => {
    const line: SessionMessage = { id: `l${seq}`, role: 'user', content: 'words', timestamp: '2026-01-01T00:00:00Z' };
    return { session, lines: [{ seq: seq + 1, line }] };
  });
  const journal = {
    unflushed: async () => rows,
    flushed: async () => {
      rows = [];
    },
  };
  const seen: string[] = [];
  const store = {
    append: async (key: string) => void seen.push(`append ${key}`),
    release: (key: string) => void seen.push(`release ${key}`),
  } as unknown as SessionStore;
  await using mover = new LineMover({ journal, store, clock: systemClock, onError: () => undefined });
  await mover.moveAll();
  expect(seen.filter((what) => what.startsWith('release')).sort()).toEqual([
    'release _main:telegram:1#run:call',
    'release _main:telegram:1#task:t',
    'release task:t',
  ]);
  expect(seen.indexOf('append task:t')).toBeLessThan(seen.indexOf('release task:t'));
});

test('what is on its way to the archive of a topic goes with the topic when that is deleted, and what comes later stays', async () => {
  const topic = '_main:telegram:1#work';
  const line = (id: string, more: Partial<SessionMessage> = {}): SessionMessage => ({
    ...{ id, role: 'user', content: 'words', timestamp: '2026-01-01T00:00:00Z' },
    ...more,
  });
  const archive = `${topic}##archived`;
  let rows = [
    { session: topic, lines: [{ seq: 1, line: line('question') }] },
    { session: archive, lines: [{ seq: 2, line: line('of a turn before it began anew') }] },
    { session: '_main:telegram:1#other##archived', lines: [{ seq: 3, line: line('of another') }] },
    { session: topic, lines: [{ seq: 4, line: line('cut', { role: 'system', cut: { keep: 0, gone: true } }) }] },
  ];
  const merged = () =>
    [...Map.groupBy(rows, ({ session }) => session)].map(([session, of]) => ({
      session,
      lines: of.flatMap(({ lines }) => lines),
    }));
  const journal = {
    unflushed: async () => merged(),
    flushed: async () => {
      rows = [];
    },
  };
  const store = createMemoryStore({ clock: systemClock });
  await using mover = new LineMover({ journal, store, clock: systemClock, onError: (error) => expect.fail(String(error)) });
  const left = async () => [(await store.load(topic))?.messages, await store.archived(topic)];
  await mover.moveAll();
  expect(await left()).toEqual([undefined, []]);
  expect(await store.archived('_main:telegram:1#other')).toMatchObject([{ id: 'of another' }]);
  rows = [{ session: archive, lines: [{ seq: 5, line: line('of a topic of that name that is begun later') }] }];
  await mover.moveAll();
  expect(await left()).toMatchObject([undefined, [{ id: 'of a topic of that name that is begun later' }]]);
});

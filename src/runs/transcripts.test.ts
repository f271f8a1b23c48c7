import { expect, it } from 'vitest';
import type { Commits } from '../core/commit.ts';
import { laneKey, sessionKey } from '../core/ids.ts';
import type { Journal, SessionLines } from '../core/journal.ts';
import type { SessionMessage, SessionStore } from '../core/session.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { FakeClock, inbound, tempDir, until } from '../testing/fakes.ts';
import { createMemoryStore } from '../testing/memory-sessions.ts';
import { Transcripts } from './transcripts.ts';

const line = (id: string, role: SessionMessage['role'] = 'user'): SessionMessage => ({
  id,
  role,
  content: `text ${id}`,
  timestamp: '2026-01-01T00:00:00.000Z',
});

/** A store whose appends to sessions in `broken` fail as on a file that cannot be written. */
function breakable(): { store: SessionStore; broken: Set<string> } {
  const broken = new Set<string>();
  const memory = createMemoryStore({ clock: systemClock });
  const append: SessionStore['append'] = async (key, lines) => {
    if (broken.has(key)) throw new Error(`no room for ${key}`);
    await memory.append(key, lines);
  };
  return { store: { ...memory, append }, broken };
}

/** A real journal, a store in memory, and turns that only write their lines. */
async function setUp(path: string, store = breakable()) {
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: path, clock, highWater: 10_000, onFatal: () => undefined });
  const errors: unknown[] = [];
  const transcripts = new Transcripts({ journal, store: store.store, clock, onError: (error) => errors.push(error) });
  let count = 0;
  const turn = async (chatId: string, lines: readonly SessionMessage[], tell = true): Promise<string> => {
    count += 1;
    const message = inbound({ chatId, platformId: `${chatId}-${count}-${journal.bootId}` });
    const session = sessionKey(message);
    await finishTurn(journal, message, lines);
    if (tell) transcripts.committed(session, lines);
    return session;
  };
  const close = async (): Promise<void> => {
    await transcripts[Symbol.asyncDispose]();
    await journal[Symbol.asyncDispose]();
  };
  return { clock, journal, transcripts, errors, turn, ...store, [Symbol.asyncDispose]: close };
}

async function finishTurn(journal: Journal, message: ReturnType<typeof inbound>, lines: readonly SessionMessage[]) {
  const admission = { kind: 'admit', message, lane: laneKey(message), session: sessionKey(message) } as const;
  const [accepted] = await journal.accept([admission]);
  const row = accepted?.kind === 'new' ? await journal.claim(accepted.row.seq) : undefined;
  if (!row) throw new Error('the row was not new');
  const { seq, generation } = row;
  await journal.finish({ seq, generation, state: 'DONE', outcome: 'answered', lines, parts: [] });
}

const ids = (messages: readonly SessionMessage[] | undefined): string[] => (messages ?? []).map(({ id }) => id);

it('a turn reads the lines of the turn before it, though they are not in the file yet', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const session = await rig.turn('a', [line('1'), line('2', 'assistant')]);
  expect(await rig.store.load(session)).toBeUndefined();
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(['1', '2']);
});

it('lines reach the file soon and in order, leave the journal, and are read once', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  await rig.turn('a', [line('1')]);
  const session = await rig.turn('a', [line('2')]);
  await rig.clock.advance(1_000);
  await until('the journal let them go', async () => (await rig.journal.unflushed(10)).length === 0);
  expect(ids((await rig.store.load(session))?.messages)).toEqual(['1', '2']);
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(['1', '2']);
});

it('F16 one file that cannot be written keeps back its own lines and no other session’s', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const bad = await rig.turn('bad', [line('1')]);
  const good = await rig.turn('good', [line('2')]);
  rig.broken.add(bad);
  await rig.transcripts.flush();
  expect(ids((await rig.store.load(good))?.messages)).toEqual(['2']);
  expect(ids(await rig.transcripts.load(bad, 50))).toEqual(['1']);
  expect(rig.errors.map(String)).toEqual([`Error: no room for ${bad}`]);
  rig.broken.clear();
  await rig.transcripts.flush();
  expect(ids((await rig.store.load(bad))?.messages)).toEqual(['1']);
});

it('a file that could not be written is tried again without a new message', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const session = await rig.turn('a', [line('1')]);
  rig.broken.add(session);
  await rig.clock.advance(1_000);
  await until('the failure was reported', () => rig.errors.length === 1);
  rig.broken.clear();
  await until('the line is in the file', async () => {
    await rig.clock.advance(5_000);
    return (await rig.store.load(session)) !== undefined;
  });
});

it('F16 shutdown does not wait for a file that cannot be written; the next start has the lines', async () => {
  await using dir = await tempDir();
  const disk = breakable();
  let session = '';
  {
    await using rig = await setUp(dir.path, disk);
    session = await rig.turn('a', [line('1')]);
    disk.broken.add(session);
    await rig.clock.advance(1_000);
    await until('the failure was reported', () => rig.errors.length === 1);
    await rig.transcripts.flush();
  }
  await using rig = await setUp(dir.path, disk);
  await rig.transcripts.flush();
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(['1']);
  disk.broken.clear();
  await rig.transcripts.flush();
  expect(ids((await rig.store.load(session))?.messages)).toEqual(['1']);
});

it('a start finds lines of a killed process in the journal and moves them, all batches of them', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const many = Array.from({ length: 1_200 }, (_, n) => line(`${n}`));
  const session = await rig.turn('a', many, false);
  await rig.transcripts.flush();
  expect((await rig.store.load(session))?.messages.length).toBe(1_200);
  expect(await rig.journal.unflushed(1)).toEqual([]);
});

it('/new counts lines that were still on their way, and none of them comes back', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const session = await rig.turn('a', [line('1'), line('2'), line('3')]);
  expect(await rig.transcripts.restart(session, 1)).toBe(1);
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(['3']);
  await rig.clock.advance(10_000);
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(['3']);
});

it('M6 what a provider wants back stays on the lines that /new --keep carries over', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const kept = { ...line('3', 'assistant'), provider_state: { provider: 'p', model: 'm', data: { signature: 's' } } };
  const session = await rig.turn('a', [line('1'), line('2'), kept, line('4')]);
  expect(await rig.transcripts.restart(session, 2)).toBe(2);
  expect(await rig.transcripts.load(session, 50)).toEqual([kept, line('4')]);
});

it('/new never begins with a tool result', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const session = await rig.turn('a', [line('1'), line('2', 'assistant'), line('3', 'tool'), line('4', 'tool'), line('5')]);
  expect(await rig.transcripts.restart(session, 3)).toBe(1);
});

it('/new fails, and forgets nothing, while its session cannot be written; another session’s trouble does not hinder it', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const bad = await rig.turn('bad', [line('1'), line('2')]);
  const good = await rig.turn('good', [line('3'), line('4')]);
  rig.broken.add(bad);
  await expect(rig.transcripts.restart(bad, 0)).rejects.toThrow('no room');
  expect(ids(await rig.transcripts.load(bad, 50))).toEqual(['1', '2']);
  expect(await rig.transcripts.restart(good, 0)).toBe(0);
});

it('more lines than one batch of sessions that cannot be written keep back no other session’s', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const many = (name: string) => Array.from({ length: 400 }, (_, n) => line(`${name}${n}`));
  for (const name of ['bad', 'worse']) rig.broken.add(await rig.turn(name, many(name)));
  const late = await rig.turn('worse', [line('worse400')]);
  const good = await rig.turn('good', [line('1')]);
  await rig.transcripts.flush();
  expect(ids((await rig.store.load(good))?.messages)).toEqual(['1']);
  expect(rig.errors).toHaveLength(2);
  expect((await rig.transcripts.load(late, 50)).at(-1)?.id).toBe('worse400');
  rig.broken.clear();
  await rig.transcripts.flush();
  const worse = [...ids(many('worse')), 'worse400'];
  expect(ids((await rig.store.load(late))?.messages)).toEqual(worse);
});

it('a start keeps all lines at hand of a session that cannot be written, however many', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const many = Array.from({ length: 1_200 }, (_, n) => line(`${n}`));
  const session = await rig.turn('a', many, false);
  rig.broken.add(session);
  await rig.transcripts.flush();
  expect(ids(await rig.transcripts.load(session, 50))).toEqual(ids(many));
});

it('lines that the journal does not let go are the newest only once', async () => {
  await using dir = await tempDir();
  await using rig = await setUp(dir.path);
  const stalled = Promise.withResolvers<void>();
  const journal: SessionLines & Commits = {
    unflushed: (...args) => rig.journal.unflushed(...args),
    flushed: () => stalled.promise,
    commit: (...args) => rig.journal.commit(...args),
  };
  // As a file, of which only the end is read.
  const load: SessionStore['load'] = async (key, newest = Infinity) => {
    const session = await rig.store.load(key);
    return session && { ...session, messages: session.messages.slice(-newest) };
  };
  const transcripts = new Transcripts({
    ...rig,
    store: { ...rig.store, load },
    journal,
    onError: (error) => rig.errors.push(error),
  });
  const many = Array.from({ length: 150 }, (_, n) => line(`${n}`));
  const session = await rig.turn('a', many, false);
  transcripts.committed(session, many);
  const flushing = transcripts.flush();
  await until('the file has them', async () => (await rig.store.load(session))?.messages.length === 150);
  expect(ids(await transcripts.load(session, 50)).slice(-50)).toEqual(ids(many.slice(100)));
  stalled.resolve();
  await flushing;
  await transcripts[Symbol.asyncDispose]();
});

it('lines that reach their file while a turn reads it are in what it reads', async () => {
  await using dir = await tempDir();
  const disk = breakable();
  const gate = Promise.withResolvers<void>();
  let reading = false;
  const load: SessionStore['load'] = async (...args) => {
    const before = await disk.store.load(...args);
    reading = true;
    await gate.promise;
    return before;
  };
  await using rig = await setUp(dir.path, { ...disk, store: { ...disk.store, load } });
  const session = await rig.turn('a', [line('1')]);
  const loading = rig.transcripts.load(session, 50);
  await until('the file was read', () => reading);
  await rig.transcripts.flush();
  gate.resolve();
  expect(ids(await loading)).toEqual(['1']);
});

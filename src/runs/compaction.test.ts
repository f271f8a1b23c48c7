import { expect, onTestFinished, test } from 'vitest';
import { isCompacted } from '../agent/compact.ts';
import type { ModelAccess, ModelReply } from '../core/ask-model.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage, SessionStore } from '../core/session.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, gate, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { createMemoryStore } from '../testing/memory-sessions.ts';
import { Compaction } from './compaction.ts';
import { Transcripts } from './transcripts.ts';

const SESSION = '_main:test:chat-1';
const ROW = { key: 'test/bot/m1', session: SESSION } as RunRow;
const never = new AbortController().signal;

function lines(count: number, from = 0): readonly SessionMessage[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `l${from + n}`,
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `said ${from + n}`,
    timestamp: '2026-01-01T00:00:00.000Z',
  }));
}

async function scene(reply: () => ModelReply | Promise<ModelReply>, held: readonly string[] = []) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const store = createMemoryStore({ clock });
  const errors: unknown[] = [];
  const logger = new MemoryLogger();
  const transcripts = new Transcripts({ journal: opened.journal, store, clock, onError: (error) => errors.push(error) });
  let asked = 0;
  const models: ModelAccess = {
    window: async () => 8_000,
    async ask() {
      asked += 1;
      return await reply();
    },
  };
  const settings = { isOn: true, isBusy: false, isBeside: false, held };
  let counted = 0;
  const counting = {
    load(session: string, newest?: number) {
      if (newest !== undefined) counted += 1;
      return transcripts.load(session, newest);
    },
    flush: () => transcripts.flush(),
    replace: (...args: Parameters<Transcripts['replace']>) => transcripts.replace(...args),
    sessions: transcripts.sessions,
    get erased() {
      return transcripts.erased;
    },
  };
  const compaction = new Compaction({
    ...{ transcripts: counting, clock, logger, models: () => models },
    isOn: () => settings.isOn,
    isBusy: () => settings.isBusy,
    waits: { heldHistory: async () => settings.held, isBesideUnderWay: async () => settings.isBeside },
  });
  transcripts.closeFirst(compaction);
  onTestFinished(async () => {
    await transcripts[Symbol.asyncDispose]();
    await opened.journal[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });
  return {
    ...{ clock, store, transcripts, compaction, logger, settings },
    asked: () => asked,
    /** How often the lines were read to count them. */
    counted: () => counted,
    /** As a turn's end does: in the journal, and on its way into the file. */
    async commit(added: readonly SessionMessage[]) {
      await opened.journal.commit(added.map((line) => ({ kind: 'line', session: SESSION, line })));
      transcripts.committed(SESSION, added);
    },
    ids: async () => (await transcripts.load(SESSION)).map(({ id }) => id),
    stored: async (from: SessionStore = store) => (await from.load(SESSION))?.messages ?? [],
  };
}

const SUMMARY: ModelReply = { kind: 'answer', text: 'They talked.', isComplete: true };

test('lines that are still in the journal are compacted with the others, and none comes back', async () => {
  const at = await scene(() => SUMMARY);
  await at.commit(lines(40));
  expect(await at.compaction.now(ROW, never)).toEqual({ kind: 'done', messages: 30, kept: 10 });
  await at.transcripts.flush();
  const ids = await at.ids();
  expect([ids.length, ids[0], ids[1]]).toEqual([11, `compacted:${ROW.key}`, 'l30']);
  expect((await at.stored()).map(({ id }) => id)).toEqual(ids);
});

test('the same command after a crash compacts nothing more and answers the same', async () => {
  const at = await scene(() => SUMMARY);
  await at.commit(lines(20));
  const done = await at.compaction.now(ROW, never);
  await at.commit(lines(2, 20));
  expect(await at.compaction.now(ROW, never)).toEqual({ ...done, kept: 12 });
  expect(at.asked()).toBe(1);
});

test('lines stay while a run beside another one has them for its history and may still be parked', async () => {
  const at = await scene(() => SUMMARY);
  at.settings.isBeside = true;
  await at.commit(lines(40));
  expect(await at.compaction.now(ROW, never)).toEqual({ kind: 'nothing', isHeld: true });
  at.compaction.after(ROW, 2);
  await at.compaction.idle();
  expect([(await at.ids()).length, at.asked()]).toEqual([40, 0]);
  at.settings.isBeside = false;
  at.compaction.after(ROW, 2);
  await at.compaction.idle();
  expect(await at.ids()).toHaveLength(11);
});

test('a summary is dropped where the session was begun anew, or a run was parked, while it was made', async () => {
  for (const change of ['new', 'parked'] as const) {
    const open = gate();
    const at = await scene(() => open.opened.then(() => SUMMARY));
    await at.commit(lines(40));
    at.compaction.after(ROW, 2);
    await until('it is asked', () => at.asked() === 1);
    if (change === 'new') await at.transcripts.sessions.runExclusive(SESSION, () => at.transcripts.restart(SESSION, 4));
    else at.settings.held = ['l39'];
    open.open();
    await until('it was given up', () => at.logger.lines.some(({ event }) => event === 'session.not-compacted'));
    expect((await at.stored()).some(isCompacted)).toBe(false);
    expect(await at.ids()).toHaveLength(change === 'new' ? 4 : 40);
  }
});

test('a summary is dropped where words that it was made of were erased while it was made', async () => {
  const open = gate();
  const at = await scene(() => open.opened.then(() => SUMMARY));
  await at.commit(lines(40));
  at.compaction.after(ROW, 2);
  await until('it is asked', () => at.asked() === 1);
  await at.transcripts.sessions.runExclusive(SESSION, () =>
    at.transcripts.apart([SESSION], async () => {
      await at.store.redact(SESSION, async () => (line) => (line.id === 'l3' ? { ...line, content: '[erased]' } : undefined));
    }),
  );
  open.open();
  await until('it was given up', () => at.logger.lines.some(({ event }) => event === 'session.not-compacted'));
  expect((await at.stored()).some(isCompacted)).toBe(false);
});

test('a session in which runs went on beside each other is compacted in the order in which it was said', async () => {
  const at = await scene(() => SUMMARY);
  const [first, second] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z'];
  // The run beside `main` began later, and left its lines first.
  const beside = { beside: 'main', timestamp: second };
  await at.commit([
    { id: 'other:in', role: 'user', content: 'later', ...beside },
    { id: 'other#a1', role: 'assistant', content: 'to later', ...beside },
  ]);
  await at.transcripts.flush();
  await at.commit([{ id: 'main:in', role: 'user', content: 'earlier', timestamp: first }, ...lines(37)]);
  expect(await at.compaction.now(ROW, never)).toEqual({ kind: 'done', messages: 30, kept: 10 });
});

test('what a parked run needs stays, and /compact says so', async () => {
  const at = await scene(() => SUMMARY, ['l39']);
  await at.commit(lines(40));
  expect(await at.compaction.now(ROW, never)).toEqual({ kind: 'nothing', isHeld: true });
  await at.commit(lines(20, 40));
  expect(await at.compaction.now(ROW, never)).toEqual({ kind: 'done', messages: 10, kept: 10 });
  expect((await at.ids()).slice(38, 42)).toEqual(['l38', 'l39', `compacted:${ROW.key}`, 'l50']);
});

test('after a failure the session is left alone for a minute, then for two', async () => {
  const at = await scene(() => ({ kind: 'failed', reason: 'no' }));
  await at.commit(lines(40));
  const turn = async (tries: number) => {
    at.compaction.after(ROW, 2);
    await until('it is over', () => at.logger.lines.filter(({ event }) => event === 'session.not-compacted').length === tries);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await turn(1);
  await at.clock.advance(59_000);
  await turn(1);
  await at.clock.advance(2_000);
  await turn(2);
  await at.clock.advance(119_000);
  await turn(2);
  expect(at.asked()).toBe(2);
  expect(await at.ids()).toHaveLength(40);
});

test('where it is switched off, nothing happens by itself', async () => {
  const at = await scene(() => SUMMARY);
  at.settings.isOn = false;
  await at.commit(lines(60));
  at.compaction.after(ROW, 2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(at.asked()).toBe(0);
});

test('a summary that is cut, or longer than was asked for, says so', async () => {
  const at = await scene(() => ({ kind: 'answer', text: 'word '.repeat(400), isComplete: false }));
  await at.commit(lines(20));
  await at.compaction.now(ROW, never);
  const [summary] = await at.stored();
  expect(summary?.content.match(/\bword\b/g)).toHaveLength(300);
  expect(summary?.content.endsWith(' …')).toBe(true);
});

test('a summary without blanks between its words is bounded by its characters', async () => {
  const at = await scene(() => ({ kind: 'answer', text: '他们说了很多𠀀'.repeat(2_000), isComplete: true }));
  await at.commit(lines(20));
  await at.compaction.now(ROW, never);
  const [, , text = ''] = (await at.stored())[0]?.content.split('\n') ?? [];
  expect(text.length).toBeGreaterThan(3_000);
  expect(text.length).toBeLessThanOrEqual(3_072 + 2);
  expect([text.isWellFormed(), text.endsWith(' …')]).toEqual([true, true]);
});

test('while messages wait for their turn a summary waits for a few lines more', async () => {
  const at = await scene(() => SUMMARY);
  at.settings.isBusy = true;
  await at.commit(lines(44));
  at.compaction.after(ROW, 44);
  await until('it was counted', () => at.counted() === 1);
  expect(at.asked()).toBe(0);
  await at.commit(lines(2, 44));
  at.compaction.after(ROW, 2);
  await until('it is asked', () => at.asked() === 1);
});

test('the lines of a session are counted once in a few turns, whatever else has come', async () => {
  const at = await scene(() => SUMMARY);
  await at.commit(lines(2));
  at.compaction.after(ROW, 2);
  await until('the first count', () => at.counted() === 1);
  // Not told of: the lines of a run that was stopped, of what was relayed, of a fork.
  await at.commit(lines(40, 2));
  for (let turn = 1; turn < 8; turn += 1) at.compaction.after(ROW, 2);
  expect(at.counted()).toBe(1);
  at.compaction.after(ROW, 2);
  await until('it is asked', () => at.asked() === 1);
});

import { expect, onTestFinished, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import type { ModelReply } from '../core/ask-model.ts';
import { ERASED } from '../core/erasure.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, gate, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { Compaction } from './compaction.ts';
import { eraseRule } from './erase-lines.ts';
import { Transcripts } from './transcripts.ts';

const SESSION = '_main:test:group';
const ROW = { key: 'test/bot/m1', session: SESSION } as RunRow;
const ANEW: ModelReply = { kind: 'answer', text: 'They talked, anew.', isComplete: true };
const never = new AbortController().signal;

/** Every third line is of Eve, the others of Ben and Ada. */
function lines(count: number, from = 0): readonly SessionMessage[] {
  return Array.from({ length: count }, (_, n) => {
    const who = ['eve', 'ben', 'ada'][(from + n) % 3] ?? '';
    const content = `[from ${who}] words of ${who} ${from + n}`;
    const timestamp = new Date(1_700_000_000_000 + (from + n) * 1_000).toISOString();
    return { id: `test/bot/l${from + n}:in`, role: 'user', content, by: `test:${who}`, timestamp };
  });
}

async function scene() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const store = openJsonlStore({ dir: dir.path, clock, onDamage: () => undefined });
  const logger = new MemoryLogger();
  const transcripts = new Transcripts({ journal: opened.journal, store, clock, onError: () => undefined });
  const asked: string[] = [];
  const settings = { reply: (): ModelReply | Promise<ModelReply> => ANEW, held: [] as readonly string[] };
  const compaction = new Compaction({
    ...{ transcripts, clock, logger, isOn: () => true, isBusy: () => false },
    models: () => ({
      window: async () => 8_000,
      async ask({ data }) {
        asked.push(data);
        return await settings.reply();
      },
    }),
    waits: { heldHistory: async () => settings.held, isBesideUnderWay: async () => false },
  });
  transcripts.closeFirst(compaction);
  onTestFinished(async () => {
    await transcripts[Symbol.asyncDispose]();
    await opened.journal[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });
  const commit = async (added: readonly SessionMessage[]): Promise<void> => {
    await opened.journal.commit(added.map((line) => ({ kind: 'line', session: SESSION, line })));
    transcripts.committed(SESSION, added);
    await transcripts.flush();
  };
  return {
    ...{ clock, store, transcripts, compaction, logger, settings, asked, commit },
    turn: () => compaction.after(ROW, 2),
    async erase(who: string): Promise<void> {
      const theirs = { principals: new Set([`test:${who}`]), runs: new Set<string>(), names: [who] };
      await transcripts.sessions.runExclusive(SESSION, () =>
        transcripts.apart([SESSION], async () => {
          await store.redact(SESSION, async (all) => eraseRule(theirs, `erased:${who}`, all).change);
        }),
      );
    },
    summaries: async () => (await transcripts.load(SESSION)).filter(({ role }) => role === 'system'),
    failures: () => logger.lines.filter(({ event }) => event === 'session.not-compacted').length,
  };
}

/** A conversation of which 30 lines are a summary, and Eve was erased. */
async function emptied(how: 'after a turn' | 'by /compact' = 'after a turn') {
  const at = await scene();
  at.settings.reply = () => ({ kind: 'answer', text: 'Eve said a thing.', isComplete: true });
  await at.commit(lines(40));
  if (how === 'by /compact') await at.compaction.now({ ...ROW, key: 'test/bot/compact' } as RunRow, never);
  else at.turn();
  await until('it is compacted', async () => (await at.summaries()).length === 1);
  await at.compaction.idle();
  await at.commit(lines(4, 40));
  await at.erase('eve');
  expect((await at.summaries())[0]?.content).toBe(`Conversation summary (compacted from 30 messages)\n${ERASED}`);
  at.asked.length = 0;
  at.settings.reply = () => ANEW;
  return at;
}

test.each(['after a turn', 'by /compact'] as const)(
  'a summary made %s that an erasure emptied is made anew after the next turn, and no word of the person is in what it is made of',
  async (how) => {
    const at = await emptied(how);
    at.turn();
    await until('it is made anew', async () => (await at.summaries())[0]?.content.endsWith('They talked, anew.'));
    const [summary] = await at.summaries();
    expect(summary).toMatchObject({
      content: expect.stringContaining('compacted from 30 messages'),
      timestamp: lines(1)[0]?.timestamp,
    });
    expect((await at.transcripts.load(SESSION)).map(({ id }) => id).slice(1)).toEqual(lines(14, 30).map(({ id }) => id));
    expect(at.asked).toHaveLength(1);
    const entries = JSON.parse(at.asked[0] ?? '') as { readonly content: string }[];
    expect(entries.map(({ content }) => content)).toEqual(
      lines(30).map(({ content }) => (content.includes('eve') ? ERASED : content)),
    );
    await at.compaction.idle();
    at.turn();
    await at.compaction.idle();
    expect(at.asked).toHaveLength(1);
  },
);

test('where the model fails nothing changes, and it is made after a later turn', async () => {
  const at = await emptied();
  at.settings.reply = () => ({ kind: 'failed', reason: 'no' });
  const before = await at.transcripts.load(SESSION);
  at.turn();
  await until('it failed', () => at.failures() === 1);
  await at.compaction.idle();
  expect(await at.transcripts.load(SESSION)).toEqual(before);
  at.settings.reply = () => ANEW;
  at.turn();
  await at.compaction.idle();
  expect(at.asked).toHaveLength(1);
  await at.clock.advance(61_000);
  at.turn();
  await until('it is made anew', async () => (await at.summaries())[0]?.content.endsWith('They talked, anew.'));
});

test('it is dropped where another person was erased while it was made, and made once more without their words', async () => {
  const at = await emptied();
  const open = gate();
  at.settings.reply = () => open.opened.then((): ModelReply => ({ kind: 'answer', text: 'Ada spoke.', isComplete: true }));
  at.turn();
  await until('it is asked', () => at.asked.length === 1);
  await at.erase('ada');
  open.open();
  await until('it was given up', () => at.failures() === 1);
  await at.compaction.idle();
  expect((await at.summaries())[0]?.content).not.toContain('Ada');
  at.settings.reply = () => ANEW;
  await at.clock.advance(61_000);
  at.turn();
  await until('it is made anew', async () => (await at.summaries())[0]?.content.endsWith('They talked, anew.'));
  expect(at.asked[1]).toContain('words of ben');
  expect(at.asked[1]).not.toContain('words of ada');
});

test('it goes into the next summary with its messages, and one that was made anew is emptied and made again', async () => {
  const at = await emptied();
  await at.commit(lines(30, 44));
  at.turn();
  await until('all is one summary', async () => (await at.summaries())[0]?.content.includes('from 64 messages'));
  await at.compaction.idle();
  await at.erase('ben');
  at.turn();
  await until('it is made anew', () => at.asked.length === 2);
  await at.compaction.idle();
  expect((await at.summaries())[0]?.content).toContain('from 64 messages');
  expect((await at.summaries())[0]?.content).toContain('They talked, anew.');
  for (const words of ['words of ada 2', 'words of ada 62']) expect(at.asked[1]).toContain(`${words}"`);
  // Lines from 44 on are of after her erasure.
  for (const words of ['words of ben', 'words of eve 0"', 'words of eve 42"']) expect(at.asked[1]).not.toContain(words);
});

test('/compact makes it anew too, and a run that is parked keeps its history until it is over', async () => {
  const at = await emptied();
  at.settings.held = [lines(1, 43)[0]?.id ?? ''];
  at.turn();
  await at.compaction.idle();
  expect(at.asked).toEqual([]);
  at.settings.held = [];
  expect(await at.compaction.now(ROW, never)).toMatchObject({ kind: 'done', messages: 34 });
  expect(at.asked[0]).toContain('words of ben 1"');
});

test('one whose messages are in no archive stays, and no model is asked', async () => {
  const at = await emptied();
  const kept = await at.transcripts.load(SESSION);
  await at.store.remove(SESSION);
  await at.store.append(SESSION, kept);
  at.turn();
  await at.compaction.idle();
  expect(at.asked).toEqual([]);
  expect(await at.transcripts.load(SESSION)).toEqual(kept);
});

import { expect, test } from 'vitest';
import { laneKey, sessionKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewRun } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import { openJournal } from '../journal/open.ts';
import { createProviderRouter } from '../llm/routing/provider-router.ts';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { createMemoryStore } from '../testing/memory-sessions.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Choices, type ChoicesOptions } from './choices.ts';
import { Transcripts } from './transcripts.ts';

const AT = '2026-01-01T00:00:00.000Z';

async function scene(more: Partial<Pick<ChoicesOptions, 'named' | 'configured'>> = {}) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock });
  const store = createMemoryStore({ clock });
  const transcripts = new Transcripts({ journal, store, clock, onError: () => undefined });
  const model = scriptedModel([]);
  const choices = new Choices({ ...{ model, thinking: 'auto', journal, transcripts }, configured: () => ({}), ...more });
  let count = 0;
  const said = async (from: Partial<InboundMessage> = {}) => {
    count += 1;
    const message = inbound({ platformId: `m-${count}`, ...from });
    const [accepted] = await journal.accept([{ kind: 'admit', message, lane: laneKey(message), session: sessionKey(message) }]);
    if (accepted?.kind !== 'new') throw new Error('the row was not new');
    return accepted.row;
  };
  /** A run that answers in the chat of the messages. */
  const job = async (session: string): Promise<RunRow> => {
    const { channel, account, chatId } = inbound();
    const run: NewRun = {
      key: `job/1/${session}`,
      source: { kind: 'job', job: '1', due: 0 },
      ...{ profile: 'session', lane: session, session, replyTo: { channel, account, chatId } },
      prompt: { text: 'tidy up', media: [], at: AT },
      authority: { principal: 'job:1', role: 'member', mode: 'guarded', policies: [] },
    };
    await journal.commit([{ kind: 'run', run }]);
    const [row] = await journal.waiting(session, 1);
    if (!row) throw new Error('there is no such run');
    return row;
  };
  return {
    ...{ choices, store, said, job },
    thinking: async (row: RunRow) => (await choices.of(row)).thinking,
    async [Symbol.asyncDispose]() {
      await transcripts[Symbol.asyncDispose]();
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a choice holds in all threads of its chat, and in no other chat', async () => {
  await using at = await scene();
  await at.choices.choose(await at.said({ threadId: 'a' }), { thinking: 'high' });
  expect(await at.thinking(await at.said({ threadId: 'b' }))).toBe('high');
  expect(await at.thinking(await at.said())).toBe('high');
  expect(await at.thinking(await at.said({ chatId: 'other' }))).toBeUndefined();
});

test('a choice that an earlier version stored in the session holds until the chat chooses, and does not come back', async () => {
  await using at = await scene();
  const row = await at.said();
  await at.store.rewrite(row.session, [], { thinking: 'low', model: 'gone' });
  expect(await at.thinking(row)).toBe('low');
  await at.choices.choose(row, { thinking: 'high' });
  expect(await at.thinking(row)).toBe('high');
  expect((await at.choices.inForce(row)).gone).toBe('gone');
  await at.choices.choose(row, { thinking: null, model: null });
  expect(await at.thinking(row)).toBeUndefined();
  expect((await at.choices.inForce(row)).gone).toBeUndefined();
});

test('a run without a message goes by the chat where it goes on with the conversation, and not where it only answers', async () => {
  await using at = await scene();
  const row = await at.said();
  await at.choices.choose(row, { thinking: 'high' });
  expect(await at.thinking(await at.job(row.session))).toBe('high');
  expect(await at.thinking(await at.job('_main:job:1'))).toBeUndefined();
  // The same chat, of an account that was not the first of its channel.
  expect(await at.thinking(await at.job(sessionKey(inbound(), 'first')))).toBe('high');
});

test('the model of the purpose job holds where nothing was chosen, as one that was chosen does', async () => {
  const entryOf = (key: string) => ({ key, model: scriptedModel([], { id: `ollama/${key}`, contextWindow: 8_192 }) });
  const named = createProviderRouter(['cheap', 'deep'].map(entryOf));
  await using at = await scene({ named, configured: ({ message }) => (message ? {} : { jobModel: 'cheap' }) });
  const row = await at.said();
  const { model } = await at.choices.of(await at.job(row.session));
  expect([model.id, model.contextWindow]).toEqual(['ollama/cheap', 8_192]);
  await at.choices.choose(row, { model: 'deep' });
  expect((await at.choices.of(await at.job(row.session))).model.id).toBe('ollama/deep');
  expect((await at.choices.of(await at.job('_main:job:1'))).model.id).toBe('ollama/cheap');
});

import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { GatehouseError } from '../core/errors.ts';
import type { RunEvent } from '../core/events.ts';
import type { Journal } from '../core/journal.ts';
import type { ModelEvent } from '../core/model.ts';
import type { NewPart } from '../core/outbox.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const waiting = (waitMs: number): ModelEvent => ({ type: 'waiting', reason: 'rate-limit', waitMs });
const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
const done = (text: string): ModelEvent => ({
  type: 'done',
  answer: { text, toolCalls: [], stop: 'end', usage, provider: 'p', model: 'm' },
});

/** A journal whose `enqueue` is another one, given the real one. */
function enqueuing(enqueue: (parts: readonly NewPart[], journal: Journal) => Promise<void>): (journal: Journal) => Journal {
  return (journal) =>
    new Proxy(journal, {
      get(target, name) {
        if (name === 'enqueue') return (parts: readonly NewPart[]) => enqueue(parts, target);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
}

async function answered(dataDir: string, events: readonly ModelEvent[], options: object = {}): Promise<TestDaemon> {
  const rig = await testDaemon({ dataDir, model: scriptedModel(() => ({ events })), ...options });
  await rig.channel.deliver({ text: 'hello' });
  await rig.daemon.gateway.idle();
  return rig;
}

test.each([
  [40_000, '40 s'],
  [12_345, '13 s'],
  [100_000, '2 min'],
])('F24 a wait of %d ms is said in the chat, before the answer', async (waitMs, time) => {
  await using dir = await tempDir();
  await using rig = await answered(dir.path, [waiting(waitMs), done('the answer')]);
  expect(rig.channel.texts()).toEqual([`The AI model is busy. Your answer will come in about ${time}.`, 'the answer']);
  expect(rig.channel.sent[0]).toMatchObject({ key: 'test/bot/m1#delayed', messageId: 'test/bot/m1' });
});

test('F24 it is said once per message, however often its calls wait', async () => {
  await using dir = await tempDir();
  await using rig = await answered(dir.path, [waiting(40_000), waiting(20_000), done('the answer')]);
  await rig.channel.deliver({ text: 'and another' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts().map((text) => text.slice(0, 20))).toEqual(
    Array.from({ length: 2 }, () => ['The AI model is busy', 'the answer']).flat(),
  );
});

test('F24 it is written once per message, and the answer waits for it where the disk is slow', async () => {
  await using dir = await tempDir();
  let writes = 0;
  const slow = async (parts: readonly NewPart[], journal: Journal): Promise<void> => {
    writes += 1;
    await systemClock.sleep(50);
    await journal.enqueue(parts);
  };
  const events = [waiting(40_000), waiting(20_000), done('the answer')];
  await using rig = await answered(dir.path, events, { daemon: { wrapJournal: enqueuing(slow) } });
  expect(rig.channel.texts()).toEqual([expect.stringContaining('40 s'), 'the answer']);
  expect(writes).toBe(1);
});

test('F24 it is part of the timeline, and of no session', async () => {
  await using dir = await tempDir();
  const seen: string[] = [];
  const observe = ({ type }: RunEvent): void => void seen.push(type);
  await using rig = await answered(dir.path, [waiting(40_000), done('the answer')], { daemon: { observe } });
  expect(seen.filter((type) => type.startsWith('model.'))).toEqual(['model.started', 'model.waiting', 'model.done']);
  await rig.daemon.close();
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  const [info] = await store.list();
  const session = await store.load(info?.key ?? '');
  expect(session?.messages.map(({ content }) => content)).toEqual(['hello', 'the answer']);
});

test.each([
  ['one message from the command line', { interactive: false, message: 'hello' }, 1],
  ['a pipe', { interactive: false }, 1],
  ['a person at the terminal', { interactive: true }, 2],
])('F24 for %s', async (_who, terminal, texts) => {
  await using dir = await tempDir();
  const streams = { input: new PassThrough(), output: new PassThrough() };
  await using rig = await answered(dir.path, [waiting(40_000), done('the answer')], {
    local: true,
    daemon: { terminal: { ...streams, ...terminal } },
  });
  expect(rig.channel.texts()).toHaveLength(texts);
  expect(rig.channel.texts().at(-1)).toBe('the answer');
});

test('F13 when the notice cannot be written the answer comes all the same', async () => {
  await using dir = await tempDir();
  const full = async () => {
    throw new GatehouseError('GH1301', 'the disk is full');
  };
  await using rig = await answered(dir.path, [waiting(40_000), done('the answer')], { daemon: { wrapJournal: enqueuing(full) } });
  expect(rig.channel.texts()).toEqual(['the answer']);
  expect(rig.logger.lines).toContainEqual(
    expect.objectContaining({ event: 'failed', data: expect.objectContaining({ code: 'GH1301' }) }),
  );
});

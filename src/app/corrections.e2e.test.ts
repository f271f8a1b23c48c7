// A message is corrected after it was answered: the answer that stands changes where the platform can, and
// nothing stale stays.
import { expect, test } from 'vitest';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const LIMIT = 40;

async function scene(
  answers: readonly (ScriptStep | ScriptFunction)[],
  channel = new TestChannel('test', { text: LIMIT }).withEdits(),
  gateway: Record<string, unknown> = {},
) {
  const dir = await tempDir();
  const model = scriptedModel(answers);
  const running = await testDaemon({ dataDir: dir.path, model, channel, gateway, daemon: { clock: new SteadyClock() } });
  const settle = async (): Promise<void> => {
    await running.daemon.gateway.idle();
  };
  return {
    ...running,
    model,
    dir: dir.path,
    settle,
    ask: async (text = 'two and two?') => {
      await channel.deliver({ platformId: 'q1', text });
      await settle();
    },
    correct: async (text: string, n = 1, more: object = {}) => {
      await channel.deliver({ kind: 'edit', platformId: `q1-edit-${n}`, targetId: 'q1', text, ...more });
      await settle();
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** A text of that many parts. */
const long = (name: string, parts: number) =>
  Array.from({ length: parts }, (_, n) => `${name} ${n} ${'x'.repeat(30)}`).join('\n\n');
const partsOf = (text: string) => text.split('\n\n');

test('the answer to a correction takes the place of the old answer, and the agent is told that it is one', async () => {
  await using at = await scene(['four', 'five']);
  await at.ask();
  await at.correct('two and three?');
  expect(at.channel.screen()).toEqual(['five']);
  expect(at.channel.texts()).toEqual(['four']);
  expect(at.model.requests.at(-1)?.messages.at(-1)?.content).toBe('[correction of an earlier message] two and three?');
  expect((await at.daemon.journal.counts()).outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
});

test('a longer answer changes what is there and sends the rest; corrected again, all of it changes', async () => {
  await using at = await scene([long('a', 2), long('b', 4), long('c', 5), long('d', 3)]);
  await at.ask();
  await at.correct('again', 1);
  expect(at.channel.screen()).toEqual(partsOf(long('b', 4)));
  await at.correct('and again', 2);
  expect(at.channel.screen()).toEqual(partsOf(long('c', 5)));
  // Shorter: the end of the old one would stay.
  await at.correct('shorter', 3);
  expect(at.channel.screen()).toEqual([...partsOf(long('c', 5)), ...partsOf(long('d', 3))]);
});

test('after a correction that was answered in messages of its own, the next one changes those', async () => {
  await using at = await scene([long('a', 2), 'short', 'shorter']);
  await at.ask();
  await at.correct('b', 1);
  await at.correct('c', 2);
  expect(at.channel.screen()).toEqual([...partsOf(long('a', 2)), 'shorter']);
});

test('without edits, or when the platform refuses this one, it is an ordinary answer', async () => {
  await using plain = await scene(['four', 'five'], new TestChannel('test'));
  await plain.ask();
  await plain.correct('two and three?');
  expect(plain.channel.screen()).toEqual(['four', 'five']);
  await using late = await scene(['four', 'five', 'six']);
  await late.ask();
  late.channel.editResults.push({ kind: 'refused', reason: 'invalid', detail: 'too old to be edited' });
  await late.correct('two and three?');
  expect(late.channel.screen()).toEqual(['four', 'five']);
  await late.correct('two and four?', 2);
  expect(late.channel.screen()).toEqual(['four', 'six']);
});

test('F37 an edit whose answer is lost is made again on a platform that cannot be asked, and stands once', async () => {
  await using at = await scene(['four', 'five']);
  await at.ask();
  at.channel.editResults.push({ kind: 'unknown', detail: 'connection lost' });
  await at.correct('two and three?');
  expect(at.channel.screen()).toEqual(['five']);
  expect((await at.daemon.journal.counts()).outbox).toMatchObject({ SENT: 2, UNKNOWN: 0 });
});

test('an answer of unknown fate, or with a file, is left as it is', async () => {
  await using lost = await scene(['four', 'five']);
  lost.channel.results.push({ kind: 'unknown', detail: 'connection lost' });
  await lost.ask();
  await lost.correct('two and three?');
  expect(lost.channel.screen()).toEqual(['five']);
  const send = { toolCalls: [{ name: 'send_file', arguments: { file_path: 'plan.txt' } }], stop: 'tools' as const };
  const write = { toolCalls: [{ name: 'write_file', arguments: { path: 'plan.txt', content: 'x' } }], stop: 'tools' as const };
  await using filed = await scene([write, send, 'here', 'better']);
  await filed.ask();
  await filed.correct('two and three?');
  expect(filed.channel.screen()).toEqual(['here', '', 'better']);
});

test('a correction of what is answered beside the others changes that answer once it is there', async () => {
  const [long, quick] = [gate(), gate()];
  const answers = [() => long.opened.then(() => 'done'), () => quick.opened.then(() => 'four'), 'five'];
  await using at = await scene(answers, undefined, { queue_mode: 'speculative' });
  await at.channel.deliver({ platformId: 'q0', text: 'a long one' });
  await until('the first turn runs', () => at.model.requests.length === 1);
  await at.channel.deliver({ platformId: 'q1', text: 'two and two?' });
  await until('the other one runs beside it', () => at.model.requests.length === 2);
  long.open();
  await until('the first one is answered', () => at.channel.texts().length === 1);
  await at.channel.deliver({ kind: 'edit', platformId: 'q1-edit-1', targetId: 'q1', text: 'two and three?' });
  await new Promise((resolve) => setTimeout(resolve, 300));
  quick.open();
  await at.settle();
  expect(at.channel.screen()).toEqual(['done', 'five']);
});

test('a correction that comes while the first answer is written changes that answer once it is there', async () => {
  const held = gate();
  await using at = await scene([() => held.opened.then(() => 'four'), 'five', 'six']);
  await at.channel.deliver({ platformId: 'q1', text: 'two and two?' });
  await until('the first turn runs', () => at.model.requests.length === 1);
  await at.channel.deliver({ kind: 'edit', platformId: 'q1-edit-1', targetId: 'q1', text: 'two and three?' });
  held.open();
  await at.settle();
  await at.correct('two and four?', 2);
  expect(at.channel.texts()).toEqual(['four']);
  expect(at.channel.screen()).toEqual(['six']);
});

test('of corrections that come faster than they are answered, only the newest is worked on', async () => {
  const held = gate();
  await using at = await scene(['four', () => held.opened.then(() => 'five'), 'six']);
  await at.ask();
  const correct = (n: number) =>
    at.channel.deliver({ kind: 'edit', platformId: `q1-edit-${n}`, targetId: 'q1', text: `version ${n}` });
  await correct(1);
  await until('the first correction is worked on', () => at.model.requests.length === 2);
  for (const n of [2, 3, 4, 5, 6, 6]) await correct(n);
  held.open();
  await at.settle();
  const asked = at.model.requests.map(({ messages }) => messages.at(-1)?.content);
  const correction = '[correction of an earlier message]';
  expect(asked).toEqual(['two and two?', `${correction} version 1`, `${correction} version 6`]);
  expect(at.channel.screen()).toEqual(['six']);
});

/**
 * The answer to the first correction is too short for the place of the old one, and waits for the platform
 * while the next is worked on.
 */
async function heldUp(answers: readonly string[]) {
  const at = await scene([long('a', 2), 'short', ...answers]);
  await at.ask();
  at.channel.results.push({ kind: 'retry', reason: '429', afterMs: 600, scope: 'chat' });
  await at.channel.deliver({ kind: 'edit', platformId: 'q1-edit-1', targetId: 'q1', text: 'b' });
  await until('the answer waits', () => at.channel.results.length === 0);
  return at;
}

test('a correction whose predecessor is still on its way changes that one, and has the last word', async () => {
  await using at = await heldUp([long('c', 2)]);
  await at.correct('c', 2);
  expect(at.channel.screen()).toEqual([...partsOf(long('a', 2)), ...partsOf(long('c', 2))]);
});

test('where the predecessor never arrives, the next correction changes what came after it', async () => {
  await using at = await heldUp([long('c', 2), long('d', 2)]);
  at.channel.results.push({ kind: 'refused', reason: 'invalid', detail: 'not today' });
  await at.correct('c', 2);
  const screen = (name: string) => [...partsOf(long('a', 2)), ...partsOf(long(name, 2)), expect.stringContaining('GH1601')];
  expect(at.channel.screen()).toEqual(screen('c'));
  await at.correct('d', 3);
  expect(at.channel.screen()).toEqual(screen('d'));
});

test('a correction that was never delivered is passed over by the next', async () => {
  await using at = await scene([long('a', 2), 'short', long('c', 2)]);
  await at.ask();
  at.channel.results.push({ kind: 'refused', reason: 'invalid', detail: 'not today' });
  await at.correct('b', 1);
  await at.correct('c', 2);
  expect(at.channel.screen()).toEqual([...partsOf(long('c', 2)), expect.stringContaining('GH1601')]);
});

test('a correction of unknown fate may be the last word, so the next is a message of its own', async () => {
  await using at = await scene([long('a', 2), 'short', long('c', 2)]);
  await at.ask();
  at.channel.results.push({ kind: 'unknown', detail: 'connection lost' });
  await at.correct('b', 1);
  await at.correct('c', 2);
  expect(at.channel.screen()).toEqual([...partsOf(long('a', 2)), ...partsOf(long('c', 2))]);
});

test.each([1, 3])('a correction of what was replayed changes that answer of %i parts, not the notice above it', async (count) => {
  const fail = { kind: 'server', code: 'GH2103', message: 'x', hint: 'x', retryable: false } as const;
  // The notice is one part.
  const channel = new TestChannel('test', { text: 400 }).withEdits();
  const wide = (name: string) => Array.from({ length: count }, (_, n) => `${name} ${n} ${'x'.repeat(350)}`).join('\n\n');
  await using at = await scene([{ fail }, wide('a'), wide('b')], channel);
  await at.ask();
  const notice = expect.stringContaining('GH2103');
  expect(channel.screen()).toEqual([notice]);
  const { journal, gateway } = at.daemon;
  const [letter] = await journal.dead.list();
  await journal.dead.replay(letter?.id ?? '');
  await gateway.look();
  await at.settle();
  expect(channel.screen()).toEqual([notice, ...partsOf(wide('a'))]);
  await at.correct('two and three?');
  expect(channel.screen()).toEqual([notice, ...partsOf(wide('b'))]);
});

test('a failure leaves the old answer standing', async () => {
  await using at = await scene(['four']);
  await at.ask();
  await at.correct('two and three?');
  expect(at.channel.screen()).toEqual(['four', expect.stringMatching('The AI model'), expect.stringContaining('GH21')]);
});

test('A37 the same id in another chat names another message', async () => {
  await using at = await scene(['four', 'five']);
  await at.ask();
  await at.correct('two and three?', 1, { chatId: 'chat-2' });
  expect([at.channel.screen(), at.channel.screen('chat-2')]).toEqual([['four'], ['five']]);
});

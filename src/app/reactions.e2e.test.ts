// The agent reacts to the message it answers, where the channel has reactions.
import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { inbound, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const reacting = { toolCalls: [{ name: 'react', arguments: { emoji: '🎉' } }] };

async function scene(channel: TestChannel, redact?: (text: string) => string) {
  const dir = await tempDir();
  const model = scriptedModel([reacting, 'Well done!', 'More?']);
  const running = await testDaemon({ dataDir: dir.path, model, channel, daemon: redact ? { redact } : {} });
  return {
    ...running,
    model,
    say: async (message: Parameters<TestChannel['deliver']>[0]) => {
      await channel.deliver(message);
      await running.daemon.gateway.idle();
    },
    resultOf: () => model.requests[1]?.messages.at(-1)?.content,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('the channel is given the reaction under the message that is answered, and the answer follows', async () => {
  await using at = await scene(new TestChannel('test').withReactions());
  await at.say({ platformId: 'm7', text: 'I passed!' });
  expect(at.channel.reactions).toEqual([{ platformId: 'm7', emoji: '🎉' }]);
  expect(at.channel.texts()).toEqual(['Well done!']);
  expect(at.resultOf()).toBe('Reacted with 🎉');
});

test('the platform’s reason reaches the agent without a secret, and the turn goes on', async () => {
  const channel = new TestChannel('test');
  channel.react = () => Promise.reject(new Error('setReaction: 403 for token-123'));
  await using at = await scene(channel, (text) => text.replaceAll('token-123', '[secret]'));
  await at.say({ text: 'I passed!' });
  expect(at.resultOf()).toBe('Error: no reaction was put: setReaction: 403 for [secret]');
  expect(at.channel.texts()).toEqual(['Well done!']);
});

test.each([
  ['with reactions it is offered', new TestChannel('test').withReactions(), true],
  ['without reactions it is not', new TestChannel('test'), false],
])('%s, and every call of the conversation is given the same tools, byte for byte', async (_name, channel, offered) => {
  await using at = await scene(channel);
  await at.say({ text: 'I passed!' });
  await at.say({ text: 'And again!' });
  const lists = at.model.requests.map(({ tools }) => JSON.stringify(tools));
  expect(lists).toHaveLength(3);
  expect(new Set(lists).size).toBe(1);
  expect(at.model.requests[0]?.tools.some(({ name }) => name === 'react')).toBe(offered);
  if (!offered) expect(at.resultOf()).toMatch(/^Error: unknown tool react\. Available: read_file/);
});

test('the sign that the channel’s entry names stands under the message in the end', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test').withReactions();
  const entry = { reactions: { done: '✅' } };
  const { daemon, ...running } = await testDaemon({ dataDir: dir.path, model: scriptedModel(['Hello!']), channel, entry });
  await channel.deliver({ platformId: 'm1', text: 'hi' });
  await daemon.gateway.idle();
  await running[Symbol.asyncDispose]();
  expect(channel.reactions).toEqual([{ platformId: 'm1', emoji: '✅' }]);
});

test('👀 of a killed daemon under the message of a person who is blocked before the next start is taken away, once', async () => {
  await using dir = await tempDir();
  {
    // What a killed daemon leaves: a run that is under way, and the mark of its start.
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    await opened.journal.recover({ maxAttempts: 3, maxAgeMs: 3_600_000 }, () => []);
    const message = inbound({ senderId: 'eve', platformId: 'm7' });
    const [accepted] = await opened.journal.accept([
      { kind: 'admit', message, lane: 'test/bot/chat-1', session: '_main:test:chat-1' },
    ]);
    if (accepted?.kind !== 'new') throw new Error('it was not taken');
    await opened.journal.claim(accepted.row.seq);
  }
  {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock, remains: () => ({ lines: [], tools: [] }) });
    const who = { channel: 'test', senderId: 'eve' };
    await opened.journal.commit([{ kind: 'shut-out', who, as: 'blocked', by: 'cli' }]);
  }
  const model = scriptedModel(() => 'hi');
  for (const [n, expected] of [[{ platformId: 'm7', emoji: undefined }], []].entries()) {
    await using at = await testDaemon({ dataDir: dir.path, model, channel: new TestChannel('test').withReactions() });
    await until('it is taken away', () => at.channel.reactions.length === expected.length);
    await at.channel.deliver({ senderId: 'ada', platformId: `hello ${n}`, text: 'hello' });
    await at.daemon.gateway.idle();
    expect(at.channel.reactions).toEqual(expected);
  }
  expect(model.requests).toHaveLength(2);
});

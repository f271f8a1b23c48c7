// The agent reacts to the message it answers, where the channel has reactions.
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
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

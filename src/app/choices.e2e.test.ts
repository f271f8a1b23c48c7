// The agent offers choices: buttons or a list, what is pressed or typed, and what the agent makes of it.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir } from '../testing/fakes.ts';
import { callPieces, messagesOf, stream, textPieces, userText } from '../testing/model-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const LABELS = ['Tea', 'Coffee'];
const CHOICES = LABELS.map((label) => ({ label, value: label }));
const offer = (choices: readonly string[]) => ({ toolCalls: [{ name: 'offer_choices', arguments: { choices } }] });

async function scene(channel = new TestChannel('test'), entry: Record<string, unknown> = {}) {
  const dir = await tempDir();
  const model = scriptedModel([offer(LABELS), 'What may I bring?', 'Coming.']);
  const running = await testDaemon({ dataDir: dir.path, model, channel, entry });
  return {
    ...running,
    model,
    say: async (message: Parameters<TestChannel['deliver']>[0]) => {
      await channel.deliver(message);
      await running.daemon.gateway.idle();
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function withButtons(): TestChannel {
  const channel = new TestChannel('test').withEdits();
  channel.buttons = true;
  return channel;
}

const contents = (request: ModelRequest | undefined) => request?.messages.map(({ content }) => content) ?? [];

test('with buttons: they stand under the answer, and a press reaches the agent as what the button says', async () => {
  await using at = await scene(withButtons(), { allowed_groups: ['g'] });
  await at.say({ text: '@bot thirsty', chatId: 'g', isGroup: true, mentionsBot: true });
  expect(at.channel.sent.map(({ text, choices }) => ({ text, choices }))).toEqual([
    { text: 'What may I bring?', choices: CHOICES },
  ]);
  // As the adapters make it: under the rule of mentions a press addresses the agent.
  await at.say({ text: 'Coffee', chatId: 'g', isGroup: true, mentionsBot: true, replyTo: { platformId: 'p0', fromBot: true } });
  expect(at.channel.texts('g')).toEqual(['What may I bring?', 'Coming.']);
  expect(contents(at.model.requests.at(-1)).at(-1)).toMatch(/^\[.*\] Coffee$/);
});

test('a press of somebody who may not write to the agent is refused like any message', async () => {
  await using at = await scene(withButtons(), { allowed_senders: ['user-1'], allowed_groups: ['g'] });
  await at.say({ text: '@bot thirsty', chatId: 'g', isGroup: true, mentionsBot: true });
  await at.say({ text: 'Coffee', chatId: 'g', isGroup: true, mentionsBot: true, senderId: 'stranger' });
  expect(at.model.requests).toHaveLength(2);
  expect(at.channel.texts('g')).toEqual(['What may I bring?']);
});

test.each([
  ['without buttons', new TestChannel('test'), ['What may I bring?\n\n1. Tea\n2. Coffee']],
  ['with buttons', withButtons(), ['What may I bring?']],
])('%s: a typed number comes to an agent that has the numbered list in its history', async (_name, channel, texts) => {
  await using at = await scene(channel);
  await at.say({ text: 'thirsty' });
  expect(channel.texts()).toEqual(texts);
  await at.say({ text: '2' });
  const seen = contents(at.model.requests.at(-1));
  expect(seen.slice(-3)).toEqual(['Offered below the answer:\n1. Tea\n2. Coffee', 'What may I bring?', '2']);
  expect(channel.texts().at(-1)).toBe('Coming.');
});

test.each(['Cancel', 'stop', '/new', 'Allow', 'отмена'])(
  'the gateway answers to %s itself, so it is not offered',
  async (word) => {
    await using dir = await tempDir();
    const model = scriptedModel([offer(['Tea', word]), 'What may I bring?']);
    await using at = await testDaemon({ dataDir: dir.path, model, channel: withButtons() });
    await at.channel.deliver({ text: 'thirsty' });
    await at.daemon.gateway.idle();
    expect(contents(model.requests[1]).at(-1)).toContain(`"${word}" is a command of the chat itself`);
    expect(at.channel.sent.map(({ choices }) => choices)).toEqual([undefined]);
  },
);

test('killed before the answer was committed: the buttons stand under it after the restart, and a press in the group is answered', async () => {
  const group = -100;
  await using at = await telegramScene({
    entry: { allowed_groups: ['*'] },
    script: (request) => {
      const messages = messagesOf(request);
      if (userText(request).endsWith('Coffee')) return stream(textPieces('Coming.'));
      const hasOffered = messages.some(({ role }) => role === 'tool');
      if (!hasOffered) return stream(callPieces({ name: 'offer_choices', arguments: { choices: LABELS } }));
      return stream(textPieces('What may I bring?'));
    },
  });
  const text = `@${at.platform.username} thirsty`;
  at.platform.inject({ chat_id: group, text, entities: [{ type: 'mention', offset: 0, length: text.indexOf(' ') }] });
  {
    await using dying = await at.spawn({ killAt: 'finish:before' });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  await using daemon = await at.start();
  await daemon.settled(1);
  // The answer was not on disk yet and is asked for again; the choices come from the recorded call.
  expect(at.model.requests).toHaveLength(3);
  const keyboard = { inline_keyboard: LABELS.map((label) => [{ text: label, callback_data: label }]) };
  expect(at.platform.lastCall.get('sendMessage')).toMatchObject({ text: 'What may I bring?', reply_markup: keyboard });
  const message = { message_id: 2, date: 1, chat: { id: group, type: 'supergroup', title: 'g' }, text: 'What may I bring?' };
  const from = { id: 1000, is_bot: false, first_name: 'Ada' };
  at.platform.injectUpdate({ callback_query: { id: 'press-1', from, message, chat_instance: 'c', data: 'Coffee' } });
  await daemon.settled(2);
  expect(at.texts(group)).toEqual(['What may I bring?', 'Coming.']);
});

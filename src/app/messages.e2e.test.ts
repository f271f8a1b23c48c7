// The tool `message` through the whole daemon: two channels in memory, a scripted model, real policy and journal.
import { expect, onTestFinished, test } from 'vitest';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel, testChannelEntry } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

/** Calls `message` with the JSON behind the word "say", and answers with what came of it. */
const MODEL = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === 'tool') return `came of it: ${last.content}`;
  const asked = /say (\{.*\})/s.exec(String(last?.content))?.[1];
  return asked === undefined ? 'hello' : { toolCalls: [{ name: 'message', arguments: JSON.parse(asked) }] };
});

interface Rig extends TestDaemon {
  readonly other: TestChannel;
}

async function rigOn(
  dataDir: string,
  { mode = 'guarded', ...more }: { mode?: string; [section: string]: unknown } = {},
): Promise<Rig> {
  const [channel, other] = [new TestChannel('test'), new TestChannel('other')];
  const entry = { allowed_senders: ['ada', 'ben', 'cleo'], allowed_groups: ['room'] };
  const rig = await testDaemon({
    ...{ dataDir, model: MODEL, channel },
    gateway: {
      channels: [
        { type: 'test', ...entry },
        { type: 'other', ...entry },
      ],
      owner: [{ channel: 'test', chat_id: 'ada', sender_ids: ['ada'] }],
    },
    policy: { mode, members: ['message'] },
    daemon: { registry: { test: testChannelEntry(() => channel), other: testChannelEntry(() => other) } },
    ...more,
  });
  return { ...rig, other, [Symbol.asyncDispose]: rig[Symbol.asyncDispose] };
}

async function rig(options?: Parameters<typeof rigOn>[1]): Promise<Rig> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const made = await rigOn(dir.path, options);
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

const ADA = { chatId: 'ada', senderId: 'ada', senderName: 'Ada' };
const BEN = { chatId: 'ben', senderId: 'ben', senderName: 'Ben' };

const say = (args: unknown) => `say ${JSON.stringify(args)}`;

/** The code of the newest question in a chat. */
const asked = (channel: TestChannel, chatId: string) =>
  until('a question is asked', () => /`\/allow ([A-Z2-9]{6})`/.exec(channel.texts(chatId).join('\n'))?.[1]);

const outcome = (channel: TestChannel, chatId: string) =>
  until('it came to an end', () => channel.texts(chatId).find((text) => text.startsWith('came of it')));

test('words to this chat go out at once, before the answer, without a question', async () => {
  const { channel, daemon } = await rig();
  await channel.deliver({ ...ADA, text: say({ content: 'half is done' }) });
  await daemon.gateway.idle();
  expect(channel.texts('ada')).toEqual(['half is done', 'came of it: On its way to this chat.']);
});

test('words to a chat of another channel wait for a yes, and say on whose behalf they come', async () => {
  const { channel, other, daemon } = await rig();
  await other.deliver({ ...BEN, text: 'hi' });
  await daemon.gateway.idle();
  await channel.deliver({ ...ADA, text: say({ content: 'lunch at *one*?', channel: 'other', chat_id: 'ben' }) });
  const code = await asked(channel, 'ada');
  const question = channel.texts('ada').join('\n');
  expect(question).toContain('To Ben (other, ben), below the line:');
  expect(question).toContain('lunch at *one*?');
  expect(other.texts('ben')).toEqual(['hello']);
  await channel.deliver({ ...ADA, text: `/allow ${code}` });
  expect(await outcome(channel, 'ada')).toBe('came of it: On its way to Ben (other, ben).');
  await until('it arrived', () => other.texts('ben').length === 2);
  expect(other.texts('ben')[1]).toBe('On behalf of Ada (test:ada):\n\nlunch at *one*?');
});

import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const GROUP = { chatId: 'group', isGroup: true } as const;
const OWNER = { chatId: 'owner', senderId: 'owner' } as const;

/** A daemon whose model answers when the test lets it, with a group in which it has to be spoken to. */
async function scene() {
  const dir = await tempDir();
  const gates: PromiseWithResolvers<string>[] = [];
  const channel = new TestChannel('test');
  const test = await testDaemon({
    dataDir: dir.path,
    channel,
    model: scriptedModel(() => {
      const gate = Promise.withResolvers<string>();
      gates.push(gate);
      return gate.promise;
    }),
    entry: { allowed_groups: ['*'] },
    gateway: { owner: [{ channel: 'test', chat_id: 'owner', sender_ids: ['owner'] }] },
  });
  return {
    ...{ channel, gates },
    /** What is said to `/why`. */
    async why(from: Partial<InboundMessage> = {}): Promise<string> {
      const before = channel.sent.length;
      await channel.deliver({ text: '/why', ...from });
      return await until('an answer to /why', () => channel.sent[before]?.text);
    },
    async [Symbol.asyncDispose]() {
      for (const gate of gates) gate.resolve('too late');
      await test[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('/why tells of the last message here while it is worked on, while the next one waits, and when it is answered', async () => {
  await using at = await scene();
  expect(await at.why()).toContain('I know of no message of yours here');
  await at.channel.deliver({ platformId: 'first', text: 'first' });
  await until('the model is asked', () => at.gates.length === 1);
  expect(await at.why()).toBe('It is being worked on.');
  await at.channel.deliver({ platformId: 'second', text: 'second' });
  expect(await at.why()).toBe('It waits: 1 before it in its chat.');
  const replyTo = { platformId: 'first', fromBot: false };
  expect(await at.why({ replyTo })).toBe('It is being worked on.');
  at.gates[0]?.resolve('done');
  await until('the answer', () => at.channel.texts().includes('done'));
  expect(await at.why({ replyTo })).toBe('It was answered.');
});

test('/why in reply to an answer tells of the message that it answers', async () => {
  await using at = await scene();
  await at.channel.deliver({ platformId: 'first', text: 'first' });
  await until('the model is asked', () => at.gates.length === 1);
  at.gates[0]?.resolve('done');
  await until('the answer', () => at.channel.texts().includes('done'));
  await at.channel.deliver({ platformId: 'second', text: 'second' });
  await until('the model is asked', () => at.gates.length === 2);
  expect(await at.why()).toBe('It is being worked on.');
  expect(await at.why({ replyTo: { platformId: `p${at.channel.texts().indexOf('done')}`, fromBot: true } })).toBe(
    'It was answered.',
  );
});

test('in a group /why tells people of their own messages only, and the key of the config to the owner alone', async () => {
  await using at = await scene();
  const [ada, bob] = [
    { ...GROUP, senderId: 'ada', mentionsBot: true },
    { ...GROUP, senderId: 'bob', mentionsBot: true },
  ];
  await at.channel.deliver({ ...ada, platformId: 'of-ada', text: 'question' });
  await at.channel.deliver({ ...ada, mentionsBot: false, platformId: 'aside', text: 'an aside' });
  const ofAda = { platformId: 'of-ada', fromBot: false };
  const aside = { platformId: 'aside', fromBot: false };
  await until('the model is asked', () => at.gates.length === 1);
  expect(await at.why({ ...bob, replyTo: ofAda })).toBe('I can say that only to the person who wrote it.');
  expect(await at.why(bob)).toContain('I know of no message of yours here');
  expect(await at.why(ada)).toBe('It is being worked on.');
  // Of what was refused no author is kept.
  expect(await at.why({ ...ada, replyTo: aside })).toBe('I can say that only to the person who wrote it.');
  const told = await at.why({ ...GROUP, ...OWNER, ...{ chatId: 'group', mentionsBot: true }, replyTo: aside });
  expect(told.split('\n')).toEqual([
    'It was not let in: it did not speak to the assistant.',
    '✓ received: from test',
    '✗ access: it did not speak to the assistant',
    'The config decides it: `gateway.channels[].group_mode`',
  ]);
});

test('hostile: in a private chat nothing is told of what was refused in another one', async () => {
  await using at = await scene();
  await at.channel.deliver({ ...GROUP, senderId: 'ada', platformId: 'aside', text: 'an aside' });
  const replyTo = { platformId: 'aside', fromBot: false };
  expect(await at.why({ chatId: 'bob', senderId: 'bob', replyTo })).toBe('I can say that only to the person who wrote it.');
});

import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { DECLINED, type Question, waitId } from '../core/wait.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, inbound, MemoryLogger, outbound, tempDir } from '../testing/fakes.ts';
import { begin, done } from '../testing/journal-rows.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { Approvals } from './approvals.ts';
import { RunQuestions } from './run-questions.ts';

const HOUR = 3_600_000;
const NONE = 'No question that you may answer here has this code.';
const OTHERS = 'This question is for another person.';
const TO = { channel: 'test', account: 'bot', chatId: 'group', isGroup: true };

/** A run that asks the given question, on a real journal. */
async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const channel = new TestChannel('test');
  const posts: string[] = [];
  const can = { reach: true };
  const owner: ConstructorParameters<typeof Approvals>[0]['owner'] = {
    isOwnersChat: ({ chatId }) => chatId === 'owner',
    wrote: ({ isGroup }) => !isGroup,
    namesIds: () => false,
    lookAfter: async () => undefined,
    prepare(id, text) {
      if (!can.reach) return undefined;
      posts.push(text);
      const part = { part: outbound({ key: id, text }), lane: 'test/bot/owner', expiresAt: clock.now() + HOUR };
      return { chat: 'test/bot/owner', parts: [part], onDisk: () => posts.push('on disk') };
    },
  };
  const approvals = new Approvals({ provesSender: () => true, clock, logger: new MemoryLogger(), journal, owner });
  const find = (name: string) => (can.reach && name === 'test' ? channel : undefined);
  const questions = new RunQuestions({ approvals, owner, clock, channel: find });
  let asked = 0;
  const ask = async (more: object = {}) => {
    asked += 1;
    const row = await begin(journal, asked);
    const about: Question = { text: 'May I?', answer: 'approve', to: TO, by: [], expiresAt: clock.now() + HOUR, ...more };
    const placed = await questions.place(about, { id: waitId(row.key, 'c'), run: row.key });
    if (!placed) {
      await journal.finish(done(row));
      return undefined;
    }
    const waits = [{ callId: 'c', kind: 'person', about, asked: placed.asked }] as const;
    const end = { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } as const;
    await journal.commit([], { seq: row.seq, generation: row.generation, end });
    placed.onDisk();
    const lane = about.answer === 'text' && !('isUnsent' in more) ? placed.asked.parts[0]?.lane : undefined;
    for (const { seq } of lane === undefined ? [] : await journal.pending(lane, 99)) {
      await journal.sending(seq);
      await journal.settle(seq, { kind: 'sent', platformId: 'q' });
    }
    return { id: waitId(row.key, 'c'), run: row.key, ...placed.asked };
  };
  const decide = (text: string, more: Partial<InboundMessage> = {}) =>
    approvals.decide(inbound({ chatId: 'group', isGroup: true, text, ...more }));
  return {
    ...{ clock, journal, channel, posts, can, ask, decide },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a question stands in the chat it was asked in, as a part of what its run says', async () => {
  await using at = await setup();
  at.channel.buttons = true;
  const asked = await at.ask();
  const [row] = await at.journal.pending('test/bot/group', 9);
  expect(row?.part).toMatchObject({
    messageId: asked?.run,
    text: `May I? Reply \`/allow ${asked?.code}\` or \`/deny ${asked?.code}\` within 60 minutes.`,
    choices: [
      { label: 'Allow', value: `/allow ${asked?.code}` },
      { label: 'Deny', value: `/deny ${asked?.code}` },
    ],
  });
  expect(await at.decide(`/allow ${asked?.code}`)).toMatchObject({
    outcome: 'allow',
    settled: { wait: asked?.id, by: 'test:user-1' },
  });
});

test('hostile: the wrong person, and the right one in another chat, answer nothing', async () => {
  await using at = await setup();
  const asked = await at.ask({ by: ['test:ada'] });
  const words = `/allow ${asked?.code}`;
  const told = async (more: Partial<InboundMessage>) => await at.decide(words, more);
  expect(await told({ senderId: 'eve' })).toEqual({ outcome: 'unclear', answer: NONE });
  const elsewhere = 'This question stands in another chat: answer it there.';
  expect(await told({ senderId: 'ada', chatId: 'elsewhere' })).toEqual({ outcome: 'unclear', answer: elsewhere, isStray: true });
  expect(await told({ senderId: 'ada', channel: 'other' })).toEqual({ outcome: 'unclear', answer: NONE, isStray: true });
  expect(await told({ senderId: 'eve', senderName: 'ada' })).toEqual({ outcome: 'unclear', answer: NONE });
  const reply = { replyTo: { platformId: 'q', fromBot: true, text: `May I? ${words}` } };
  expect(await at.decide('1', { senderId: 'eve', ...reply })).toEqual({ outcome: 'unclear', answer: OTHERS });
  expect(await at.decide('1', { senderId: 'ada', ...reply })).toMatchObject({ outcome: 'allow' });
});

test('hostile: in the owner’s chat too, only those who are named answer a question that names them', async () => {
  await using at = await setup();
  const asked = await at.ask({ to: 'owner', by: ['test:boss'] });
  const words = `/allow ${asked?.code}`;
  expect((await at.decide(words, { chatId: 'owner', senderId: 'eve' }))?.settled).toBeUndefined();
  expect(await at.decide(words, { chatId: 'owner', senderId: 'boss' })).toMatchObject({ outcome: 'allow', settled: {} });
});

test('a choice is pressed, named, or counted; other words are no answer', async () => {
  await using at = await setup();
  const choices = ['Red', 'Blue'].map((label) => ({ label, value: label.toLowerCase() }));
  const asked = await at.ask({ answer: 'choice', choices });
  const value = async (text: string, more = {}) => (await at.decide(text, more))?.settled?.value.output;
  const reply = { replyTo: { platformId: 'q', fromBot: true } };
  expect(await value(`/answer ${asked?.code} 2`)).toBe('blue');
  expect([await value('red', reply), await value('1', reply), await value('green', reply)]).toEqual(['red', 'red', undefined]);
  expect([await value('red'), await value(`/allow ${asked?.code}`)]).toEqual([undefined, undefined]);
});

test('words that are asked for are the next message of one who may answer', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'text', by: ['test:ada'] });
  expect(await at.decide('hello', { senderId: 'eve' })).toBeUndefined();
  const said = await at.decide('sea green\nif possible', { senderId: 'ada' });
  expect(said?.settled).toEqual({ wait: asked?.id, value: { ok: true, output: 'sea green\nif possible' }, by: 'test:ada' });
});

test('where a question stands in no thread, the next message of the chat answers it, also one that starts a thread', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'text', by: ['test:ada'] });
  expect(await at.decide('elsewhere', { senderId: 'ada', isGroup: true, threadId: 't' })).toBeUndefined();
  const said = await at.decide('the Ritz', { senderId: 'ada', isGroup: true, threadId: 'm9', startsThread: true });
  expect(said?.settled).toMatchObject({ wait: asked?.id, value: { output: 'the Ritz' } });
});

test('words that were typed before the question arrived are no answer to it, by the clock of the platform', async () => {
  await using at = await setup();
  const before = at.clock.now();
  await at.clock.advance(5_000);
  await at.ask({ answer: 'text' });
  expect(await at.decide('too early', { timestamp: before })).toBeUndefined();
  // A platform that counts whole seconds: it may have been written within that second.
  expect(await at.decide('in time', { timestamp: before + 5_000 })).toMatchObject({ outcome: 'answer' });
  expect(await at.decide('in time', { timestamp: before + 5_001 })).toMatchObject({ outcome: 'answer' });
});

test('words are no answer to a question that has not been sent yet', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'text', isUnsent: true });
  const later = { timestamp: at.clock.now() + 5_000 };
  expect(await at.decide('too early', later)).toBeUndefined();
  expect(await at.decide(`/answer ${asked?.code} this`, later)).toMatchObject({ outcome: 'answer' });
});

test('with two questions for words open, the next words are asked about', async () => {
  await using at = await setup();
  const asked = [await at.ask({ answer: 'text' }), await at.ask({ answer: 'text' })];
  expect((await at.decide('green'))?.answer).toMatch(
    /^2 questions are open .* Answer one with `\/answer CODE …`, or decline with/,
  );
  expect(await at.decide(`/answer ${asked[1]?.code} green\nor blue`)).toMatchObject({
    settled: { wait: asked[1]?.id, value: { output: 'green\nor blue' } },
  });
});

test('the subject that a mail has above an answer is no part of it', async () => {
  await using at = await setup();
  await at.ask({ answer: 'text' });
  expect((await at.decide('[Subject: Re: colours]\ngreen\nplease'))?.settled?.value.output).toBe('green\nplease');
});

test('a message with a file answers a question for words by its code alone: else the file would be lost', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'text' });
  const media = [{ kind: 'photo', ref: 'r' }] as unknown as InboundMessage['media'];
  expect(await at.decide('like this', { media })).toBeUndefined();
  expect(await at.decide('like this', { media, replyTo: { platformId: 'q', fromBot: true } })).toBeUndefined();
  expect(await at.decide(`/answer ${asked?.code} like this`, { media })).toMatchObject({ outcome: 'answer' });
  expect(await at.decide('like that')).toMatchObject({ outcome: 'answer' });
});

const inReplyTo = (text?: string) => ({ replyTo: { platformId: 'q', fromBot: true, ...(text === undefined ? {} : { text }) } });

test('words that leave this machine are taken with the code of their question or in reply to it, and not by chance', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'text', named: true, by: ['test:ada'] });
  const ada = { senderId: 'ada' };
  expect(await at.decide('my other secret', ada)).toBeUndefined();
  // A reply to any other answer of ours, where the platform does not say to which.
  expect(await at.decide('my other secret', { ...ada, ...inReplyTo() })).toBeUndefined();
  const reply = inReplyTo(`Which? \`/answer ${asked?.code} …\``);
  expect(await at.decide('green', { ...ada, ...reply })).toMatchObject({ settled: { value: { output: 'green' } } });
  expect(await at.decide('green', { senderId: 'eve', ...reply })).toEqual({ outcome: 'unclear', answer: OTHERS });
  expect(await at.decide(`/answer ${asked?.code} blue`, ada)).toMatchObject({ settled: { value: { output: 'blue' } } });
});

test.each(['text', 'choice'])('a person may decline to answer a question for a %s', async (answer) => {
  await using at = await setup();
  const asked = await at.ask({ answer, choices: [{ label: 'Red', value: 'red' }], by: ['test:ada'] });
  expect(await at.decide(`/deny ${asked?.code}`, { senderId: 'eve' })).toEqual({ outcome: 'unclear', answer: NONE });
  expect(await at.decide(`/deny ${asked?.code}`, { senderId: 'ada' })).toMatchObject({
    ...{ outcome: 'deny', answer: '🛑 Declined.' },
    settled: { wait: asked?.id, value: DECLINED, by: 'test:ada' },
  });
  await at.journal.commit([{ kind: 'settle', settled: { wait: asked?.id ?? '', value: DECLINED, by: 'test:ada' } }]);
  const again = await at.decide(`/deny ${asked?.code}`, { senderId: 'ada' });
  expect(again).toEqual({ outcome: 'deny', answer: 'This question was answered already.' });
});

test('a place in the list of choices is named apart from their labels', async () => {
  await using at = await setup();
  const asked = await at.ask({ answer: 'choice', choices: ['2', '1'].map((label) => ({ label, value: `is ${label}` })) });
  const value = async (words: string) => (await at.decide(`/answer ${asked?.code} ${words}`))?.settled?.value.output;
  expect([await value('#1'), await value('1'), await value('#2'), await value('#3')]).toEqual([
    'is 2',
    'is 1',
    'is 1',
    undefined,
  ]);
});

test('hostile: a code in the words of a question is not the one that a reply to it answers', async () => {
  await using at = await setup();
  const [yes, text] = [await at.ask(), await at.ask({ answer: 'text' })];
  const quoted = `A server asks: is ${yes?.code} right? Reply \`/answer ${text?.code} …\``;
  expect(await at.decide('1', inReplyTo(quoted))).toMatchObject({ outcome: 'answer', settled: { wait: text?.id } });
});

test('a question to the owner is looked after once its run is parked', async () => {
  await using at = await setup();
  const asked = await at.ask({ to: 'owner' });
  expect(at.posts).toEqual([expect.stringContaining('/allow'), 'on disk']);
  expect((await at.journal.waits.questions('test/bot/owner')).map(({ id }) => id)).toEqual([asked?.id]);
});

test('what cannot be asked is refused at once: no such channel, or more than twenty in an hour in one chat', async () => {
  await using at = await setup();
  expect(await at.ask({ to: { ...TO, channel: 'gone' } })).toBeUndefined();
  for (let n = 0; n < 20; n += 1) expect(await at.ask()).toBeDefined();
  expect(await at.ask()).toBeUndefined();
  expect(await at.ask({ to: { ...TO, chatId: 'another' } })).toBeDefined();
  await at.clock.advance(HOUR);
  expect(await at.ask()).toBeDefined();
});

test('a question for a chat of an account that its channel does not have any more is not asked', async () => {
  await using at = await setup();
  expect(await at.ask({ to: { ...TO, account: 'first-bot' } })).toBeUndefined();
  expect(await at.journal.waits.questions()).toEqual([]);
});

test.each([['owner'], [TO]] as const)('a question that could not be put into a chat is not counted: to %j', async (to) => {
  await using at = await setup();
  at.can.reach = false;
  for (let n = 0; n < 20; n += 1) expect(await at.ask({ to })).toBeUndefined();
  at.can.reach = true;
  for (let n = 0; n < 20; n += 1) expect(await at.ask({ to })).toBeDefined();
  expect(await at.ask({ to })).toBeUndefined();
});

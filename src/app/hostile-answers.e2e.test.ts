// People who would like to answer what the owner is asked, and words of the owner that are no answer.
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const BOSS = { chatId: 'boss', senderId: 'boss' };
const ANN = { chatId: 'ann', senderId: 'ann' };
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
/** A right-to-left override, and what clears a terminal. */
const HIDDEN = 'water\u202e the\u001b[2J plants';

/** A model that makes a job of what a member asks for, which the owner has to allow. */
async function scene(dataDir: string) {
  const model = scriptedModel(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    if (role !== 'user' || !content || !/^(?:\[from [^\]]*\] )?remind/.test(content)) return 'done';
    return { toolCalls: [{ name: 'cron', arguments: { action: 'add', message: HIDDEN, name: content, every_seconds: 3_600 } }] };
  });
  const rig = await testDaemon({
    ...{ dataDir, model, policy: { members: ['cron'] } },
    entry: { allowed_senders: ['boss', 'ann', 'mallory'], allowed_groups: ['group'], group_mode: 'mention' },
    gateway: { owner: [{ channel: 'test', chat_id: 'boss', sender_ids: ['boss'] }] },
  });
  const { journal, gateway } = rig.daemon;
  const say = async (message: Partial<InboundMessage>): Promise<void> => {
    await rig.channel.deliver(message);
    await gateway.idle();
  };
  const questions = async () => (await journal.waits.questions()).map(({ code = '' }) => code);
  const asked = (count: number) => until('a question is open', async () => (await questions())[count - 1]);
  return {
    ...{ rig, say, questions, asked },
    jobs: async () => (await journal.jobs.list()).length,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

/** What is no yes to the question with this code, however it is meant. */
const NO_ANSWERS: Readonly<Record<string, (code: string) => Partial<InboundMessage>>> = {
  'the code, by who asked': (code) => ({ ...ANN, text: `/allow ${code}` }),
  'the code, by another member': (code) => ({ senderId: 'mallory', chatId: 'mallory', text: `/allow ${code}` }),
  'a no, by another member': (code) => ({ senderId: 'mallory', chatId: 'mallory', text: `/deny ${code}` }),
  'the code, by a stranger': (code) => ({ senderId: 'eve', chatId: 'eve', text: `/allow ${code}` }),
  'the code, by a member of a group in which the owner is': (code) => ({ ...GROUP, senderId: 'mallory', text: `/allow ${code}` }),
  'a button that another member presses': (code) => ({ ...GROUP, senderId: 'mallory', text: `/allow ${code} session` }),
  'an edit to a yes': (code) => ({ ...BOSS, kind: 'edit', targetId: 'earlier', text: `/allow ${code}` }),
  'a forwarded yes': (code) => ({ ...BOSS, text: `[forwarded from Ann]\n/allow ${code}`, marks: [[0, 20]] }),
  'a quoted yes': (code) => ({
    ...{ ...BOSS, text: 'what does she want?' },
    replyTo: { platformId: 'q', fromBot: false, text: `/allow ${code}` },
  }),
  'a yes in reply to words of another person with the code': (code) => ({
    ...{ ...BOSS, text: 'allow' },
    replyTo: { platformId: 'q', fromBot: false, text: `/allow ${code}` },
  }),
  'a yes in the second line': (code) => ({ ...BOSS, text: `she wrote\n/allow ${code}` }),
  'a yes that names no question': () => ({ ...BOSS, text: 'yes' }),
  'a number that names no question': () => ({ ...BOSS, text: '1' }),
  'a reaction': () => ({ ...BOSS, kind: 'reaction', targetId: 'p0', text: '👍' }),
  'the code, by a bot': (code) => ({ ...BOSS, text: `/allow ${code}`, refusal: 'bot-author' }),
  '/stop of another member': () => ({ senderId: 'mallory', chatId: 'mallory', text: '/stop' }),
  '/stop of another member of the group': () => ({ ...GROUP, senderId: 'mallory', text: '/stop' }),
};

test('A25 no one but the owner answers a question, and the owner by nothing but an answer', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  await at.say({ ...BOSS, text: 'hello', platformId: 'earlier' });
  await at.say({ ...ANN, text: 'remind me' });
  const first = await at.asked(1);
  await at.say({ ...GROUP, senderId: 'ann', text: 'remind us' });
  await at.asked(2);
  for (const [what, message] of Object.entries(NO_ANSWERS)) {
    await at.say(message(first));
    expect([what, (await at.questions()).length, await at.jobs()]).toEqual([what, 2, 0]);
  }
});

test('A25 a yes counts once: neither the same message again, nor its code for a later question, nor an edit of it', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  await at.say({ ...ANN, text: 'remind me' });
  const first = await at.asked(1);
  const yes = { ...BOSS, text: `/allow ${first}`, platformId: 'yes' };
  await at.say(yes);
  await until('the job is there', async () => (await at.jobs()) === 1);
  await at.say({ ...ANN, text: 'remind me of more' });
  const second = await at.asked(1);
  expect(second).not.toBe(first);
  await at.say(yes);
  await at.say({ ...yes, platformId: 'again' });
  await at.say({ ...BOSS, kind: 'edit', targetId: 'yes', platformId: 'edit', text: `/allow ${second}` });
  await at.say({ ...BOSS, text: `/deny ${first}` });
  expect([await at.questions(), await at.jobs()]).toEqual([[second], 1]);
  expect(at.rig.channel.texts('boss').at(-1)).toBe('This question was answered already: allowed.');
  await at.say({ ...ANN, text: '/stop' });
  expect(await at.questions()).toEqual([]);
  await at.say({ ...BOSS, text: `/allow ${second}` });
  expect(await at.jobs()).toBe(1);
});

test('A32 what a person is asked holds nothing that their screen would not show', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  await at.say({ ...ANN, text: 'remind me' });
  await at.asked(1);
  const question = await until('it is sent', () => at.rig.channel.texts('boss')[0]);
  expect(question).toContain(String.raw`water\u202e the\u001b[2J plants`);
  expect(question.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

// The tool ask_human through the whole daemon: a scripted model, a channel in memory, a journal on disk.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../journal/database.ts';
import { whyOf } from '../runs/why.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { waitingTools } from '../testing/waiting-tools.ts';

/** `ask […]` makes these calls of `ask_human`, `call […]` calls of any tool. */
const model = () =>
  scriptedModel(({ messages }) => {
    const asked = messages.findLastIndex(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    const words = String(messages[asked]?.content);
    const [, word, json = ''] = /(ask|call) (\[.*\])$/s.exec(words) ?? [];
    if (word === undefined) return `heard ${words}`;
    const results = messages.slice(asked).filter(({ role }) => role === 'tool');
    if (results.length > 0) return `came: ${results.map(({ content }) => content).join(' | ')}`;
    const calls = JSON.parse(json) as Record<string, unknown>[];
    const toolCalls = calls.map((args) => (word === 'ask' ? { name: 'ask_human', arguments: args } : args));
    return { text: '', toolCalls: toolCalls as { name: string; arguments: Record<string, unknown> }[] };
  });

const ADA = { chatId: 'ada', senderId: 'ada', senderName: 'Ada' };
const BEN = { chatId: 'ben', senderId: 'ben', senderName: 'Ben' };
const CLEO = { chatId: 'cleo', senderId: 'cleo', senderName: 'Cleo' };

interface Rig extends TestDaemon {
  readonly model: ReturnType<typeof model>;
  /** The newest text of a chat that has these words. */
  sees(chat: string, words: string | RegExp): Promise<string>;
}

async function rigOn(dataDir: string, more: Record<string, unknown> = {}): Promise<Rig> {
  const scripted = model();
  const rig = await testDaemon({
    ...{ dataDir, model: scripted, channel: new TestChannel('test') },
    entry: { allowed_senders: ['ada', 'ben', 'cleo'], allowed_groups: ['room'], group_mode: 'always' },
    gateway: { owner: [{ channel: 'test', chat_id: 'ada', sender_ids: ['ada'] }] },
    policy: { mode: 'guarded', members: ['ask_human', 'message'], guests: ['ask_human'] },
    daemon: { extraTools: [waitingTools] },
    ...more,
  });
  const sees = async (chat: string, words: string | RegExp) => {
    const fits = (text: string): boolean => (typeof words === 'string' ? text.includes(words) : words.test(text));
    return await until(`${chat} sees ${words}`, () => rig.channel.texts(chat).findLast(fits));
  };
  return { ...rig, model: scripted, sees, [Symbol.asyncDispose]: rig[Symbol.asyncDispose] };
}

async function rig(more?: Record<string, unknown>): Promise<Rig> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const made = await rigOn(dir.path, more);
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

const ask = (...calls: readonly object[]): string => `ask ${JSON.stringify(calls)}`;
const codeIn = (text: string): string => /\/(?:answer|allow) ([A-Z2-9]{6})/.exec(text)?.[1] ?? expect.fail(`no code in ${text}`);
const parked = async ({ daemon }: TestDaemon): Promise<number> => (await daemon.journal.counts()).inbox.PARKED;

test('P17 the person is asked in their chat, and their next words are the result of the call', async () => {
  const { channel, sees, model: asked } = await rig();
  await channel.deliver({ ...BEN, text: ask({ question: 'Which colour?' }) });
  expect(await sees('ben', 'Which colour?')).toMatch(
    /^❓ Which colour\?\nAnswer with your next message here, or with `\/answer \w{6} …`, or decline with `\/deny \w{6}`, within 7 days\.$/,
  );
  await channel.deliver({ ...BEN, text: 'sea green' });
  await sees('ben', 'came: sea green');
  expect(channel.texts('ben')).toEqual([expect.stringContaining('Which'), '✅ Noted.', 'came: sea green']);
  expect(asked.requests).toHaveLength(2);
});

test('words in another thread are a request of their own, and those in the thread of the question answer it', async () => {
  const at = await rig();
  const { channel, sees } = at;
  await channel.deliver({ ...BEN, threadId: 't1', text: ask({ question: 'Which hotel?' }) });
  await sees('ben', 'Which hotel?');
  await channel.deliver({ ...BEN, threadId: 't2', startsThread: true, text: 'pay invoice 7' });
  await sees('ben', 'heard pay invoice 7');
  expect(await parked(at)).toBe(1);
  await channel.deliver({ ...BEN, threadId: 't1', text: 'the Ritz' });
  await sees('ben', 'came: the Ritz');
});

test('where no thread could be opened for a question, the next words in the chat answer it', async () => {
  const at = await rig();
  const { channel, sees } = at;
  channel.standsInChat = (threadId) => threadId === 't1';
  const room = { ...BEN, chatId: 'room', isGroup: true };
  await channel.deliver({ ...room, threadId: 't1', startsThread: true, text: ask({ question: 'Which hotel?' }) });
  await sees('room', 'Which hotel?');
  await channel.deliver({ ...room, threadId: 't2', startsThread: true, text: 'the Ritz' });
  await sees('room', 'came: the Ritz');
  expect(await parked(at)).toBe(0);
});

test('in a group that must name the agent, answers to an open question need not, and other words stay unread', async () => {
  const entry = { allowed_senders: ['ada', 'ben', 'cleo'], allowed_groups: ['room'], group_mode: 'mention' };
  const { channel, sees, daemon, model: asked } = await rig({ entry });
  const room = { chatId: 'room', isGroup: true };
  const says = (who: typeof BEN, text: string, more = {}) => channel.deliver({ ...who, ...room, text, ...more });
  const asks = async (question: string) => {
    await says(BEN, ask({ question }), { mentionsBot: true });
    return await sees('room', question);
  };
  expect(await asks('Colour 1?')).toContain('Answer in reply to this message, with your next one here, or');
  await says(CLEO, 'lunch?');
  await says(BEN, 'blue, please');
  await sees('room', 'came: blue, please');
  const text = await asks('Colour 2?');
  await says(CLEO, 'mine is red', { replyTo: { platformId: 'q', fromBot: true, text } });
  await sees('room', 'This question is for another person.');
  await says(BEN, `/answer ${codeIn(text)} green`);
  await sees('room', 'came: green');
  await says(BEN, 'no question is open now');
  await asks('Colour 3?');
  await says(BEN, '/weather@otherbot Berlin');
  await says(BEN, '/answer K7M2QP blue');
  expect((await daemon.journal.counts()).refused).toMatchObject([{ reason: 'not-mentioned', count: 4 }]);
  expect(channel.texts('room').filter((said) => said.startsWith('No '))).toEqual([]);
  expect(asked.requests).toHaveLength(5);
});

test('in its owner’s group a typed yes counts without a mention, by the id of the owner alone', async () => {
  const owner = [{ channel: 'test', chat_id: 'room', sender_ids: ['ada'] }];
  const entry = { allowed_senders: ['ada', 'ben'], allowed_groups: ['room'], group_mode: 'mention' };
  const { channel, sees } = await rig({ entry, gateway: { owner } });
  await channel.deliver({ ...BEN, text: ask({ question: 'May I?', to: 'owner', answer: 'approval' }) });
  const code = codeIn(await sees('room', 'May I?'));
  const says = (who: typeof BEN) => channel.deliver({ ...who, chatId: 'room', isGroup: true, text: `/allow ${code}` });
  await says(BEN);
  await sees('room', 'Only the owner may answer this.');
  await says(ADA);
  await sees('ben', 'came: allow');
});

test('a choice is a button, and a number or a label in reply; the second answer is refused in words', async () => {
  const channel = new TestChannel('test');
  channel.buttons = true;
  const { sees } = await rig({ channel });
  const question = { question: 'Which?', answer: 'choice', choices: ['Red', 'Blue'] };
  await channel.deliver({ ...BEN, text: ask(question) });
  const code = codeIn(await sees('ben', 'Which?'));
  expect(channel.sent.at(-1)?.choices).toEqual([
    { label: 'Red', value: `/answer ${code} #1` },
    { label: 'Blue', value: `/answer ${code} #2` },
  ]);
  await channel.deliver({ ...BEN, text: `/answer ${code} #2` });
  await sees('ben', 'came: Blue');
  await channel.deliver({ ...BEN, text: `/answer ${code} #1` });
  await sees('ben', 'This question was answered already.');
  await channel.deliver({ ...BEN, text: ask(question) });
  const text = await sees('ben', new RegExp(`Which\\?(?!.*${code})`, 's'));
  await channel.deliver({ ...BEN, text: 'red', replyTo: { platformId: 'q', fromBot: true, text } });
  await sees('ben', 'came: Red');
});

test('P18 an answer counts days later, over three restarts, and the call is made once', async () => {
  await using dir = await tempDir();
  const asked: number[] = [];
  let code = '';
  for (let n = 0; n < 4; n += 1) {
    await using at = await rigOn(dir.path);
    const { channel, sees } = at;
    if (n === 0) {
      await channel.deliver({ ...BEN, text: ask({ question: 'Which colour?' }) });
      code = codeIn(await sees('ben', 'Which colour?'));
      await until('it waits', async () => (await parked(at)) === 1);
    } else expect(channel.texts()).toEqual([]);
    if (n === 3) {
      await channel.deliver({ ...BEN, text: `/answer ${code} sea green`, platformId: 'days later' });
      await sees('ben', 'came: sea green');
    }
    asked.push(at.model.requests.length);
  }
  expect(asked).toEqual([1, 0, 0, 1]);
});

test('an answer counts after an upgrade: the journal of the version before, with a run that waits, is brought up to date', async () => {
  await using dir = await tempDir();
  {
    await using before = await rigOn(dir.path);
    await before.channel.deliver({ ...BEN, text: ask({ question: 'Which colour?' }) });
    await before.sees('ben', 'Which colour?');
    await until('it waits', async () => (await parked(before)) === 1);
  }
  const path = join(dir.path, 'journal.db');
  {
    using db = new Database(path, { busyMs: 5_000 });
    db.exec(`DROP INDEX run_settled; CREATE INDEX run_settled ON run (state, finished_at);
      DROP INDEX outbox_settled; CREATE INDEX outbox_settled ON outbox (state, settled_at);
      DROP INDEX run_parked_lane; PRAGMA user_version = 6`);
  }
  await using after = await rigOn(dir.path);
  expect(existsSync(`${path}.v6.bak`)).toBe(true);
  await after.channel.deliver({ ...BEN, text: 'sea green', platformId: 'afterwards' });
  await after.sees('ben', 'came: sea green');
  expect(after.model.requests).toHaveLength(1);
});

test('an answer that was typed before the question arrived is an ordinary message', async () => {
  const at = await rig();
  const { channel, sees } = at;
  const before = Date.now() - 60_000;
  await channel.deliver({ ...BEN, text: ask({ question: 'Shall I pay?' }) });
  await sees('ben', 'Shall I pay?');
  await channel.deliver({ ...BEN, text: 'yes, do', timestamp: before });
  await sees('ben', 'heard yes, do');
  expect(await parked(at)).toBe(1);
  await channel.deliver({ ...BEN, text: 'no' });
  await sees('ben', 'came: no');
});

test('another person is asked with a yes of the owner, sees on whose behalf, and their answer is private', async () => {
  const at = await rig();
  const { channel, sees, daemon } = at;
  await channel.deliver({ ...CLEO, text: 'hello' });
  await sees('cleo', 'heard hello');
  await channel.deliver({ ...BEN, platformId: 'asks', text: ask({ question: 'Lunch?', to: 'cleo' }) });
  const yes = codeIn(await sees('ada', 'May I use ask_human? For test:ben'));
  expect(channel.texts('cleo')).toHaveLength(1);
  await channel.deliver({ ...ADA, text: `/allow ${yes}` });
  expect(await sees('cleo', 'Lunch?')).toMatch(/^On behalf of Ben \(test:ben\):\n\n❓ Lunch\?\n/);
  const about = await daemon.journal.record.about('test/bot/asks');
  const verdict = about && whyOf(about, { now: Date.now() }).verdict;
  expect(verdict).toMatch(/^It waits for Cleo \(test, cleo\) since \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/);
  const [open] = await daemon.journal.waits.questions();
  expect(open?.question).toMatchObject({ who: 'Cleo (test, cleo)', by: ['test:cleo'], answer: 'text' });
  await channel.deliver({ ...CLEO, text: 'at noon' });
  await sees('ben', 'came: at noon');
  expect(channel.texts('cleo').at(-1)).toBe('✅ Noted. It was asked on behalf of Ben (test:ben).');
  await channel.deliver({ ...BEN, text: 'and then?' });
  await sees('ben', 'heard and then?');
});

test.each([
  [{ to: 'nobody' }, /no person has written to the agent from "nobody"/],
  [{ to: 'test:room' }, /a question goes to one person, and this is a group/],
  [{ answer: 'choice', choices: ['Red'] }, /at least two choices/],
  [{ choices: ['Red', 'Blue'] }, /only the answer choice takes choices/],
  [{ expires_in: 'soon' }, /is no time for expires_in/],
  [{ answer: 'approval', default: 'allow' }, /can only be deny/],
  [{ answer: 'choice', choices: ['Red', 'Blue'], default: 'Green' }, /the default is none of the choices/],
])('a question with %j is refused at once', async (more, reason) => {
  const { channel, sees } = await rig({ policy: { mode: 'full', members: [] } });
  await channel.deliver({ chatId: 'room', isGroup: true, senderId: 'ben', text: 'hello' });
  await sees('room', 'hello');
  await channel.deliver({ ...ADA, text: ask({ question: 'Lunch?', ...more }) });
  expect(await sees('ada', 'came: ')).toMatch(reason);
});

test('the owner is asked without a further yes, and approves; a name that fits two people is refused with the list', async () => {
  const { channel, sees } = await rig({ policy: { mode: 'full', members: ['ask_human'] } });
  await channel.deliver({ ...BEN, text: ask({ question: 'May I go?', to: 'owner', answer: 'approval' }) });
  const text = await sees('ada', 'May I go?');
  expect(text).toMatch(
    /^On behalf of Ben \(test:ben\):\n\n❓ May I go\?\nReply `\/allow \w{6}` or `\/deny \w{6}` within 7 days\./,
  );
  await channel.deliver({ ...ADA, text: `/allow ${codeIn(text)}` });
  await sees('ben', 'came: allow');
  for (const one of [
    { ...BEN, senderName: 'Sam' },
    { ...CLEO, senderName: 'Sam' },
  ])
    await channel.deliver({ ...one, text: 'hello' });
  await sees('cleo', 'heard hello');
  await channel.deliver({ ...ADA, text: ask({ question: 'Lunch?', to: 'Sam' }) });
  expect(await sees('ada', 'came: ')).toMatch(/several people: .*(test:ben.*test:cleo|test:cleo.*test:ben)/);
});

test('P19 of two questions in one answer the second is refused, and other calls end first', async () => {
  const { channel, sees } = await rig({ policy: { mode: 'full', members: ['ask_human', 'message'] } });
  const calls = [
    { name: 'ask_human', arguments: { question: 'First?' } },
    { name: 'message', arguments: { content: 'a word between' } },
    { name: 'ask_human', arguments: { question: 'Second?' } },
    { name: 'ask_human', arguments: { question: 'Just so you know', wait_for_answer: false } },
  ];
  await channel.deliver({ ...BEN, text: `call ${JSON.stringify(calls)}` });
  await sees('ben', 'First?');
  await sees('ben', 'a word between');
  await sees('ben', 'Just so you know');
  await channel.deliver({ ...BEN, text: 'fine' });
  expect(await sees('ben', 'came: ')).toMatch(
    /^came: fine \| On its way to this chat\. \| Error: already asking: .* \| On its way to this chat\. No answer is waited for\.$/,
  );
  expect(channel.texts('ben').filter((text) => text.includes('?\n'))).toHaveLength(1);
});

test('P20 a sub-agent asks no person', async () => {
  const { channel, sees } = await rig({ policy: { mode: 'full', members: ['*'] } });
  const child = [{ name: 'run_child', arguments: { task: ask({ question: 'May I?' }) } }];
  await channel.deliver({ ...ADA, text: `call ${JSON.stringify(child)}` });
  expect(await sees('ada', 'came: ')).toContain('Error: ask_human is not available to subagents');
  expect(channel.texts('ada')).toHaveLength(1);
});

test('who does not answer is reminded once, also over a restart; then the default is the result', async () => {
  await using dir = await tempDir();
  const sections = { questions: { remind_after_hours: 0.2 / 3_600 } };
  {
    await using at = await rigOn(dir.path, { sections });
    await at.channel.deliver({ ...BEN, text: ask({ question: 'Which?', expires_in: '5s', default: 'green' }) });
    const reminder = await at.sees('ben', '⏰ This question is still open:');
    expect(reminder).toMatch(/^⏰ This question is still open:\n❓ Which\?\nAnswer with your next message/);
    expect(at.channel.texts('ben')).toHaveLength(2);
  }
  await using at = await rigOn(dir.path, { sections });
  expect(await at.sees('ben', 'came: ')).toBe('came: green\n[Nobody answered in time: this is the default.]');
  expect(at.channel.texts('ben')).toHaveLength(1);
});

test('without a default the result says that nobody answered, and who comes later is told', async () => {
  const { channel, sees } = await rig();
  await channel.deliver({ ...BEN, text: ask({ question: 'Which?', expires_in: '5s' }) });
  const code = codeIn(await sees('ben', 'Which?'));
  await sees('ben', 'came: Error: no answer came in time');
  await channel.deliver({ ...BEN, text: `/answer ${code} green` });
  await sees('ben', 'Too late: this question is closed.');
});

test('section 10 case 6: a second answer, one after the end, and one to a question that never was are refused in words', async () => {
  const { channel, sees, model: asked } = await rig();
  await channel.deliver({ ...BEN, text: ask({ question: 'Which?' }) });
  const code = codeIn(await sees('ben', 'Which?'));
  await channel.deliver({ ...BEN, text: `/answer ${code} green` });
  await channel.deliver({ ...BEN, text: `/answer ${code} red` });
  await sees('ben', 'This question was answered already.');
  await sees('ben', 'came: green');
  const { length } = channel.texts('ben');
  await channel.deliver({ ...BEN, text: `/answer ${code} blue` });
  await until('it is refused', () => channel.texts('ben').length > length);
  expect(channel.texts('ben').at(-1)).toContain('This question was answered already.');
  await channel.deliver({ ...BEN, text: '/answer ZZZZZZ blue' });
  await sees('ben', 'No question that you may answer here has this code.');
  expect(asked.requests).toHaveLength(2);
});

test('a person declines, is stopped, or is blocked: each time the question is over, and who asks is told', async () => {
  const at = await rig({ policy: { mode: 'full', members: ['ask_human'] } });
  const { channel, sees, daemon } = at;
  await channel.deliver({ ...CLEO, text: 'hello' });
  await sees('cleo', 'heard hello');
  const asks = async (n: number) => {
    await channel.deliver({ ...ADA, text: ask({ question: `Number ${n}?`, to: 'cleo' }) });
    return codeIn(await sees('cleo', `Number ${n}?`));
  };
  await channel.deliver({ ...CLEO, text: `/deny ${await asks(1)}` });
  await sees('ada', 'came: Error: the person declined to answer');
  const second = await asks(2);
  await channel.deliver({ ...ADA, text: '/stop' });
  await sees('ada', 'Cancelled');
  await channel.deliver({ ...CLEO, text: `/answer ${second} yes` });
  await sees('cleo', 'Too late: this question is closed. What asked it is over.');
  await asks(3);
  await daemon.journal.commit([{ kind: 'shut-out', who: { channel: 'test', senderId: 'cleo' }, as: 'blocked', by: 'cli' }]);
  await sees('ada', 'came: Error: the question was withdrawn');
});

test('a question that cannot be delivered is over, and its run is told', async () => {
  const channel = new TestChannel('test');
  const { sees } = await rig({ channel });
  channel.results.push({ kind: 'refused', reason: 'invalid', detail: 'no' });
  await channel.deliver({ ...BEN, text: ask({ question: 'Which?' }) });
  await sees('ben', 'came: Error: the question reached no person');
});

test('hostile: two people whose requests ask each other without end are asked twenty times an hour each', async () => {
  const channel = new TestChannel('test');
  const scripted = scriptedModel(({ messages }) => {
    const input = String(messages.find(({ role }) => role === 'user')?.content);
    const to = input.endsWith('from ben') ? 'cleo' : 'ben';
    const last = messages.at(-1);
    if (last?.role === 'tool' && String(last.content).startsWith('Error')) return `over: ${last.content}`;
    return { text: '', toolCalls: [{ name: 'ask_human', arguments: { question: `${messages.length}?`, to } }] };
  });
  const at = await rig({
    channel,
    model: scripted,
    policy: {
      mode: 'full',
      senders: { 'test:ben': { mode: 'full', allow: ['ask_human'] }, 'test:cleo': { mode: 'full', allow: ['ask_human'] } },
    },
  });
  await channel.deliver({ ...BEN, text: 'go from ben' });
  await channel.deliver({ ...CLEO, text: 'go from cleo' });
  let answered = 0;
  await until('it ends', async () => {
    for (const { chat = '', code = '' } of await at.daemon.journal.waits.questions()) {
      const who = chat.endsWith('/ben') ? BEN : CLEO;
      // One that is answered before it is sent is not sent.
      if (!channel.texts(who.chatId).some((text) => text.includes(code))) continue;
      answered += 1;
      await channel.deliver({ ...who, platformId: `auto-${code}`, text: `/answer ${code} go on` });
    }
    const { PARKED, RUNNING, NEW } = (await at.daemon.journal.counts()).inbox;
    return answered > 0 && PARKED + RUNNING + NEW === 0;
  });
  const asked = (chat: string) => channel.texts(chat).filter((text) => text.includes('❓')).length;
  expect([asked('ben') <= 20, asked('cleo') <= 20, asked('ben') + asked('cleo') > 20]).toEqual([true, true, true]);
});

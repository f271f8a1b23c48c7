// What a person has going is exported and erased: tasks, sub-agents, topics, summaries, questions to and from
// others, through the whole daemon and its command line.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import type { ModelRequest } from '../core/model.ts';
import { filesBelow, filesHolding } from '../testing/bytes-on-disk.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type PeopleRig, peopleRig } from '../testing/people-rig.ts';

const IDS = { test: '4242424242', chat: 'U0-EVEEVE' } as const;
/** Ada finds her by the name that is of one account alone. */
const NAMES = { test: 'Evelyn', chat: 'Eve Example' } as const;
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
const eve = (type: keyof typeof IDS, more: Partial<InboundMessage>): Partial<InboundMessage> => ({
  ...{ senderId: IDS[type], senderName: NAMES[type], chatId: IDS[type] },
  ...more,
});
const BEN: Partial<InboundMessage> = { senderId: 'ben', senderName: 'Ben' };
const ADA: Partial<InboundMessage> = { senderId: 'ada', senderName: 'Ada', chatId: 'ada' };

/** `CALL […]` makes these calls, and what came of them is the answer; all else is echoed. */
function script({ messages, context }: ModelRequest) {
  if (context.purpose === 'summary') return `They spoke: ${messages.at(-1)?.content.slice(-3_000)}`;
  const asked = messages.findLastIndex(({ role, id }) => role === 'user' && !id.endsWith('#note'));
  const words = String(messages[asked]?.content);
  const calls = /CALL (\[.*\]) END/s.exec(words)?.[1];
  const results = messages.slice(asked).filter(({ role }) => role === 'tool');
  if (calls === undefined) return /QUIET|Queued/.test(words) ? 'noted' : `echo ${words}`;
  if (words.includes('Which one?'))
    return results.length > 0
      ? 'thanks'
      : { text: '', toolCalls: JSON.parse(calls) as { name: string; arguments: Record<string, unknown> }[] };
  if (results.length > 0) return `came: ${results.map(({ content }) => content).join(' | ')}`;
  return { text: '', toolCalls: JSON.parse(calls) as { name: string; arguments: Record<string, unknown> }[] };
}

const call = (...calls: readonly { readonly name: string; readonly arguments: object }[]): string =>
  `CALL ${JSON.stringify(calls)} END`;
const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
const dispatch = (task: string) => ({ name: 'dispatch_subagent', arguments: { task_description: task } });
const ask = (question: string, more: object = {}) => ({ name: 'ask_human', arguments: { question, ...more } });
const codeIn = (text: string): string => /\/(?:answer|allow) ([A-Z2-9]{6})/.exec(text)?.[1] ?? expect.fail(`no code in ${text}`);

async function sees(at: PeopleRig, type: keyof typeof IDS, chat: string, words: string): Promise<string> {
  return await until(`${chat} sees ${words}`, () => at.channels[type].texts(chat).findLast((text) => text.includes(words)));
}

const CANARIES: string[] = [];
/** Ada, who is the owner, lets a call be made. */
async function allow(at: PeopleRig, words: string): Promise<void> {
  const asked = await until(`${words} is to be allowed`, () =>
    at.channels.chat.texts('ada').findLast((text) => text.includes('May I use') && text.includes(words)),
  );
  await at.channels.chat.deliver({ ...ADA, text: `/allow ${codeIn(asked)}` });
}

/** A word that is looked for in the end. */
function canary(name: string): string {
  const word = `CANARY${name}`;
  if (!CANARIES.includes(word)) CANARIES.push(word);
  return word;
}

async function fill(at: PeopleRig): Promise<void> {
  const { test: own, chat: shared } = at.channels;
  // Tasks: in a private chat and in a group, each with a file and a sub-agent that writes one.
  await own.deliver(eve('test', { text: `/task ${canary('TASK')} do` }));
  await sees(at, 'test', IDS.test, 'is done');
  await own.deliver(eve('test', { text: '/new CANARYTOPIC' }));
  canary('TOPIC');
  await at.ask('test', eve('test', { text: canary('INTOPIC') }));
  await at.ask('test', eve('test', { text: '/s' }));
  await shared.deliver({
    ...eve('chat', { ...GROUP }),
    text: `/task ${call(write('t.txt', canary('GROUPTASK')), dispatch(call(write('c.txt', canary('CHILDFILE')))))}`,
  });
  await sees(at, 'chat', 'group', 'is done');
  await at.ask('chat', eve('chat', { ...GROUP, text: call(dispatch(call(write('d.txt', canary('GROUPCHILD'))))) }));
  await sees(at, 'chat', 'group', 'came:');
  // An answer of a sub-agent that is a file of the group's workspace.
  await at.ask('chat', eve('chat', { ...GROUP, text: call(dispatch(`${'x '.repeat(600)}${canary('SPILLED')}`)) }));
  await sees(at, 'chat', 'group', 'All of it is in .gatehouse/outputs/subagent-');
  const [spilled] = await filesHolding(join(at.dataDir, 'workspaces'), ['CANARYSPILLED']);
  expect(spilled).toContain('.gatehouse/outputs/subagent-');
  // What others quote of her, which the agent never saw before: in a message and in a task.
  const quoted = (text: string) => ({
    ...{ platformId: 'elsewhere', fromBot: false, senderId: IDS.chat, text },
    origin: `written by ${NAMES.chat}, not by the sender`,
  });
  await at.ask('chat', { ...ADA, ...GROUP, text: 'QUIET what is that?', replyTo: quoted(canary('QUOTED')) });
  await shared.deliver({ ...ADA, ...GROUP, text: '/task QUIET sum it up', replyTo: quoted(canary('ASKED')) });
  await sees(at, 'chat', 'group', '“QUIET sum it up” is done');
  // A conversation of a group that is compacted.
  for (let n = 0; n < 21; n += 1)
    await at.ask(
      'chat',
      n % 2 === 0 ? eve('chat', { ...GROUP, text: canary(`LONG${n}`) }) : { ...ADA, ...GROUP, text: `words of Ada ${n}` },
    );
  await until('it is compacted', () => at.model.requests.some(({ context }) => context.purpose === 'summary'));
}

async function fillQuestions(at: PeopleRig): Promise<void> {
  const { chat: shared } = at.channels;
  await at.ask('chat', { ...ADA, text: 'hello' });
  await at.ask('chat', eve('chat', { text: 'hello' }));
  // Eve's run asks Ada.
  await shared.deliver(eve('chat', { text: call(ask(canary('TOADA'), { to: 'ada' })) }));
  await allow(at, 'CANARYTOADA');
  const question = await sees(at, 'chat', 'ada', '❓ CANARYTOADA');
  await at.ask('chat', { ...ADA, text: `/answer ${codeIn(question)} sure` });
  await sees(at, 'chat', IDS.chat, 'came: sure');
  // Ada's run asks Eve; the answer is hers.
  await shared.deliver({ ...ADA, text: call(ask('Which one?', { to: 'Eve Example' })) });
  await allow(at, 'Which one?');
  const toEve = await sees(at, 'chat', IDS.chat, '❓ Which one?');
  await at.ask('chat', eve('chat', { text: `/answer ${codeIn(toEve)} ${canary('ANSWER')}` }));
  await sees(at, 'chat', 'ada', 'thanks');
  // Words by the message tool.
  await shared.deliver(
    eve('chat', { text: call({ name: 'message', arguments: { content: canary('RELAYED'), chat_id: 'ada' } }) }),
  );
  await allow(at, 'CANARYRELAYED');
  await sees(at, 'chat', 'ada', '\n\nCANARYRELAYED');
  const relayed = await sees(at, 'chat', 'ada', 'On behalf of Eve Example (chat:U0-EVEEVE):\n\nCANARYRELAYED');
  await at.ask('chat', { ...ADA, text: 'QUIET what?', replyTo: { platformId: 'x', fromBot: true, text: relayed } });
  // What waits still.
  await shared.deliver(eve('chat', { text: call(ask(canary('OPEN'), { to: 'ada' })) }));
  await allow(at, 'CANARYOPEN');
  await sees(at, 'chat', 'ada', '❓ CANARYOPEN');
}

async function fillQueue(at: PeopleRig, held: ReturnType<typeof gate>, isHeld: { now: boolean }): Promise<void> {
  const { chat: shared } = at.channels;
  await at.ask('chat', { ...ADA, ...GROUP, text: 'hello there' });
  await at.ask('chat', { ...ADA, ...GROUP, text: '/queue collect' });
  isHeld.now = true;
  const before = shared.texts('group').length;
  await shared.deliver({ ...ADA, ...GROUP, text: 'HOLD' });
  await until('it is held', () => at.model.requests.some(({ messages }) => messages.at(-1)?.content.endsWith('HOLD')));
  shared.files.set('of-eve', Buffer.from(canary('MERGEDFILE')));
  shared.files.set('of-ben', Buffer.from('a file of Ben'));
  await shared.deliver({ ...BEN, ...GROUP, text: 'first', media: [{ kind: 'document', ref: 'of-ben' }] });
  await shared.deliver(eve('chat', { ...GROUP, text: canary('MERGED'), media: [{ kind: 'document', ref: 'of-eve' }] }));
  isHeld.now = false;
  held.open();
  await until('both are answered', () => shared.texts('group').length >= before + 2);
}

const POLICY = { mode: 'guarded', members: ['*'], guests: ['*'], deny: ['cron'] };

for (const beside of ['a running daemon', 'no daemon'])
  test(`everything that a person has going is exported, and erased beside ${beside}`, async () => {
    await using dir = await tempDir();
    const [held, isHeld] = [gate(), { now: false }];
    await using at = await peopleRig({
      dir: dir.path,
      policy: POLICY,
      gateway: { owner: [{ channel: 'chat', chat_id: 'ada', sender_ids: ['ada'] }] },
      entry: { allowed_senders: [...Object.values(IDS), 'ada', 'ben'], allowed_groups: ['*'] },
      script: async (request) => {
        if (isHeld.now) await held.opened;
        return script(request);
      },
    });
    await fill(at);
    expect((await at.cli('people', 'link', `test:${IDS.test}`, `chat:${IDS.chat}`)).code).toBe(0);
    await fillQuestions(at);
    await fillQueue(at, held, isHeld);
    await until('the lines are in their files', () => at.rows('SELECT 1 FROM session_line').length === 0);
    const joined = `"joined":[{"by":"chat:${IDS.chat}"`;
    expect.soft(await filesHolding(join(at.dataDir, 'users'), [joined])).toHaveLength(1);
    const out = join(dir.path, 'export');
    expect(await at.cli('people', 'export', `test:${IDS.test}`, '--out', out)).toMatchObject({ code: 0 });
    const texts = [await readFile(join(out, 'person.json'), 'utf8')];
    for (const path of await filesBelow(join(out, 'files')).catch(() => [])) texts.push(await readFile(path, 'utf8'));
    expect.soft(CANARIES.filter((word) => !texts.some((text) => text.includes(word)))).toEqual([]);
    expect.soft(texts[0]).not.toContain('words of Ada');
    if (beside === 'no daemon') await at.stop();
    expect(await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).toMatchObject({ code: 0 });
    expect.soft(await filesHolding(at.dataDir, [...CANARIES, ...Object.values(IDS)])).toEqual([]);
    expect.soft(await filesHolding(at.dataDir, ['a file of Ben'])).toEqual([expect.stringContaining('uploads/')]);
  });

test('what a turn of another says of an erased person after the rows are gone goes too', async () => {
  await using dir = await tempDir();
  const held = gate();
  const secret = 'the code of the front door is 4711';
  await using at = await peopleRig({
    dir: dir.path,
    script: async ({ messages }) => {
      if (!messages.at(-1)?.content.includes('HOLD')) return 'ok';
      await held.opened;
      return `Eve said: ${secret}.`;
    },
  });
  await at.ask('chat', eve('chat', { ...GROUP, text: secret }));
  await at.settled();
  await at.channels.chat.deliver({ ...BEN, ...GROUP, text: 'HOLD what did Eve say?' });
  await until('it is held', () => at.model.requests.some(({ messages }) => messages.at(-1)?.content.includes('HOLD')));
  const done = at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes');
  await until('the rows are gone', () => at.rows(`SELECT 1 FROM run WHERE principal = 'chat:${IDS.chat}'`).length === 0);
  held.open();
  expect((await done).code).toBe(0);
  expect(await filesHolding(at.dataDir, [secret])).toEqual([]);
});

test('of a request that an erased person began the words and files of another who was answered with it stay', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await peopleRig({
    dir: dir.path,
    script: async ({ messages }) => {
      if (messages.at(-1)?.content.endsWith('HOLD')) await held.opened;
      return 'ok';
    },
    gateway: { queue_mode: 'collect' },
  });
  const { chat } = at.channels;
  chat.files.set('of-eve', Buffer.from('FILEOFEVE'));
  chat.files.set('of-ben', Buffer.from('FILEOFBEN'));
  await chat.deliver({ ...ADA, ...GROUP, text: 'HOLD' });
  await until('it is held', () => at.model.requests.length > 0);
  await chat.deliver(eve('chat', { ...GROUP, text: 'SAIDBYEVE', media: [{ kind: 'document', ref: 'of-eve' }] }));
  await chat.deliver({ ...BEN, ...GROUP, text: 'SAIDBYBEN', media: [{ kind: 'document', ref: 'of-ben' }] });
  held.open();
  await until('both are answered', () => chat.texts('group').length === 2);
  await at.settled();
  const { stdout } = await at.cli('people', 'export', `chat:${IDS.chat}`);
  const { sharedSessions } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  expect(JSON.stringify(sharedSessions)).toContain('SAIDBYEVE');
  expect(JSON.stringify(sharedSessions)).not.toContain('SAIDBYBEN');
  expect((await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).code).toBe(0);
  expect(await filesHolding(at.dataDir, ['SAIDBYEVE', 'FILEOFEVE'])).toEqual([]);
  const kept = await filesHolding(at.dataDir, ['SAIDBYBEN', 'FILEOFBEN']);
  expect(kept.filter((file) => /sessions\/default.jsonl: SAID|uploads\/.*: FILE/.test(file))).toHaveLength(2);
});

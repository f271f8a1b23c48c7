// Section 10, case 7: the process is started anew in each state in which a run waits.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Database } from '../journal/database.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { waitingTools } from '../testing/waiting-tools.ts';

const BEN = { chatId: 'ben', senderId: 'ben', senderName: 'Ben' };
const CLEO = { chatId: 'cleo', senderId: 'cleo', senderName: 'Cleo' };
const ADA = { chatId: 'ada', senderId: 'ada', senderName: 'Ada' };
const YES = { ok: true, output: 'went' };

/** `call […]` makes these calls; what they came to is the answer. */
const model = () =>
  scriptedModel(({ messages }) => {
    const asked = messages.findLastIndex(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    const [, json] = /call (\[.*\])$/s.exec(String(messages[asked]?.content)) ?? [];
    const results = messages.slice(asked).filter(({ role }) => role === 'tool');
    if (json === undefined) return 'heard';
    if (results.length > 0) return `came: ${results.map(({ content }) => content).join(' | ')}`;
    return { text: '', toolCalls: JSON.parse(json) as { name: string; arguments: Record<string, unknown> }[] };
  });

async function start(dataDir: string): Promise<TestDaemon & { readonly model: ReturnType<typeof model> }> {
  const scripted = model();
  const rig = await testDaemon({
    ...{ dataDir, model: scripted, channel: new TestChannel('test') },
    entry: { allowed_senders: ['ada', 'ben', 'cleo'] },
    gateway: { owner: [{ channel: 'test', chat_id: 'ada', sender_ids: ['ada'] }] },
    policy: { members: ['*'] },
    daemon: { extraTools: [waitingTools] },
  });
  return { ...rig, model: scripted, [Symbol.asyncDispose]: rig[Symbol.asyncDispose] };
}

function statuses(dir: string): readonly string[] {
  using db = new Database(join(dir, 'journal.db'), { busyMs: 5_000 });
  return db.all<{ status: string }>("SELECT status FROM task WHERE profile = 'task'").map(({ status }) => status);
}

const call = (name: string, args: object): string => `call ${JSON.stringify([{ name, arguments: args }])}`;
const codeIn = (texts: readonly string[]): string => /\/(?:answer|allow) ([A-Z2-9]{6})/.exec(texts.join('\n'))?.[1] ?? '';

interface Case {
  readonly what: string;
  readonly asks: string;
  /** Of the task, while it waits. */
  readonly status: string;
  readonly chat?: string;
  /** What ends the wait, in the new process. */
  readonly end: (rig: TestDaemon, code: string) => Promise<unknown>;
  readonly came: string;
}

const CASES: readonly Case[] = [
  {
    ...{
      what: 'for the words of a person',
      asks: call('ask_human', { question: 'Which?' }),
      status: 'waiting_input',
      chat: 'ben',
    },
    end: ({ channel }, code) => channel.deliver({ ...BEN, platformId: 'a', text: `/answer ${code} red` }),
    came: 'came: red',
  },
  {
    ...{ what: 'for a yes', asks: call('ask_human', { question: 'Which?', to: 'cleo' }), status: 'waiting_input', chat: 'ada' },
    end: ({ channel }, code) => channel.deliver({ ...ADA, platformId: 'a', text: `/deny ${code}` }),
    came: 'came: Error: ask_human was not allowed: a person said no. Do not try it in another way.',
  },
  {
    what: 'for another run',
    ...{ asks: call('run_child', { task: call('await_signal', { name: 'go' }) }), status: 'waiting_subagents' },
    end: ({ daemon }) => daemon.journal.commit([{ kind: 'settle', settled: { wait: 'go', value: YES, by: 'test' } }]),
    came: 'came: came: went',
  },
  {
    ...{ what: 'for a signal', asks: call('await_signal', { name: 'go' }), status: 'waiting_subagents' },
    end: ({ daemon }) => daemon.journal.commit([{ kind: 'settle', settled: { wait: 'go', value: YES, by: 'test' } }]),
    came: 'came: went',
  },
  {
    ...{ what: 'for a time', asks: call('sleep', { ms: 1_500 }), status: 'waiting_subagents' },
    end: async () => undefined,
    came: 'came: slept',
  },
];

test.each(CASES)('case 7: a task that waits $what is shown as $status, and goes on in the next process', async (one) => {
  await using dir = await tempDir();
  let code = '';
  let calls = 0;
  {
    await using first = await start(dir.path);
    const { channel, daemon } = first;
    for (const who of [BEN, CLEO]) await channel.deliver({ ...who, text: 'hello' });
    await until('they are known', () => channel.sent.length === 2);
    const authority = { principal: 'test:ben', role: 'member', mode: 'guarded', policies: [] } as const;
    const replyTo = { channel: 'test', account: 'bot', chatId: 'ben', isGroup: false };
    const prompt = { text: one.asks, media: [], at: '2026-11-22T00:00:00Z' };
    const run = { key: 'task/1', profile: 'task', lane: 'task/1', session: 'task/1', prompt, authority, replyTo } as const;
    await daemon.journal.commit([{ kind: 'run', run: { ...run, source: { kind: 'api', client: 'test' } } }]);
    const parked = one.what === 'for another run' ? 2 : 1;
    await until('it waits', async () => (await daemon.journal.counts()).inbox.PARKED === parked);
    expect(statuses(dir.path)).toEqual([one.status]);
    const { chat } = one;
    if (chat !== undefined) code = await until('it is asked', () => codeIn(channel.texts(chat)));
    calls = first.model.requests.length;
  }
  await using second = await start(dir.path);
  expect(statuses(dir.path)).toEqual([one.status]);
  await one.end(second, code);
  const told = () => second.channel.texts('ben').filter((text) => text.endsWith(`is done.\n\n${one.came}`));
  await until('it has come to its end', () => told().length > 0);
  await until('it is completed', () => statuses(dir.path).join() === 'completed');
  expect(told()).toHaveLength(1);
  // hello twice, the task, and of another run its own call.
  expect([calls, second.model.requests.length]).toEqual(one.what === 'for another run' ? [4, 2] : [3, 1]);
});

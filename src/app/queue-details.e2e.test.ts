// What queue modes do beyond their order: words, history, groups, bursts, and what people are told of it.
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { InboundMessage } from '../core/message.ts';
import type { ModelRequest } from '../core/model.ts';
import type { ToolKit } from '../core/tool.ts';
import { type Gate, gate, inbound, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';
import { defineTool } from '../tools/define.ts';

const contents = ({ messages }: ModelRequest): readonly string[] => messages.slice(1).map(({ content }) => content);
const asked = (request: ModelRequest): string => request.messages.findLast(({ role }) => role === 'user')?.content ?? '';

/** A call that contains `hold` waits; every other message is answered with its own words. */
function holding(held: Gate, more?: (request: ModelRequest) => ScriptStep | undefined): ScriptFunction {
  return async (request, signal) => {
    const step = more?.(request);
    if (step !== undefined) return step;
    const words = asked(request);
    const aborted = new Promise<'aborted'>((resolve) =>
      signal.addEventListener('abort', () => resolve('aborted'), { once: true }),
    );
    if (words.includes('hold') && (await Promise.race([held.opened, aborted])) === 'aborted') return { hang: true };
    return `did ${words}`;
  };
}

interface SceneOptions {
  readonly entry?: Record<string, unknown>;
  readonly gateway?: Record<string, unknown>;
  readonly tools?: ToolKit;
  readonly channel?: TestChannel;
}

async function scene(dataDir: string, script: ScriptFunction, options: SceneOptions = {}) {
  const model = scriptedModel(script);
  const rig = await testDaemon({
    ...{ dataDir, model, policy: OPEN_TO_ALL, channel: options.channel ?? new TestChannel('test') },
    entry: { allowed_senders: ['user-1', 'ann', 'ben'], allowed_groups: ['*'], group_mode: 'always', ...options.entry },
    gateway: { owner: [{ channel: 'test', chat_id: 'home', sender_ids: ['ann'] }], ...options.gateway },
    daemon: { clock: new SteadyClock(), ...(options.tools ? { extraTools: [options.tools] } : {}) },
  });
  return { ...rig, model, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

const batch = ({ channel }: Pick<TestDaemon, 'channel'>, ...messages: readonly Partial<InboundMessage>[]) =>
  channel.host?.receive(messages.map((one) => inbound(one)));
const isStill = async ({ daemon }: TestDaemon): Promise<boolean> => {
  const { inbox, outbox } = await daemon.journal.counts();
  return inbox.NEW + inbox.RUNNING + outbox.PENDING + outbox.SENDING === 0;
};

test('collect: what waits is joined with its authors in a group and with its files, and edits and deletes of it count', async () => {
  await using dir = await tempDir();
  const held = gate();
  const channel = new TestChannel('test');
  channel.files.set('f1', Buffer.from('one')).set('f2', Buffer.from('two'));
  await using at = await scene(dir.path, holding(held), { channel, entry: { queue_mode: 'collect' } });
  const said = (platformId: string, senderId: string, text: string, more: Partial<InboundMessage> = {}) => ({
    ...{ platformId, senderId, senderName: senderId, text, isGroup: true, mentionsBot: true, chatId: 'group' },
    ...more,
  });
  await batch(at, said('m0', 'user-1', 'hold on'));
  await until('it is at work', () => at.model.requests.length === 1);
  const file = (ref: string) => ({ media: [{ kind: 'document', ref, name: `${ref}.txt` }] }) as const;
  await batch(at, said('m1', 'user-1', 'first', file('f1')), said('m2', 'ben', 'secnod'), said('m3', 'user-1', 'not this'));
  await batch(at, said('m4', 'ben', 'third', file('f2')));
  await batch(
    at,
    said('e2', 'ben', 'second', { kind: 'edit', targetId: 'm2' }),
    said('d3', 'user-1', '', { kind: 'delete', targetId: 'm3' }),
  );
  held.open();
  await until('all is answered', async () => at.model.requests.length === 2 && (await isStill(at)));
  expect(asked(at.model.requests[1] as ModelRequest).split('\n')).toEqual([
    '[from user-1] first',
    '---',
    'Queued #1:',
    '[from ben] second',
    '---',
    'Queued #2:',
    '[from ben] third',
    expect.stringMatching(/^\[File: uploads\/.*named “f1.txt” by its sender\]$/),
    expect.stringMatching(/^\[File: uploads\/.*named “f2.txt” by its sender\]$/),
  ]);
  expect(at.channel.texts('group')).toHaveLength(2);
});

test('collect: a person who stops their own words leaves those of another one, which are answered by themselves', async () => {
  await using dir = await tempDir();
  const held = gate();
  const script = holding(held, (request) => (asked(request).includes('wait here') ? { hang: true } : undefined));
  await using at = await scene(dir.path, script, { entry: { queue_mode: 'collect' } });
  const said = (platformId: string, senderId: string, text: string) => ({
    ...{ platformId, senderId, senderName: senderId, text, isGroup: true, mentionsBot: true, chatId: 'group' },
  });
  await batch(at, said('m0', 'user-1', 'hold on'));
  await until('it is at work', () => at.model.requests.length === 1);
  await batch(at, said('m1', 'user-1', 'wait here'), said('m2', 'ben', 'what is new?'), said('m3', 'user-1', 'and wait on'));
  held.open();
  await until('what waited is at work', () => at.model.requests.length === 2);
  expect(asked(at.model.requests[1] as ModelRequest)).toContain('[from ben] what is new?');
  await batch(at, said('m4', 'user-1', '/stop'));
  await until('ben is answered', () => at.channel.texts('group').includes('did [from ben] what is new?'));
  expect(at.channel.texts('group')[1]).toBe('🛑 Cancelled.\nWork of: user-1');
});

test('speculative: an overflow turn knows nothing of the question before it, and the history ends up in the order of time', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await scene(dir.path, holding(held), { gateway: { queue_mode: 'spec' } });
  await at.channel.deliver({ text: 'before' });
  await until('it is answered', () => at.channel.texts().length === 1);
  await at.channel.deliver({ text: 'hold the long one' });
  await until('it is at work', () => at.model.requests.length === 2);
  await at.channel.deliver({ text: 'quick' });
  await until('the quick one is answered', () => at.channel.texts().includes('did quick'));
  await at.channel.deliver({ text: 'quicker' });
  await until('the other one is answered', () => at.channel.texts().includes('did quicker'));
  for (const request of at.model.requests.slice(2)) expect(contents(request).slice(0, -1)).toEqual(['before', 'did before']);
  held.open();
  await until('the long one is answered', () => at.channel.texts().length === 4);
  expect(at.channel.texts().at(-1)).toBe('↩️ To your earlier message (a later one was answered first):\n\ndid hold the long one');
  await at.channel.deliver({ text: 'after' });
  await until('the next one is answered', () => at.channel.texts().includes('did after'));
  expect(contents(at.model.requests.at(-1) as ModelRequest)).toEqual([
    ...[
      'before',
      'did before',
      'hold the long one',
      'quick',
      'did quick',
      'quicker',
      'did quicker',
      'did hold the long one',
      'after',
    ],
  ]);
});

const press: ToolKit = () => [
  defineTool({
    ...{ name: 'press', description: 'Presses.', schema: z.strictObject({}), tags: [], effect: 'workspace', outputBytes: 100 },
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })),
  }),
];

test('interrupt: what was shown is marked, the outcome of a tool that began is told as unknown, and /why names it', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test').withEdits();
  const script: ScriptFunction = (request) => {
    if (asked(request) !== 'press it') return `did ${asked(request)}`;
    return { text: 'I press it now', chunks: ['I press ', 'it now'], toolCalls: [{ name: 'press' }] };
  };
  await using at = await scene(dir.path, script, { channel, tools: press, entry: { queue_mode: 'interrupt' } });
  await batch(at, { platformId: 'm1', text: 'press it' });
  await until('it is shown', () => channel.screen().some((text) => text.includes('I press it now')));
  await batch(at, { platformId: 'm2', text: 'leave it' });
  await until('the newer one is answered', async () => channel.screen().includes('did leave it') && (await isStill(at)));
  expect(channel.screen()[0]).toMatch(/^I press it now.*\n\n⏭️ Interrupted here by a newer message\.$/s);
  expect(contents(at.model.requests.at(-1) as ModelRequest)).toEqual([
    'press it',
    'I press it now',
    'Error: outcome unknown: this call was broken off and may have taken effect. Check before repeating it.',
    '[interrupted]',
    'leave it',
  ]);
  await batch(at, { platformId: 'm3', text: '/why', replyTo: { platformId: 'm1', fromBot: false } });
  await until('it says why', () => channel.screen().some((text) => /interrupted by a newer message/.test(text)));
});

test('interrupt: what works in the background goes on, and its result is told', async () => {
  await using dir = await tempDir();
  const dug = gate();
  const script: ScriptFunction = async (request) => {
    const words = asked(request);
    if (words.startsWith('[You are a sub-agent')) {
      await dug.opened;
      return 'gold';
    }
    if (words.startsWith('[The sub-agent')) return `told: ${words.split('\n\n')[1]}`;
    if (words !== 'dig') return `did ${words}`;
    const isBegun = request.messages.some(({ content }) => content.startsWith('The sub-agent “dig” is at work'));
    return isBegun ? { hang: true } : { text: '', toolCalls: [{ name: 'spawn', arguments: { task: 'dig', label: 'dig' } }] };
  };
  await using at = await scene(dir.path, script, { entry: { queue_mode: 'interrupt' } });
  await at.channel.deliver({ text: 'dig' });
  await until('both are at work', () => at.model.requests.length === 3);
  await at.channel.deliver({ text: 'and greet Ben' });
  await until('the newer one is answered', () => at.channel.texts().includes('did and greet Ben'));
  dug.open();
  await until('the result is told', () => at.channel.texts().at(-1) === 'told: gold');
  expect(contents(at.model.requests.at(-1) as ModelRequest)).toContain('[interrupted]');
});

test('/why names what was superseded, and what was steered', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await scene(dir.path, holding(held), { entry: { queue_mode: 'steer' } });
  await batch(at, { platformId: 'm1', text: 'one' }, { platformId: 'm2', text: 'hold two' });
  await until('the newest is at work', () => at.model.requests.length === 1);
  await batch(at, { platformId: 'm3', text: 'three' });
  held.open();
  await until('it is answered', () => at.channel.texts().length === 1);
  for (const asks of ['m1', 'm3'])
    await batch(at, { platformId: `why ${asks}`, text: '/why', replyTo: { platformId: asks, fromBot: false } });
  await until('both are told', () => at.channel.texts().length === 3);
  expect(at.channel.texts()).toEqual([
    'did hold two\n\ndid three',
    expect.stringMatching(/superseded/),
    expect.stringMatching(/steered/),
  ]);
});

test('in a group a message does not steer the turn of another person', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await scene(dir.path, holding(held), { entry: { queue_mode: 'steer' } });
  const inGroup = (platformId: string, senderId: string, text: string) =>
    batch(at, { ...{ platformId, senderId, senderName: senderId, text, chatId: 'group', isGroup: true, mentionsBot: true } });
  await inGroup('m1', 'ann', 'hold the owner’s work');
  await until('it is at work', () => at.model.requests.length === 1);
  await inGroup('m2', 'ben', 'do something else');
  held.open();
  await until('both are answered', () => at.channel.texts('group').length === 2);
  expect(at.channel.texts('group')).toEqual(['did [from ann] hold the owner’s work', 'did [from ben] do something else']);
});

test('interrupt in a group: a member ends no other person’s turn, the owner does', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await scene(dir.path, holding(held), { entry: { queue_mode: 'interrupt' } });
  const inGroup = (platformId: string, senderId: string, text: string) =>
    batch(at, { ...{ platformId, senderId, senderName: senderId, text, chatId: 'group', isGroup: true, mentionsBot: true } });
  await inGroup('m1', 'user-1', 'hold on');
  await until('it is at work', () => at.model.requests.length === 1);
  await inGroup('m2', 'ben', 'me too');
  expect(at.daemon.lanes.stats().running).toBe(1);
  await inGroup('m3', 'ann', 'enough of that');
  await until('the others are answered', async () => at.channel.texts('group').length === 2 && (await isStill(at)));
  expect(at.channel.texts('group')).toEqual(['did [from ben] me too', 'did [from ann] enough of that']);
});

test('/queue shows and sets the mode at once, also in mid-turn; a wrong word names the values; /reset takes it back', async () => {
  await using dir = await tempDir();
  const held = gate();
  await using at = await scene(dir.path, holding(held));
  const tells = async (text: string, more: Partial<InboundMessage> = {}): Promise<string> => {
    const chatId = more.chatId ?? 'chat-1';
    const before = at.channel.texts(chatId).length;
    await at.channel.deliver({ text, ...more });
    await until(`${text} is answered`, () => at.channel.texts(chatId).length > before);
    return at.channel.texts(chatId).at(-1) ?? '';
  };
  expect(await tells('/queue')).toMatch(
    /^Queue mode: followup, the default\.\n\n\/queue followup – .*\/queue default – as the config says$/s,
  );
  await at.channel.deliver({ text: 'hold on' });
  await until('it is at work', () => at.model.requests.length === 1);
  expect(await tells('/queue SPEC')).toMatch(/^From now on the queue mode is speculative here/);
  expect(await tells('at once')).toBe('did at once');
  held.open();
  await until('the first is answered', () => at.channel.texts().some((text) => text.endsWith('did hold on')));
  expect(await tells('/queue fast')).toBe(
    'There is no queue mode “fast”. Nothing was changed. There are: followup, collect, steer, interrupt, speculative, default.',
  );
  expect(await tells('/queue')).toMatch(/^Queue mode: speculative, chosen here\./);
  expect(await tells('/reset')).toMatch(/^Started afresh/);
  expect(await tells('/queue')).toMatch(/^Queue mode: followup, the default\./);
  const group = { chatId: 'group', isGroup: true, mentionsBot: true } as const;
  expect(await tells('/queue steer', { ...group, senderId: 'ben' })).toMatch(
    /^In a group only the owner of this assistant and its admins can do that\. Nothing was changed\.$/,
  );
  expect(await tells('/queue steer', { ...group, senderId: 'ann' })).toMatch(/^From now on the queue mode is steer here/);
});

test('debounce: a burst of one person is one request, the platform is acknowledged at once, and /stop does not wait for it', async () => {
  await using dir = await tempDir();
  // How far apart messages came is read from the time of day, which goes on while the process stands still.
  await using at = await scene(dir.path, holding(gate()), { entry: { debounce_ms: 1_500 } });
  for (const text of ['one', 'two', 'three']) expect(await at.channel.deliver({ text })).toEqual({ kind: 'accepted' });
  expect(at.model.requests).toHaveLength(0);
  await until('they are answered', () => at.channel.texts().length === 1);
  expect(at.channel.texts()).toEqual(['did one\n---\nQueued #1: two\n---\nQueued #2: three']);
  await at.channel.deliver({ text: 'four' });
  await at.channel.deliver({ text: '/stop' });
  await until('it is stopped', () => at.channel.texts().length === 2);
  expect([at.channel.texts().at(-1), at.model.requests.length]).toEqual(['🛑 Cancelled.', 1]);
});

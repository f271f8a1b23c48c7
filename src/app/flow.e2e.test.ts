// Where queue modes, topics, compaction, sub-agents, tasks and runs that wait meet, through the whole daemon.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { sessionKey } from '../core/ids.ts';
import type { ModelRequest } from '../core/model.ts';
import type { ToolKit } from '../core/tool.ts';
import { systemClock } from '../lib/clock.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';
import { defineTool } from '../tools/define.ts';

const SESSION = sessionKey({ channel: 'test', account: 'bot', chatId: 'chat-1' });
const OWNER = { channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] };
const isSummary = ({ context }: ModelRequest): boolean => context.purpose === 'summary';
const lastOf = ({ messages }: ModelRequest) => messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));
const rawOf = (request: ModelRequest): string => lastOf(request)?.content ?? '';
/** What a person, a task or a parent asked for. */
const askedOf = (request: ModelRequest): string =>
  /^\[(?:You are a sub-agent|Task ")[^\]]*\]\n\n(.*?)(?:\n\nContext:|$)/s.exec(rawOf(request))?.[1] ?? rawOf(request);
const isReport = (request: ModelRequest): boolean => rawOf(request).startsWith('[The sub-agent');
const resultsOf = (request: ModelRequest): readonly string[] => {
  const asked = lastOf(request);
  const at = asked ? request.messages.indexOf(asked) : 0;
  return request.messages.slice(at).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
};

/** `calls`: what a request with these words calls first. Others are answered with their own words. */
function script(
  calls: Record<string, ScriptStep>,
  before?: (request: ModelRequest) => Promise<unknown> | undefined,
): ScriptFunction {
  return async (request) => {
    await before?.(request);
    if (isSummary(request)) return 'They talked.';
    if (isReport(request)) return `told: ${rawOf(request).split('\n\n')[1]}`;
    const asked = askedOf(request);
    const call = calls[asked];
    return call && resultsOf(request).length === 0 ? call : `did ${asked}`;
  };
}
const spawn = (task: string): ScriptStep => ({ text: '', toolCalls: [{ name: 'spawn', arguments: { task, label: task } }] });
const dispatch = (task: string): ScriptStep => ({
  text: '',
  toolCalls: [{ name: 'dispatch_subagent', arguments: { task_description: task } }],
});

async function start(
  dataDir: string,
  model: ReturnType<typeof scriptedModel>,
  gateway: object = {},
  channel = new TestChannel('test'),
): Promise<TestDaemon> {
  return await testDaemon({
    ...{ dataDir, model, channel, policy: OPEN_TO_ALL },
    gateway: { owner: [OWNER], ...gateway },
    daemon: { extraTools: [waitingTools] },
  });
}
let nth = 0;
async function tell({ channel }: TestDaemon, text: string): Promise<void> {
  nth += 1;
  await channel.deliver({ platformId: `p${nth}`, text });
}
const says = async ({ channel }: TestDaemon, text: string): Promise<void> => {
  await until(`it says ${text}`, () => channel.texts().some((one) => one.includes(text)));
};
const states = async ({ daemon }: TestDaemon) => {
  const { NEW, RUNNING, PARKED } = (await daemon.journal.counts()).inbox;
  return { NEW, RUNNING, PARKED };
};
const isStill = async (rig: TestDaemon): Promise<boolean> => {
  const { outbox } = await rig.daemon.journal.counts();
  const { NEW, RUNNING } = await states(rig);
  return NEW + RUNNING + outbox.SENDING === 0;
};

test('a sub-agent begins no task', async () => {
  await using dir = await tempDir();
  const task: ScriptStep = { text: '', toolCalls: [{ name: 'start_task', arguments: { task: 'more' } }] };
  const model = scriptedModel(script({ go: dispatch('nest'), nest: task }));
  await using rig = await start(dir.path, model);
  await tell(rig, 'go');
  await says(rig, 'did go');
  const inner = model.requests.filter((request) => askedOf(request) === 'nest');
  expect(inner[0]?.tools.map(({ name }) => name)).not.toContain('start_task');
  expect(resultsOf(inner.at(-1) as ModelRequest)).toEqual([expect.stringMatching(/start_task/)]);
});

test('a conversation that was compacted meanwhile is told what a sub-agent in the background came to', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(script({ go: spawn('dig') }, (one) => (askedOf(one) === 'dig' ? held.opened : undefined)));
  await using rig = await start(dir.path, model);
  await tell(rig, 'go');
  await says(rig, 'did go');
  for (let n = 0; n < 8; n += 1) await tell(rig, `talk ${n}`);
  await says(rig, 'did talk 7');
  await tell(rig, '/compact');
  await says(rig, 'became a summary');
  held.open();
  await says(rig, 'told: did dig');
  expect(model.requests.find(isReport)?.messages.map(({ content }) => content)).toContain('did talk 7');
});

test('lines that runs beside each other left out of order are compacted', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(script({}, (one) => (askedOf(one) === 'hold' ? held.opened : undefined)));
  await using rig = await start(dir.path, model, { queue_mode: 'speculative' });
  await tell(rig, 'hold');
  await until('it is at work', () => model.requests.length === 1);
  for (let n = 0; n < 8; n += 1) {
    await tell(rig, `quick ${n}`);
    await says(rig, `did quick ${n}`);
  }
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  await until('they are in the file', async () => ((await store.load(SESSION))?.messages.length ?? 0) === 16);
  held.open();
  await says(rig, 'did hold');
  await until('all is in the file', async () => ((await store.load(SESSION))?.messages.length ?? 0) === 18);
  await tell(rig, '/compact');
  await until('it is answered', () => rig.channel.texts().length === 10);
  expect(rig.channel.texts().at(-1)).toMatch(/became a summary/);
});

test('a sub-agent in the background whose topic is deleted meanwhile is told of in the chat', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(script({ go: spawn('dig') }, (one) => (askedOf(one) === 'dig' ? held.opened : undefined)));
  await using rig = await start(dir.path, model);
  await tell(rig, '/new work');
  await tell(rig, 'go');
  await says(rig, 'did go');
  await tell(rig, '/s');
  await says(rig, 'Now in the chat itself');
  await tell(rig, '/delete work');
  await says(rig, 'was deleted');
  held.open();
  await says(rig, 'told: did dig');
});

test('a sub-agent in the background of a topic that is not active is told of once, in its topic', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(script({ go: spawn('dig') }, (one) => (askedOf(one) === 'dig' ? held.opened : undefined)));
  await using rig = await start(dir.path, model);
  await tell(rig, '/new work');
  await tell(rig, 'go');
  await says(rig, 'did go');
  await tell(rig, '/s');
  await says(rig, 'Now in the chat itself');
  held.open();
  await says(rig, 'An answer in topic “work” is ready');
  await until('all is still', () => isStill(rig));
  expect(rig.channel.texts().some((text) => text.includes('told:'))).toBe(false);
  await tell(rig, '/s work');
  await until('it is told', () => rig.channel.texts().includes('told: did dig'));
  expect(rig.channel.texts().filter((text) => text.startsWith('told:'))).toHaveLength(1);
});

test('/delete of a topic leaves a task that was begun in it, whether it runs or waits', async () => {
  await using dir = await tempDir();
  const held = gate();
  const busy = ['slow', 'child'];
  const model = scriptedModel(
    script({ waits: dispatch('child') }, (one) => (busy.includes(askedOf(one)) ? held.opened : undefined)),
  );
  await using rig = await start(dir.path, model);
  await tell(rig, '/new work');
  await tell(rig, '/task slow');
  await tell(rig, '/task waits');
  await until('both are under way', async () => {
    const { RUNNING, PARKED } = await states(rig);
    return RUNNING === 2 && PARKED === 1;
  });
  await tell(rig, '/s');
  await tell(rig, '/delete work');
  await says(rig, 'was deleted');
  expect(await states(rig)).toEqual({ NEW: 0, RUNNING: 2, PARKED: 1 });
  held.open();
  await says(rig, 'did slow');
  await says(rig, 'did waits');
});

test('/stop in a topic ends what runs there, beside it, in the background, and its tasks', async () => {
  await using dir = await tempDir();
  const held = gate();
  const busy = ['hold', 'beside', 'dig', 'slow', 'child', 'elsewhere'];
  const model = scriptedModel(
    script({ go: spawn('dig'), wait: dispatch('child') }, (one) => (busy.includes(askedOf(one)) ? held.opened : undefined)),
  );
  await using rig = await start(dir.path, model, { queue_mode: 'speculative', max_concurrent_sessions: 30 });
  await tell(rig, 'elsewhere');
  await until('it works', () => model.requests.length === 1);
  await tell(rig, '/new work');
  await tell(rig, 'go');
  await says(rig, 'did go');
  await tell(rig, 'wait');
  await until('it waits', async () => (await states(rig)).PARKED === 1);
  await tell(rig, 'hold');
  await until('it holds', () => model.requests.some((one) => askedOf(one) === 'hold'));
  await tell(rig, 'beside');
  await until('it is beside', () => model.requests.some((one) => askedOf(one) === 'beside'));
  await tell(rig, '/task slow');
  await says(rig, 'is on its way');
  await until('all run', async () => (await states(rig)).RUNNING === 6);
  await tell(rig, '/stop');
  await says(rig, '🛑');
  expect(await states(rig)).toEqual({ NEW: 0, RUNNING: 0, PARKED: 0 });
  const said = rig.channel.texts().length;
  held.open();
  await until('nothing runs', () => rig.daemon.lanes.isAtRest);
  expect(rig.channel.texts().slice(said)).toEqual([]);
});

test('what was told to a run that then waits is answered while it waits', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(
    script({ wait: dispatch('child') }, (one) => {
      if (askedOf(one) === 'wait' && resultsOf(one).length === 0) return held.opened;
      return askedOf(one) === 'child' ? later.opened : undefined;
    }),
  );
  const later = gate();
  await using rig = await start(dir.path, model, { queue_mode: 'steer' });
  await tell(rig, 'wait');
  await until('it is at work', () => model.requests.length === 1);
  await tell(rig, 'and this');
  held.open();
  await says(rig, 'did and this');
  expect((await states(rig)).PARKED).toBe(1);
  later.open();
  await says(rig, 'did wait');
  expect(rig.channel.texts().filter((text) => text.includes('and this'))).toHaveLength(1);
});

test('the progress of sub-agents says which topic it is of', async () => {
  await using dir = await tempDir();
  const [held, later] = [gate(), gate()];
  const model = scriptedModel(
    script({ wait: dispatch('child') }, (one) => {
      if (askedOf(one) === 'wait' && resultsOf(one).length === 0) return held.opened;
      return askedOf(one) === 'child' ? later.opened : undefined;
    }),
  );
  await using rig = await start(dir.path, model, {}, new TestChannel('test').withEdits());
  const shows = (text: string) => until(`it shows ${text}`, () => rig.channel.screen().includes(text));
  await tell(rig, '/new work');
  await tell(rig, 'wait');
  await until('it is at work', () => model.requests.length === 1);
  await tell(rig, '/s');
  held.open();
  await shows('In topic “work”: 0 of 1 sub-agent done: child …');
  later.open();
  await shows('In topic “work”: 1 of 1 sub-agent done: child ✓');
});

test('collect: ten messages with a command and an edit among them are answered in two, around the command', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(script({}, (one) => (askedOf(one) === 'hold' ? held.opened : undefined)));
  await using rig = await start(dir.path, model, { queue_mode: 'collect' });
  await tell(rig, '/new work');
  await tell(rig, 'hold');
  await until('it holds', () => model.requests.length === 1);
  for (let n = 0; n < 9; n += 1) {
    if (n === 4) await tell(rig, '/compact');
    await rig.channel.deliver({ platformId: `c${n}`, text: `m${n}` });
  }
  await rig.channel.deliver({ platformId: 'e', kind: 'edit', targetId: 'c6', text: 'mended' });
  held.open();
  await says(rig, 'm8');
  const joined = (from: string, ...rest: readonly string[]) =>
    `did ${[from, ...rest.map((text, n) => `---\nQueued #${n + 1}: ${text}`)].join('\n')}`;
  expect(rig.channel.texts().slice(1)).toEqual([
    'did hold',
    joined('m0', 'm1', 'm2', 'm3'),
    expect.stringMatching(/nothing to compact/),
    joined('m4', 'm5', 'mended', 'm7', 'm8'),
  ]);
});

test('interrupt ends the turn, its tool with an outside effect is not called again, and the task of the chat goes on', async () => {
  await using dir = await tempDir();
  const [held, called] = [gate(), gate()];
  let calls = 0;
  const send: ToolKit = () => [
    defineTool({
      ...{ name: 'send', description: 'Sends.', schema: z.strictObject({}), tags: [], effect: 'outside', outputBytes: 100 },
      async run() {
        calls += 1;
        called.open();
        await held.opened;
        return 'sent';
      },
    }),
  ];
  const model = scriptedModel(
    script({ go: { text: '', toolCalls: [{ name: 'send' }] } }, (one) => (askedOf(one) === 'slow' ? held.opened : undefined)),
  );
  const begin = async () =>
    await testDaemon({
      ...{ dataDir: dir.path, model, channel: new TestChannel('test'), policy: { ...OPEN_TO_ALL, mode: 'full' } },
      gateway: { owner: [OWNER], queue_mode: 'interrupt' },
      daemon: { extraTools: [send] },
    });
  {
    await using rig = await begin();
    await tell(rig, '/task slow');
    await tell(rig, 'go');
    await called.opened;
    await tell(rig, 'leave it');
    await says(rig, 'did leave it');
  }
  held.open();
  await using rig = await begin();
  await says(rig, 'did slow');
  await until('all is still', () => isStill(rig));
  expect(calls).toBe(1);
  const [after] = model.requests.filter((one) => rawOf(one) === 'leave it');
  expect(after?.messages.map(({ content }) => content)).toContainEqual(expect.stringContaining('outcome unknown'));
});

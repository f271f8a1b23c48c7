// Sub-agents through the whole daemon: the real tools, a scripted model, a journal on disk.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';
import { defineTool } from '../tools/define.ts';

const lastOf = ({ messages }: ModelRequest): SessionMessage | undefined =>
  messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));

/** The task of a sub-agent, or what a person said. */
const askedOf = (request: ModelRequest): string => {
  const { content = '' } = lastOf(request) ?? {};
  return /^\[You are a sub-agent[^\]]*\]\n\n(.*?)(?:\n\nContext:|$)/.exec(content)?.[1] ?? content;
};

const dispatch = (...tasks: readonly string[]): ScriptStep => ({
  text: 'on it',
  toolCalls: tasks.map((task) => ({ name: 'dispatch_subagent', arguments: { task_description: task } })),
});
const background = (task: string): ScriptStep => ({
  text: '',
  toolCalls: [{ name: 'spawn', arguments: { task, label: task } }],
});

/** `do it all` begins them; each other request is answered with its own words. */
function worker(begin: ScriptStep, others: ScriptFunction = (request) => `did ${askedOf(request)}`): ScriptFunction {
  return (request, signal) => {
    const asked = lastOf(request);
    if (!asked?.content.endsWith('do it all')) return others(request, signal);
    const results = request.messages.slice(request.messages.indexOf(asked)).filter(({ role }) => role === 'tool');
    return results.length === 0 ? begin : `all: ${results.map(({ content }) => content).join(', ')}`;
  };
}

async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, more: object = {}): Promise<TestDaemon> {
  return await testDaemon({ dataDir, model, channel: new TestChannel('test'), policy: OPEN_TO_ALL, ...more });
}

test('sub-agents work side by side, and their results come in the order of the calls', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker(dispatch('a', 'b', 'c')));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  expect(rig.channel.texts()).toEqual(['0 of 3 sub-agents done: a …, b …, c …', 'all: did a, did b, did c']);
  expect(model.requests).toHaveLength(5);
  const child = model.requests.find((request) => askedOf(request) === 'a');
  expect(child?.tools.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['spawn']));
  expect(child?.tools.map(({ name }) => name)).toContain('write_file');
});

test('a sub-agent in the background leaves the conversation free, which is told its result once', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(
    worker(background('dig'), (request) => {
      const asked = askedOf(request);
      return asked.startsWith('[The sub-agent') ? `told: ${asked.split('\n\n')[1]}` : `did ${asked}`;
    }),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('told: '));
  expect(rig.channel.texts()).toEqual([
    expect.stringMatching(/^all: The sub-agent “dig” is at work \(id .*#call_.*\)/),
    'told: did dig',
  ]);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 3 });
});

const open = async ({ daemon }: TestDaemon): Promise<number> => {
  const { NEW, RUNNING, PARKED } = (await daemon.journal.counts()).inbox;
  return NEW + RUNNING + PARKED;
};
/**
 * Stands still with this process, so that only what it did counts. It has to be looked at again and again.
 */
function begun(): readonly [SteadyClock, number] {
  const clock = new SteadyClock();
  return [clock, clock.monotonic()];
}
const isReport = (request: ModelRequest): boolean => askedOf(request).startsWith('[The sub-agent');
const reported = (request: ModelRequest): string => `told: ${askedOf(request).split('\n\n')[1]}`;

test('section 10 case 12: when all sub-agents fail, the run that waits for them goes on with that, and may still answer', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker(dispatch('a', 'b'), () => ({ fail: 'bad-request' })));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  const failed = expect.stringMatching(/^all: Error: .*, Error: /);
  expect(rig.channel.texts()).toEqual(['0 of 2 sub-agents done: a …, b …', failed]);
});

test.each([true, 'deaf'] as const)(
  'one that never ends is ended by the time of a step, and its parent goes on (%s)',
  async (hang) => {
    await using dir = await tempDir();
    const model = scriptedModel(
      worker(dispatch('waits for ever', 'b'), (request) => (askedOf(request) === 'b' ? 'did b' : { hang })),
    );
    await using rig = await start(dir.path, model, { daemon: { clock: new SteadyClock(600) } });
    await rig.channel.deliver({ text: 'do it all' });
    await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
    const answer = rig.channel.texts().at(-1) ?? '';
    expect(answer).toContain('one step of this turn reached its time limit of 10 minutes');
    expect(answer).toMatch(/, did b$/);
  },
);

test('section 10 case 5: two that end in one tick resume the run that waits once, and so does one that ends at once', async () => {
  await using dir = await tempDir();
  const both = gate();
  let atGate = 0;
  const model = scriptedModel(
    worker(dispatch('a', 'b'), async (request) => {
      atGate += 1;
      if (atGate === 2) both.open();
      await both.opened;
      return `did ${askedOf(request)}`;
    }),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all', platformId: 'm' });
  await until('it is answered', () => rig.channel.texts().includes('all: did a, did b'));
  const events = (await rig.daemon.journal.record.of('test/bot/m')).map(({ event }) => event.type);
  expect(events.filter((type) => type === 'parked')).toHaveLength(1);
  expect(model.requests).toHaveLength(4);
});

test('where messages can be changed, one line tells how far they are', async () => {
  await using dir = await tempDir();
  const held = gate();
  const channel = new TestChannel('test').withEdits();
  const model = scriptedModel(
    worker(dispatch('a', 'b'), async (request) => {
      if (askedOf(request) === 'b') await held.opened;
      return `did ${askedOf(request)}`;
    }),
  );
  await using _rig = await start(dir.path, model, { channel });
  await channel.deliver({ text: 'do it all' });
  await until('one is done', () => channel.screen().some((text) => text.endsWith('1 of 2 sub-agents done: a ✓, b …')));
  held.open();
  await until('it is answered', () => channel.screen().at(-1) === 'all: did a, did b');
  await until('both are done', () => channel.screen().some((text) => text === '2 of 2 sub-agents done: a ✓, b ✓'));
  expect(channel.screen().filter((text) => text.includes('sub-agents done'))).toHaveLength(1);
});

test('a conversation that is busy is told once its turn is over', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(
    worker(background('dig'), async (request) => {
      if (isReport(request)) return reported(request);
      if (askedOf(request) === 'busy') await held.opened;
      return `did ${askedOf(request)}`;
    }),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await rig.channel.deliver({ text: 'busy', platformId: 'busy' });
  await until('the sub-agent has ended', async () => (await rig.daemon.journal.counts()).inbox.DONE === 2);
  held.open();
  await until('it is told', () => rig.channel.texts().at(-1) === 'told: did dig');
  expect(rig.channel.texts().slice(1)).toEqual(['did busy', 'told: did dig']);
  const report = model.requests.find(isReport);
  expect(report?.messages.map(({ content }) => content)).toContain('do it all');
});

test('a conversation that was begun anew meanwhile is told all the same, by a run that knows nothing of either', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(
    worker(background('dig'), async (request) => {
      if (isReport(request)) return reported(request);
      if (askedOf(request) === 'dig') await held.opened;
      return `did ${askedOf(request)}`;
    }),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it works', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  await rig.channel.deliver({ text: '/reset' });
  await until('it is begun anew', () => rig.channel.texts().at(-1)?.startsWith('Started afresh'));
  await rig.channel.deliver({ text: 'new talk' });
  await until('it goes on', () => rig.channel.texts().at(-1) === 'did new talk');
  held.open();
  await until('it is told', () => rig.channel.texts().at(-1) === 'told: did dig');
  expect(model.requests.find(isReport)?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  await rig.channel.deliver({ text: 'and then' });
  await until('it is answered', () => rig.channel.texts().at(-1) === 'did and then');
  const told = model.requests.at(-1)?.messages.map(({ content }) => content);
  expect(told?.slice(1)).toEqual(['new talk', 'did new talk', 'and then']);
});

test('where the run that was to tell a result fails, people get its beginning', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(
    worker(background('dig'), (request) => (isReport(request) ? { fail: 'bad-request' } : 'x'.repeat(400))),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is told', () => rig.channel.texts().length === 2);
  expect(rig.channel.texts()[1]).toMatch(/^The sub-agent “dig” has ended: x{300}\n\n/);
});

test('/stop ends those in the background, too, within a second, and says whose they were', async () => {
  await using dir = await tempDir();
  const others = (request: ModelRequest) => (askedOf(request).endsWith('and now?') ? 'I know' : { hang: true as const });
  const model = scriptedModel(worker(background('dig'), others));
  const entry = { allowed_groups: ['*'], group_mode: 'always' };
  await using rig = await start(dir.path, model, { entry });
  const says = (text: string) => rig.channel.deliver({ chatId: 'g', isGroup: true, senderName: 'Ada', text });
  await says('do it all');
  await until('both called the model', () => model.requests.length === 3);
  const [clock, at] = begun();
  await says('/stop');
  await until(
    'nothing is left',
    async () => clock.monotonic() && (await open(rig)) === 0 && rig.daemon.lanes.stats().running === 0,
  );
  expect(clock.monotonic() - at).toBeLessThan(1_000);
  await until('it is told', () => rig.channel.texts('g').at(-1)?.startsWith('🛑 Cancelled.'));
  expect(rig.channel.texts('g').at(-1)).toBe('🛑 Cancelled.\nWork of: test:user-1');
  await says('and now?');
  await until('the next turn is answered', () => rig.channel.texts('g').at(-1) === 'I know');
  expect(
    model.requests
      .at(-1)
      ?.messages.map(({ content }) => content)
      .join('\n'),
  ).toMatch(
    /The sub-agent “dig” is at work .*\[System note\] The sub-agent “dig”, which was begun in the background, was stopped\. It has no result/s,
  );
});

test('/stop ends a run that waits and all its sub-agents within a second', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker(dispatch('a', 'b', 'c'), () => ({ hang: true })));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('they work', () => model.requests.length === 4);
  const [clock, at] = begun();
  await rig.channel.deliver({ text: '/stop' });
  await until(
    'nothing is left',
    async () => clock.monotonic() && (await open(rig)) === 0 && rig.daemon.lanes.stats().running === 0,
  );
  expect(clock.monotonic() - at).toBeLessThan(1_000);
});

test('A35 what is begun beyond a limit is refused in words, and a model that begins more and more comes to an end', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    if (!lastOf(request)?.content.endsWith('do it all')) return 'done';
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (results.some((content) => content.includes('begun 8 sub-agents'))) return `stopped: ${results.at(-1)}`;
    return dispatch('a', 'b', 'c', 'd', 'e', 'f', 'g');
  });
  const sections = { subagents: { max_of_request: 8 } };
  await using rig = await start(dir.path, model, { sections });
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('stopped: '));
  const second = model.requests.find(({ messages }) => messages.filter(({ role }) => role === 'tool').length === 7);
  const refusals = second?.messages.filter(({ content }) => content.includes('at most 5 sub-agents'));
  expect(refusals).toHaveLength(2);
  // Five of the first answer, three of the second one.
  expect(model.requests.filter((request) => askedOf(request).length === 1)).toHaveLength(8);
});

test('a sub-agent may begin none, and may ask no person', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    const asked = askedOf(request);
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (asked === 'do it all') return results.length === 0 ? dispatch('nest') : `all: ${results.at(-1)}`;
    return results.length === 0 ? { toolCalls: [{ name: 'spawn', arguments: { task: 'x' } }] } : `${results.at(-1)}`;
  });
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  expect(rig.channel.texts().at(-1)).toBe('all: Error: spawn is not allowed: it is not available to sub-agents.');
});

test('a long result is a file that its parent can page, and what it is told has 800 characters', async () => {
  await using dir = await tempDir();
  // 1 MB, and 10 MB where there is time.
  const count = isFullLoad() ? 200_000 : 20_000;
  const long = Array.from({ length: count }, (_, n) => `line ${n} of the result, which is long and goes on and on`).join('\n');
  const model = scriptedModel((request) => {
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (askedOf(request) !== 'do it all') return long;
    if (results.length === 0) return dispatch('long');
    const path = /All of it is in (\S+):/.exec(results[0] ?? '')?.[1];
    const read = { name: 'read_file', arguments: { path, start_line: count - 1, end_line: count } };
    return results.length === 1 ? { toolCalls: [read] } : `all: ${results[1]}`;
  });
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '), 20_000);
  expect(rig.channel.texts().at(-1)).toContain(`line ${count - 1} of the result`);
  const told = model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')?.content ?? '';
  expect(told.split('\n[')[0]).toBe(long.slice(0, 800));
});

const reading = (name: string, reads: number) =>
  defineTool({ name, description: 'x', schema: z.strictObject({}), tags: [], effect: 'none', reads, run: async () => 'read' });

test('what the run that waits has read is known to its sub-agents, and what these have read to it', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    const results = request.messages.filter(({ role }) => role === 'tool').length;
    if (askedOf(request) === 'a') return results === 0 ? { toolCalls: [{ name: 'read_mail' }] } : 'did a';
    if (results === 0) return { toolCalls: [{ name: 'read_web' }] };
    return results === 1 ? dispatch('a') : 'all';
  });
  const extraTools = [() => [reading('read_web', UNTRUSTED), reading('read_mail', PRIVATE)]];
  await using rig = await start(dir.path, model, { daemon: { extraTools } });
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1) === 'all');
  using db = new DatabaseSync(join(dir.path, 'journal.db'), { readOnly: true });
  const taints = db.prepare('SELECT profile, taint FROM run ORDER BY seq').all();
  expect(taints.map((row) => ({ ...row }))).toEqual([
    { profile: 'session', taint: UNTRUSTED | PRIVATE },
    { profile: 'subagent', taint: UNTRUSTED | PRIVATE },
  ]);
});

test('what a turn has read is known to those in the background, and what these have read to the conversation afterwards', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    const asked = lastOf(request);
    const results = request.messages.slice(asked && request.messages.indexOf(asked)).filter(({ role }) => role === 'tool').length;
    if (isReport(request)) return 'told';
    if (askedOf(request) === 'dig') return results === 0 ? { toolCalls: [{ name: 'read_mail' }] } : 'did dig';
    if (askedOf(request) === 'and now?') return 'I know';
    return [{ toolCalls: [{ name: 'read_web' }] }, background('dig')][results] ?? 'begun';
  });
  const extraTools = [() => [reading('read_web', UNTRUSTED), reading('read_mail', PRIVATE)]];
  await using rig = await start(dir.path, model, { daemon: { extraTools } });
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is told', () => rig.channel.texts().includes('told'));
  await rig.channel.deliver({ text: 'and now?' });
  await until('it is answered', () => rig.channel.texts().at(-1) === 'I know');
  using db = new DatabaseSync(join(dir.path, 'journal.db'), { readOnly: true });
  const taints = db.prepare('SELECT profile, taint FROM run ORDER BY seq').all();
  const both = UNTRUSTED | PRIVATE;
  expect(taints.map(({ profile, taint }) => [profile, taint])).toEqual([
    ['session', UNTRUSTED],
    ['subagent', both],
    ['session', both],
    ['session', both],
  ]);
});

test('a sub-agent asks for a yes in the chat of its root, with its name and its task', async () => {
  await using dir = await tempDir();
  const post = defineTool({
    ...{ name: 'post', description: 'x', schema: z.strictObject({}), tags: [], effect: 'outside' },
    run: async () => 'posted',
  });
  const model = scriptedModel((request) => {
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (askedOf(request) !== 'do it all') return results.length === 0 ? { toolCalls: [{ name: 'post' }] } : `${results[0]}`;
    return results.length === 0 ? dispatch('tell the world') : `all: ${results[0]}`;
  });
  const gateway = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };
  await using rig = await start(dir.path, model, { gateway, daemon: { extraTools: [() => [post]] } });
  await rig.channel.deliver({ text: 'do it all' });
  const code = await until('it asks', () => /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1]);
  expect(rig.channel.texts().at(-1)).toContain('The sub-agent “tell the world” asks, whose task is: “tell the world”.');
  await rig.channel.deliver({ text: `/allow ${code}`, platformId: 'yes' });
  await until('it is answered', () => rig.channel.texts().at(-1) === 'all: posted');
});

test('what waits for sub-agents survives a restart: nothing is called or paid for a second time', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(
    worker(dispatch('a', 'b'), async (request) => {
      if (askedOf(request) === 'b') await held.opened;
      return `did ${askedOf(request)}`;
    }),
  );
  {
    await using first = await start(dir.path, model);
    await first.channel.deliver({ text: 'do it all' });
    await until('one has ended', async () => (await first.daemon.journal.counts()).inbox.DONE === 1);
    setTimeout(() => held.open(), 50);
  }
  await using second = await start(dir.path, model);
  await until('it is answered', () => second.channel.texts().at(-1) === 'all: did a, did b');
  const tasks = model.requests.map(askedOf);
  expect(tasks.filter((task) => task === 'a')).toHaveLength(1);
});

import { expect, test } from 'vitest';
import { type Authority, MODES, type Role } from '../core/authority.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Verdict } from '../core/policy.ts';
import type { ChatRow, RunRow } from '../core/run.ts';
import type { ChildCounts, PlannedSubAgent, SubAgentRequest, TokenUse } from '../core/sub-agents.ts';
import type { ToolFacts } from '../core/tool.ts';
import type { RouterEntry } from '../llm/routing/provider-router.ts';
import { inbound } from '../testing/fakes.ts';
import { seeded } from '../testing/load/traffic.ts';
import { BUILT_IN } from '../tools/index.ts';
import { createPolicy, type PolicyRules, type PolicySettings } from '../tools/policy.ts';
import { RunSubAgents, type SubAgentLimits } from './sub-agents.ts';

const OWNER: Authority = { principal: 'test:user-1', role: 'owner', mode: 'full', policies: [] };
const NONE: ChildCounts = { open: 0, ofTree: 0, tokensOfTree: 0 };
const UNUSED: TokenUse = { own: 0, below: 0, children: [] };

function chatRow(override: Partial<ChatRow> = {}): ChatRow {
  return {
    ...{ seq: 7, key: 'test/bot/m', profile: 'session', lane: 'test/bot/chat-1', session: '_main:test:chat-1' },
    ...{ authority: OWNER, attempts: 1, acceptedAt: 1_000, generation: 3, source: { kind: 'chat' }, message: inbound({}) },
    ...override,
  };
}

interface Given {
  readonly counts?: ChildCounts;
  readonly limits?: Partial<SubAgentLimits>;
  readonly maxTokens?: number;
  readonly use?: Partial<TokenUse>;
}

function subAgents(row: RunRow, { counts = NONE, limits = {}, maxTokens = 0, use = {} }: Given = {}) {
  const committed: unknown[] = [];
  const entry = (key: string) => ({ key }) as RouterEntry;
  const agents = new RunSubAgents(row, {
    journal: {
      commit: async (writes, claim) => committed.push([writes, claim]) > 0,
      children: { counts: async () => counts, tokens: async () => ({ ...UNUSED, ...use }) },
    },
    maxTokens: () => maxTokens,
    limits: () => ({ atOnce: 10, ofTree: 20, tokensOfTree: 1_000, ...limits }),
    ownMcp: (tool) => tool === 'dispatch_subagent',
    choices: {
      inForce: async () => ({ entry: entry('own'), from: '', thinking: undefined, thinkingFrom: '', gone: undefined }),
    },
    findModel: (name) => (name === 'cheap' ? entry('p/cheap') : undefined),
  });
  return { agents, committed };
}

const REQUEST: SubAgentRequest = { task: 'dig', label: 'dig', allow: [], deny: [] };
const call = (callId = 'call_x_1_0', mayUse?: readonly string[]) => ({
  ...{ callId, idempotencyKey: `test/bot/m#${callId}`, taint: 0 },
  ...(mayUse ? { mayUse: () => mayUse } : {}),
});

function runOf(planned: PlannedSubAgent): NewRun {
  if (planned.kind !== 'run') throw new Error(planned.reason);
  return planned.run;
}

test('a sub-agent has a session and a lane of its own, works in the directory of its parent and asks in its chat', async () => {
  const { agents } = subAgents(chatRow({ workspace: 'shared' }));
  const run = runOf(await agents.plan({ ...REQUEST, maxIterations: 4 }, call(), 'dispatch_subagent'));
  expect(run).toMatchObject({
    ...{ key: 'test/bot/m#call_x_1_0', profile: 'subagent', workspace: 'shared' },
    ...{ session: '_main:test:chat-1#run:call_x_1_0', lane: '_main:test:chat-1#run:call_x_1_0' },
    prompt: {
      limits: { maxIterations: 4, maxTokens: 50 },
      model: 'own',
      child: { label: 'dig', ownMcp: true, chat: { channel: 'test', chatId: 'chat-1' } },
    },
  });
  expect(run.replyTo).toBeUndefined();
});

test('a model is asked for by name, and one that there is not is refused', async () => {
  const { agents } = subAgents(chatRow());
  expect(runOf(await agents.plan({ ...REQUEST, model: 'cheap' }, call(), 'spawn')).prompt.model).toBe('p/cheap');
  expect(await agents.plan({ ...REQUEST, model: 'gone' }, call('call_x_2_0'), 'spawn')).toEqual({
    kind: 'refused',
    reason: 'no model is called "gone"',
  });
});

test('calls side by side count each other, and no limit is passed together', async () => {
  const { agents } = subAgents(chatRow(), { counts: { ...NONE, open: 8 } });
  const planned = await Promise.all([0, 1, 2].map((n) => agents.plan(REQUEST, call(`call_x_1_${n}`), 'dispatch_subagent')));
  expect(planned.map(({ kind }) => kind)).toEqual(['run', 'run', 'refused']);
});

test('one answer begins at most five, and the next may begin more', async () => {
  const { agents } = subAgents(chatRow(), { limits: { tokensOfTree: 0 } });
  const first = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => agents.plan(REQUEST, call(`call_x_1_${n}`), 'spawn')));
  expect(first.filter(({ kind }) => kind === 'run')).toHaveLength(5);
  expect(await agents.plan(REQUEST, call('call_x_2_0'), 'spawn')).toMatchObject({ kind: 'run' });
});

test('the tokens of a tree are shared: no budget is beyond what is left, and where nothing is left none begins', async () => {
  const tokens = async (used: number, maxTokens?: number) => {
    const { agents } = subAgents(chatRow(), { counts: { ...NONE, tokensOfTree: used } });
    const planned = await agents.plan({ ...REQUEST, ...(maxTokens ? { maxTokens } : {}) }, call(), 'spawn');
    return planned.kind === 'run' ? planned.run.prompt.limits?.maxTokens : planned.reason;
  };
  expect(await tokens(0)).toBe(50);
  expect(await tokens(900, 5_000)).toBe(100);
  expect(await tokens(1_000)).toMatch(/tokens .* used up/);
});

const budgetOf = (planned: PlannedSubAgent): number | string | undefined =>
  planned.kind === 'run' ? planned.run.prompt.limits?.maxTokens : planned.reason;

test('a sub-agent gets no more tokens than its parent has left, of which what others were given is no part', async () => {
  const child = { key: 'test/bot/m#call_x_0_0', given: 300, used: 100, isOver: false };
  const budget = async (use: Partial<TokenUse>, maxTokens?: number) => {
    const { agents } = subAgents(chatRow(), { limits: { tokensOfTree: 0 }, maxTokens: 1_000, use });
    return budgetOf(await agents.plan({ ...REQUEST, ...(maxTokens ? { maxTokens } : {}) }, call(), 'dispatch_subagent'));
  };
  expect(await budget({}, 9_000_000)).toBe(1_000);
  expect(await budget({}, 10)).toBe(10);
  expect(await budget({ own: 100, below: 100, children: [child] }, 9_000_000)).toBe(600);
  expect(await budget({ own: 100, below: 100, children: [{ ...child, isOver: true }] }, 9_000_000)).toBe(600);
  // Its last call used more than it was given.
  expect(await budget({ own: 100, below: 400, children: [{ ...child, used: 400 }] }, 9_000_000)).toBe(500);
  // Its row is gone.
  expect(await budget({ own: 100, below: 100 }, 9_000_000)).toBe(800);
  expect(await budget({ own: 800, below: 100, children: [child] })).toMatch(/tokens of this task are used up/);
});

test('without a wish five of one answer get an equal share of what their parent may use, and it keeps one', async () => {
  const { agents } = subAgents(chatRow(), { limits: { tokensOfTree: 0 }, maxTokens: 600, use: { own: 50 } });
  const planned = await Promise.all([0, 1, 2, 3, 4].map((n) => agents.plan(REQUEST, call(`call_x_1_${n}`), 'spawn')));
  expect(planned.map(budgetOf)).toEqual([100, 100, 100, 100, 100]);
  const wish = { ...REQUEST, maxTokens: 9_000 };
  expect(budgetOf(await agents.plan(wish, call('call_x_2_0'), 'dispatch_subagent'))).toBe(50);
  expect(budgetOf(await agents.plan(wish, call('call_x_2_1'), 'dispatch_subagent'))).toMatch(/tokens of this task/);
});

test('the limits of a request and of its run both hold', async () => {
  const { agents } = subAgents(chatRow(), { counts: { ...NONE, tokensOfTree: 900 }, maxTokens: 5_000 });
  expect(budgetOf(await agents.plan({ ...REQUEST, maxTokens: 4_000 }, call(), 'spawn'))).toBe(100);
});

test('in the background side by side they do not get the same tokens twice, and no more begin than may', async () => {
  const { agents } = subAgents(chatRow(), { counts: { ...NONE, open: 7 }, maxTokens: 600 });
  const wish = { ...REQUEST, maxTokens: 400, isBackground: true } as const;
  const planned = await Promise.all([0, 1, 2, 3].map((n) => agents.plan(wish, call(`call_x_1_${n}`), 'spawn')));
  expect(runOf(planned[0] ?? { kind: 'refused', reason: '' }).prompt.child?.report?.maxTokens).toBe(600);
  expect(planned.map(budgetOf)).toEqual([400, 200, expect.stringMatching(/tokens of this task/), expect.anything()]);
  const others = subAgents(chatRow(), { counts: { ...NONE, open: 8 } }).agents;
  const more = [0, 1, 2].map((n) => others.plan({ ...REQUEST, isBackground: true }, call(`call_x_1_${n}`), 'spawn'));
  expect((await Promise.all(more)).map(({ kind }) => kind)).toEqual(['run', 'run', 'refused']);
});

test('a call that is made again after a crash finds the sub-agent that it began, whose tokens are its own', async () => {
  const own = { key: 'test/bot/m#call_x_1_0', given: 900, used: 300, isOver: false };
  const { agents } = subAgents(chatRow(), { maxTokens: 1_000, use: { own: 100, below: 300, children: [own] } });
  const run = runOf(await agents.plan({ ...REQUEST, maxTokens: 9_000, isBackground: true }, call(), 'spawn'));
  expect([run.key, run.prompt.limits?.maxTokens]).toEqual([own.key, 900]);
});

test('one in the background is begun only while its parent still has its claim, and knows whom to tell', async () => {
  const { agents, committed } = subAgents(chatRow());
  const run = runOf(await agents.plan({ ...REQUEST, isBackground: true }, call(), 'spawn'));
  await agents.begin(run);
  expect(committed).toEqual([[[{ kind: 'run', run }], { seq: 7, generation: 3 }]]);
  expect(run.prompt.child?.report).toMatchObject({ lane: 'test/bot/chat-1', session: '_main:test:chat-1', since: 1_000 });
});

const some = <T>(random: () => number, all: readonly T[], chance = 0.4): T[] => all.filter(() => random() < chance);
const one = <T>(random: () => number, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
const NAMES = [...BUILT_IN.map(({ name }) => name), 'mcp__files__read'];
const ENTRIES = [...NAMES, 'group:fs', 'group:web', 'group:sessions', 'mcp__*', 'list_directory', 'w*'];
const TOOLS: readonly ToolFacts[] = [
  ...BUILT_IN,
  ...[{ name: 'mcp__files__read', description: '', parameters: {}, tags: ['mcp'], effect: 'outside', outputBytes: 1 } as const],
];
const CHANNELS = ['test', 'slack', 'job'];

function rules(random: () => number): PolicyRules {
  const allow = random() < 0.6 ? [] : some(random, ENTRIES, 0.5);
  return { allow, deny: some(random, ENTRIES, 0.08), ...(random() < 0.1 ? { requireTags: ['fs', 'mcp'] } : {}) };
}

function settings(random: () => number, principal: string): PolicySettings {
  const byChannel = new Map(some(random, CHANNELS).map((name) => [name, rules(random)]));
  return {
    ...rules(random),
    mode: one(random, MODES),
    members: random() < 0.5 ? ['*'] : some(random, ENTRIES),
    guests: random() < 0.3 ? ['*'] : some(random, ENTRIES),
    senders: random() < 0.3 ? { [principal]: { ...rules(random), mode: one(random, MODES) } } : {},
    byProvider: random() < 0.3 ? { p: rules(random) } : {},
    contextFilter: [],
    channel: (name) => byChannel.get(name),
  };
}

const STRICT: Readonly<Record<Verdict['kind'], number>> = { allow: 0, ask: 1, deny: 2 };

test('A35 a sub-agent has no tool that its parent lacks, and no call that is freer, whatever the policies are', async () => {
  const random = seeded(20_261_126);
  let [allowed, judged] = [0, 0];
  for (let n = 0; n < Number(process.env['POLICIES'] ?? 400); n += 1) {
    const principal = one(random, ['test:user-1', 'slack:u2']);
    const role = one<Role>(random, ['owner', 'member', 'guest']);
    const policies = some(random, [rules(random), rules(random)]).map(({ allow, deny }) => ({ allow, deny }));
    const authority: Authority = { principal, role, mode: one(random, MODES), policies };
    const channel = one(random, CHANNELS);
    const isChat = random() < 0.7;
    const row: RunRow = isChat
      ? chatRow({ authority, message: inbound({ channel }) })
      : {
          ...{ ...chatRow({ authority }), source: { kind: 'job', job: 'j', due: 1 }, message: undefined },
          prompt: { text: 'x', media: [], at: '' },
        };
    const of = { authority, channel: isChat ? channel : 'job', model: one(random, ['p/m', 'q/m']) };
    let now = settings(random, principal);
    const policy = createPolicy(() => now);
    const offered = policy.offered(TOOLS, of).map(({ name }) => name);
    const request = { ...REQUEST, allow: some(random, ENTRIES, 0.1), deny: some(random, ENTRIES, 0.1) };
    if (offered.length === 0) continue;
    const planned = await subAgents(row).agents.plan(request, call('call_x_1_0', offered), 'spawn');
    const child = runOf(planned);
    const childRun = {
      authority: child.authority,
      channel: child.prompt.child?.chat?.channel ?? 'run',
      model: one(random, ['p/m', 'q/m']),
    };
    expect([child.authority.principal, child.authority.role]).toEqual([principal, role]);
    expect(MODES.indexOf(child.authority.mode)).toBeLessThanOrEqual(MODES.indexOf(authority.mode));
    const taint = one(random, [0, 1, 2, 3]);
    for (const tool of TOOLS) {
      const args = one<unknown>(random, [{}, { url: 'http://x.test' }, { channel: 'slack', chat_id: 'y' }, 'odd']);
      const [own, childs] = [of, childRun].map((run) => STRICT[policy.decide({ tool, args, taint }, run).kind]);
      judged += 1;
      if (childs === 0) allowed += 1;
      expect(childs, `${tool.name} for ${JSON.stringify(child.authority)}`).toBeGreaterThanOrEqual(own ?? 2);
    }
    for (const name of ['spawn', 'dispatch_subagent']) {
      const tool = TOOLS.find((known) => known.name === name);
      if (tool) expect(policy.offered([tool], childRun)).toEqual([]);
    }
    // The config is widened later: what the parent lacked when it asked, the child still lacks.
    now = {
      ...now,
      allow: [],
      deny: [],
      members: ['*'],
      guests: ['*'],
      senders: {},
      byProvider: {},
      mode: 'full',
      channel: () => undefined,
    };
    for (const tool of TOOLS) if (!offered.includes(tool.name)) expect(policy.offered([tool], childRun)).toEqual([]);
  }
  // Else the property would hold of nothing.
  expect(allowed).toBeGreaterThan(judged / 100);
});

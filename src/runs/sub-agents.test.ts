import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Authority, MODES, type Role } from '../core/authority.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Policy, PolicyRun, Verdict } from '../core/policy.ts';
import type { ChatRow, RunRow } from '../core/run.ts';
import type { ChildCounts, PlannedSubAgent, SubAgentRequest, TokenUse } from '../core/sub-agents.ts';
import type { ToolFacts } from '../core/tool.ts';
import { checkDestination, type EgressRules } from '../egress/destination.ts';
import type { RouterEntry } from '../llm/routing/provider-router.ts';
import { inbound } from '../testing/fakes.ts';
import { seeded } from '../testing/load/traffic.ts';
import { BUILT_IN } from '../tools/index.ts';
import { createPolicy, type PolicyRules, type PolicySettings } from '../tools/policy.ts';
import { PathRefusal, splitWorkspacePath } from '../workspace/path.ts';
import { limitsFor, profiles } from './profile.ts';
import { RunSubAgents, type SubAgentLimits } from './sub-agents.ts';
import { sessionWorkspacePath } from './workspace.ts';

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

test('how a sub-agent is to work stands before its task, and the window of its calls among its limits', async () => {
  const { agents } = subAgents(chatRow());
  const request = { ...REQUEST, context: 'it is dark', instructions: 'Be terse.', contextWindow: 8_000 };
  const { prompt } = runOf(await agents.plan(request, call(), 'spawn'));
  expect(prompt.text).toMatch(/^\[You are a sub-agent: [^\]]+\]\n\nHow to work:\nBe terse\.\n\ndig\n\nContext:\nit is dark$/);
  expect([prompt.task, prompt.limits?.contextWindow]).toEqual(['dig', 8_000]);
  expect(limitsFor(profiles().subagent, prompt.limits).contextWindow).toBe(8_000);
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

test('calls side by side in the background count each other as well, and those that have begun but once', async () => {
  const begun: unknown[] = [];
  const counts = {
    ...NONE,
    get open() {
      return 8 + begun.length;
    },
  };
  const { agents } = subAgents(chatRow(), { counts, limits: { atOnce: 11 } });
  const plan = async (callId: string): Promise<string> => {
    const planned = await agents.plan({ ...REQUEST, isBackground: true }, call(callId), 'spawn');
    if (planned.kind === 'run' && (await agents.begin(planned.run))) begun.push(planned.run.key);
    return planned.kind;
  };
  expect(await Promise.all([plan('call_x_1_0'), plan('call_x_1_1')])).toEqual(['run', 'run']);
  expect(await Promise.all([plan('call_x_2_0'), plan('call_x_2_1')])).toEqual(['run', 'refused']);
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

/** A run under random policies, and which tools it is offered under them. */
function randomParent(random: () => number) {
  const principal = one(random, ['test:user-1', 'slack:u2']);
  const role = one<Role>(random, ['owner', 'member', 'guest']);
  const policies = some(random, [rules(random), rules(random)]).map(({ allow, deny }) => ({ allow, deny }));
  const authority: Authority = { principal, role, mode: one(random, MODES), policies };
  const channel = one(random, CHANNELS);
  const isChat = random() < 0.7;
  const place = random() < 0.5 ? {} : { workspace: one(random, ['shared', '_main:test:chat-2']) };
  const row: RunRow = isChat
    ? chatRow({ authority, message: inbound({ channel }), ...place })
    : {
        ...{ ...chatRow({ authority, ...place }), source: { kind: 'job', job: 'j', due: 1 }, message: undefined },
        prompt: { text: 'x', media: [], at: '' },
      };
  const of = { authority, channel: isChat ? channel : 'job', model: one(random, ['p/m', 'q/m']) };
  const at = { settings: settings(random, principal) };
  const policy = createPolicy(() => at.settings);
  const offered = policy.offered(TOOLS, of).map(({ name }) => name);
  return Object.assign(at, { row, of, policy, offered, authority });
}

/** What its policies are asked about, as the sub-agent of a run. */
function judgedAs(child: NewRun, random: () => number): PolicyRun {
  const channel = child.prompt.child?.chat?.channel ?? 'run';
  return { authority: child.authority, channel, model: one(random, ['p/m', 'q/m']) };
}

const POLICIES = Number(process.env['POLICIES'] ?? 400);

test('A35 a sub-agent has no tool that its parent lacks, and no call that is freer, whatever the policies are', async () => {
  const random = seeded(20_261_126);
  let [allowed, judged] = [0, 0];
  for (let n = 0; n < POLICIES; n += 1) {
    const at = randomParent(random);
    const { row, of, policy, offered, authority } = at;
    const { principal, role } = authority;
    const request = { ...REQUEST, allow: some(random, ENTRIES, 0.1), deny: some(random, ENTRIES, 0.1) };
    const planned = await subAgents(row).agents.plan(request, call('call_x_1_0', offered), 'spawn');
    const child = runOf(planned);
    const childRun = judgedAs(child, random);
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
    at.settings = {
      ...at.settings,
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

const DOMAINS = ['example.org', 'news.example.org', 'test', '*.net', '127.0.0.1', 'xn--e1afmkfd.test'];
const URLS = [
  ...[
    'https://example.org/a',
    'http://news.example.org:8080/',
    'https://NEWS.example.org./b',
    'http://x.test',
    'https://a.b.net/',
  ],
  ...[
    'http://127.0.0.1/',
    'http://[::1]/',
    'http://пример.test/',
    'http://localhost:1/',
    'file:///etc/passwd',
    'http://u:p@x.test/',
  ],
];
const WEB = ['web_fetch', 'browser'];

/** The lists of domains of each web tool, as the config has them. */
function hostRules(random: () => number): (tool: string) => EgressRules {
  const of = new Map(WEB.map((tool) => [tool, random() < 0.3 ? [] : some(random, DOMAINS)] as const));
  const denied = new Map(WEB.map((tool) => [tool, some(random, DOMAINS, 0.2)] as const));
  return (tool) => ({ allowDomains: of.get(tool) ?? [], denyDomains: denied.get(tool) ?? [], privateOrigins: [] });
}

/** Tools and addresses that a run may connect to without being asked. */
function reached(policy: Policy, run: PolicyRun, lists: (tool: string) => EgressRules): readonly string[] {
  return TOOLS.filter(({ name }) => WEB.includes(name)).flatMap((tool) =>
    URLS.filter((url) => {
      const verdict = policy.decide({ tool, args: { action: 'open', url }, taint: 0 }, run);
      return verdict.kind === 'allow' && checkDestination(url, lists(tool.name)).kind === 'fine';
    }).map((url) => `${tool.name} ${url}`),
  );
}

/** Sub-agents of random parents that have a tool. */
async function* children(random: () => number) {
  for (let n = 0; n < POLICIES; n += 1) {
    const at = randomParent(random);
    const request = { ...REQUEST, allow: some(random, ENTRIES, 0.1), deny: some(random, ENTRIES, 0.1) };
    if (at.offered.length === 0) continue;
    const by = one(random, ['spawn', 'dispatch_subagent'] as const);
    yield { ...at, child: runOf(await subAgents(at.row).agents.plan(request, call('call_x_1_0', at.offered), by)) };
  }
}

test('A35 a sub-agent reaches no host that its parent does not reach, whatever the policies and the lists of domains are', async () => {
  const random = seeded(20_261_128);
  const count = { parents: 0, children: 0 };
  for await (const { policy, of, child } of children(random)) {
    const lists = hostRules(random);
    const own = reached(policy, of, lists);
    const childs = reached(policy, judgedAs(child, random), lists);
    expect(own).toEqual(expect.arrayContaining([...childs]));
    count.parents += own.length;
    count.children += childs.length;
  }
  // Else the property would hold of nothing.
  expect(count.children).toBeGreaterThan(count.parents / 10);
});

const PATHS = [
  ...['notes.txt', 'a/./b', 'a//b', './a', '.gatehouse/outputs/x', '../chat-2/notes.txt', 'a/../../x', '/etc/passwd', '~/x'],
  ...['C:\\x', 'a\\..\\x', 'a\u2215..\u2215x', '%2e%2e/x', '', '.'],
];

/** Absolute paths that the file tools of a run come to, by what the model writes. */
function placesOf({ workspace, session }: Pick<NewRun, 'workspace' | 'session'>): readonly string[] {
  const root = sessionWorkspacePath('/data', workspace ?? session);
  return PATHS.flatMap((path) => {
    try {
      return [join(root, ...splitWorkspacePath(path))];
    } catch (error) {
      if (!(error instanceof PathRefusal)) throw error;
      return [];
    }
  });
}

test('A35 a sub-agent comes to the paths of its parent and to no others, wherever that works', async () => {
  const random = seeded(20_261_129);
  for await (const { row, child } of children(random)) {
    const own = placesOf(row);
    expect(placesOf(child)).toEqual(own);
    expect(own.length).toBeGreaterThan(5);
    expect(own.every((path) => path.startsWith('/data/'))).toBe(true);
  }
});

test('A35 all sub-agents of a run together have no more tokens than it has left, nor more than their request, whatever they ask for', async () => {
  const random = seeded(20_261_130);
  const figure = (most: number): number => Math.floor(random() * most);
  let refused = 0;
  let begun = 0;
  for (let n = 0; n < POLICIES; n += 1) {
    const { row } = randomParent(random);
    const given = { key: 'earlier', given: figure(3_000), used: figure(3_000), isOver: random() < 0.5 };
    const use = { own: figure(4_000), below: given.used + figure(500), children: [given] };
    const maxTokens = random() < 0.2 ? 0 : 1 + figure(10_000);
    const limits = { tokensOfTree: random() < 0.2 ? 0 : 1 + figure(10_000), ofTree: 20 };
    const counts = { open: 0, ofTree: 1, tokensOfTree: given.given };
    const { agents } = subAgents(row, { maxTokens, use, limits, counts });
    const wishes = Array.from({ length: 5 }, () => (random() < 0.4 ? {} : { maxTokens: 1 + figure(20_000) }));
    const planned = await Promise.all(
      wishes.map((wish, i) => {
        const request: SubAgentRequest = { ...REQUEST, ...wish, ...(random() < 0.5 ? { isBackground: true } : {}) };
        return agents.plan(request, call(`call_x_1_${i}`), one(random, ['spawn', 'dispatch_subagent'] as const));
      }),
    );
    const runs = planned.flatMap((one) => (one.kind === 'run' ? [one.run] : []));
    const budgets = runs.map(({ prompt }) => prompt.limits?.maxTokens ?? Number.POSITIVE_INFINITY);
    const sum = budgets.reduce((all, budget) => all + budget, 0);
    if (maxTokens > 0)
      expect(sum).toBeLessThanOrEqual(Math.max(0, maxTokens - use.own - use.below - Math.max(0, given.given - given.used)));
    if (limits.tokensOfTree > 0) expect(sum).toBeLessThanOrEqual(Math.max(0, limits.tokensOfTree - given.given));
    for (const [i, { maxTokens: wish }] of wishes.entries()) {
      const plan = planned[i];
      if (plan?.kind === 'run' && wish !== undefined) expect(plan.run.prompt.limits?.maxTokens).toBeLessThanOrEqual(wish);
    }
    begun += runs.length;
    refused += planned.length - runs.length;
  }
  expect(Math.min(begun, refused)).toBeGreaterThan(POLICIES / 4);
});

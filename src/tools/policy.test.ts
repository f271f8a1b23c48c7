import { expect, test } from 'vitest';
import { type Authority, type Mode, PRIVATE, type Role, UNTRUSTED } from '../core/authority.ts';
import type { PolicyRun, Verdict } from '../core/policy.ts';
import type { ToolFacts } from '../core/tool.ts';
import { isKnownEntry } from '../core/tool-groups.ts';
import { BUILT_IN } from './index.ts';
import { createPolicy, modeOf, offerOf, type PolicySettings } from './policy.ts';

const BOTH = UNTRUSTED | PRIVATE;
const NONE = { allow: [], deny: [] };

function settings(override: Partial<PolicySettings> = {}): PolicySettings {
  return {
    ...{ ...NONE, mode: 'guarded', members: [], guests: [], senders: {}, byProvider: {}, contextFilter: [] },
    channel: () => undefined,
    ...override,
  };
}

function tool(override: Partial<ToolFacts> = {}): ToolFacts {
  return { name: 'pay', description: '', parameters: {}, tags: [], effect: 'outside', outputBytes: 1, ...override };
}

function run(role: Role, mode: Mode = 'full', more: Partial<Authority> = {}, at: Partial<PolicyRun> = {}): PolicyRun {
  const authority: Authority = { principal: 'test:ann', role, mode, policies: [], ...more };
  return { authority, channel: 'test', model: 'anthropic/claude', ...at };
}

const builtIn = (name: string): ToolFacts => {
  const found = BUILT_IN.find((one) => one.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
};
const offers = (facts: ToolFacts, who: PolicyRun, config = settings()): Verdict => offerOf(facts, who, config);
const decide = (facts: ToolFacts, who: PolicyRun, { config = settings(), taint = 0, args = {} as unknown } = {}): Verdict =>
  createPolicy(() => config).decide({ tool: facts, args, taint }, who);
const names = (who: PolicyRun, config = settings()): readonly string[] =>
  BUILT_IN.filter((one) => offers(one, who, config).kind === 'allow').map(({ name }) => name);

/** The owner's alone until the config names them. */
const LATER = [
  'ask_human',
  'edit_file',
  'diff_edit',
  'glob',
  'grep',
  'code_structure',
  'shell',
  'cron',
  'web_fetch',
  'web_search',
  'browser',
  'deep_search',
  'synthesize_research',
  'model_check',
  'configure_tool',
  'read_document',
  'convert_markdown_to_docx',
  'git',
  'wait',
  'message',
  'send_email',
  'spawn',
  'dispatch_subagent',
  'start_task',
];

test('what each role may use when the config says nothing', () => {
  const members = ['read_file', 'write_file', 'list_dir', 'send_file', 'offer_choices', 'react'];
  expect(names(run('owner')).toSorted()).toEqual([...members, ...LATER].toSorted());
  expect(names(run('member'))).toEqual(members);
  expect(names(run('guest'))).toEqual(['read_file', 'list_dir', 'offer_choices']);
});

test('a tool that comes later is the owner’s alone until the config names it', () => {
  const later = tool({ name: 'grep', effect: 'none' });
  expect(offers(later, run('owner')).kind).toBe('allow');
  expect(offers(later, run('member'))).toEqual({
    ...{ kind: 'deny', key: 'tool_policy.members' },
    reason: 'a member gets it only where the config names it',
  });
  expect(offers(later, run('guest'))).toMatchObject({ kind: 'deny', key: 'tool_policy.guests' });
  const named = settings({ members: ['group:search'], guests: ['gr*'] });
  expect(offers(later, run('member'), named).kind).toBe('allow');
  expect(offers(later, run('guest'), named).kind).toBe('allow');
  const forAnn = settings({ senders: { 'test:ann': { allow: ['grep'], deny: [] } } });
  expect(offers(later, run('member'), forAnn).kind).toBe('allow');
  expect(offers(later, run('guest'), forAnn).kind).toBe('deny');
});

const MODE_TABLE: readonly (readonly [Partial<ToolFacts>, Readonly<Record<Mode, Verdict['kind']>>])[] = [
  [{ effect: 'none' }, { 'read-only': 'allow', guarded: 'allow', workspace: 'allow', full: 'allow' }],
  [
    { effect: 'none', act: 'network' },
    { 'read-only': 'allow', guarded: 'allow', workspace: 'allow', full: 'allow' },
  ],
  [{ effect: 'workspace' }, { 'read-only': 'deny', guarded: 'allow', workspace: 'allow', full: 'allow' }],
  [
    { effect: 'workspace', act: 'network' },
    { 'read-only': 'deny', guarded: 'allow', workspace: 'allow', full: 'allow' },
  ],
  [
    { effect: 'outside', act: 'home' },
    { 'read-only': 'deny', guarded: 'allow', workspace: 'allow', full: 'allow' },
  ],
  [
    { effect: 'workspace', act: 'program' },
    { 'read-only': 'deny', guarded: 'ask', workspace: 'allow', full: 'allow' },
  ],
  [
    { effect: 'outside', act: 'program' },
    { 'read-only': 'deny', guarded: 'ask', workspace: 'ask', full: 'allow' },
  ],
  [{ effect: 'outside' }, { 'read-only': 'deny', guarded: 'ask', workspace: 'ask', full: 'allow' }],
  [
    { effect: 'outside', act: 'chat' },
    { 'read-only': 'deny', guarded: 'ask', workspace: 'ask', full: 'allow' },
  ],
  [
    { effect: 'outside', act: 'memory' },
    { 'read-only': 'deny', guarded: 'ask', workspace: 'ask', full: 'allow' },
  ],
  [
    { effect: 'outside', act: 'setting' },
    { 'read-only': 'deny', guarded: 'ask', workspace: 'ask', full: 'allow' },
  ],
];

test.each(MODE_TABLE)('what each mode makes of %o', (facts, expected) => {
  for (const [mode, kind] of Object.entries(expected)) {
    const config = settings({ mode: mode as Mode });
    expect([mode, decide(tool(facts), run('owner'), { config }).kind]).toEqual([mode, kind]);
  }
});

test('what is the owner’s alone no config opens to others', () => {
  const config = settings({ mode: 'full', members: ['*'], guests: ['*'], senders: { 'test:ann': { ...NONE, mode: 'full' } } });
  for (const role of ['member', 'guest'] as const) {
    const configure = builtIn('configure_tool');
    expect(offers(configure, run(role), config).kind).toBe('deny');
    expect(decide(configure, run(role), { config, args: { action: 'list' } }).kind).toBe('deny');
  }
  expect(offers(builtIn('configure_tool'), run('member'), config)).toEqual({ kind: 'deny', reason: 'it is the owner’s alone' });
});

test('in the mode that is asked in, the owner says yes to what a member may not do by themself', () => {
  const config = settings({ members: ['pay'] });
  expect(decide(tool(), run('member'), { config })).toEqual({
    ...{ kind: 'ask', by: 'owner', key: 'tool_policy.mode' },
    reason: 'what reaches other systems needs a yes in mode guarded',
  });
  expect(decide(tool(), run('owner'))).toMatchObject({ kind: 'ask', by: 'requester' });
});

test('no config makes a guest run a program, make a job or write elsewhere', () => {
  const config = settings({ mode: 'full', guests: ['*'], senders: { 'test:ann': { ...NONE, mode: 'full' } } });
  for (const act of ['program', 'job', 'memory', 'skill', 'setting', 'chat'] as const)
    expect(offers(tool({ effect: 'none', act }), run('guest'), config)).toEqual({ kind: 'deny', reason: 'it is not for guests' });
  expect(offers(tool({ effect: 'workspace' }), run('guest'), config)).toMatchObject({ kind: 'deny' });
});

test.each([
  ['owner', {}, 'guarded'],
  ['owner', { mode: 'full' }, 'full'],
  ['member', { mode: 'full' }, 'guarded'],
  ['member', { mode: 'read-only' }, 'read-only'],
  ['member', { senders: { 'test:ann': { ...NONE, mode: 'workspace' } } }, 'workspace'],
  ['guest', { mode: 'full', senders: { 'test:ann': { ...NONE, mode: 'full' } } }, 'read-only'],
] as const)('the mode of the %s with %o is %s', (role, config, mode) => {
  expect(modeOf(role, 'test:ann', settings(config))).toBe(mode);
});

test('a run has never more than it began with, nor more than the config gives now', () => {
  expect(decide(tool(), run('owner', 'guarded'), { config: settings({ mode: 'full' }) }).kind).toBe('ask');
  expect(decide(tool(), run('owner', 'full'), { config: settings({ mode: 'read-only' }) })).toMatchObject({
    ...{ kind: 'deny', key: 'tool_policy.mode' },
  });
});

test('every rule must allow, deny wins, and the verdict names the key that decides', () => {
  const channel = (name: string) => (name === 'test' ? { allow: ['group:fs', 'pay'], deny: [] } : undefined);
  const config = settings({
    ...{ mode: 'full', allow: ['*'], deny: ['rm_*'], channel },
    byProvider: { anthropic: { allow: [], deny: ['group:runtime'] }, 'openai/gpt': { allow: ['list_dir'], deny: [] } },
    senders: { 'test:ann': { allow: [], deny: ['write_file'] } },
  });
  const key = (name: string, at: Partial<PolicyRun> = {}) => {
    const verdict = offers(tool({ name, effect: 'none' }), run('owner', 'full', {}, at), config);
    return verdict.kind === 'deny' ? verdict.key : verdict.kind;
  };
  expect(key('pay')).toBe('allow');
  expect(key('rm_all')).toBe('tool_policy.deny');
  expect(key('shell')).toBe('tool_policy_by_provider.anthropic.deny');
  expect(key('shell', { model: 'other/x' })).toBe('gateway.channels.test.tool_policy.allow');
  expect(key('read_file', { model: 'openai/gpt' })).toBe('tool_policy_by_provider.openai/gpt.allow');
  expect(key('write_file')).toBe('tool_policy.senders.test:ann.deny');
  // Without a chat the rules of the channel that the person came through stay.
  expect(key('other', { channel: 'job' })).toBe('gateway.channels.test.tool_policy.allow');
});

test('the exact model goes before its provider', () => {
  const byProvider = { anthropic: { allow: [], deny: ['pay'] }, 'anthropic/claude': { allow: [], deny: [] } };
  expect(offers(tool(), run('owner'), settings({ byProvider })).kind).toBe('allow');
  expect(offers(tool(), run('owner', 'full', {}, { model: 'anthropic/other' }), settings({ byProvider })).kind).toBe('deny');
});

test('tags: a tool needs one that is asked for, and one without tags passes', () => {
  const config = settings({ requireTags: ['fs'], contextFilter: ['fs', 'web'] });
  expect(offers(tool({ tags: [] }), run('owner'), config).kind).toBe('allow');
  expect(offers(tool({ tags: ['fs'] }), run('owner'), config).kind).toBe('allow');
  expect(offers(tool({ tags: ['web'] }), run('owner'), config)).toMatchObject({ key: 'tool_policy.require_tags' });
  expect(offers(tool({ tags: ['x'] }), run('owner'), settings({ contextFilter: ['y'] }))).toMatchObject({
    key: 'context_filter',
  });
});

test('what the run that began this one may not use, this one may not', () => {
  const policies = [{ allow: ['read_file'], deny: [] }];
  expect(offers(tool(), run('owner', 'full', { policies }))).toEqual({
    ...{ kind: 'deny', reason: 'the run that began this one may not use it' },
  });
  expect(decide(tool(), run('owner', 'full', { policies })).kind).toBe('deny');
});

const GATE: readonly (readonly [Partial<ToolFacts>, number, Verdict['kind']])[] = [
  [{ effect: 'outside' }, UNTRUSTED, 'allow'],
  [{ effect: 'outside' }, PRIVATE, 'allow'],
  [{ effect: 'outside' }, BOTH, 'ask'],
  [{ effect: 'outside', act: 'home' }, BOTH, 'allow'],
  [{ effect: 'workspace' }, BOTH, 'allow'],
  [{ effect: 'none' }, BOTH, 'allow'],
  [{ effect: 'none', act: 'network' }, BOTH, 'ask'],
  [{ effect: 'workspace', act: 'network' }, UNTRUSTED, 'allow'],
  [{ effect: 'workspace', act: 'network' }, BOTH, 'ask'],
  [{ effect: 'outside', act: 'setting' }, BOTH, 'ask'],
  [{ effect: 'workspace', act: 'program' }, BOTH, 'allow'],
  [{ effect: 'outside', act: 'program' }, BOTH, 'ask'],
  [{ effect: 'workspace', act: 'memory' }, BOTH, 'ask'],
  [{ effect: 'workspace', act: 'skill' }, BOTH, 'ask'],
  [{ effect: 'outside', act: 'job' }, BOTH, 'ask'],
];

test.each(GATE)('in the highest mode, %o with taint %i is: %s', (facts, taint, kind) => {
  expect(decide(tool(facts), run('owner'), { config: settings({ mode: 'full' }), taint }).kind).toBe(kind);
});

test('what a tool forbids for good is denied in the highest mode, and what it wants a yes for is asked', () => {
  const strict = tool({
    act: 'program',
    effect: 'workspace',
    rule: (args) => args as ReturnType<NonNullable<ToolFacts['rule']>>,
  });
  const config = settings({ mode: 'full' });
  const judged = (args: unknown) => decide(strict, run('owner'), { config, args });
  expect(judged({ kind: 'deny', reason: 'never' })).toEqual({ kind: 'deny', reason: 'never' });
  expect(judged({ kind: 'ask', reason: 'each time' })).toEqual({ kind: 'ask', reason: 'each time', by: 'requester' });
  expect(judged(null).kind).toBe('allow');
});

test('the owner makes jobs in the guarded mode as before, and is asked once a run read untrusted and private things', () => {
  const cron = builtIn('cron');
  const add = { action: 'add' };
  expect(decide(cron, run('owner'), { args: add }).kind).toBe('allow');
  expect(decide(cron, run('owner'), { args: add, taint: BOTH })).toMatchObject({ kind: 'ask', by: 'requester' });
  expect(decide(cron, run('owner'), { args: { action: 'list' }, taint: BOTH }).kind).toBe('allow');
  const named = settings({ members: ['cron'] });
  expect(decide(cron, run('member'), { args: add, config: named })).toMatchObject({ kind: 'ask', by: 'owner' });
  expect(decide(cron, run('member'), { args: { action: 'list' }, config: named }).kind).toBe('allow');
});

test('the owner is asked before a job of a run that read what strangers wrote, unless the mode is full', () => {
  const cron = builtIn('cron');
  const add = { args: { action: 'add' } };
  for (const mode of ['guarded', 'workspace'] as const)
    expect(decide(cron, run('owner'), { ...add, taint: UNTRUSTED, config: settings({ mode }) })).toMatchObject({
      kind: 'ask',
      by: 'requester',
    });
  expect(decide(cron, run('owner'), { ...add, taint: PRIVATE }).kind).toBe('allow');
  expect(decide(cron, run('owner'), { args: { action: 'list' }, taint: UNTRUSTED }).kind).toBe('allow');
  const full = settings({ mode: 'full' });
  expect(decide(cron, run('owner'), { ...add, taint: UNTRUSTED, config: full }).kind).toBe('allow');
});

test('the tool that only describes other tools is always there, and one of its name that changes something is not', () => {
  const config = settings({ allow: ['read_file'], deny: ['*'], contextFilter: ['fs'] });
  const describes = tool({ name: 'activate_tools', effect: 'none', tags: ['admin'] });
  const guest = run('guest', 'read-only', { policies: [{ allow: ['read_file'], deny: ['*'] }] });
  expect(offers(describes, guest, config).kind).toBe('allow');
  expect(decide(describes, guest, { config, taint: BOTH }).kind).toBe('allow');
  expect(offers({ ...describes, effect: 'workspace' }, guest, config).kind).toBe('deny');
});

test('the config may name every tool there is, but the one that is always there', () => {
  const unnamed = BUILT_IN.filter(({ name }) => !isKnownEntry(name)).map(({ name }) => name);
  expect(unnamed.filter((name) => name !== 'activate_tools')).toEqual([]);
});

test('A36 a name that other platforms have for a tool means the tool, in a rule as in a call', () => {
  const config = settings({ deny: ['attach_file', 'list_directory'] });
  for (const name of ['send_file', 'list_dir']) expect(offers(builtIn(name), run('owner'), config).kind).toBe('deny');
  expect(isKnownEntry('attach_file')).toBe(true);
});

test('A36 an entry is known only if a tool of a server or a plugin can have the name, or it is the beginning of one', () => {
  const known = ['mcp__*', 'plugin__*', 'mcp__files__*', 'mcp__files_*', 'mcp__fi*', 'mcp__files__rm', 'mcp__files__rm*'];
  const odd = ['mcp__greet_files__x', 'plugin__greet-2__a-b', 'mcp__a__b__c', 'mcp__A-1___x_'];
  expect([...known, ...odd].filter((entry) => !isKnownEntry(entry))).toEqual([]);
  const unknown = ['mcp__', 'mcp__files', 'mcp__files_', 'mcp__files__', 'mcp__fils', 'plugin__greet', 'mcp__files_rm'];
  const wild = ['mcp__*__rm', 'mcp__files__*rm', 'mcp__files__files.rm', 'mcp__files__rm ', 'mcp__fïles__*', '__mcp__a__b'];
  expect([...unknown, ...wild].filter((entry) => isKnownEntry(entry))).toEqual([]);
});

test('A36 no spelling of a tool, and no place of the rule, gets round a deny', () => {
  const forbids = ['pay', 'p*', '*', 'pa*'];
  for (const entry of forbids) {
    const rules = { allow: ['pay', '*'], deny: [entry] };
    const places: readonly Partial<PolicySettings>[] = [
      rules,
      { senders: { 'test:ann': { ...rules, mode: 'full' } } },
      { byProvider: { anthropic: rules } },
      { byProvider: { 'anthropic/claude': rules } },
      { channel: (name) => (name === 'test' ? rules : undefined) },
    ];
    for (const place of places)
      expect(decide(tool(), run('owner'), { config: settings({ mode: 'full', ...place }) }).kind).toBe('deny');
  }
  // A deny is for names as they are: a tool that only looks like it needs an allow of its own.
  const only = settings({ mode: 'full', allow: ['pay'] });
  for (const name of ['Pay', 'PAY', 'pay ', 'pay\u200b', 'p\u0430y', 'mcp__x__pay', 'pay_all', 'toString', '__proto__'])
    expect(decide(tool({ name }), run('owner'), { config: only }).kind).toBe('deny');
  expect(decide(builtIn('write_file'), run('owner'), { config: settings({ deny: ['group:fs'] }) }).kind).toBe('deny');
});

test('what a stranger wrote is not let out by the yes of a stranger', () => {
  const fetch = tool({ name: 'web_fetch', effect: 'none', act: 'network' });
  const config = settings({ members: ['web_fetch'], guests: ['web_fetch'] });
  expect(decide(fetch, run('member'), { config, taint: BOTH })).toMatchObject({ kind: 'ask', by: 'requester' });
  expect(decide(fetch, run('guest'), { config, taint: BOTH })).toMatchObject({ kind: 'ask', by: 'owner' });
});

test('a word to this chat goes out in the guarded mode; one to another chat, and a mail, wait for a yes below the highest, and never go out for a guest', () => {
  const there = { content: 'x', chat_id: 'ben' };
  const [message, mail] = [builtIn('message'), builtIn('send_email')];
  const ask = (facts: ToolFacts, mode: Mode, args: unknown) =>
    decide(facts, run('owner', mode), { config: settings({ mode }), args }).kind;
  expect(ask(message, 'guarded', { content: 'x' })).toBe('allow');
  for (const mode of ['guarded', 'workspace', 'full'] as const) {
    const verdict = mode === 'full' ? 'allow' : 'ask';
    expect([ask(message, mode, there), ask(mail, mode, {})]).toEqual([verdict, verdict]);
  }
  // What cannot be read reaches as far as it can.
  for (const args of [null, 'x', { chat_id: 7 }, { channel: {} }]) expect(ask(message, 'guarded', args)).toBe('ask');
  const guests = settings({ mode: 'full', guests: ['message', 'send_email'] });
  expect([offers(message, run('guest'), guests).kind, offers(mail, run('guest'), guests).kind]).toEqual(['deny', 'deny']);
  const tainted = { config: settings({ mode: 'full' }), taint: BOTH };
  expect(decide(message, run('owner'), { ...tainted, args: there }).kind).toBe('ask');
  expect(decide(mail, run('owner'), tainted).kind).toBe('ask');
  expect(decide(message, run('owner'), { ...tainted, args: { content: 'x' } }).kind).toBe('allow');
});

test('every tool that tells what lies in the workspace brings in that it is foreign and private', () => {
  const tellers = [
    ...['read_file', 'edit_file', 'diff_edit', 'list_dir', 'glob', 'grep', 'code_structure', 'git', 'shell'],
    ...['read_document', 'convert_markdown_to_docx', 'synthesize_research'],
  ];
  expect(tellers.filter((name) => builtIn(name).reads !== BOTH)).toEqual([]);
});

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const CONFIG = {
  tool_policy: { deny: ['react'], members: ['cron'], senders: { 'telegram:43': { mode: 'read-only' } } },
  tool_policy_by_provider: { 'groq/small': { deny: ['send_file'] } },
  mcp_clients: { coder: { mode: 'read-only', allow: ['read_file', 'write_file'] } },
  models: { quick: { provider: 'groq', model: 'small' } },
  gateway: {
    owner: [{ channel: 'telegram', chat_id: '1' }],
    channels: [
      { type: 'telegram', allowed_senders: ['1', '42', '43', '44'], sender_models: { '44': 'quick' } },
      { type: 'telegram', name: 'open', allowed_senders: ['*'], settings: { token_env: 'OPEN' } },
      { type: 'cli' },
    ],
  },
};

async function setup() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', JSON.stringify(CONFIG));
  await cli.haveJournal();
  cli.env = { TELEGRAM_BOT_TOKEN: 'x', OPEN: 'y' };
  cli.openJournal = (options) => openJournal({ ...options, dir: join(dir.path, 'real') });
  const list = async (...argv: string[]) => {
    const { as, tools } = JSON.parse((await cli.run('tools', 'list', '--json', ...argv)).stdout);
    const of = (verdict: string) =>
      tools.filter((tool: { verdict: string }) => tool.verdict === verdict).map(({ name }: { name: string }) => name);
    return { as, tools, allow: of('allow'), ask: of('ask'), deny: of('deny') };
  };
  return { cli, list, journal: join(dir.path, 'real'), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const named = (tools: readonly { readonly name: string }[], name: string) => tools.find((tool) => tool.name === name);

test('each tool stands with its verdict, the reason and the key that decides', async () => {
  await using at = await setup();
  const { code, stdout, stderr } = await at.cli.run('tools', 'list', '--as', 'telegram:42');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^TOOL +MAY +REASON +DECIDED BY\n/);
  expect(stdout).toMatch(/\nread_file +yes +allowed in mode guarded *\n/);
  expect(stdout).toMatch(/\nreact +no +"react" forbids it +tool_policy\.deny *\n/);
  expect(stdout).toMatch(/\ncron +asks +a job needs a yes in mode guarded +tool_policy\.mode *\n/);
  expect(stderr).toContain('for telegram:42: member, mode guarded');
});

test('what a person may use follows their role, their own rules and the model that answers them', async () => {
  await using at = await setup();
  const owner = await at.list();
  expect(owner.as).toEqual({ principal: 'cli:local', role: 'owner', mode: 'guarded' });
  expect(owner.deny.toSorted()).toEqual(['browser', 'deep_search', 'git', 'grep', 'react', 'send_email', 'shell', 'web_search']);
  expect(owner.ask).toEqual(['message', 'model_check', 'configure_tool']);
  expect(named(owner.tools, 'deep_search')).toMatchObject({ key: 'web.web_search' });
  expect(named(owner.tools, 'send_email')).toMatchObject({
    key: 'gateway.channels',
    reason: 'no channel of type email is configured',
  });
  expect(named(owner.tools, 'shell')).toMatchObject({ key: 'sandbox', reason: expect.stringContaining('add `"sandbox": {}`') });
  expect(named(owner.tools, 'web_search')).toMatchObject({ key: 'web.web_search', reason: 'no search engine is configured' });
  expect((await at.list('--as', 'telegram:1')).as).toMatchObject({ role: 'owner' });
  expect((await at.list('--as', 'telegram:43')).allow).toEqual(['read_file', 'list_dir', 'offer_choices']);
  const small = await at.list('--as', 'telegram:44');
  expect(named(small.tools, 'send_file')).toMatchObject({ verdict: 'deny', key: 'tool_policy_by_provider.groq/small.deny' });
  const guest = await at.list('--as', 'open:anyone');
  expect(guest.as).toMatchObject({ role: 'guest', mode: 'read-only' });
  expect(guest.allow).toEqual(['read_file', 'list_dir', 'offer_choices']);
});

test('rules by provider hold for the model however the config names it', async () => {
  await using at = await setup();
  const rules = { tool_policy_by_provider: { anthropic: { deny: ['write_file'] }, gemini: { deny: ['write_file'] } } };
  for (const main of [{ model: 'claude-sonnet-5' }, { model: 'anthropic/claude-sonnet-5' }, { provider: 'google' }]) {
    await at.cli.write('.gatehouse/config.json', JSON.stringify({ ...CONFIG, ...rules, ...main }));
    expect(named((await at.list()).tools, 'write_file')).toMatchObject({ verdict: 'deny' });
  }
});

test('what the agent may use for a client follows its entry alone', async () => {
  await using at = await setup();
  expect(await at.list('--as', 'mcp:coder')).toMatchObject({
    as: { principal: 'mcp:coder', role: 'member', mode: 'read-only' },
    allow: ['read_file'],
    ask: [],
  });
  const { tools } = await at.list('--as', 'mcp:coder');
  expect(named(tools, 'list_dir')).toMatchObject({ verdict: 'deny', key: 'mcp_clients.coder.allow' });
  expect((await at.list('--as', 'mcp:desk')).allow).toEqual([]);
  await at.cli.run('people', 'block', 'mcp:coder');
  expect((await at.list('--as', 'mcp:coder')).allow).toEqual([]);
});

test('who is not let in has no tool, and the list says why', async () => {
  await using at = await setup();
  const stranger = await at.list('--as', 'telegram:666');
  expect([stranger.allow, stranger.ask]).toEqual([[], []]);
  expect(stranger.tools[0]).toMatchObject({ reason: 'the person is not let in', key: 'gateway.channels[].allowed_senders' });
  await at.cli.run('people', 'block', 'telegram:42');
  expect((await at.list('--as', 'telegram:42')).tools[0]).toMatchObject({ verdict: 'deny', reason: 'the person is blocked' });
  expect(await at.cli.run('tools', 'list', '--as', 'nonsense')).toMatchObject({ code: 2 });
});

test('without a terminal the first owner is meant, and a channel that is not there is named', async () => {
  await using at = await setup();
  const { gateway } = CONFIG;
  const channels = gateway.channels.filter(({ type }) => type !== 'cli');
  await at.cli.write('.gatehouse/config.json', JSON.stringify({ ...CONFIG, gateway: { ...gateway, channels } }));
  expect((await at.list()).as).toMatchObject({ principal: 'telegram:1', role: 'owner' });
  const wrong = await at.cli.run('tools', 'list', '--as', 'telegrm:42');
  expect([wrong.code === 0, wrong.stderr]).toEqual([false, expect.stringContaining('did you mean telegram:42?')]);
  await at.cli.write('.gatehouse/config.json', JSON.stringify({ ...CONFIG, gateway: { ...gateway, channels, owner: [] } }));
  expect((await at.cli.run('tools', 'list')).stderr).toContain('say for whom, as in `--as telegram:42`');
});

test('tools that were approved of MCP servers stand there too, and those of a server that is turned off do not', async () => {
  await using at = await setup();
  const server = { command: 'x' };
  const mcp = { files: server, off: { ...server, enabled: false } };
  await at.cli.write('.gatehouse/config.json', JSON.stringify({ ...CONFIG, mcp_servers: mcp }));
  const pin = (name: string) => ({ kind: 'pin', pin: { kind: 'mcp', name, digest: 'd', by: 'cli' } }) as const;
  const { journal } = await openJournal({ dir: at.journal, clock: systemClock });
  await journal.commit(['files/read', 'off/read', 'gone/read'].map(pin));
  await journal[Symbol.asyncDispose]();
  expect(named((await at.list()).tools, 'mcp__files__read')).toMatchObject({
    verdict: 'ask',
    reason: 'what reaches other systems needs a yes in mode guarded',
    key: 'tool_policy.mode',
  });
  const { tools } = await at.list('--as', 'telegram:42');
  expect(tools.filter(({ name }: { name: string }) => name.startsWith('mcp__'))).toMatchObject([
    { name: 'mcp__files__read', verdict: 'deny', key: 'tool_policy.members' },
  ]);
});

test.each(['none', 'docker', 'macos'])('in mode %s the list says why there is no browser', async (mode) => {
  await using at = await setup();
  const sandbox = { mode, worker_socket: '/run/worker', ...(mode === 'docker' ? { image: 'debian' } : {}) };
  await at.cli.write('.gatehouse/config.json', JSON.stringify({ ...CONFIG, sandbox }));
  expect(named((await at.list()).tools, 'browser')).toMatchObject({
    ...{ verdict: 'deny', key: 'sandbox', reason: `only bubblewrap holds a browser, and sandbox.mode is ${mode}` },
  });
});

test('a program that is shut in needs no yes in mode workspace, and the list says so', async () => {
  await using at = await setup();
  const verdictWith = async (sandbox: object) => {
    // A worker of the system is not asked, so that nothing has to work on this machine.
    const config = { ...CONFIG, tool_policy: { mode: 'workspace' }, sandbox: { worker_socket: '/run/worker', ...sandbox } };
    await at.cli.write('.gatehouse/config.json', JSON.stringify(config));
    return named((await at.list()).tools, 'shell');
  };
  expect(await verdictWith({})).toMatchObject({ verdict: 'allow', reason: 'allowed in mode workspace' });
  expect(await verdictWith({ allow_network: true })).toMatchObject({ verdict: 'ask' });
});

test.each(['grep', 'git', 'shell'])(
  'without a sandbox %s is a program that asks below mode full, and the list says so',
  async (name) => {
    await using at = await setup();
    const verdictIn = async (mode: string, sandbox: string) => {
      const config = { ...CONFIG, tool_policy: { mode }, sandbox: { worker_socket: '/run/worker', mode: sandbox } };
      await at.cli.write('.gatehouse/config.json', JSON.stringify(config));
      return named((await at.list()).tools, name);
    };
    expect(await verdictIn('workspace', 'none')).toMatchObject({ verdict: 'ask' });
    expect(await verdictIn('full', 'none')).toMatchObject({ verdict: 'allow' });
    expect(await verdictIn('workspace', 'bwrap')).toMatchObject({ verdict: 'allow' });
  },
);

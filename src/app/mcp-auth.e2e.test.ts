// Logins at MCP servers: the suite of the protocol's makers, and a real OpenID provider with daemon and
// command line.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { FakeCli } from '../testing/fake-cli.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { type AuthScenario, playAuthScenario } from '../testing/mcp-auth-client.ts';
import { type McpPeer, startMcpPeer } from '../testing/mcp-peer.ts';
import { FormBrowser, type OidcServer, startOidcServer } from '../testing/oidc-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const SUITE = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const RELAY = join(import.meta.dirname, '../testing/mcp-auth-relay.ts');
const GUARD = join(import.meta.dirname, '../cli/node-guard.mjs');

/** Plays whole suites against our client in this process; resolves with the lines of their summaries. */
async function playSuites(...names: readonly string[]): Promise<readonly string[]> {
  const relay = createServer(async (request, response) => {
    const scenario = JSON.parse(await text(request)) as AuthScenario;
    await playAuthScenario(scenario).then(
      () => response.writeHead(200).end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const command = `${process.execPath} --import ${GUARD} ${RELAY} http://127.0.0.1:${(relay.address() as AddressInfo).port}/`;
  const play = async (name: string): Promise<readonly string[]> => {
    const args = [SUITE, 'client', '--suite', name, '--verbose', '--command', command];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch((failed: { stdout: string }) => failed);
    return stdout.split('\n').filter((line) => /^[✓✗] /.test(line));
  };
  try {
    return (await Promise.all(names.map(play))).flat();
  } finally {
    relay.close();
  }
}

test.skipIf(!isFullLoad())(
  'the conformance suite of MCP passes in every scenario about logins but that of enterprises',
  {
    timeout: 120_000,
  },
  async () => {
    const lines = await playSuites('auth', 'backcompat', 'draft', 'extensions');
    expect(lines).toHaveLength(22);
    expect(lines.filter((line) => !/^✓ auth\/\S+: [1-9]\d* passed, 0 failed$/.test(line))).toEqual([
      // SEP-990: it begins with an ID token of the enterprise's own login, which a daemon without people has
      // not.
      expect.stringMatching(/^✗ auth\/cross-app-access-complete-flow: \d+ passed, 2 failed$/),
    ]);
  },
);

interface Rig extends AsyncDisposable {
  readonly dir: string;
  readonly peer: McpPeer;
  readonly provider: OidcServer;
  readonly cli: FakeCli;
  startDaemon(): Promise<TestDaemon>;
  /** `mcp login`, by a person with a browser. */
  login(...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
}

/** An MCP server that takes tokens of a real OpenID provider, and a command line beside a data directory. */
async function rigWith(accessTokenSeconds: number): Promise<Rig> {
  const dir = await tempDir();
  const provider = await startOidcServer({ accessTokenSeconds, resourceScopes: 'notes:read notes:write' });
  const peer = await startMcpPeer();
  Object.assign(peer.resource, { authorization_servers: [provider.issuer] });
  peer.takes = async (token) => token !== undefined && (await provider.knows(token));
  const mcp = { notes: { url: peer.url, oauth: {}, allow_private: true, pin: 'first-use' } };
  const cli = new FakeCli(dir.path);
  cli.openJournal = (options) => openJournal({ ...options, sync: 'in-commit' });
  await cli.write('.gatehouse/config.json', JSON.stringify({ version: 1, mcp_servers: mcp }));
  return {
    ...{ dir: dir.path, peer, provider, cli },
    startDaemon: () =>
      testDaemon({
        ...{ dataDir: cli.dataDir, mcp },
        policy: { members: ['mcp__*'], senders: { 'test:user-1': { mode: 'full' } } },
        model: scriptedModel([
          { toolCalls: [{ id: 't1', name: 'mcp__notes__note', arguments: {} }] },
          ({ messages }) => `it said: ${messages.at(-1)?.content}`,
        ]),
      }),
    login: (...args) => {
      cli.onTalk = (said) => {
        const link = /^ {2}(http\S+)$/m.exec(said)?.[1];
        if (link !== undefined) void new FormBrowser().logIn(link);
      };
      return cli.run('mcp', 'login', 'notes', ...args);
    },
    [Symbol.asyncDispose]: async () => {
      await peer[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function stateOf({ daemon }: TestDaemon): string {
  return daemon.mcp.status()[0]?.state ?? '';
}

test('a running daemon waits for a login, takes it up, renews it, keeps it over a restart, and loses it at a logout', async () => {
  await using rig = await rigWith(20);
  const { cli } = rig;
  {
    await using first = await rig.startDaemon();
    await until('it waits for a person', () => stateOf(first) === 'login');
    expect(first.daemon.mcp.status()[0]?.detail).toContain('gatehouse mcp login notes');
    const { code, stdout, stderr } = await rig.login();
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('logged in to notes at 127.0.0.1'),
    });
    expect(stderr).toContain(`Server        ${rig.peer.origin}`);
    expect(stderr).toContain(`Log in at     ${new URL(rig.provider.issuer).host}`);
    await until('it is up', () => stateOf(first) === 'up');
    await first.channel.deliver({ text: 'write it down' });
    await until('the answer is there', () => first.channel.texts().includes('it said: written'));
    // Every token has less time left than a token needs to be used, so each request came with a new one.
    const used = new Set(rig.peer.authorizations);
    expect(used.size).toBeGreaterThan(3);
    const log = JSON.stringify(first.logger.lines);
    for (const { access_token, refresh_token } of rig.provider.tokens)
      for (const secret of [access_token, refresh_token]) expect(log + stdout + stderr).not.toContain(secret);
    expect(first.logger.lines.filter(({ event }) => event === 'mcp.down')).toHaveLength(1);
  }
  {
    await using again = await rig.startDaemon();
    await until('it is up without a person', () => stateOf(again) === 'up');
    const audit = (await cli.run('people', 'audit', '--json')).stdout;
    expect(audit).toContain('mcp.logged-in');
    const { code, stdout } = await cli.run('mcp', 'logout', 'notes');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('and ended there') });
    await again.channel.deliver({ text: 'write it down', platformId: 'after-the-restart', chatId: 'chat-2' });
    await until('it wants a person', () => stateOf(again) === 'login');
    await until('the answer is there', () =>
      again.channel.texts('chat-2').some((said) => said.includes('the operator has to run')),
    );
  }
  expect(await readFile(join(cli.dataDir, 'mcp-logins/notes/auth.json'), 'utf8')).not.toContain('token');
});

test('a login that ends at its server turns the daemon to a person, once, and not in a loop', async () => {
  await using rig = await rigWith(3_600);
  await using running = await rig.startDaemon();
  await until('it waits for a person', () => stateOf(running) === 'login');
  await rig.login('--json');
  await until('it is up', () => stateOf(running) === 'up');
  rig.peer.takes = () => false;
  rig.provider.interfere = { status: 400, body: '{"error":"invalid_grant"}' };
  const before = rig.provider.requests.length;
  await running.channel.deliver({ text: 'write it down' });
  await until('it wants a person', () => stateOf(running) === 'login');
  await until('the answer is there', () => running.channel.texts().some((said) => said.includes('the operator has to run')));
  expect(rig.provider.requests.slice(before)).toEqual(['POST /token']);
  expect((await rig.cli.run('mcp', 'list', '--json')).stdout).toContain('"login": "usable"');
});

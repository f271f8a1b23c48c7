import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir, until } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';
import { followLink, startMcpPeer } from '../../testing/mcp-peer.ts';

/** A command line, and a server that wants a login. */
async function cliWith(entry: Record<string, unknown> = {}) {
  const dir = await tempDir();
  const peer = await startMcpPeer();
  const cli = new FakeCli(dir.path);
  cli.openJournal = (options) => openJournal({ ...options, sync: 'in-commit' });
  const notes = { url: peer.url, oauth: {}, allow_private: true, ...entry };
  await cli.write('.gatehouse/config.json', JSON.stringify({ version: 1, mcp_servers: { notes } }));
  const links: string[] = [];
  cli.onTalk = (said) => {
    const link = /^ {2}(http\S+)$/m.exec(said)?.[1];
    if (link !== undefined) links.push(link);
  };
  return Object.assign(cli, {
    ...{ peer, links },
    /** Runs the login; `browser` has the link. */
    logIn: async (args: readonly string[] = [], browser: (link: string) => unknown = followLink) => {
      const done = cli.run('mcp', 'login', 'notes', ...args);
      await until('the link is shown', () => links.length > 0);
      await browser(links.at(-1) ?? '');
      return await done;
    },
    [Symbol.asyncDispose]: async () => {
      await peer[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  });
}

test('mcp login shows server, issuer and permissions before the link, and no secret ever', async () => {
  await using cli = await cliWith();
  const { code, stdout, stderr } = await cli.logIn(['--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    ...{ schemaVersion: 1, ok: true },
    ...{ server: 'notes', issuer: cli.peer.origin, scopes: ['notes:read'], renews: true },
    expiresAt: expect.stringMatching(/^2026-/),
  });
  const { host } = new URL(cli.peer.origin);
  expect(stderr).toMatch(
    new RegExp(`Server +${cli.peer.origin}\\nLog in at +${host}\\nIt may do +notes:read\\n[^]*${host}/authorize`),
  );
  expect(stdout + stderr).not.toMatch(/access-token|refresh-token|code-of-a-person/);
  expect(cli.openedUrls).toEqual([]);
});

test('mcp test and mcp list know a login, and mcp logout ends it', async () => {
  await using cli = await cliWith();
  const before = await cli.run('mcp', 'test', 'notes');
  expect(before).toMatchObject({ code: 1, stderr: expect.stringContaining('→ run `gatehouse mcp login notes`') });
  expect(await cli.run('mcp', 'list')).toMatchObject({
    stdout: expect.stringContaining('no login'),
    stderr: expect.stringContaining('→ gatehouse mcp login notes'),
  });
  await cli.logIn();
  expect((await cli.run('mcp', 'test', 'notes')).stderr).toContain('notes works: 1 tool');
  expect(JSON.parse((await cli.run('mcp', 'list', '--json')).stdout).servers).toMatchObject([{ name: 'notes', login: 'usable' }]);
  expect((await cli.run('mcp', 'logout', 'notes')).stdout).toContain('1 login at notes forgotten, and ended there');
  expect((await cli.run('mcp', 'logout', 'notes')).code).toBe(1);
  expect((await cli.run('mcp', 'test', 'notes')).code).toBe(1);
});

test.skipIf(isNotRoot)('a login that root makes is the daemon’s in a data directory of another user', async () => {
  await using cli = await cliWith();
  await otherUsersDirectory(cli.dataDir);
  expect((await cli.logIn()).code).toBe(0);
  expect(await readdir(join(cli.dataDir, 'mcp-logins', 'notes'))).toContain('auth.json');
  expect((await filesOfRoot(cli.dataDir)).filter((name) => !name.startsWith('journal.db'))).toEqual([]);
});

test('a code is taken from the terminal where the browser is on another machine', async () => {
  await using cli = await cliWith();
  cli.input = 'two words\nthe-code-of-a-far-browser\n';
  const { code, stderr } = await cli.logIn([], () => undefined);
  expect(code).toBe(0);
  expect(stderr).toContain('this is neither an address nor a code; paste it again');
  expect(cli.peer.forms[0]?.get('code')).toBe('the-code-of-a-far-browser');
});

test('on a terminal the page is opened, unless --no-browser says not to', async () => {
  await using cli = await cliWith();
  cli.answers = [];
  await cli.logIn(['--no-browser']);
  expect(cli.openedUrls).toEqual([]);
  cli.links.length = 0;
  await cli.logIn();
  expect(cli.openedUrls).toEqual(cli.links);
});

test('further permissions are asked for by name', async () => {
  await using cli = await cliWith();
  await cli.logIn(['--scope', 'notes:write', '--scope', 'notes:share']);
  expect(new URL(cli.links[0] ?? '').searchParams.get('scope')).toBe('notes:read notes:write notes:share');
  expect((await cli.run('mcp', 'login', 'notes', '--scope', 'two words')).code).toBe(2);
});

test.each([
  [['mcp', 'login', 'other'], 1, 'the config has no MCP server other'],
  [['mcp', 'logout', '../..'], 2, 'this is not the name of an MCP server'],
  [['mcp', 'logout', 'other'], 1, 'no login at an MCP server other is stored'],
])('%j ends with %i', async (argv, code, said) => {
  await using cli = await cliWith();
  expect(await cli.run(...argv)).toMatchObject({ code, stderr: expect.stringContaining(said) });
});

test('a server of another kind is not logged in to', async () => {
  await using cli = await cliWith({ oauth: undefined, bearer_env: 'TOKEN' });
  expect(await cli.run('mcp', 'login', 'notes')).toMatchObject({ code: 2, stderr: expect.stringContaining('add "oauth": {}') });
});

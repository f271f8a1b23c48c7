import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openJsonlStore } from '../../../sessions/jsonl-store.ts';
import type { SessionMessage } from '../../core/session.ts';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';

const DAY_MS = 86_400_000;
const ADA = '_main:telegram:ada';
const PLAN = '_main:telegram:ada#plan';
const ROOM = '_main:irc:room';

interface Scene {
  readonly cli: FakeCli;
  say(key: string, role: SessionMessage['role'], content: string, more?: Partial<SessionMessage>): Promise<void>;
  rewrite(key: string, keep: number): Promise<void>;
  json<T>(...argv: string[]): Promise<T>;
}

async function scene(): Promise<Scene> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const cli = new FakeCli(dir.path);
  const { clock } = cli;
  cli.openJournal = (options) => openJournal({ ...options, clock });
  const store = openJsonlStore({ dir: cli.dataDir, clock, onDamage: () => undefined });
  let n = 0;
  return {
    cli,
    async say(key, role, content, more = {}) {
      n += 1;
      await store.append(key, [{ id: `m${n}`, role, content, timestamp: new Date(clock.now()).toISOString(), ...more }]);
    },
    async rewrite(key, keep) {
      await store.rewrite(key, (await store.load(key))?.messages.slice(-keep) ?? []);
    },
    async json<T>(...argv: string[]) {
      const { code, stdout, stderr } = await cli.run(...argv, '--json');
      expect(stderr).not.toMatch(/^✗/);
      expect(code).toBe(0);
      return JSON.parse(stdout) as T;
    },
  };
}

async function talked(): Promise<Scene> {
  const at = await scene();
  await at.say(ROOM, 'user', 'An old question');
  await at.cli.clock.advance(40 * DAY_MS);
  for (let n = 0; n < 4; n += 1) {
    await at.say(ADA, 'user', `Where is the invoice ${n}?`);
    await at.say(ADA, 'assistant', `In March, number ${n}.`);
  }
  await at.say(PLAN, 'user', 'A plan\u001b[31m for <b>May</b>');
  return at;
}

test('sessions are listed with their titles, the newest first, by channel and age', async () => {
  const at = await talked();
  type List = { sessions: { session: string; title: string; messages: number }[] };
  const { sessions } = await at.json<List>('sessions', 'list');
  expect(sessions.map(({ session, title, messages }) => [session, title, messages]).at(-1)).toEqual([ROOM, 'An old question', 1]);
  expect(sessions.map(({ session }) => session).sort()).toEqual([ROOM, ADA, PLAN]);
  expect(sessions.find(({ session }) => session === ADA)).toMatchObject({ title: 'Where is the invoice 0?', messages: 8 });
  const keys = async (...argv: string[]) =>
    (await at.json<List>('sessions', 'list', ...argv)).sessions.map(({ session }) => session);
  expect(await keys('--channel', 'irc')).toEqual([ROOM]);
  expect(await keys('--older-than', '30d')).toEqual([ROOM]);
  expect((await keys('--newer-than', '7')).sort()).toEqual([ADA, PLAN]);
  const { stdout } = await at.cli.run('sessions', 'list');
  expect(stdout).not.toContain('\u001b');
  expect((await at.cli.run('sessions', 'list', '--older-than', 'soon')).code).toBe(2);
});

test('a session is shown by a part of its key that fits no other, with what its archive has', async () => {
  const at = await talked();
  await at.rewrite(ADA, 2);
  const { messages, total } = await at.json<{ messages: SessionMessage[]; total: number }>('sessions', 'show', ADA);
  expect([messages.map(({ content }) => content), total]).toEqual([['Where is the invoice 3?', 'In March, number 3.'], 2]);
  const all = await at.json<{ messages: SessionMessage[]; total: number }>('sessions', 'show', ADA, '--all');
  expect([all.total, all.messages.length, all.messages[0]?.content]).toEqual([8, 8, 'Where is the invoice 0?']);
  expect((await at.json<{ messages: unknown[] }>('sessions', 'show', ADA, '--all', '--last', '3')).messages).toHaveLength(3);
  expect((await at.cli.run('sessions', 'show', 'plan')).stdout).toContain('A plan\\u001b[31m for');
  const several = await at.cli.run('sessions', 'show', 'telegram');
  expect([several.code, several.stderr]).toEqual([1, expect.stringContaining('fits 2 sessions')]);
  expect((await at.cli.run('sessions', 'show', 'nobody')).stderr).toContain('gatehouse sessions list');
});

test('words are found in all sessions and in archives, the newest first', async () => {
  const at = await talked();
  await at.rewrite(ADA, 1);
  type Result = { count: number; found: { session: string; snippet: string }[] };
  const { count, found } = await at.json<Result>('sessions', 'search', 'INVOICE', 'where');
  expect([count, new Set(found.map(({ session }) => session))]).toEqual([4, new Set([ADA])]);
  expect((await at.json<Result>('sessions', 'search', 'march', '--limit', '2')).found).toHaveLength(2);
  expect((await at.json<Result>('sessions', 'search', 'march', '--channel', 'irc')).count).toBe(0);
  expect((await at.cli.run('sessions', 'search', 'question')).stdout).toContain(`${ROOM}  user: An old question`);
  expect((await at.cli.run('sessions', 'search', ' ')).code).toBe(2);
});

test('a session is forked with its newest messages, and no session is replaced by it', async () => {
  const at = await talked();
  await at.json('sessions', 'fork', ADA, `${ADA}#copy`, '--keep', '3');
  const copy = await at.json<{ messages: SessionMessage[] }>('sessions', 'show', `${ADA}#copy`);
  expect(copy.messages.map(({ content }) => content)).toEqual([
    'In March, number 2.',
    'Where is the invoice 3?',
    'In March, number 3.',
  ]);
  const again = await at.cli.run('sessions', 'fork', ROOM, PLAN);
  expect([again.code, again.stderr]).toEqual([4, expect.stringContaining('already')]);
});

test.skipIf(isNotRoot)('what root changes while no daemon runs is of the user of the data directory', async () => {
  const at = await talked();
  await otherUsersDirectory(at.cli.dataDir);
  await at.json('sessions', 'fork', ADA, '_main:telegram:bob', '--keep', '3');
  await at.json('sessions', 'delete', PLAN, '--yes');
  expect((await filesOfRoot(at.cli.dataDir)).filter((name) => name.startsWith('users'))).toEqual([]);
});

test.skipIf(isNotRoot)('what root changes in a restored directory keeps no daemon of its user from its lock', async () => {
  const at = await talked();
  // As `gatehouse backup` copies it: with a journal, and without a lock.
  await (await openJournal({ dir: at.cli.dataDir, clock: at.cli.clock }))[Symbol.asyncDispose]();
  await otherUsersDirectory(at.cli.dataDir);
  await at.json('sessions', 'delete', PLAN, '--yes');
  expect(await filesOfRoot(at.cli.dataDir)).toEqual([]);
});

test('an export has everything that was said, and none of it counts as markup', async () => {
  const at = await talked();
  await at.say(PLAN, 'assistant', '```\n# no heading\n</pre><script>alert(1)</script>', {
    tool_calls: [{ id: 'c', name: 'shell', arguments: '{"a":"`b`"}' }],
  });
  const html = (await at.cli.run('sessions', 'export', PLAN, '--html')).stdout;
  expect(html).toContain('&lt;/pre&gt;&lt;script&gt;alert(1)');
  expect(html).not.toContain('<script>');
  const md = (await at.cli.run('sessions', 'export', PLAN)).stdout;
  expect(md).toContain('````text\n```\n# no heading\n</pre><script>alert(1)</script>\n````');
  const file = join(at.cli.dir, 'talk.json');
  expect((await at.cli.run('sessions', 'export', PLAN, '--json', '--out', file)).code).toBe(0);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    schemaVersion: 1,
    session: PLAN,
    messages: [{ role: 'user' }, {}],
  });
  expect((await at.cli.run('sessions', 'export', PLAN, '--json', '--out', file)).code).toBe(4);
  expect((await at.cli.run('sessions', 'export', PLAN, '--md', '--html')).code).toBe(2);
});

test('deleting asks, names what is lost, and takes the archive and the lines that are on their way', async () => {
  const at = await talked();
  await at.rewrite(ADA, 1);
  expect((await at.cli.run('sessions', 'delete', ADA)).code).toBe(4);
  at.cli.answers = ['n'];
  const no = await at.cli.run('sessions', 'delete', ADA);
  expect([no.code, no.stderr]).toEqual([1, expect.stringMatching(/1 message, .* with archives; files in workspaces stay/)]);
  {
    await using opened = await openJournal({ dir: at.cli.dataDir, clock: at.cli.clock });
    const line = { id: 'late', role: 'user', content: 'on its way', timestamp: new Date(0).toISOString() } as const;
    await opened.journal.commit([{ kind: 'line', session: ADA, line }]);
  }
  at.cli.answers = ['y'];
  expect((await at.cli.run('sessions', 'delete', ADA)).code).toBe(0);
  at.cli.answers = undefined;
  expect((await at.cli.run('sessions', 'show', ADA)).code).toBe(0); // its topic alone fits
  const { sessions } = await at.json<{ sessions: { session: string }[] }>('sessions', 'list');
  expect(sessions.map(({ session }) => session)).not.toContain(ADA);
  expect((await at.json<{ count: number }>('sessions', 'search', 'invoice')).count).toBe(0);
});

test('old sessions are pruned, and a dry run changes nothing', async () => {
  const at = await talked();
  type Result = { sessions: string[] };
  expect((await at.json<Result>('sessions', 'prune', '--older-than', '30d', '--dry-run')).sessions).toEqual([ROOM]);
  expect((await at.json<{ sessions: unknown[] }>('sessions', 'list')).sessions).toHaveLength(3);
  expect((await at.json<Result>('sessions', 'prune', '--older-than', '30d', '--yes')).sessions).toEqual([ROOM]);
  expect((await at.json<{ sessions: unknown[] }>('sessions', 'list')).sessions).toHaveLength(2);
});

test('the id of a chat names it also where it has topics and sub-agents, which are listed by their tasks', async () => {
  const at = await talked();
  await at.say(`${ADA}#run:call_1`, 'user', '[You are a sub-agent: do it alone.]\n\nFind the invoice');
  type Shown = { session: string };
  expect((await at.json<Shown>('sessions', 'show', 'ada')).session).toBe(ADA);
  expect((await at.json<Shown>('sessions', 'show', 'telegram:ada')).session).toBe(ADA);
  expect((await at.cli.run('sessions', 'show', 'telegram:')).stderr).toContain('fits 3 sessions');
  expect((await at.cli.run('sessions', 'list')).stdout).toContain('  Find the invoice\n');
});

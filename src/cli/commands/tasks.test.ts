import { readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { Journal } from '../../core/journal.ts';
import type { NewWait } from '../../core/wait.ts';
import { openJournal } from '../../journal/open.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { admit, message } from '../../testing/journal-rows.ts';

async function setup() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.openJournal = openJournal;
  await cli.write('.gatehouse/config.json', JSON.stringify({ gateway: { channels: [{ type: 'telegram' }] } }));
  const run = (...argv: string[]) => cli.run('tasks', ...argv);
  const json = async (...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout);
  const withJournal = async <T>(use: (journal: Journal) => Promise<T>): Promise<T> => {
    await using opened = await openJournal({ dir: cli.dataDir, clock: cli.clock });
    return await use(opened.journal);
  };
  /** As a daemon ends the run of a task. */
  const end = (number: number, state: 'DONE' | 'DEAD', outcome: string, output: string) =>
    withJournal(async (journal) => {
      const row = await journal.claim(number);
      const { generation = 0 } = row ?? {};
      await journal.commit([], { seq: number, generation, end: { state, outcome, result: { ok: state === 'DONE', output } } });
    });
  return { cli, run, json, end, withJournal, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each(['list', 'show 1', 'cancel 1', 'resume 1', 'logs 1'])(
  'tasks %s creates no data directory where there is none',
  async (line) => {
    await using dir = await tempDir();
    await new FakeCli(dir.path).run('tasks', ...line.split(' '));
    expect(await readdir(dir.path)).toEqual([]);
  },
);

test('a task is begun before the first start of the daemon, with its files in its directory, and shown with what became of it', async () => {
  await using at = await setup();
  await at.cli.write('notes.md', 'one');
  await at.cli.write('more/notes.md', 'two');
  const files = ['--file', 'notes.md', '--file', 'more/notes.md'];
  const { task } = await at.json('add', 'Summarise', 'these', ...files, '--max-tokens', '500', '--keep-days', '2');
  expect(task).toMatchObject({ number: 1, title: 'Summarise these', status: 'pending', progress: 0, principal: 'cli:local' });
  const folder = join(sessionWorkspace(at.cli.dataDir, task.workspace), 'uploads');
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('one');
  expect(await readFile(join(folder, '2-notes.md'), 'utf8')).toBe('two');
  expect(task.text).toBe('Summarise these\n\nFiles of this task in your workspace: uploads/notes.md, uploads/2-notes.md');
  expect((await at.run('list')).stdout).toMatch(/1 +pending +0 % +just now +cli:local +Summarise these/);
  await at.end(1, 'DONE', 'answered', 'short');
  expect((await at.run('list')).stdout).toBe('no task is under way\n');
  expect((await at.run('list', '--all')).stdout).toMatch(/1 +completed +100 %/);
  const { stdout } = await at.run('show', '1');
  expect(stdout).toContain('completed just now (answered)');
  expect(stdout).toContain('kept until 2026-01-03');
  expect(stdout).toMatch(/\n\nshort\n$/);
  expect((await at.run('logs', '1')).stdout).toMatch(/admitted.*\n.*finished/);
});

test('the same key is the same task, and another text under it is refused', async () => {
  await using at = await setup();
  const one = await at.json('add', 'once', '--key', 'k');
  expect((await at.json('add', 'once', '--key', 'k')).task.number).toBe(one.task.number);
  expect(await at.json('add', 'twice', '--key', 'k')).toMatchObject({ ok: false, error: { code: 'GH1711' } });
  expect((await at.json('list')).tasks).toHaveLength(1);
});

test('a failed task is resumed with no attempts counted, one that is done is not', async () => {
  await using at = await setup();
  await at.run('add', 'fail');
  await at.end(1, 'DEAD', 'failed:GH2103', 'Error: overloaded');
  expect((await at.json('show', '1')).task).toMatchObject({ status: 'failed' });
  expect((await at.run('resume', '1')).stdout).toContain('1 fail goes on where it stopped');
  expect(await at.withJournal((journal) => journal.tasks.get(1))).toMatchObject({ status: 'pending' });
  await at.end(1, 'DONE', 'answered', 'ok');
  expect((await at.json('show', '1')).task.keepUntil).toBe('2026-01-31T00:00:00.000Z');
  expect(await at.json('resume', '1')).toMatchObject({
    error: { code: 'GH1711', message: 'task 1 is completed, and did not fail' },
  });
});

test('cancel ends a task with what it began; a second one says that it is over', async () => {
  await using at = await setup();
  await at.run('add', 'long');
  expect((await at.run('cancel', '#1')).stdout).toContain('1 long is cancelled, with all that it began');
  expect((await at.json('cancel', '1')).task).toMatchObject({ status: 'cancelled' });
  await at.run('add', 'short');
  await at.end(2, 'DONE', 'answered', 'ok');
  expect((await at.run('cancel', '2')).stdout).toContain('is over already: completed');
});

test('a task that is not there, and a figure that is none, are told with what to do', async () => {
  await using at = await setup();
  await at.run('add', 'x');
  expect(await at.json('show', '9')).toMatchObject({ error: { code: 'GH1003', message: 'there is no task 9' } });
  expect(await at.json('add', 'x', '--max-tokens', '0')).toMatchObject({ error: { code: 'GH1001' } });
  expect(await at.json('add', 'x', '--file', 'none.md')).toMatchObject({
    error: { code: 'GH1003', hint: expect.stringMatching('nothing was begun') },
  });
  expect(await readdir(at.cli.dataDir)).not.toContain('workspaces');
  expect(await at.json('add', ' ')).toMatchObject({ error: { code: 'GH1711' } });
  expect(await at.json('add', 'x', '--channel', 'telegram')).toMatchObject({ error: { code: 'GH1001' } });
  expect((await at.json('list', '--all')).tasks).toHaveLength(1);
});

test('hostile: a task that was begun before is given no files again, which its agent could have turned into a way out', async () => {
  await using at = await setup();
  await at.cli.write('notes.md', 'one');
  const add = ['add', 'Summarise', 'these', '--file', 'notes.md', '--key', 'k'];
  const { task } = await at.json(...add);
  const folder = join(sessionWorkspace(at.cli.dataDir, task.workspace), 'uploads');
  await at.cli.write('outside/notes.md', 'of the operator');
  await rm(folder, { recursive: true });
  await symlink(resolve(at.cli.dataDir, '../outside'), folder);
  await at.cli.write('notes.md', 'two');
  expect((await at.json(...add)).task.number).toBe(task.number);
  expect(await readFile(resolve(at.cli.dataDir, '../outside/notes.md'), 'utf8')).toBe('of the operator');
});

test('hostile: names of files are plain ones in the directory of the task', async () => {
  await using at = await setup();
  await at.cli.write('a/.bashrc', 'one');
  const { task } = await at.json('add', 'x', '--file', 'a/../a/.bashrc');
  expect(await readdir(join(sessionWorkspace(at.cli.dataDir, task.workspace), 'uploads'))).toEqual(['_bashrc']);
});

test('that open tasks go on with a daemon only is said where none runs, and of those that are over nothing is', async () => {
  await using at = await setup();
  await at.run('add', 'Summarise');
  const said = /no daemon is running: open tasks go on once you start `gatehouse gateway`/;
  expect((await at.run('list')).stderr).toMatch(said);
  expect((await at.run('show', '1')).stderr).toMatch(said);
  await at.end(1, 'DONE', 'answered', 'short');
  expect((await at.run('list', '--all')).stderr).not.toMatch(said);
  expect((await at.run('show', '1')).stderr).not.toMatch(said);
});

test('a task that waits for an answer is shown with the command that answers, and one that waits for a time is not', async () => {
  await using at = await setup();
  const shown = async (number: number, wait: NewWait) => {
    await at.run('add', 'Summarise');
    await at.withJournal(async (journal) => {
      const { seq, generation } = (await journal.claim(number)) ?? expect.fail('there is no row');
      const end = { state: 'PARKED', outcome: 'parked', waits: [wait], historyTo: '', ms: 5 } as const;
      await journal.commit([], { seq, generation, end });
    });
    const { stdout, stderr } = await at.run('show', String(number));
    return [/waiting_\w+/.exec(stdout)?.[0], stderr.includes('→ gatehouse questions list')];
  };
  const about = { text: 'May I?', answer: 'approve', to: 'owner', by: [], expiresAt: at.cli.clock.now() + 60_000 } as const;
  const person: NewWait = { callId: 'c', kind: 'person', about, asked: { code: 'AAAAAA', parts: [] } };
  expect(await shown(1, person)).toEqual(['waiting_input', true]);
  // A question about spending is asked for every run that meets the limit.
  expect(await shown(2, { callId: 'model/0', kind: 'signal', about: 'budget/day/2026-01-01' })).toEqual([
    'waiting_subagents',
    true,
  ]);
  const timer: NewWait = { callId: 'c', kind: 'timer', about: '60 s', due: at.cli.clock.now() + 60_000 };
  expect(await shown(3, timer)).toEqual(['waiting_subagents', false]);
});

test.each([
  ['that the running daemon has there', [{ name: 'telegram', account: 'new-bot' }], 'new-bot'],
  ['that the channel had first, where the daemon has none for it', [{ name: 'telegram', account: '' }], 'old-bot'],
  [
    'that the channel had first, where no login is there',
    [{ name: 'telegram', account: 'not-linked', state: 'down' }],
    'old-bot',
  ],
  ['that the daemon has there while it is down', [{ name: 'telegram', account: 'new-bot', state: 'down' }], 'new-bot'],
])('the chat of a result is under the account %s', async (_which, channels, account) => {
  await using at = await setup();
  const first = message('first', { channel: 'telegram', account: 'old-bot', chatId: '7' });
  await at.withJournal((journal) => journal.accept([admit(first, 'telegram/old-bot/7')]));
  const status = {
    ...{ pid: 4711, version: '1', startedAt: 1, channels, lastErrors: [], degraded: [] },
    ...{ model: {}, journal: {}, lanes: {}, usageToday: {} },
  };
  const server = createServer((_request, response) => response.end(JSON.stringify(status)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const record = { pid: 4711, port, host: '127.0.0.1', startedAt: 1, version: '1' };
    await at.cli.write('data/daemon.json', JSON.stringify(record));
    const { task } = await at.json('add', 'x', '--channel', 'telegram', '--to', '7');
    const row = await at.withJournal((journal) => journal.tasks.get(task.number));
    expect(row?.replyTo).toEqual({ channel: 'telegram', chatId: '7', account });
  } finally {
    server.close();
  }
});

import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { DeadLetter } from '../../core/dead-letters.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

function letter(override: Partial<DeadLetter> = {}): DeadLetter {
  return {
    id: 'in-12',
    at: Date.UTC(2025, 11, 31, 23, 57),
    channel: 'telegram',
    chatId: '42',
    sender: 'Ann',
    reason: 'attempts',
    attempts: 3,
    payload: { text: 'hello' },
    ...override,
  };
}

test.each([['dead list'], ['pair list'], ['status'], ['dead show in-1'], ['dead drop in-1'], ['pair approve X']])(
  '%s creates no data directory where there is none',
  async (line) => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    await cli.run(...line.split(' '));
    expect(cli.opened).toEqual([]);
    expect(await readdir(dir.path)).toEqual([]);
  },
);

test('list without a journal is an empty list, not an error', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  expect(await cli.run('dead', 'list')).toEqual({ code: 0, stdout: 'no dead letters\n', stderr: '' });
  expect(JSON.parse((await cli.run('dead', 'list', '--json')).stdout)).toEqual({ schemaVersion: 1, ok: true, letters: [] });
});

test('list shows one line per letter without its content, and closes the journal', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.letters = [letter(), letter({ id: 'out-7', sender: 'Bob' })];
  const { code, stdout, stderr } = await cli.run('dead', 'list');
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'ID     WHEN       CHANNEL   CHAT  SENDER  REASON    TRIES',
    'in-12  3 min ago  telegram  42    Ann     attempts  3',
    'out-7  3 min ago  telegram  42    Bob     attempts  3',
    '',
  ]);
  expect(stderr).toBe('→ gatehouse dead show ID\n');
  expect([cli.opened, cli.closed]).toEqual([[cli.dataDir], 1]);
  const document = JSON.parse((await cli.run('dead', 'list', '--json')).stdout) as { letters: unknown[] };
  expect(document.letters[0]).toEqual({
    id: 'in-12',
    at: '2025-12-31T23:57:00.000Z',
    channel: 'telegram',
    chatId: '42',
    sender: 'Ann',
    reason: 'attempts',
    attempts: 3,
  });
});

test('A46 what senders wrote cannot drive the terminal or add lines', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  const evil = '\u001b[2J\u009b1mEve\nin-13  forged\u202e';
  cli.letters = [letter({ sender: evil, reason: evil, payload: { text: evil, [evil]: 1 } })];
  const list = await cli.run('dead', 'list');
  expect(list.stdout.split('\n')).toHaveLength(3);
  const show = await cli.run('dead', 'show', 'in-12');
  for (const text of [list.stdout, show.stdout]) expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
});

test('show prints the payload, and --json the same with ISO times', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.letters = [letter()];
  expect((await cli.run('dead', 'show', 'in-12')).stdout).toContain('"text": "hello"');
  const document = JSON.parse((await cli.run('dead', 'show', 'in-12', '--json')).stdout) as Record<string, unknown>;
  expect(document).toMatchObject({
    ok: true,
    letter: { id: 'in-12', at: '2025-12-31T23:57:00.000Z', payload: { text: 'hello' } },
  });
});

test('replay and drop take several letters; --dry-run changes none', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.letters = [letter(), letter({ id: 'out-7' }), letter({ id: 'in-1' })];
  expect((await cli.run('dead', 'replay', 'in-12', 'out-7', '--dry-run')).stdout).toBe(
    '✓ in-12 would be queued again\n✓ out-7 would be queued again\n',
  );
  expect((await cli.run('dead', 'drop', 'in-1', '--dry-run', '--json')).stdout).toContain('"dryRun": true');
  expect(cli.letters).toHaveLength(3);
  expect((await cli.run('dead', 'replay', 'in-12', 'out-7')).code).toBe(0);
  expect(cli.replayed).toEqual(['in-12', 'out-7']);
  expect((await cli.run('dead', 'drop', 'in-1')).stdout).toBe('✓ in-1 dropped\n');
  expect(cli.letters).toEqual([]);
});

test('an id that does not exist fails with GH1003 and the others are still done', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.letters = [letter()];
  const { code, stdout } = await cli.run('dead', 'drop', 'in-99', 'in-12', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    error: { code: 'GH1003', message: 'no dead letter in-99' },
    ids: ['in-12'],
  });
  expect(cli.letters).toEqual([]);
});

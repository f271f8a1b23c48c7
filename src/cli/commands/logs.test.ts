import { expect, test } from 'vitest';
import type { RunEvent } from '../../core/events.ts';
import { cliOnJournal } from '../../testing/cli-on-journal.ts';
import { until } from '../../testing/fakes.ts';
import { message, refuse } from '../../testing/journal-rows.ts';

const DAY_MS = 86_400_000;

/** Three chats: one is answered, one is refused, one has trouble. */
async function scene() {
  const cli = await cliOnJournal();
  await cli.fill(async (journal, clock) => {
    const at = clock.now();
    const about = (chat: string) => ({ at, messageId: `test/bot/${chat}:7`, session: `_main:test:${chat}`, channel: 'test' });
    const write = (event: RunEvent) => journal.commit([{ kind: 'event', event }]);
    await write({ ...about('1'), at: at - 3 * DAY_MS, type: 'started', attempt: 1, waitedMs: 1 });
    await write({ ...about('1'), type: 'model.done', model: 'p/m', tokensIn: 1, tokensOut: 1, costUsd: null, ms: 2 });
    await write({ ...about('10'), type: 'model.failed', model: 'p/m', code: 'GH2104', kind: 'network', detail: 'canary', ms: 3 });
    await write({ at, channel: 'other', type: 'channel', state: 'down', detail: 'canary' });
    await write({ at, channel: 'other', type: 'channel', state: 'healthy' });
    await journal.accept([refuse(message('of-1', { chatId: '1' }), 'not-mentioned')]);
    const inRoom = message('of-room', { chatId: '#room', timestamp: at });
    await journal.accept([refuse(inRoom, 'not-mentioned')]);
  });
  return cli;
}

const types = (stdout: string): unknown[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{"seq"'))
    .map((line) => JSON.parse(line).event.type);

/** Twice: in a chat, and in a room. */
const REFUSED = ['received', 'dropped', 'received', 'dropped'];

test.each<[string, readonly string[], readonly string[]]>([
  ['what happened today', [], ['model.done', 'model.failed', 'channel', 'channel', ...REFUSED]],
  ['also earlier days', ['--since', '4d'], ['started', 'model.done', 'model.failed', 'channel', 'channel', ...REFUSED]],
  ['trouble', ['--level', 'warn'], ['model.failed', 'channel']],
  ['one chat by its id, and no other chat that begins so', ['--chat', '1'], ['model.done', 'dropped']],
  ['one chat whose id has a sign that keys escape', ['--chat', '#room'], ['dropped']],
  ['one session', ['--chat', '_main:test:10'], ['model.failed']],
  ['one channel', ['--chat', 'other'], ['channel', 'channel']],
  ['all that is recorded', ['-n', 'all'], ['started', 'model.done', 'model.failed', 'channel', 'channel', ...REFUSED]],
  [
    'the newest of many, also of earlier days',
    ['-n', '9'],
    ['started', 'model.done', 'model.failed', 'channel', 'channel', ...REFUSED],
  ],
  ['what contains a text', ['--grep', 'GH2104'], ['model.failed']],
  ['the newest of them', ['-n', '3'], ['dropped', 'received', 'dropped']],
  ['the newest that match', ['-n', '1', '--level', 'warn'], ['channel']],
  ['the newest of some hours', ['--since', '2h', '-n', '1', '--chat', '1'], ['dropped']],
  ['what was before a time', ['--since', '4d', '--until', '1d'], ['started']],
  ['several of these together', ['--chat', 'other', '--level', 'warn', '--grep', 'down'], ['channel']],
])('logs shows %s', async (_name, flags, expected) => {
  await using cli = await scene();
  const { code, stdout } = await cli.run('logs', ...flags, '--json');
  expect([code, types(stdout)]).toEqual([0, expected]);
  expect(stdout).not.toContain('canary');
  // For programs where there is no terminal.
  expect((await cli.run('logs', ...flags)).stdout).toBe(stdout);
  const lines = (await cli.run('logs', ...flags, '--log', 'pretty')).stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.split('  ')[1])).toEqual(expected);
});

test('logs -f goes on with what comes, until it is ended', async () => {
  await using cli = await scene();
  const ended = cli.run('logs', '-f', '--level', 'warn', '--json');
  await until('it waits for more', () => cli.clock.sleeping === 1);
  await cli.fill(async (journal, clock) => {
    journal.record.note({ at: clock.now(), channel: 'other', type: 'failed', code: 'GH2003', detail: 'canary' });
  });
  await cli.clock.advance(500);
  await until('it waits again', () => cli.clock.sleeping === 1);
  cli.interrupt();
  await cli.clock.advance(500);
  const { stdout } = await ended;
  expect(types(stdout)).toEqual(['model.failed', 'channel', 'failed']);
});

test('logs -f prints every message of a flood once, also those that come into a row before the newest one', async () => {
  await using cli = await cliOnJournal();
  await cli.fill(async () => undefined);
  const ended = cli.run('logs', '-f', '--json');
  const look = async (ms: number): Promise<void> => {
    await cli.clock.advance(ms);
    await until('it waits for more', () => cli.clock.sleeping === 1);
  };
  await look(0);
  const flood = (n: number) => refuse(message(n, { chatId: 'flooded' }), 'flood:chat_messages');
  await cli.fill(async (journal) => {
    for (let n = 0; n < 5; n += 1) await journal.accept([flood(n)]);
    await journal.accept([refuse(message('beside', { chatId: 'other' }), 'not-mentioned')]);
    await look(500);
    await journal.accept([flood(5), flood(6)]);
    await look(500);
    await journal.accept([refuse(message('later', { chatId: 'other' }), 'not-mentioned')]);
    await look(500);
  });
  cli.interrupt();
  await cli.clock.advance(500);
  const dropped = (await ended).stdout
    .split('\n')
    .filter((line) => line.startsWith('{"seq"'))
    .map((line) => JSON.parse(line).event)
    .filter(({ type }) => type === 'dropped');
  const names = [0, 1, 2, 3, 4, 'beside', 5, 6, 'later'];
  expect(dropped.map(({ messageId }) => messageId)).toEqual(names.map((n) => message(n).id));
});

test('what was written late stands at its time; one that follows sees it as it was written', async () => {
  await using cli = await cliOnJournal();
  await cli.fill(async (journal, clock) => {
    const write = (channel: string, ms: number) =>
      journal.commit([{ kind: 'event', event: { at: clock.now() + ms, channel, type: 'channel', state: 'healthy' } }]);
    for (const [channel, ms] of [
      ['a', 312],
      ['b', 232],
      ['c', 250],
      ['d', 312],
    ] as const)
      await write(channel, ms);
  });
  const channels = (stdout: string): unknown[] =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event.channel);
  expect(channels((await cli.run('logs', '--json')).stdout)).toEqual(['b', 'c', 'a', 'd']);
  const ended = cli.run('logs', '-f', '--log', 'pretty');
  await until('it waits for more', () => cli.clock.sleeping === 1);
  cli.interrupt();
  await cli.clock.advance(500);
  const followed = (await ended).stdout.trimEnd().split('\n');
  expect(followed.map((line) => line.split('  ')[2])).toEqual(['a', 'b', 'c', 'd']);
  expect((await cli.run('logs', '--help')).stdout).toMatch(/in the order in which it was\s+written/);
});

test('logs shows the newest 200 and says so; with a first day or `-n all` it shows them all', async () => {
  await using cli = await cliOnJournal();
  await cli.fill(async (journal, clock) => {
    const write = (at: number) =>
      journal.commit([{ kind: 'event', event: { at, channel: 'c', type: 'channel', state: 'healthy' } }]);
    for (let n = 0; n < 1_500; n += 1) await write(clock.now() - 3_600_000 + n);
  });
  const newest = await cli.run('logs');
  expect(newest.stdout.trimEnd().split('\n')).toHaveLength(200);
  expect(newest.stderr).toBe('these are the newest 200; -n COUNT or -n all shows more\n');
  const lines = async (...flags: string[]) => (await cli.run('logs', ...flags, '--json')).stdout.trimEnd().split('\n');
  expect(await lines('-n', 'all')).toHaveLength(1_500);
  expect(await lines('--since', '2d')).toHaveLength(1_500);
  expect(await lines('-n', '1200')).toEqual((await lines('-n', 'all')).slice(-1_200));
  expect(await cli.run('logs', '--since', '59m', '-n', '5')).toMatchObject({
    stdout: '',
    stderr: 'no event matches in this period\n',
  });
  const wrong = await cli.run('logs', '-n', '0');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--lines is no whole number above 0')]);
  const ended = cli.run('logs', '-f', '-n', '2', '--json');
  await until('it waits for more', () => cli.clock.sleeping === 1);
  await cli.fill(async (journal, clock) => {
    journal.record.note({ at: clock.now(), channel: 'c', type: 'failed', code: 'GH2003', detail: '' });
  });
  await cli.clock.advance(500);
  await until('it waits again', () => cli.clock.sleeping === 1);
  cli.interrupt();
  await cli.clock.advance(500);
  expect(types((await ended).stdout)).toEqual(['channel', 'channel', 'failed']);
});

test('what seldom matches is found in a long record without all of it in memory', async () => {
  await using cli = await scene();
  const healthy = { channel: 'c', type: 'channel', state: 'healthy' } as const;
  const failed = { channel: 'c', type: 'failed', code: 'GH2104', detail: '' } as const;
  await cli.fill(async (journal, clock) => {
    const event = { kind: 'event', event: { ...healthy, at: clock.now() } } as const;
    for (let n = 0; n < 40; n += 1) await journal.commit(Array.from({ length: 1_000 }, () => event));
    await journal.commit([{ kind: 'event', event: { ...failed, at: clock.now() } }]);
  });
  const asked = ['logs', '--json', '--grep', 'GH2104', '-n'];
  expect(types((await cli.run(...asked, '5')).stdout)).toEqual(['model.failed', 'failed']);
  expect(types((await cli.run(...asked, '1')).stdout)).toEqual(['failed']);
  const ended = cli.run(...asked, '5', '-f', '--chat', '10');
  await until('it waits for more', () => cli.clock.sleeping === 1);
  const later = { ...failed, at: cli.clock.now(), messageId: 'test/bot/10:7' };
  await cli.fill(async (journal) => void (await journal.commit([{ kind: 'event', event: later }])));
  await cli.clock.advance(500);
  await until('it waits again', () => cli.clock.sleeping === 1);
  cli.interrupt();
  await cli.clock.advance(500);
  expect(types((await ended).stdout)).toEqual(['model.failed', 'failed']);
  expect(Math.max(...cli.asked)).toBeLessThanOrEqual(16_000);
});

test('that nothing fits is said, except to programs', async () => {
  await using cli = await scene();
  expect(await cli.run('logs', '--chat', 'nope')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'no event matches in the last 24 hours; --since 30d looks further back\n',
  });
  expect(await cli.run('logs', '--chat', 'nope', '--json')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a day that is none is told with the way to write one, and no record is not an error', async () => {
  await using cli = await scene();
  const { code, stderr } = await cli.run('logs', '--since', 'someday');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/GH1001.*someday.*\n.*12h.*2026-01-31/)]);
  expect(await cli.run('logs', '--since', '1h', '--until', '2h')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--until is before --since'),
  });
  expect((await cli.run('logs', '--until', 'soon')).stderr).toContain('--until "soon" is no time');
  expect((await cli.run('logs', '-f', '--until', '1h')).stderr).toContain('--until is over');
  expect((await cli.run('logs', '--json', '--log', 'pretty')).stdout).toContain('--json and --log pretty contradict each other');
  const later = await cli.run('logs', '--since', '2099-01-01');
  expect([later.code, later.stderr]).toEqual([2, expect.stringContaining('GH1001 --since lies in the future\n')]);
  for (const command of ['logs', 'effects']) {
    const help = (await cli.run(command, '--help')).stdout.replaceAll(/\s+/g, ' ');
    expect(help).toContain(
      "first day, in this machine's time zone: a date (2026-01-31) or a number of days including today (1d = today). Times are printed in UTC",
    );
  }
  await using empty = await cliOnJournal();
  expect(await empty.run('logs')).toMatchObject({ code: 0, stdout: '' });
});

test('--until may be a day to come, and a wrong one is told by its own name', async () => {
  await using cli = await scene();
  const { code, stdout } = await cli.run('logs', '--until', '2099-01-01', '--json');
  expect([code, stdout]).toEqual([0, (await cli.run('logs', '--json')).stdout]);
  expect((await cli.run('logs', '--until', '2026-02-30')).stderr).toContain('--until "2026-02-30" is not a day');
});

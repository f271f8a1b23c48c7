import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Job } from '../../core/job.ts';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { job, MEMBER } from '../../testing/jobs.ts';

const HOUR = 3_600_000;

async function setup() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.openJournal = openJournal;
  await cli.write(
    '.gatehouse/config.json',
    JSON.stringify({
      gateway: { channels: [{ type: 'telegram' }], owner: [{ channel: 'telegram', chat_id: '42' }] },
    }),
  );
  const json = async (...argv: string[]) => JSON.parse((await cli.run('cron', ...argv, '--json')).stdout);
  const jobs = async (): Promise<readonly Job[]> => {
    await using opened = await openJournal({ dir: cli.dataDir, clock: cli.clock });
    return await opened.journal.jobs.list();
  };
  const put = async (...all: Job[]): Promise<void> => {
    await using opened = await openJournal({ dir: cli.dataDir, clock: cli.clock });
    await opened.journal.commit(all.map((each) => ({ kind: 'job', job: each })));
  };
  return { cli, json, jobs, put, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each(['list', 'remove x', 'enable x', 'export'])('cron %s creates no data directory where there is none', async (line) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.run('cron', ...line.split(' '));
  expect(await readdir(dir.path)).toEqual([]);
});

test('add works before the first start; the answer goes to the chat of the owner', async () => {
  await using at = await setup();
  const { code, stdout } = await at.cli.run('cron', 'add', '--every', '2h', '--message', 'Is the disk full?');
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/✓ [0-9a-f]{8} {2}Is the disk full\? {2}every 2 h, next 2026-01-01T02:00/),
  });
  const [made, ...more] = await at.jobs();
  expect(more).toEqual([]);
  expect(made).toMatchObject({
    schedule: { kind: 'every', ms: 2 * HOUR, from: at.cli.clock.now() },
    payload: { text: 'Is the disk full?', deliver: { channel: 'telegram', chatId: '42' } },
    authority: { principal: 'cli:local', role: 'owner' },
  });
});

test('a time of day is one of the zone that is named', async () => {
  await using at = await setup();
  const argv = ['--at', '2026-07-01T08:00', '--tz', 'Europe/Berlin', '--message', 'x', '--channel', 'telegram', '--to', '7'];
  expect(await at.json('add', ...argv)).toMatchObject({
    ok: true,
    job: { nextDue: '2026-07-01T06:00:00.000Z', deleteAfterRun: true },
  });
  await at.json('add', '--cron', '0 8 * * *', '--tz', 'Australia/Sydney', '--message', 'y', '--missed', 'skip');
  expect((await at.jobs()).toSorted((a, b) => (b.nextDue ?? 0) - (a.nextDue ?? 0))).toMatchObject([
    { payload: { deliver: { channel: 'telegram', chatId: '7' } } },
    { missed: 'skip', nextDue: Date.UTC(2026, 0, 1, 21) },
  ]);
});

test.each([
  ['--message x', 'GH1001', 2],
  ['--message x --every 5m --at 2027-01-01', 'GH1001', 2],
  ['--message x --every soon', 'GH1001', 2],
  ['--message x --every 5m --to 7', 'GH1001', 2],
  ['--message x --every 5m --channel nowhere --to 7', 'GH1003', 1],
  ['--message x --every 30s', 'GH1701', 1],
  ['--message x --at 2020-01-01', 'GH1701', 1],
  ['--message x --cron 1,2,3 --tz UTC', 'GH1701', 1],
  ['--message x --every 5m --tz Nowhere', 'GH1701', 1],
])('add %s is refused with the way out', async (line, code, exit) => {
  await using at = await setup();
  const result = await at.cli.run('cron', 'add', ...line.split(' '), '--json');
  expect(result.code).toBe(exit);
  expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, error: { code, hint: expect.stringMatching(/\w/) } });
});

test('list shows when each is due, whose it is, and what became of it', async () => {
  await using at = await setup();
  const now = at.cli.clock.now();
  await at.put(
    job({ nextDue: now + HOUR, lastStatus: 'error: failed:GH2103', runCount: 2 }),
    job({ id: 'off00000', name: 'old', enabled: false, authority: MEMBER }),
  );
  const { stdout, stderr } = await at.cli.run('cron', 'list');
  expect(stdout).toContain(
    'ab12cd34  plants  every 10 min  2026-01-01T01:00:00.000Z (in 1 h)  error: failed:GH2103  2     cli:local  -',
  );
  expect(stdout).not.toContain('off00000');
  expect(stderr).toContain('1 disabled');
  expect((await at.cli.run('cron', 'list', '--all')).stdout).toContain('off00000');
  expect((await at.json('list')).jobs).toMatchObject([
    { id: 'ab12cd34', nextDue: '2026-01-01T01:00:00.000Z' },
    { principal: 'test:ada' },
  ]);
});

test('list shows the length of a schedule in its unit, the time of a job that fires once, and the zone of each', async () => {
  await using at = await setup();
  const now = at.cli.clock.now();
  const dec = Date.UTC(2026, 11, 24, 17);
  const every = (id: string, seconds: number, inMs: number): Job =>
    job({ id, schedule: { kind: 'every', ms: seconds * 1_000, from: 0 }, nextDue: now + inMs });
  await at.put(
    ...[every('aa000000', 7_200, 2 * HOUR - 1_500), every('bb000000', 5_400, HOUR - 700), every('cc000000', 90, 59_000)],
    job({ id: 'dd000000', schedule: { kind: 'at', at: dec }, timezone: 'Europe/Berlin', nextDue: dec }),
  );
  const { stdout } = await at.cli.run('cron', 'list');
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines.slice(0, 5).map(([, , when, next]) => [when, next?.replace(/^\S+ (?=\(in)/, '')])).toEqual([
    ['WHEN', 'NEXT (UTC)'],
    ['every 2 h', '(in 2 h)'],
    ['every 90 min', '(in 1 h)'],
    ['every 90 s', '(in 59 s)'],
    ['once, 2026-12-24 18:00 Europe/Berlin', '(in 357 d)'],
  ]);
});

test('add says when no daemon runs that would let it fire', async () => {
  await using at = await setup();
  const { stderr } = await at.cli.run('cron', 'add', '--every', '2h', '--message', 'x');
  expect(stderr).toBe('! no daemon is running: the job fires once you start `gatehouse gateway`\n');
});

test('remove and enable change one job; a name that fits several changes none', async () => {
  await using at = await setup();
  await at.put(job(), job({ id: 'second00', name: 'more plants' }));
  const many = await at.cli.run('cron', 'remove', 'plants');
  expect(many).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/2 jobs fit: ab12cd34 \(plants\), second00 \(more plants\)/),
  });
  expect((await at.cli.run('cron', 'remove', 'MORE')).code).toBe(0);
  expect((await at.cli.run('cron', 'enable', 'ab12cd34', '--disable')).code).toBe(0);
  expect(await at.jobs()).toMatchObject([{ id: 'ab12cd34', enabled: false }]);
  expect((await at.cli.run('cron', 'enable', 'ab12cd34')).stdout).toContain('enabled, next');
  expect(await at.cli.run('cron', 'remove', 'nothing')).toMatchObject({ code: 1, stderr: expect.stringContaining('GH1003') });
});

test('a job that is gone is said to be gone, with the jobs that may be meant', async () => {
  await using at = await setup();
  await at.put(job(), job({ id: 'second00', name: 'backups' }));
  const [first, again] = [await at.cli.run('cron', 'remove', 'ab12cd34'), await at.cli.run('cron', 'remove', 'ab12cd34')];
  expect([first.code, again.code]).toEqual([0, 1]);
  expect(again.stderr).toMatch(
    /no job ab12cd34; it may be over, or removed\n.*there is second00 \(backups\): `gatehouse cron list/,
  );
  expect((await at.cli.run('cron', 'remove', 'second0')).stderr).toMatch(/did you mean second00 \(backups\)\?/);
  expect((await at.cli.run('cron', 'remove', 'backup')).code).toBe(0);
  expect((await at.cli.run('cron', 'remove', 'second00')).stderr).toContain('there are no jobs');
});

test('run needs the daemon, which runs it', async () => {
  await using at = await setup();
  await at.put(job());
  expect(await at.cli.run('cron', 'run', 'ab12cd34')).toMatchObject({ code: 3, stderr: expect.stringContaining('GH1002') });
});

test('what export prints, import reads, and the same file again changes nothing', async () => {
  await using at = await setup();
  const now = at.cli.clock.now();
  const deliver = { channel: 'telegram', chatId: '7', threadId: 't' };
  const inGroup = { ...deliver, account: '4711', isGroup: true, replyContext: { messageId: 9, of: ['a', null] } };
  const all = [
    job({
      nextDue: now + HOUR,
      schedule: { kind: 'every', ms: HOUR, from: now },
      runCount: 3,
      lastDue: now,
      lastStatus: 'ok',
      createdAt: now,
    }),
    job({
      ...{
        id: 'daily000',
        schedule: { kind: 'cron', expr: '0 8 * * *' },
        timezone: 'Europe/Berlin',
        missed: 'skip',
        createdAt: now,
      },
      ...{
        authority: MEMBER,
        taint: 2,
        nextDue: now + 7 * HOUR,
        payload: { text: 'x', profile: 'session', deliver, session: 's' },
      },
    }),
    job({
      id: 'once0000',
      schedule: { kind: 'at', at: now + 9 * HOUR },
      nextDue: now + 9 * HOUR,
      deleteAfterRun: true,
      createdAt: now,
    }),
    job({ id: 'off00000', schedule: { kind: 'every', ms: HOUR, from: now - 1 }, enabled: false, createdAt: now + 1 }),
    job({
      ...{ id: 'task0000', nextDue: now + HOUR, createdAt: now + 2 },
      payload: { text: 'read the logs', profile: 'task', session: 's', deliver: inGroup },
    }),
  ];
  await at.put(...all);
  const before = await at.jobs();
  const { stdout } = await at.cli.run('cron', 'export');
  expect((await at.cli.run('cron', 'export', '--json')).stdout).toBe(stdout);
  const file = await at.cli.write('cron.json', stdout);
  expect(await at.json('import', file)).toMatchObject({ added: [], known: before.map(({ id }) => id) });
  for (const { id } of before) await at.cli.run('cron', 'remove', id);
  expect(await at.jobs()).toEqual([]);
  expect(await at.json('import', file)).toMatchObject({ added: before.map(({ id }) => id) });
  const grid = ({ schedule, ...rest }: Job) => ({
    ...rest,
    schedule: schedule.kind === 'every' ? { ...schedule, from: 0 } : schedule,
  });
  expect((await at.jobs()).map(grid)).toEqual(before.map(grid));
});

test('an export of jobs in every state imports again, where they are and where they are not', async () => {
  await using at = await setup();
  const now = at.cli.clock.now();
  const past = { kind: 'at', at: now - 5 * HOUR } as const;
  const over = { kind: 'cron', expr: '0 0 0 1 1 * 2020' } as const;
  const guest = { principal: 'telegram:9', role: 'guest', mode: 'read-only', policies: [{ allow: ['a'], deny: [] }] } as const;
  const states: Record<string, Partial<Job>> = {
    'at-to-come': { schedule: { kind: 'at', at: now + HOUR }, nextDue: now + HOUR, deleteAfterRun: true },
    'at-off': { schedule: { kind: 'at', at: now + HOUR }, enabled: false },
    'at-missed': { schedule: past, nextDue: past.at, deleteAfterRun: true },
    'at-waits-for-channel': { schedule: past, nextDue: now + 1, lastStatus: 'error: there is no channel telegram' },
    'at-done': { schedule: past, enabled: false, lastDue: past.at, lastStatus: 'ok', runCount: 1 },
    'at-skipped': { schedule: past, enabled: false, missed: 'skip', deleteAfterRun: true },
    every: { schedule: { kind: 'every', ms: HOUR, from: now }, nextDue: now + HOUR, lastDue: now, lastStatus: 'running' },
    'every-missed': { schedule: { kind: 'every', ms: HOUR, from: past.at }, nextDue: now - HOUR },
    'every-off': { schedule: { kind: 'every', ms: HOUR, from: now }, enabled: false, lastStatus: 'error: cancelled' },
    cron: { schedule: { kind: 'cron', expr: '0 8 * * *' }, timezone: 'Asia/Kolkata', nextDue: now + 2 * HOUR, authority: guest },
    'cron-off': { schedule: { kind: 'cron', expr: '30 0 8 * * *' }, enabled: false },
    'cron-over': { schedule: over, enabled: false, lastDue: Date.UTC(2020, 0, 1), runCount: 1 },
    'cron-missed': { schedule: over, nextDue: Date.UTC(2020, 0, 1) },
  };
  await at.put(...Object.entries(states).map(([id, state]) => job({ id, createdAt: now, ...state })));
  const before = await at.jobs();
  const ids = before.map(({ id }) => id);
  const file = await at.cli.write('cron.json', (await at.cli.run('cron', 'export')).stdout);
  expect(await at.json('import', file)).toMatchObject({ ok: true, added: [], known: ids });
  expect(await at.json('import', file, '--dry-run')).toMatchObject({ ok: true, added: [], known: ids });
  expect(await at.jobs()).toEqual(before);
  for (const id of ids) await at.cli.run('cron', 'remove', id);
  expect(await at.json('import', file)).toMatchObject({ ok: true, added: ids, known: [] });
  const grid = ({ schedule, ...rest }: Job) => ({
    ...rest,
    schedule: schedule.kind === 'every' ? { ...schedule, from: 0 } : schedule,
  });
  expect((await at.jobs()).map(grid)).toEqual(before.map(grid));
});

test('import adds no job for a time that is over and that no export left open', async () => {
  await using at = await setup();
  const entry = { id: 'a', name: 'a', schedule: { kind: 'At', at_ms: at.cli.clock.now() - 1 }, payload: { message: 'x' } };
  const file = await at.cli.write('cron.json', JSON.stringify({ version: 1, jobs: [entry] }));
  expect(await at.cli.run('cron', 'import', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('lies in the past'),
  });
  expect(await at.jobs()).toEqual([]);
});

test('import reads both shapes that programs have written, and names what cannot be', async () => {
  await using at = await setup();
  const now = at.cli.clock.now();
  const payload = { message: 'x', deliver: true };
  const file = await at.cli.write(
    'cron.json',
    JSON.stringify({
      version: 1,
      jobs: [
        {
          id: 'a',
          name: 'a',
          schedule: { kind: 'Every', every_ms: 60_000 },
          payload,
          state: { next_run_at_ms: now - 5 },
          other: 1,
        },
        { id: 'b', name: 'b', schedule: { kind: 'Every', seconds: 90 }, payload },
        { id: 'c', name: 'c', schedule: { Every: { seconds: 120 } }, payload },
        { id: 'd', name: 'd', schedule: { At: { timestamp_ms: now + HOUR } }, payload, delete_after_run: true },
        {
          id: 'e',
          name: 'e',
          schedule: { kind: 'Cron', expr: '0 0 9 * * * *' },
          payload: { ...payload, channel: 'telegram', chat_id: '9' },
        },
        { id: 'f', name: 'f', schedule: { kind: 'Every', every_ms: 1_000 }, payload },
        { id: 'g', name: 'g', schedule: { kind: 'Cron', expr: 'never' }, payload, timezone: 'UTC' },
        { id: 'h', name: 'h', schedule: { kind: 'Weekly' }, payload },
        7,
      ],
    }),
  );
  const dry = await at.json('import', file, '--dry-run');
  expect(dry).toMatchObject({ ok: false, added: ['a', 'b', 'c', 'd', 'e'] });
  expect(await at.cli.run('cron', 'import', file)).toMatchObject({ code: 1, stderr: expect.stringContaining('once a minute') });
  const made = await at.jobs();
  expect(made.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
  const again = await at.cli.run('cron', 'import', file, '--dry-run');
  expect(again.stderr).toContain('0 would be added, 5 known');
  expect(made.find(({ id }) => id === 'a')).toMatchObject({
    nextDue: now - 5,
    payload: { deliver: { channel: 'telegram', chatId: '42' } },
  });
  expect(made.find(({ id }) => id === 'd')).toMatchObject({ nextDue: now + HOUR, deleteAfterRun: true });
  expect(made.find(({ id }) => id === 'e')).toMatchObject({ nextDue: now + 9 * HOUR, payload: { deliver: { chatId: '9' } } });
});

test('import reads the files of other programs with their time zone and chat, and says what it leaves out', async () => {
  await using at = await setup();
  const theirs = {
    version: 1,
    jobs: [
      {
        ...{ id: 'n1', name: 'Morning', enabled: true, state: { nextRunAtMs: null } },
        schedule: { kind: 'cron', atMs: null, everyMs: null, expr: '0 9 * * *', tz: 'Asia/Shanghai' },
        payload: { kind: 'agent_turn', message: 'hi', deliver: true, channel: 'telegram', to: '123' },
      },
      {
        ...{ id: 'o1', name: 'Brief', disabled: true, schedule: { kind: 'every', everyMs: 3_600_000 } },
        ...{
          payload: { kind: 'systemEvent', text: 'news', model: 'x' },
          delivery: { mode: 'announce', channel: 'telegram', to: '7' },
        },
      },
      {
        id: 'o2',
        name: 'When',
        schedule: { kind: 'at', at: '2027-01-01T08:00:00+01:00' },
        payload: { message: 'm', deliver: true },
      },
      {
        ...{ id: 'o3', name: 'Grid', agentId: 'main', enabled: true, disabled: true },
        schedule: { kind: 'every', everyMs: HOUR, anchorMs: at.cli.clock.now() - HOUR / 4, staggerMs: 5 },
        ...{ payload: { message: 'm' }, delivery: { to: -100, channel: 'telegram', threadId: 9, accountId: 'a' } },
      },
      {
        ...{ id: 'o4', name: 'Old', schedule: { kind: 'every', everyMs: HOUR, anchorMs: at.cli.clock.now() - HOUR / 4 } },
        ...{ payload: { message: 'm' }, state: { nextRunAtMs: at.cli.clock.now() - 9 * HOUR } },
      },
      {
        id: 'o5',
        name: 'Wall',
        schedule: { kind: 'at', at: '2027-01-01T08:00:00', tz: 'Asia/Tokyo' },
        payload: { message: 'm' },
      },
      { id: 'x1', name: 'Odd', schedule: { kind: 'cron', expr: '0 9 * * *', every: 5 }, payload: { message: 'm' } },
    ],
  };
  const file = await at.cli.write('theirs.json', Buffer.from(`\uFEFF${JSON.stringify(theirs)}`, 'utf16le'));
  const { code, stderr } = await at.cli.run('cron', 'import', file);
  expect(code).toBe(1);
  expect(stderr).toContain('! Brief: left out: payload.model');
  expect(stderr).toContain('! Grid: left out: agentId, schedule.staggerMs, delivery.accountId');
  expect(stderr).toMatch(/entry 7: schedule: .*"every"/);
  const jobs = new Map((await at.jobs()).map((one) => [one.id, one]));
  expect(jobs.get('n1')).toMatchObject({
    ...{ timezone: 'Asia/Shanghai', payload: { text: 'hi', deliver: { channel: 'telegram', chatId: '123' } } },
  });
  expect(jobs.get('o1')).toMatchObject({ enabled: false, payload: { text: 'news', deliver: { chatId: '7' } } });
  expect(jobs.get('o2')).toMatchObject({ schedule: { kind: 'at', at: Date.parse('2027-01-01T07:00:00Z') } });
  expect(jobs.get('o3')).toMatchObject({
    ...{ enabled: false, payload: { deliver: { channel: 'telegram', chatId: '-100', threadId: '9' } } },
  });
  // Not at once, though it was due while the other program did not run.
  expect(jobs.get('o4')).toMatchObject({ nextDue: at.cli.clock.now() + 0.75 * HOUR });
  expect(jobs.get('o5')).toMatchObject({ schedule: { kind: 'at', at: Date.parse('2026-12-31T23:00:00Z') } });
});

test.each(['', 'no json', '[]', '{"jobs": 5}', '{"version": 2, "jobs": []}'])('import refuses %j', async (text) => {
  await using at = await setup();
  const file = await at.cli.write('cron.json', text);
  expect(await at.cli.run('cron', 'import', file)).toMatchObject({ code: 1, stderr: expect.stringContaining('GH1701') });
  at.cli.input = text;
  expect((await at.cli.run('cron', 'import', '-')).code).toBe(1);
});

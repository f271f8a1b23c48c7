import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Database } from '../../journal/database.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { message } from '../../testing/journal-rows.ts';

const CONFIG = {
  gateway: {
    owner: [{ channel: 'telegram', chat_id: '1', sender_ids: ['1'] }],
    channels: [
      { type: 'telegram', allowed_senders: ['1', '42'] },
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
  const real = join(dir.path, 'real');
  cli.openJournal = (options) => openJournal({ ...options, dir: real });
  const on = async <T>(use: (opened: OpenedJournal) => Promise<T>): Promise<T> => {
    await using opened = await openJournal({ dir: real, clock: cli.clock });
    return await use(opened);
  };
  const ask = (senderId: string, channel = 'telegram') =>
    on(({ pairing }) =>
      pairing.request(
        { channel, account: 'bot', senderId, senderName: `Name ${senderId}`, chatId: `c${senderId}` },
        cli.clock.now(),
      ),
    );
  return { cli, on, ask, path: join(real, 'journal.db'), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('list shows who is known, what decides about each, and that a list is open', async () => {
  await using at = await setup();
  const { cli, on, ask } = at;
  await ask('asked');
  await ask('paired');
  await cli.run('pair', 'approve', '--sender', 'telegram:paired');
  await cli.run('people', 'block', 'telegram:42', '--reason', 'spam');
  const seen = message(1, { channel: 'open', senderId: 'guest' });
  await on(({ journal }) => journal.accept([{ kind: 'admit', message: seen, lane: 'l', session: 's' }]));
  const { code, stdout, stderr } = await cli.run('people', 'list');
  expect(code).toBe(0);
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'STATE          PERSON           NAME         SINCE     LAST SEEN',
    'guest          open:guest                              just now',
    'listed, owner  telegram:1',
    'blocked        telegram:42                   just now',
    'asked          telegram:asked   Name asked   just now',
    'paired         telegram:paired  Name paired  just now',
    '',
  ]);
  expect(stderr).toContain('on open everyone is let in');
  const { people } = JSON.parse((await cli.run('people', 'list', '--json')).stdout);
  expect(people).toContainEqual(
    expect.objectContaining({ person: 'telegram:42', standing: 'blocked', reason: 'spam', lastSeen: null }),
  );
});

test('S6 who asked is let in by id, and is told so in their chat in the same commit', async () => {
  await using at = await setup();
  const { cli, on, ask } = at;
  await ask('77');
  expect(await cli.run('people', 'pair', 'approve', '--sender', 'telegram:77')).toMatchObject({
    code: 0,
    stdout: '✓ Name 77 (77) on telegram may talk to the agent now\n',
  });
  const [told] = await on(({ journal }) => journal.pending('telegram/bot/c77', 10));
  expect(told?.part).toMatchObject({ channel: 'telegram', account: 'bot', chatId: 'c77', text: 'You can talk to me now.' });
  const again = await cli.run('pair', 'approve', '--sender', 'telegram:78');
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean telegram:77?') });
  expect((await cli.run('pair', 'approve')).code).toBe(2);
  expect((await cli.run('pair', 'approve', 'CODE', '--sender', 'telegram:77')).code).toBe(2);
});

test('S3 revoke turns a paired person away, and says what that ended', async () => {
  await using at = await setup();
  const { cli, on, ask } = at;
  await ask('77');
  await cli.run('pair', 'approve', '--sender', 'telegram:77');
  const said = message(1, { channel: 'telegram', senderId: '77', chatId: 'c77' });
  await on(({ journal }) => journal.accept([{ kind: 'admit', message: said, lane: 'telegram/bot/c77', session: 's' }]));
  expect(await cli.run('people', 'revoke', 'telegram:77')).toMatchObject({
    code: 0,
    // The line that told them they were let in has not left.
    stdout: '✓ telegram:77 is not let in any more: 1 request cancelled, 1 message not sent any more\n',
  });
  const who = { channel: 'telegram', account: 'bot', senderId: '77' };
  expect(await on(({ pairing }) => pairing.decided(who))).toBe('denied');
  expect((await cli.run('people', 'revoke', 'telegram:77')).code).toBe(0);
  expect((await cli.run('people', 'pair', 'approve', '--sender', 'telegram:77')).code).toBe(0);
});

test.each([
  ['telegram:42', 'GH1008', 'the config lets telegram:42 in'],
  ['telegram:1', 'GH1008', 'the config lets telegram:1 in'],
  ['open:9', 'GH1008', 'allowed_senders of open has "*"'],
])('S3 of %s, whom the config lets in, revoke changes nothing and names `block`', async (person, code, words) => {
  await using at = await setup();
  const { cli, on } = at;
  const { code: exit, stderr } = await cli.run('people', 'revoke', person);
  expect(exit).toBe(1);
  expect(stderr).toContain(`${code} ${words}`);
  expect(stderr).toContain(`gatehouse people block ${person}`);
  expect(await on(({ people }) => people.audit({}))).toEqual([]);
});

test('an id that is not known gets the nearest one, and words that name no person are a wrong call', async () => {
  await using at = await setup();
  const { cli } = at;
  expect((await cli.run('people', 'revoke', 'telegram:43')).stderr).toContain('did you mean telegram:42?');
  const blocked = await cli.run('people', 'block', 'telegram:43');
  expect(blocked).toMatchObject({ code: 0, stderr: expect.stringContaining('was not known here; did you mean telegram:42?') });
  expect((await cli.run('people', 'unblock', 'telegram:44')).stderr).toContain('did you mean telegram:43?');
  expect((await cli.run('people', 'revoke', 'telegram:43')).stderr).toContain('is blocked already');
  expect((await cli.run('people', 'block', 'telegrm:43')).stderr).toContain('known: cli, open, telegram');
  for (const words of ['42', ':42', 'telegram:', 'telegram:*'])
    expect(await cli.run('people', 'block', words)).toMatchObject({ code: 2, stderr: expect.stringContaining('CHANNEL:ID') });
  expect(await cli.run('people', 'block', 'cli:local')).toMatchObject({ code: 2, stderr: expect.stringContaining('terminal') });
  expect((await cli.run('people', 'block', 'mcp:coder')).stdout).toContain('mcp:coder is blocked');
});

test('a block is made before the first start and with a config that cannot be read', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', '{');
  const real = join(dir.path, 'real');
  cli.openJournal = (options) => openJournal({ ...options, dir: real });
  expect((await cli.run('people', 'block', 'telegram:42')).stderr).toContain('the config cannot be read');
});

test('a group is blocked by its id', async () => {
  await using at = await setup();
  at.cli.groupIds = async (type) => (type === 'telegram' ? /^-\d/ : undefined);
  const { code, stderr } = await at.cli.run('people', 'block', 'telegram:-100');
  expect([code, stderr]).toEqual([0, expect.stringContaining('it is a group: nothing said in it is taken up any more')]);
  const said = { channel: 'telegram', senderId: '42', isGroup: true };
  const blocked = await at.on(({ pairing }) =>
    Promise.all([
      pairing.isBlocked({ ...said, chatId: '-100' }),
      pairing.isBlocked({ ...said, chatId: '-101' }),
      pairing.isBlocked({ channel: 'telegram', senderId: '42' }),
    ]),
  );
  expect(blocked).toEqual([true, false, false]);
});

test('audit prints who decided what, and --verify names the first entry that was changed, moved or removed', async () => {
  await using at = await setup();
  const { cli, ask, path } = at;
  await ask('77');
  await cli.run('pair', 'approve', '--sender', 'telegram:77');
  await cli.run('people', 'block', 'telegram:77', '--reason', 'Name 77 sent spam');
  await cli.run('people', 'unblock', 'telegram:77');
  await cli.run('cron', 'add', '--every', '2h', '--message', 'secret words', '--channel', 'telegram', '--to', '5');
  const { stdout } = await cli.run('people', 'audit');
  expect(stdout.split('\n').map((line) => line.trimEnd().split(/ {2,}/))).toEqual([
    ['N', 'WHEN', 'WHAT', 'ABOUT', 'BY', 'DETAILS'],
    ['1', '2026-01-01T00:00:00.000Z', 'pair.approved', 'telegram:77', 'cli', 'account bot'],
    ['2', '2026-01-01T00:00:00.000Z', 'person.blocked', 'telegram:77', 'cli', 'parts 1'],
    ['3', '2026-01-01T00:00:00.000Z', 'person.unblocked', 'telegram:77', 'cli'],
    [
      '4',
      expect.any(String),
      'job.added',
      expect.stringMatching(/^[0-9a-f]{8}$/),
      'cli',
      'enabled true, for cli:local, to telegram:5',
    ],
    [''],
  ]);
  // Ids only.
  const { audit } = JSON.parse((await cli.run('people', 'audit', '--json')).stdout);
  expect(audit).toHaveLength(4);
  expect(JSON.stringify(audit)).not.toMatch(/Name|spam|secret/);
  const whole = await cli.run('people', 'audit', '--verify');
  expect(whole).toMatchObject({ code: 0, stdout: `✓ 4 decisions, none changed; the newest is ${audit[3].hash}\n` });

  using db = new Database(path, { busyMs: 5_000 });
  for (const [sql, seq, why] of [
    ["UPDATE audit SET by = 'telegram:9' WHERE seq = 2", 2, 'it was changed'],
    ['DELETE FROM audit WHERE seq = 2', 2, 'it is missing'],
    ['DELETE FROM audit WHERE seq > 2', 3, 'it is missing'],
    ['DELETE FROM audit', 1, 'it is missing'],
    ['DELETE FROM audit WHERE seq = 1', 1, 'it is missing'],
    // Moved, each with its own hash.
    ['UPDATE audit SET seq = 5 - seq + 100; UPDATE audit SET seq = seq - 100', 1, 'it was changed'],
    ["UPDATE audit SET prev = '' WHERE seq = 3", 3, 'it was changed'],
  ] as const) {
    db.exec(`SAVEPOINT tampered; ${sql}`);
    db.exec('RELEASE tampered');
    const { code, stderr } = await cli.run('people', 'audit', '--verify');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`GH1304 entry ${seq} of the record of decisions is broken: ${why}`),
    ]);
    restore(db, audit);
  }
  expect((await cli.run('people', 'audit', '--verify')).code).toBe(0);

  // The newest entries, with the counter beside them: the chain is whole, and ends with another hash.
  db.exec("DELETE FROM audit WHERE seq > 2; UPDATE sqlite_sequence SET seq = 2 WHERE name = 'audit'");
  const cut = await cli.run('people', 'audit', '--verify');
  expect(cut).toMatchObject({ code: 0, stdout: `✓ 2 decisions, none changed; the newest is ${audit[1].hash}\n` });
});

interface Entry {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly subject: string;
  readonly by: string;
  readonly data: Record<string, unknown>;
  readonly hash: string;
}

/** The rows as they were: `data` has its keys in order as it was printed. */
function restore(db: Database, entries: readonly Entry[]): void {
  db.exec('DELETE FROM audit');
  for (const [n, { seq, at, kind, subject, by, data, hash }] of entries.entries())
    db.run(
      'INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[seq, Date.parse(at), kind, subject, by, JSON.stringify(data), entries[n - 1]?.hash ?? '', hash],
    );
}

test('help shows examples, and `people` is listed', async () => {
  await using at = await setup();
  const { stdout } = await at.cli.run('people', 'block', '--help');
  expect(stdout).toContain('gatehouse people block telegram:42');
  expect((await at.cli.run('people', 'pair', 'approve', '--help')).stdout).toContain('gatehouse people pair approve --sender');
});

test.each(['unblock', 'unlink'])('%s changes nothing where there is no journal, and says so', async (verb) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout, stderr } = await cli.run('people', verb, 'telegram:42');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/GH1003 there is no journal in \S+data, so nothing was changed\n.*`--data-dir`/);
  expect(cli.opened).toEqual([]);
});

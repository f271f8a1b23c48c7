import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { GatehouseError } from '../../core/errors.ts';
import type { StatusDocument } from '../../core/status.ts';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const NOW = Date.UTC(2026, 0, 1);
const NOTHING_TO_SEND = { PENDING: 0, SENDING: 0, SENT: 3, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 };

function document(override: Partial<StatusDocument> = {}): StatusDocument {
  return {
    version: '1.2.3',
    pid: 4711,
    startedAt: NOW - 7_200_000,
    uptimeSec: 7200,
    model: { id: 'openai/gpt-5-mini', demo: false, lastLatencyMs: 812.4 },
    channels: [
      {
        name: 'telegram',
        type: 'telegram',
        account: '99',
        state: 'healthy',
        since: NOW - 7_200_000,
        inboundClass: 'B',
        sendClass: 'blind',
        lastMessageAt: NOW - 180_000,
        lastSentAt: NOW - 175_000,
      },
      {
        name: 'mail',
        type: 'email',
        account: 'a@b',
        state: 'down',
        since: NOW - 60_000,
        detail: 'GH1501: login refused\u001b[2J',
        inboundClass: 'B',
        sendClass: 'find',
      },
    ],
    journal: {
      inbox: { NEW: 2, RUNNING: 1, PARKED: 0, DONE: 30, DEAD: 1 },
      outbox: { PENDING: 1, SENDING: 1, SENT: 31, UNKNOWN: 1, DEAD: 0, EXPIRED: 0 },
      oldestNewAt: NOW - 5_000,
      refused: [{ channel: 'telegram', reason: 'not-allowed', count: 4 }],
      unsent: [],
    },
    lanes: { running: 1, waiting: 2 },
    usageToday: { tokensIn: 1000, tokensOut: 200, calls: 12, costUsd: 0.125, unpriced: 1 },
    models: [],
    lastErrors: [{ at: NOW - 60_000, code: 'GH1501', detail: 'login refused' }],
    degraded: ['channel:mail'],
    ...override,
  };
}

async function serve(body: string, code = 200): Promise<{ port: number } & AsyncDisposable> {
  const server: Server = createServer((_request, response) => response.writeHead(code).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, [Symbol.asyncDispose]: close };
}

async function daemon(cli: FakeCli, port: number, host = '127.0.0.1'): Promise<void> {
  await cli.write('data/daemon.json', JSON.stringify({ pid: 4711, port, host, startedAt: NOW - 7_200_000, version: '1.2.3' }));
}

test('a running daemon is one screen, with a word next to every symbol', async () => {
  await using dir = await tempDir();
  await using server = await serve(JSON.stringify(document()));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port, '0.0.0.0');
  const { code, stdout, stderr } = await cli.run('status');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.trimEnd().split('\n')).toEqual([
    `gatehouse 1.2.3  up 2 h  pid 4711  ${cli.dataDir}`,
    '✓ model     openai/gpt-5-mini  last answer in 812 ms',
    '✓ channel   telegram  healthy  for 2 h    last in 3 min ago  last out 2 min ago  in B, out blind',
    '✗ channel   mail      down     for 1 min  last in -          last out -          in B, out find   GH1501: login refused\\u001b[2J → set its token or password anew with `gatehouse auth set-key mail`, restart the daemon if it runs, then run `gatehouse channels test mail`',
    '- turns     1 running, 2 waiting',
    '! messages  2 waiting, oldest 5 s ago, 1 running, 30 done, 1 dead   → gatehouse dead list',
    '! answers   2 to send, 31 sent, 1 unknown, 0 expired, 0 dead   → gatehouse dead list',
    '- refused   telegram not-allowed 4',
    '- today     12 calls, 1000 tokens in, 200 out, 0.13 USD and 1 of unknown price',
    '✗ error     GH1501 login refused  1 min ago',
    '! degraded  channel:mail',
  ]);
});

test('--json is one document with ISO times', async () => {
  await using dir = await tempDir();
  await using server = await serve(JSON.stringify(document()));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { code, stdout } = await cli.run('status', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    schemaVersion: 1,
    ok: true,
    running: true,
    status: {
      startedAt: '2025-12-31T22:00:00.000Z',
      channels: [
        {
          lastMessageAt: '2025-12-31T23:57:00.000Z',
          lastSentAt: '2025-12-31T23:57:05.000Z',
          inboundClass: 'B',
          sendClass: 'blind',
        },
        { since: '2025-12-31T23:59:00.000Z', lastMessageAt: null, lastSentAt: null, state: 'down' },
      ],
      journal: { oldestNewAt: '2025-12-31T23:59:55.000Z' },
      lastErrors: [{ at: '2025-12-31T23:59:00.000Z' }],
    },
  });
});

test('every time in --json is ISO, that of holds, of model health and of webhooks too', async () => {
  await using dir = await tempDir();
  const override: Partial<StatusDocument> = {
    modelHealth: { failedInARow: 2, since: NOW - 60_000, lastAnswerAt: NOW - 120_000 },
    holds: [{ what: 'model', reason: 'rate limit', until: NOW + 60_000 }],
    webhooks: [
      { path: '/slack', refused: 1, refusedAt: NOW - 1_000, takenAt: NOW - 2_000 },
      { path: '/twilio', refused: 1, refusedAt: NOW - 1_000 },
    ],
    config: { needsRestart: [], applied: { at: NOW, changes: [] }, problem: { at: NOW, code: 'GH1101', detail: '', hint: '' } },
    jobs: { enabled: 1, disabled: 0, failing: 0, nextDue: NOW + 600_000 },
  };
  await using server = await serve(JSON.stringify(document(override)));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { stdout } = await cli.run('status', '--json');
  expect(JSON.parse(stdout).status).toMatchObject({
    modelHealth: { failedInARow: 2, since: '2025-12-31T23:59:00.000Z', lastAnswerAt: '2025-12-31T23:58:00.000Z' },
    holds: [{ what: 'model', reason: 'rate limit', until: '2026-01-01T00:01:00.000Z' }],
    webhooks: [
      { path: '/slack', refused: 1, refusedAt: '2025-12-31T23:59:59.000Z', takenAt: '2025-12-31T23:59:58.000Z' },
      { path: '/twilio', refusedAt: '2025-12-31T23:59:59.000Z', takenAt: null },
    ],
  });
  expect(stdout).not.toMatch(/\b1[67]\d{11}\b/);
});

test('models that stand by for each other have a line each, and a limit is told with what was spent', async () => {
  await using dir = await tempDir();
  const slot = { consecutiveFailures: 0, errorRate: 0, p95Ms: 900, tokensPerSecond: 50, score: 0.2, idleMs: 10 };
  const models = [
    { ...slot, id: 'openai/gpt-5-mini', circuit: 'open', successes: 2, failures: 3, latencyMs: 812.4, firstTokenMs: 300 },
    { ...slot, id: 'ollama/qwen3:4b', circuit: 'closed', successes: 4, failures: 0, latencyMs: null, firstTokenMs: null },
  ] as const;
  await using server = await serve(JSON.stringify(document({ models, budget: { spentUsd: 1.5, limitUsd: 2 } })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { stdout } = await cli.run('status');
  expect(stdout).toMatch(/^! slot +openai\/gpt-5-mini +left alone +2 answered, 3 failed +812 ms, first token 300 ms$/m);
  expect(stdout).toMatch(/^✓ slot +ollama\/qwen3:4b +in use +4 answered, 0 failed$/m);
  expect(stdout).toContain('200 out, 1.50 of 2.00 USD and 1 of unknown price');
});

test('of a limit below ten cents what is left can be seen', async () => {
  await using dir = await tempDir();
  await using server = await serve(JSON.stringify(document({ budget: { spentUsd: 0.0063, limitUsd: 0.01 } })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  expect((await cli.run('status')).stdout).toContain('200 out, 0.0063 of 0.0100 USD and 1 of unknown price');
});

test('a model that was replaced is named with what answers, and each warning of the catalog has a line', async () => {
  await using dir = await tempDir();
  const warnings = ['openai/gpt-5 ends on 2026-12-11'];
  const model = { id: 'anthropic/claude-sonnet-5-5', demo: false, replacedBy: 'anthropic/claude-sonnet-5', warnings };
  await using server = await serve(JSON.stringify(document({ model })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { stdout } = await cli.run('status');
  expect(stdout).toMatch(/^! model {5}anthropic\/claude-sonnet-5-5 is gone, anthropic\/claude-sonnet-5 answers$/m);
  expect(stdout).toMatch(/^! catalog {3}openai\/gpt-5 ends on 2026-12-11$/m);
});

test('what a changed config came to, what waits for a restart, and what waits for a removed channel have lines', async () => {
  await using dir = await tempDir();
  const changes = [
    { key: 'model', cost: 'live' },
    { key: 'gateway.channels.telegram', cost: 'restart-part', lost: 0 },
    { key: 'gateway.http.port', cost: 'restart-daemon' },
  ] as const;
  const config = {
    needsRestart: ['gateway.http.port'],
    applied: { at: NOW - 60_000, changes },
    problem: {
      at: NOW - 5_000,
      code: 'GH1101',
      detail: 'config.json:3:1: the file ends; the config in use stays',
      hint: 'mend it',
    },
  };
  await using server = await serve(JSON.stringify(document({ config, removedChannels: [{ name: 'irc', waiting: 2 }] })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { stdout } = await cli.run('status');
  expect(stdout.split('\n').filter((line) => /config|removed/.test(line))).toEqual([
    '! channel   irc was removed; 2 to send wait until they expire',
    '✓ config    1 live (model); 1 restarted (gateway.channels.telegram, 0 lost); 1 needs a restart of the daemon (gateway.http.port)  1 min ago',
    '✗ config    GH1101 config.json:3:1: the file ends; the config in use stays  5 s ago   → gatehouse config check',
    '! config    holds after a restart of the daemon: gateway.http.port',
  ]);
  const json = JSON.parse((await cli.run('status', '--json')).stdout);
  expect(json.status.config).toMatchObject({
    applied: { at: '2025-12-31T23:59:00.000Z' },
    problem: { at: '2025-12-31T23:59:55.000Z' },
  });
});

test('the demo model is named as such', async () => {
  await using dir = await tempDir();
  await using server = await serve(JSON.stringify(document({ model: { id: 'demo/demo', demo: true } })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  expect((await cli.run('status')).stdout).toContain('! model     demo: no real AI answers');
});

test('a daemon that is down is said so with exit code 3, next to what the disk tells', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.counts = document().journal;
  const { code, stdout, stderr } = await cli.run('status');
  expect(code).toBe(3);
  expect(stdout).toContain('! messages  2 waiting');
  expect(stderr).toContain('GH1002 the daemon is not running');
  const json = JSON.parse((await cli.run('status', '--json')).stdout) as unknown;
  expect(json).toMatchObject({ ok: false, running: false, error: { code: 'GH1002' }, journal: { inbox: { NEW: 2 } } });
});

test.each([
  ['another process took the port', JSON.stringify(document({ pid: 1 })), 200],
  ['it answers something else', '<html>hello</html>', 200],
  ['it answers null', 'null', 200],
  ['it answers an error', JSON.stringify(document()), 500],
])('a left-over daemon.json counts as down when %s', async (_name, body, httpCode) => {
  await using dir = await tempDir();
  await using server = await serve(body, httpCode);
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  expect((await cli.run('status')).code).toBe(3);
});

test('a daemon.json whose port is closed, or that is cut off, counts as down', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { port } = await serve('').then(async (server) => {
    await server[Symbol.asyncDispose]();
    return server;
  });
  await daemon(cli, port);
  expect((await cli.run('status')).code).toBe(3);
  await cli.write('data/daemon.json', '{"pid": 47');
  expect((await cli.run('status')).code).toBe(3);
});

test('a daemon that holds its port and does not answer is to be stopped before another one starts', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await daemon(cli, port);
  const { code, stderr } = await cli.run('status');
  server.closeAllConnections();
  server.close();
  expect(code).toBe(3);
  expect(stderr).toBe(
    `✗ GH1002 process 4711 does not answer at http://127.0.0.1:${port}/status within 2 s\n` +
      '  → if `ps -p 4711` still shows it, stop it first (`kill 4711`), then start it with `gatehouse gateway`\n',
  );
});

test('where questions are open, the line of what is parked names the command that lists them', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const at = { dir: `${dir.path}/journal`, clock: cli.clock };
  cli.openJournal = () => openJournal(at);
  const { journal } = document();
  await using server = await serve(JSON.stringify(document({ journal: { ...journal, inbox: { ...journal.inbox, PARKED: 1 } } })));
  await daemon(cli, server.port);
  await cli.haveJournal();
  const line = async () => (await cli.run('status')).stdout.split('\n').find((text) => text.includes('1 parked'));
  expect(await line()).toMatch(/1 parked, 30 done, 1 dead +→ gatehouse dead list/);
  {
    await using opened = await openJournal(at);
    const question = { to: 'owner', by: [], expiresAt: cli.clock.now() + 1_000, text: 'May I?', answer: 'approve' } as const;
    const late = { ok: false, output: 'late' };
    await opened.journal.commit([{ kind: 'ask', id: 'q', question, asked: { code: 'AAAAAA', parts: [] }, late }]);
  }
  expect(await line()).toMatch(/1 parked, 30 done, 1 dead {3}→ gatehouse dead list {3}→ gatehouse questions list$/);
});

test('one call is one call', async () => {
  await using dir = await tempDir();
  const usageToday = { ...document().usageToday, calls: 1 };
  await using server = await serve(JSON.stringify(document({ usageToday })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  expect((await cli.run('status')).stdout).toContain('today     1 call, 1000 tokens in');
});

test('a journal that cannot be read does not hide that the daemon is down', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  cli.failure = new Error('malformed');
  const { code, stderr } = await cli.run('status');
  expect(code).toBe(3);
  expect(stderr).toContain('the journal could not be read: malformed');
  cli.failure = new GatehouseError('GH1302', 'the journal can no longer be trusted');
  expect((await cli.run('status')).stderr).toMatch(/no longer be trusted\n {2}→ stop, check the disk, restore a backup/);
  const { journal, journalProblem } = JSON.parse((await cli.run('status', '--json')).stdout);
  expect([journal, journalProblem]).toEqual([null, expect.objectContaining({ code: 'GH1302' })]);
});

test('jobs are counted, with the next one and those that failed', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const jobs = { enabled: 3, disabled: 1, failing: 2, nextDue: NOW + 600_000 };
  await using server = await serve(JSON.stringify(document({ jobs })));
  await cli.write('data/daemon.json', JSON.stringify({ pid: 4711, port: server.port, host: '127.0.0.1' }));
  expect((await cli.run('status')).stdout).toContain('jobs      3 enabled, 1 disabled, next in 10 min, 2 failed last time');
  const { status } = JSON.parse((await cli.run('status', '--json')).stdout);
  expect(status.jobs).toEqual({ ...jobs, nextDue: '2026-01-01T00:10:00.000Z' });
});

test('each plugin stands with what it has, or why the agent does not have it', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const plugins = [
    { plugin: 'greet', state: 'enabled', offered: ['plugin__greet__hello'] },
    { plugin: 'fresh', state: 'new', offered: [] },
    { plugin: 'other', state: 'changed', offered: [] },
    { plugin: 'quiet', state: 'disabled', offered: [] },
    { plugin: 'bad', state: 'broken', detail: 'it has no plugin.json\u001b[2J', offered: [] },
  ] as const;
  await using server = await serve(JSON.stringify(document({ plugins })));
  await cli.write(
    'data/daemon.json',
    JSON.stringify({ pid: 4711, port: server.port, host: '127.0.0.1', startedAt: NOW, version: '1' }),
  );
  const { stdout } = await cli.run('status');
  expect(stdout.split('\n').filter((line) => line.includes(' plugin '))).toEqual([
    '✓ plugin    greet  1 tool',
    '! plugin    fresh  not approved   → gatehouse plugins enable fresh',
    '! plugin    other  changed since it was approved   → gatehouse plugins enable other',
    '- plugin    quiet  off',
    '! plugin    bad  broken: it has no plugin.json\\u001b[2J   → gatehouse plugins list',
  ]);
});

test('calls that fail take the tick from the model, with their cause, since when, and what mends it', async () => {
  await using dir = await tempDir();
  const last = { model: 'openai/gpt-5-mini', code: 'GH2101', kind: 'auth', detail: 'the provider refused the key' };
  const modelHealth = { failedInARow: 4, since: NOW - 180_000, last, lastAnswerAt: NOW - 600_000 };
  const holds = [
    { what: 'telegram', reason: '429 Too Many Requests', until: NOW + 48_000 },
    { what: 'model', reason: 'rate limit', until: NOW + 62_000 },
  ];
  await using server = await serve(JSON.stringify(document({ modelHealth, holds, clockMovedMs: -3_600_000 })));
  const cli = new FakeCli(dir.path);
  await daemon(cli, server.port);
  const { stdout } = await cli.run('status');
  const lines = stdout.split('\n');
  expect(lines[1]).toMatch(/^✗ model {5}openai/);
  expect(lines[2]).toMatch(
    /^✗ calls {5}4 calls failed in a row for 3 min: GH2101 the provider refused the key; last answer 10 min ago {3}→ \S/,
  );
  expect(lines).toContain('! held      answers wait 48 s for telegram (429 Too Many Requests)');
  expect(lines).toContain('! held      the model is called again in 1 min (rate limit)');
  expect(lines).toContain('! clock     was set 1 h back while the daemon ran   → timedatectl status');
});

test('--check is one line with the gravest trouble and its repair, and an exit code for monitors', async () => {
  await using dir = await tempDir();
  const well = document({
    channels: [],
    degraded: [],
    journal: { ...document().journal, inbox: { NEW: 0, RUNNING: 0, PARKED: 0, DONE: 3, DEAD: 0 }, outbox: NOTHING_TO_SEND },
  });
  const problem = { at: NOW, code: 'GH1101', detail: 'line 3: budget.daily_usd', hint: 'x' };
  const broken = { ...well, config: { needsRestart: ['gateway.http.port'], problem } };
  const answers = [well, broken].map((one) => JSON.stringify(one));
  const cli = new FakeCli(dir.path);
  const results: unknown[] = [];
  for (const answer of answers) {
    await using server = await serve(answer);
    await daemon(cli, server.port);
    const { code, stdout } = await cli.run('status', '--check');
    results.push([code, stdout]);
    if (code === 1) {
      const { stdout: json } = await cli.run('status', '--check', '--json');
      expect(JSON.parse(json)).toMatchObject({
        ok: false,
        error: { code: 'GH1009' },
        troubles: [{ id: 'config' }, { id: 'restart' }],
      });
    }
  }
  expect(results).toEqual([
    [0, 'ok\n'],
    [
      1,
      'trouble: the config file is not in use as it stands: GH1101 line 3: budget.daily_usd → gatehouse config check (and 1 more: gatehouse status)\n',
    ],
  ]);
  expect((await cli.run('status', '--check')).code).toBe(3);
});

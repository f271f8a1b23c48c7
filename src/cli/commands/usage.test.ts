import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SpendingGroup, SpendingQuery, UsageEntry } from '../../core/ledger.ts';
import { openJournal } from '../../journal/open.ts';
import { openAuthStore } from '../../lib/auth/store.ts';
import { systemClock } from '../../lib/clock.ts';
import { startOfLocalDay } from '../../lib/wall-time.ts';
import { collect, modelRequest } from '../../llm/contract.ts';
import { Budget } from '../../llm/money/budget.ts';
import { withBudget } from '../../llm/money/with-budget.ts';
import { createOpenAiChat } from '../../llm/protocols/openai-chat.ts';
import { withRetry } from '../../llm/retry.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { errorReply, sse, startModelServer, stream, textPieces } from '../../testing/model-server.ts';
import { facts, PRICE } from '../../testing/paid-model.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';

const DAY = 86_400_000;
/** What the command says of the days it counts. */
const DAYS = `days begin at midnight, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;

function group(key: string, override: Partial<SpendingGroup> = {}): SpendingGroup {
  return {
    key,
    calls: 2,
    tokensIn: 1_000,
    tokensOut: 200,
    tokensCached: 50,
    tokensCacheWrite: 10,
    costUsd: 0.0125,
    unpriced: 0,
    ...override,
  };
}

/** A command line whose ledger answers by key. */
async function ledger(dir: string, groups: Partial<Record<SpendingQuery['by'], readonly SpendingGroup[]>>) {
  const cli = new FakeCli(dir);
  await cli.haveJournal();
  const asked: SpendingQuery[] = [];
  cli.spending = (query) => {
    asked.push(query);
    return groups[query.by] ?? [];
  };
  return { cli, asked };
}

test('the ledger by day is one table with a total, and nothing on stderr', async () => {
  await using dir = await tempDir();
  const days = [group('2025-12-31', { calls: 12, tokensIn: 120_000, costUsd: 1.5 }), group('2026-01-01')];
  const { cli } = await ledger(dir.path, { day: days });
  const { code, stdout, stderr } = await cli.run('usage');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'DAY         CALLS  TOKENS IN  TOKENS OUT  CACHED TOKENS  CACHED %     USD',
    '2025-12-31     12     120000         200             50       0.0  1.5000',
    '2026-01-01      2       1000         200             50       5.0  0.0125',
    'total          14     121000         400            100       0.1  1.5125',
    DAYS,
  ]);
  expect(cli.closed).toBe(1);
});

test('an unknown price is a question mark and a count of its own, never 0', async () => {
  await using dir = await tempDir();
  const unknown = group('p/new', { costUsd: 0, unpriced: 2 });
  const partly = group('p/old', { costUsd: 0.5, unpriced: 1 });
  const { cli } = await ledger(dir.path, { model: [unknown, partly], day: [unknown, partly] });
  const { stdout, stderr } = await cli.run('usage', '--by', 'model');
  expect(stdout.trimEnd().split('\n')).toEqual([
    'MODEL  CALLS  TOKENS IN  TOKENS OUT  CACHED TOKENS  CACHED %     USD  WITHOUT PRICE',
    'p/old      2       1000         200             50       5.0  0.5000              1',
    'p/new      2       1000         200             50       5.0       ?              2',
    'total      4       2000         400            100       5.0  0.5000              3',
    DAYS,
  ]);
  expect(stderr).toBe('→ ? is an unknown price: set "price" in model_hints of the config\n');
  const json = JSON.parse((await cli.run('usage', '--by', 'model', '--json')).stdout);
  expect(json.groups.map(({ costUsd, unpricedCalls }: Record<string, unknown>) => [costUsd, unpricedCalls])).toEqual([
    [0.5, 1],
    [null, 2],
  ]);
});

test('--json is one document with its version, UTC times, the time zone of the days, and the limits', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { day: [group('2026-01-01')], session: [group('s1'), group('s2', { costUsd: 0.2 })] });
  await cli.write('.gatehouse/config.json', JSON.stringify({ budget: { daily_usd: 1, session_usd: 0.1 } }));
  const { code, stdout } = await cli.run('usage', '--since', '2025-12-30', '--until', '2025-12-31', '--json');
  const tokens = { tokensIn: 1_000, tokensOut: 200, tokensCached: 50, tokensCacheWrite: 10, cachedPercent: 5 };
  const sums = { calls: 2, ...tokens, costUsd: 0.0125, unpricedCalls: 0 };
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    ok: true,
    by: 'day',
    since: new Date(2025, 11, 30).toISOString(),
    until: new Date(2026, 0, 1).toISOString(),
    timeZone: expect.any(String),
    groups: [{ key: '2026-01-01', ...sums }],
    total: sums,
    limitsToday: [
      { limit: 'day', key: null, limitUsd: 1, spentUsd: 0.0125, leftUsd: 0.9875 },
      { limit: 'session', key: 's2', limitUsd: 0.1, spentUsd: 0.2, leftUsd: 0 },
    ],
  });
});

test('what `chat` spent beside the daemon is in the same sums', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { day: [group('2026-01-01')], model: [group('p/m'), group('p/n')] });
  await cli.write('data/chat/journal.db', '');
  const { groups, total } = JSON.parse((await cli.run('usage', '--by', 'model', '--json')).stdout);
  expect(cli.opened).toEqual([cli.dataDir, join(cli.dataDir, 'chat')]);
  expect(cli.closed).toBe(2);
  expect(groups).toMatchObject([
    { key: 'p/m', calls: 4, tokensIn: 2_000, costUsd: 0.025 },
    { key: 'p/n', calls: 4 },
  ]);
  expect(total).toMatchObject({ calls: 8, tokensOut: 800, tokensCached: 200, costUsd: 0.05 });
});

test('limits of today stand below the table; a key that was found and not chosen has one of 2 USD', async () => {
  await using dir = await tempDir();
  const { cli, asked } = await ledger(dir.path, { day: [group('2026-01-01')] });
  cli.env = { OPENAI_API_KEY: 'sk-x' };
  const { stdout } = await cli.run('usage');
  expect(stdout.trimEnd().split('\n').slice(-3)).toEqual([
    'LIMIT TODAY  USD     SPENT   LEFT    MOST BY',
    'day          2.0000  0.0125  1.9875',
    DAYS,
  ]);
  expect(asked.at(-1)).toEqual({ since: startOfLocalDay(cli.clock.now()), by: 'day' });
  // As the daemon does, which starts with that limit for a config that chooses no model.
  await cli.write('.gatehouse/config.json', '{}');
  expect((await cli.run('usage')).stdout).toContain('LIMIT');
  await cli.write('.gatehouse/config.json', '{ "provider": "openai" }');
  expect((await cli.run('usage')).stdout).not.toContain('LIMIT');
  await cli.write('.gatehouse/config.json', '{}');
  cli.env = {};
  expect((await cli.run('usage')).stdout).not.toContain('LIMIT');
  // A server that the environment names needs no key, and has no limit.
  cli.env = { OLLAMA_MODEL: 'qwen3:4b' };
  expect((await cli.run('usage')).stdout).not.toContain('LIMIT');
  cli.env = {};
  await using store = openAuthStore({ dir: cli.dataDir, clock: cli.clock });
  await store.set({ provider: 'groq', accessToken: 'gsk-x', authMethod: 'paste_token' }, new AbortController().signal);
  expect((await cli.run('usage')).stdout).toContain('LIMIT');
});

test('a limit of less than a cent is shown as it is', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { day: [group('2026-01-01')] });
  await cli.write('.gatehouse/config.json', JSON.stringify({ budget: { daily_usd: 0.0121, job_usd: 0.0001 } }));
  const { stdout } = await cli.run('usage');
  expect(stdout).toMatch(/^day +0\.0121 +0\.0125 /m);
  expect(stdout).toMatch(/^job +0\.0001 /m);
});

test('a broken config does not hide what was spent', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { day: [group('2026-01-01')] });
  await cli.write('.gatehouse/config.json', '{ "budget": 5 }');
  const { code, stdout, stderr } = await cli.run('usage');
  expect([code, stdout.includes('2026-01-01')]).toEqual([0, true]);
  expect(stderr).toContain('the limits are not known');
});

test('an empty ledger, and no ledger at all, say so and are no failure', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const none = { code: 0, stdout: 'no model call was recorded in this period\n', stderr: '' };
  expect(await cli.run('usage')).toEqual(none);
  expect(cli.opened).toEqual([]);
  await cli.haveJournal();
  expect(await cli.run('usage')).toEqual(none);
  const json = JSON.parse((await cli.run('usage', '--json')).stdout);
  expect([json.groups, json.total.calls, json.total.costUsd]).toEqual([[], 0, 0]);
});

test('--since takes a date or a number of days, today being the last one', async () => {
  await using dir = await tempDir();
  const { cli, asked } = await ledger(dir.path, {});
  const today = startOfLocalDay(cli.clock.now());
  for (const [since, until, expected] of [
    ['1d', undefined, [today, today + DAY]],
    ['7d', undefined, [today - 6 * DAY, today + DAY]],
    ['yesterday', 'yesterday', [today - DAY, today]],
    ['today', undefined, [today, today + DAY]],
    ['2025-12-30', '2025-12-30', [new Date(2025, 11, 30).getTime(), new Date(2025, 11, 31).getTime()]],
  ] as const) {
    await cli.run('usage', '--since', since, ...(until ? ['--until', until] : []));
    expect([asked[0]?.since, asked[0]?.until]).toEqual(expected);
    asked.length = 0;
  }
});

test.each([
  [['--since', 'someday'], '--since "someday" is not a day'],
  [['--since', '2026-02-30'], '--since "2026-02-30" is not a day'],
  [['--until', '5d'], '--until "5d" is not a day'],
  [['--since', '2026-01-02', '--until', '2026-01-01'], '--until is before --since'],
  [['--since', '2099-01-01'], '--since lies in the future'],
  [['--until', '2025-11-01'], 'the default --since (30d) is later than --until'],
  [['--by', 'colour'], "option '--by <what>' argument 'colour' is invalid"],
])('a wrong period or key is a usage error: %j', async (options, message) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout } = await cli.run('usage', ...options, '--json');
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'GH1001', message: expect.stringContaining(message) } });
});

test('A46 control characters of a session key do not reach the terminal', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { session: [group('s\u001b[2J')], day: [group('2026-01-01')] });
  expect((await cli.run('usage', '--by', 'session')).stdout).not.toContain('\u001b');
});

test('usage agrees with the count of the model server to the token, over retries, refusals and two starts', async () => {
  await using dir = await tempDir();
  const counted = { calls: 0, tokensIn: 0, tokensOut: 0, tokensCached: 0 };
  await using server = await startModelServer({
    script: (_request, index) => {
      if (index % 7 === 3) return errorReply(503, { message: 'busy' }, { 'retry-after-ms': '1' });
      const [tokensIn, tokensOut, tokensCached] = [1_000 + index * 13, 3 + (index % 5), index % 300];
      counted.calls += 1;
      counted.tokensIn += tokensIn;
      counted.tokensOut += tokensOut;
      counted.tokensCached += tokensCached;
      const usage = {
        prompt_tokens: tokensIn,
        completion_tokens: tokensOut,
        prompt_tokens_details: { cached_tokens: tokensCached },
      };
      return stream([...textPieces('ok').slice(0, 3), sse({ choices: [], usage }), sse('[DONE]')]);
    },
  });
  const wire = createOpenAiChat({
    provider: 'acme',
    model: 'large',
    baseUrl: `${server.url}/v1`,
    contextWindow: 128_000,
    facts: facts({ maxOutputTokens: 20 }),
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
  });
  const limits = { dailyUsd: 0.7 };
  let refused = 0;
  for (const start of [1, 2]) {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    const { journal } = opened;
    const budget = await Budget.open(journal, limits, { clock: systemClock });
    const retry = { clock: systemClock, random: () => 0, baseMs: 1 };
    const budgeted = withBudget(wire, budget, {
      clock: systemClock,
      onUnfinished: (entry) => expect.unreachable(`nothing broke off, but ${entry.id}`),
    });
    const model = withRetry(budgeted, retry);
    const turn = async (n: number): Promise<void> => {
      const request = modelRequest(`question ${n}`);
      const last = (await collect(model.call(request, new AbortController().signal))).at(-1);
      if (last?.type !== 'done') {
        refused += last?.type === 'failed' && last.failure.kind === 'budget' ? 1 : 0;
        return;
      }
      const { provider, model: name, usage } = last.answer;
      const { session, channel, sender, purpose } = request.context;
      const id = `${start}-${n}`;
      const entry: UsageEntry = {
        ...{ id, at: systemClock.now(), provider, model: name, session, channel, sender, purpose },
        ...{ costUsd: null, ...usage },
      };
      await journal.spend(entry);
    };
    for (let n = 0; n < 30; n += 1) await turn(n);
  }
  expect(refused).toBeGreaterThan(0);
  await using opened = await openJournal({ dir: dir.path, clock: systemClock });
  const cli = new FakeCli(dir.path);
  await cli.clock.advance(systemClock.now() - cli.clock.now());
  await cli.haveJournal();
  cli.spending = (query) => opened.journal.spending(query);
  const { total, groups } = JSON.parse((await cli.run('usage', '--by', 'model', '--since', '2d', '--json')).stdout);
  expect(total).toMatchObject({ ...counted, unpricedCalls: 0 });
  expect(total.costUsd).toBeCloseTo((counted.tokensIn * PRICE.in + counted.tokensOut * PRICE.out) / 1e6, 9);
  // The server counts fifty times what was estimated; even so the limit is passed by one call at most.
  expect(total.costUsd).toBeLessThanOrEqual(0.7 + 0.02);
  expect(groups).toEqual([{ key: 'acme/large', ...total }]);
});

test('a key that was stored for its variable has the limit of a key that was found', async () => {
  await using dir = await tempDir();
  const { cli } = await ledger(dir.path, { day: [group('2026-01-01')] });
  const elsewhere = { provider: 'openai', model: 'm', base_url: 'https://proxy.example/v1', api_key_env: 'OPENAI_API_KEY' };
  await cli.write('.gatehouse/config.json', JSON.stringify(elsewhere));
  cli.input = 'sk-x';
  await cli.run('auth', 'set-key', 'OPENAI_API_KEY');
  await cli.write('.gatehouse/config.json', '{}');
  expect((await cli.run('usage')).stdout).toContain('LIMIT');
});

test('ids that are one person share what is left of a limit of senders', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  await cli.write('.gatehouse/config.json', JSON.stringify({ provider: 'openai', model: 'm', budget: { sender_usd: 1 } }));
  const real = join(dir.path, 'real');
  cli.openJournal = (options) => openJournal({ ...options, dir: real });
  {
    const { journal } = await openJournal({ dir: real, clock: cli.clock });
    await using _ = journal;
    for (const [sender, costUsd] of [
      ['telegram:42', 0.6],
      ['email:ada@example.org', 0.4],
    ] as const)
      await journal.spend({
        ...{ id: sender, at: cli.clock.now(), provider: 'p', model: 'm', session: 's', channel: 'c', sender, purpose: 'chat' },
        ...{ tokensIn: 1, tokensOut: 1, tokensCached: 0, costUsd },
      });
    const of = [
      { channel: 'telegram', senderId: '42', name: '' },
      { channel: 'email', senderId: 'ada@example.org', name: '' },
    ] as const;
    await journal.commit([{ kind: 'link', of, by: 'cli' }]);
  }
  const { limitsToday } = JSON.parse((await cli.run('usage', '--json')).stdout);
  expect(limitsToday).toMatchObject([{ limit: 'sender', spentUsd: 1, leftUsd: 0 }]);
});

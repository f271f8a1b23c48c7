// Twelve ways to overspend, each against a limit of 1.00 USD a day: the real daemon and wire, a model server
// that keeps its own bill.
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import type { SpendingGroup } from '../core/ledger.ts';
import { systemClock } from '../lib/clock.ts';
import { startOfLocalDay } from '../lib/wall-time.ts';
import { detectModel } from '../llm/detect.ts';
import { addUp, type Sums } from '../llm/money/joined-ledgers.ts';
import { resolveProvider } from '../llm/providers/resolve.ts';
import { textTokens } from '../llm/tokens.ts';
import { cliJson } from '../testing/cli-json.ts';
import { gate, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { chunk, type ModelServer, type Reply, sse, startModelServer, stream } from '../testing/model-server.ts';
import { nth, testSample } from '../testing/sample.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import type { DaemonOptions } from './daemon.ts';
import { createModelStack, type ModelEntry } from './model-stack.ts';

/** USD a token: ten tokens out, the most an answer may have here, are 0.10 USD. */
const [IN_USD, OUT_USD] = [0.000_01, 0.01];
const MOST_OUT = 10;
const LIMIT_USD = 1;
/** What is held for one call: its answer, and some 3,000 tokens of prompt and tools. */
const ONE_CALL_USD = MOST_OUT * OUT_USD + 0.04;
const PRICED = { model_hints: { price: { in: IN_USD * 1e6, out: OUT_USD * 1e6 } } };
const BUDGET = { budget: { daily_usd: LIMIT_USD, steps: ['stop'] } };
const MESSAGES = 16;
const SPEED = 10;

/** Ten times as fast; its calendar can be moved. */
class FastClock extends SteadyClock {
  offsetMs = 0;

  constructor() {
    super(SPEED);
  }

  override now(): number {
    return super.now() + this.offsetMs;
  }
}

/** What a server charges for, whether or not it says so. */
interface Bill {
  calls: number;
  tokensIn: number;
  tokensOut: number;
}

type Answer = (bill: (tokensIn: number, tokensOut: number) => object) => Reply;

async function billingServer(answer: Answer): Promise<{ readonly server: ModelServer; readonly bill: Bill }> {
  const bill: Bill = { calls: 0, tokensIn: 0, tokensOut: 0 };
  const add = (prompt: number, completion: number): object => {
    bill.calls += 1;
    bill.tokensIn += prompt;
    bill.tokensOut += completion;
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  };
  return { bill, server: await startModelServer({ script: () => answer(add) }) };
}

const usdOf = (...bills: readonly Bill[]): number =>
  bills.reduce((sum, { tokensIn, tokensOut }) => sum + tokensIn * IN_USD + tokensOut * OUT_USD, 0);

/** A daemon with one model at a billing server, or two. */
async function attack(answer: Answer, more: { readonly config?: object; readonly spare?: Answer } = {}) {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await tempDir());
  const { server, bill } = await billingServer(answer);
  resources.use(server);
  const spare = more.spare && (await billingServer(more.spare));
  if (spare) resources.use(spare.server);
  const entry = ({ url }: ModelServer) => ({
    provider: 'openai',
    model: 'm',
    base_url: `${url}/v1`,
    api_key_env: 'TEST_KEY',
    ...PRICED,
  });
  const config = configSchema.parse({ ...entry(server), ...BUDGET, ...more.config });
  const fallbacks: ModelEntry[] = spare
    ? [{ target: resolveProvider({ ...entry(spare.server), model: 'spare' }), key: { from: 'test', value: () => 'sk-test' } }]
    : [];
  const clock = new FastClock();
  const logger = new MemoryLogger();
  const env = { TEST_KEY: 'sk-test' };
  const model: DaemonOptions['model'] = async ({ journal, emit, operator }) =>
    await createModelStack({
      ...{ config, journal, emit, operator, logger, env, clock, fallbacks },
      detected: await detectModel({
        ...{ config, env, fetch, clock: systemClock, hasBudget: true, storedKey: async () => undefined },
        signal: AbortSignal.timeout(10_000),
      }),
      login: async () => undefined,
      secret: (name) => name,
    });
  const gateway = { max_output_tokens: MOST_OUT };
  const rig = resources.use(await testDaemon({ dataDir: dir.path, model: scriptedModel([]), gateway, daemon: { model, clock } }));
  const owned = resources.move();
  return {
    ...{ clock, logger, bill, server, spareBill: spare?.bill, spareServer: spare?.server, channel: rig.channel },
    journal: rig.daemon.journal,
    /** Each message from a chat and a person of its own. */
    async flood(messages = MESSAGES, prefix = 'chat'): Promise<void> {
      for (let n = 0; n < messages; n += 1) await rig.channel.deliver({ chatId: `${prefix}${n}`, text: 'hello' });
      await rig.daemon.gateway.idle();
    },
    refused: (): number =>
      Array.from({ length: MESSAGES }, (_, n) => rig.channel.texts(`chat${n}`)).filter((texts) =>
        texts.join().includes('(GH2112)'),
      ).length,
    async ledger(): Promise<Sums> {
      return addUp(await rig.daemon.journal.spending({ since: 0, by: 'day' }));
    },
    async [Symbol.asyncDispose]() {
      // The clock of these tests is fast, and what closing may take with it.
      await rig.daemon.close({ turnsMs: 1_000_000, deliveryMs: 1_000_000 });
      await owned[Symbol.asyncDispose]();
    },
  };
}

/** The limit was met, and passed by no more than what was held for `calls` calls. */
function expectWithin(usd: number, calls = 1): void {
  expect(usd).toBeGreaterThan(LIMIT_USD / 2);
  expect(usd).toBeLessThanOrEqual(LIMIT_USD + calls * ONE_CALL_USD);
}

function expectAgreed(sums: Sums, bill: Bill): void {
  const { calls, tokensIn, tokensOut, costUsd } = sums;
  expect({ calls, tokensIn, tokensOut }).toEqual({ ...bill });
  expect(costUsd).toBeCloseTo(usdOf(bill), 9);
}

/** The end of an answer, in one write: the wire does not wait long for a usage that comes later. */
function stop(usage: object, reason = 'stop'): string {
  return [chunk({}, reason), sse({ object: 'chat.completion.chunk', choices: [], usage }), sse('[DONE]')].join('');
}

const thoughts = [chunk({ role: 'assistant', reasoning_content: 'hm hm ' }), chunk({ reasoning_content: 'hm hm' })];
const words = Array.from({ length: 8 }, () => chunk({ content: ' abc' }));

const FAILED: readonly (readonly [string, (usage: object) => readonly string[]])[] = [
  ['reasoning only', (usage) => [...thoughts, stop(usage)]],
  ['filtered', (usage) => [...words.slice(0, 2), stop(usage, 'content_filter')]],
  ['empty', (usage) => [chunk({ role: 'assistant', content: '' }), stop(usage)]],
  ['length', (usage) => [...thoughts, stop(usage, 'length')]],
];

testSample(
  FAILED,
  nth(2),
  test.concurrent,
)('%s: a failed answer is booked with the count of the server, to the token', async ([way, pieces]) => {
  await using at = await attack((bill) => stream(pieces(bill(700, 9))));
  await at.flood();
  expectWithin(usdOf(at.bill));
  expectAgreed(await at.ledger(), at.bill);
  expect(at.refused()).toBeGreaterThan(0);
  // What a limit of tokens or a filter ended is asked for once.
  if (way === 'filtered' || way === 'length') expect(at.bill.calls).toBeLessThan(MESSAGES);
});

test.concurrent('cut in text: what arrived is booked, for each attempt', async () => {
  await using at = await attack((bill) => {
    bill(0, 8);
    return stream(words, { end: 'destroy' });
  });
  await at.flood();
  expectWithin(usdOf(at.bill));
  const { calls, tokensOut } = await at.ledger();
  expect({ calls, tokensOut }).toEqual({ calls: at.bill.calls, tokensOut: at.bill.tokensOut });
});

test.concurrent('cut in arguments: they are counted as text is', async () => {
  const pieces = ['{"path":', '"notes/2', '026/nove', 'mber.txt'];
  const json = pieces.join('');
  const call = (text: string) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  const start = chunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'c', function: { name: 'read_file', arguments: '' } }] });
  await using at = await attack((bill) => {
    bill(0, textTokens(json));
    return stream([start, ...pieces.map(call)], { end: 'destroy' });
  });
  await at.flood();
  expectWithin(usdOf(at.bill));
  const { calls, tokensOut } = await at.ledger();
  expect(calls).toBe(at.bill.calls);
  // The name of the tool counts too.
  expect(tokensOut).toBe(at.bill.calls * textTokens(`read_file${json}`));
});

test.concurrent('absurd usage: it is booked as what was held for the call, the log says so, and no user is locked out by one call', async () => {
  await using at = await attack((bill) => {
    bill(700, 8);
    return stream([...words, stop({ prompt_tokens: 9e15, completion_tokens: 9e15, total_tokens: 9e15 })]);
  });
  await at.flood();
  const ledger = await at.ledger();
  expectWithin(ledger.costUsd);
  expect(usdOf(at.bill)).toBeLessThanOrEqual(LIMIT_USD);
  expect([ledger.calls, ledger.tokensOut]).toEqual([at.bill.calls, at.bill.calls * MOST_OUT]);
  expect(at.bill.calls).toBeGreaterThan(5);
  expect(at.logger.lines.filter(({ event }) => event === 'usage.odd')).toHaveLength(at.bill.calls);
});

test.concurrent('negative usage: our own count is booked', async () => {
  await using at = await attack((bill) => {
    bill(0, 8);
    return stream([...words, stop({ prompt_tokens: -700, completion_tokens: -8, total_tokens: -708 })]);
  });
  await at.flood();
  const ledger = await at.ledger();
  expectWithin(ledger.costUsd);
  expect([ledger.calls, ledger.tokensOut]).toEqual([at.bill.calls, at.bill.tokensOut]);
  expect(ledger.tokensIn).toBeGreaterThan(0);
});

test.concurrent('unknown price: nothing is sent', async () => {
  const config = { model: 'never-heard-of', model_hints: undefined };
  await using at = await attack((bill) => stream([...words, stop(bill(700, 8))]), { config });
  await at.flood(3);
  expect(at.server.requests).toEqual([]);
  expect(at.channel.texts('chat0')).toEqual([expect.stringContaining('(GH2113)')]);
  expect((await at.ledger()).calls).toBe(0);
});

test.concurrent('hedge: the model that lost the race is booked with what it wrote', async () => {
  const config = { adaptive_routing: { enabled: true, mode: 'hedge' } };
  const slow: Answer = (bill) => stream([...words, stop(bill(700, 8))], { latencyMs: 1_000 });
  const quick: Answer = (bill) => stream([...words, stop(bill(700, 8))], { gapMs: 2 });
  await using at = await attack(slow, { config, spare: quick });
  await at.flood();
  const [main, spare] = [at.bill, at.spareBill ?? at.bill];
  expectWithin(usdOf(main, spare), 2);
  const groups = await at.journal.spending({ since: 0, by: 'purpose' });
  const of = (purpose: string): Partial<SpendingGroup> => groups.find(({ key }) => key === purpose) ?? {};
  const answered = [at.server, at.spareServer ?? at.server].flatMap(({ requests }) => requests.filter(({ cut }) => !cut));
  expect(of('turn')).toMatchObject({ calls: answered.length, tokensIn: 700 * answered.length, tokensOut: 8 * answered.length });
  expect((of('turn').calls ?? 0) + (of('turn:unfinished').calls ?? 0)).toBe(main.calls + spare.calls);
  expect(main.calls).toBeGreaterThan(2);
});

test.concurrent('midnight: a call that runs over it counts for the day in which it ends, and each day has its limit', async () => {
  const night = gate();
  let held: Pick<Reply, 'held'> = {};
  await using at = await attack((bill) => stream([...words, stop(bill(700, 8))], held));
  const beforeMidnight = startOfLocalDay(systemClock.now() + 36 * 3_600_000) - 60_000;
  at.clock.offsetMs = beforeMidnight - systemClock.now();
  await at.flood(7);
  held = { held: { before: 0, until: night.opened } };
  const over = at.flood(MESSAGES, 'over');
  await until('calls are under way', () => at.server.requests.length > 8);
  at.clock.offsetMs += 120_000;
  night.open();
  await over;
  await at.flood(MESSAGES, 'next');
  const days = await at.journal.spending({ since: 0, by: 'day' });
  expect(days.map(({ calls }) => calls)).toEqual([7, at.bill.calls - 7]);
  for (const { costUsd } of days) expectWithin(costUsd);
  expectAgreed(addUp(days), at.bill);
});

test.concurrent('killed in mid-stream: the call that was under way is all that the ledger lacks', async () => {
  let billed = 0;
  const usage = { prompt_tokens: 700, completion_tokens: 8, total_tokens: 708 };
  const script = (_request: unknown, index: number): Reply => {
    billed += 700 * IN_USD + 8 * OUT_USD;
    return index === 2 ? stream(words, { end: 'hang' }) : stream([...words, stop(usage)]);
  };
  await using at = await telegramScene({ script, config: { ...PRICED, ...BUDGET }, gateway: { max_output_tokens: MOST_OUT } });
  const ask = (n: number) => at.platform.inject({ chat_id: n, from: { id: n }, text: `question ${n}` });
  {
    await using dying = await at.spawn();
    for (const n of [1, 2]) {
      ask(n);
      await dying.settled(n);
    }
    ask(3);
    await until('the third call is under way', () => at.model.requests.length === 3);
    await dying.stop('SIGKILL');
  }
  await using daemon = await at.start();
  await daemon.ready();
  for (let n = 4; n <= MESSAGES; n += 1) ask(n);
  await daemon.settled(MESSAGES);
  expectWithin(billed);
  const { total } = (await cliJson(at.dir, ['usage'])) as { total: Sums };
  const booked = at.model.requests.length - 1;
  expect(total).toMatchObject({ calls: booked, tokensIn: 700 * booked, tokensOut: 8 * booked });
  expect(billed - total.costUsd).toBeLessThanOrEqual(ONE_CALL_USD);
});

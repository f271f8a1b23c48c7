// Questions about spending, on a real journal and a real budget.
import { expect, test, vi } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { laneKey, sessionKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { openJournal } from '../journal/open.ts';
import { modelRequest } from '../llm/contract.ts';
import { Budget, type BudgetLimits, type LimitName } from '../llm/money/budget.ts';
import type { SpendingQuestion } from '../llm/money/with-spending-steps.ts';
import { FakeClock, inbound, MemoryLogger, outbound, tempDir, until } from '../testing/fakes.ts';
import { MemoryLedger } from '../testing/paid-model.ts';
import { Approvals } from './approvals.ts';
import { BudgetQuestions, tryWaitingAgain } from './budget-questions.ts';

const DAY = 86_400_000;
const { context } = modelRequest('x');

async function setup(limits: BudgetLimits = { dailyUsd: 0.000_1 }) {
  const dir = await tempDir();
  const clock = new FakeClock(new Date(2026, 0, 1, 12).getTime());
  const logger = new MemoryLogger();
  const opened = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  const { journal } = opened;
  const budget = await Budget.open(new MemoryLedger(), limits, { clock });
  const posts: string[] = [];
  let reachable = true;
  const createApprovals = () =>
    new Approvals({
      provesSender: () => true,
      ...{ clock, logger, journal },
      owner: {
        isOwnersChat: () => true,
        wrote: () => true,
        namesIds: () => false,
        lookAfter: async () => undefined,
        prepare(id, text) {
          if (!reachable) return undefined;
          posts.push(text);
          const part = { part: outbound({ key: id, text }), lane: 'test/bot/owner', expiresAt: clock.now() + DAY };
          return { chat: 'test/bot/owner', parts: [part], onDisk: () => undefined };
        },
      },
    });
  const create = () => new BudgetQuestions({ approvals: createApprovals(), budget, pricing: 'cheap', clock, logger });
  const question = (limit: LimitName = 'day', worstUsd: number | null = 0.1): SpendingQuestion => ({
    ...{ limit, key: limit, limitUsd: 1, spentUsd: 1, reservedUsd: 0, context, worstUsd, text: 'May I?' },
    ...(limit === 'job' ? {} : { retryAfterMs: DAY / 2 }),
  });
  const settle = (wait: string, output: string) =>
    journal.commit([{ kind: 'settle', settled: { wait, value: { ok: true, output }, by: 'test:owner' } }]);
  const value = async (id: string) => (await journal.waits.find(id))?.value?.output;
  const placeOf = (message: InboundMessage) => ({ message, lane: laneKey(message), session: sessionKey(message) });
  let requests = 0;
  /** A request in a thread of its own meets the limit. Undefined: it waits; else what its wait came to. */
  const request = async (questions: BudgetQuestions, senderId: string): Promise<string | undefined> => {
    requests += 1;
    const message = inbound({ senderId, chatId: senderId, threadId: `t${requests}`, platformId: `r${requests}` });
    const [accepted] = await journal.accept([{ kind: 'admit', ...placeOf(message) }]);
    const row = accepted?.kind === 'new' ? await journal.claim(accepted.row.seq) : undefined;
    const about = await questions.ask({ ...question(), context: { ...context, sender: `test:${senderId}` } });
    if (!row || about === undefined) return 'not asked';
    const waits = [{ callId: 'model/0', kind: 'signal', about }] as const;
    const end = { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } as const;
    await journal.commit([], { seq: row.seq, generation: row.generation, end });
    return (await journal.waits.of(row.seq))[0]?.value?.output;
  };
  const times = async (count: number, questions: BudgetQuestions, sender: string) => {
    const came = [];
    for (let n = 0; n < count; n += 1) came.push(await request(questions, sender));
    return {
      waiting: came.filter((value) => value === undefined).length,
      denied: came.filter((value) => value === 'deny').length,
    };
  };
  const stop = async (senderId: string): Promise<void> => {
    const message = inbound({ senderId, chatId: senderId, platformId: `stop ${senderId}` });
    await journal.accept([{ kind: 'answer', ...placeOf(message), outcome: 'stop', parts: [], cancels: { where: 'chat' } }]);
  };
  return {
    ...{ clock, budget, journal, posts, create, question, settle, value, times, stop },
    ...{ approvals: createApprovals(), questions: create() },
    reach: (is: boolean) => {
      reachable = is;
    },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a limit is asked about once a day, whoever meets it and in whichever process; a yes lets the next call ask anew', async () => {
  await using at = await setup();
  const names = await Promise.all(Array.from({ length: 20 }, () => at.questions.ask(at.question())));
  expect([new Set(names), at.posts.length]).toEqual([new Set(['budget/day/2026-1-1']), 1]);
  expect(await at.create().ask(at.question())).toBe('budget/day/2026-1-1');
  expect(at.posts[0]).toMatch(/^❓ May I\? It is for .*Reply `\/allow [A-Z2-9]{6}` or `\/deny [A-Z2-9]{6}` within 12 hours\.$/);
  await at.settle('budget/day/2026-1-1', 'allow');
  expect(await at.questions.ask(at.question())).toBe('budget/day/2026-1-1/2');
  expect(await at.questions.ask(at.question('session'))).toBe('budget/session/2026-1-1');
  expect(at.posts).toHaveLength(3);
});

test('a question that was withdrawn with the only person who waited for it is no answer: the next call asks anew', async () => {
  await using at = await setup();
  expect(await at.times(2, at.questions, 'eve')).toEqual({ waiting: 2, denied: 0 });
  const revoke = { kind: 'shut-out', who: { channel: 'test', senderId: 'eve' }, as: 'revoked', by: 'cli' } as const;
  await at.journal.commit([revoke]);
  expect((await at.journal.waits.find('budget/day/2026-1-1'))?.by).toBe('withdrawn');
  expect(await at.questions.ask(at.question())).toBe('budget/day/2026-1-1/2');
  // One that another person waits for stays open.
  expect(await at.times(1, at.questions, 'eve')).toEqual({ waiting: 1, denied: 0 });
  expect(await at.times(1, at.questions, 'ada')).toEqual({ waiting: 1, denied: 0 });
  await at.journal.commit([revoke]);
  expect((await at.journal.waits.find('budget/day/2026-1-1/2'))?.isOpen).toBe(true);
});

test('ask: no, no answer and no way to ask all stop the call, and the owner is not asked again that day', async () => {
  await using at = await setup();
  at.reach(false);
  expect(await at.questions.ask(at.question('session'))).toBeUndefined();
  at.reach(true);
  await at.questions.ask(at.question());
  await at.settle('budget/day/2026-1-1', 'deny');
  for (let n = 0; n < 20; n += 1) expect(await at.questions.ask(at.question())).toBeUndefined();
  expect(await at.create().ask(at.question())).toBeUndefined();
  const job = await at.questions.ask(at.question('job'));
  const late = (await at.journal.waits.find(job ?? ''))?.late;
  // No midnight gives a job money back.
  expect(late?.output).toBe('deny');
  expect(at.posts).toHaveLength(2);
  await at.clock.advance(DAY);
  expect(await at.questions.ask(at.question())).toBe('budget/day/2026-1-2');
});

test('hostile: of one sender no more than twenty requests wait for the same yes; others wait on', async () => {
  await using at = await setup();
  expect(await at.times(25, at.questions, 'flooder')).toEqual({ waiting: 20, denied: 5 });
  expect(await at.times(1, at.questions, 'other')).toEqual({ waiting: 1, denied: 0 });
  expect(at.posts[0]).toContain('A yes lets each request through that waits for it by then, at most 20 of one person.');
  await at.clock.advance(DAY);
  expect(await at.times(1, at.questions, 'flooder')).toEqual({ waiting: 1, denied: 0 });
});

test('of the twenty requests those count that still wait: not one that was cancelled, and each one from before a restart', async () => {
  await using at = await setup();
  expect(await at.times(20, at.questions, 'ada')).toEqual({ waiting: 20, denied: 0 });
  await at.stop('ada');
  expect(await at.times(20, at.questions, 'ada')).toEqual({ waiting: 20, denied: 0 });
  expect(await at.times(2, at.create(), 'ada')).toEqual({ waiting: 0, denied: 2 });
});

test.each<[string, BudgetLimits]>([
  ['a higher limit', { dailyUsd: 10 }],
  ['no limit any more', {}],
])('a call that waits for the owner goes on with %s, and the question ends', async (_name, limits) => {
  await using at = await setup();
  const name = (await at.questions.ask(at.question())) ?? '';
  at.budget.setLimits(limits);
  await until('the question ends', async () => (await at.value(name)) === 'fits');
  expect((await at.journal.waits.find(name))?.by).toBe('fits');
});

test('a question of an earlier process ends too when its call fits', async () => {
  await using at = await setup();
  const name = (await at.questions.ask(at.question())) ?? '';
  at.create();
  at.budget.setLimits({});
  await until('the question ends', async () => (await at.value(name)) === 'fits');
});

test('with other models the question ends, for a yes was asked for the price of the former: the next call asks anew', async () => {
  await using at = await setup();
  const name = (await at.questions.ask(at.question())) ?? '';
  await tryWaitingAgain(at.approvals, 'cheap');
  expect(await at.journal.waits.find(name)).toMatchObject({ isOpen: true });
  await tryWaitingAgain(at.approvals, 'dear');
  expect(await at.journal.waits.find(name)).toMatchObject({ isOpen: false, by: 'fits', value: { output: 'fits' } });
  expect(await at.questions.ask(at.question('day', 10))).toBe(`${name}/2`);
  expect(at.posts).toHaveLength(2);
});

/** A question whose call fits by now, and whose end the journal refused to write once. */
async function endedUnwritten({ questions, question, budget, journal }: Awaited<ReturnType<typeof setup>>): Promise<string> {
  const name = (await questions.ask(question())) ?? '';
  const commit = vi.spyOn(journal, 'commit').mockRejectedValueOnce(new GatehouseError('GH1301', 'the journal cannot be written'));
  budget.setLimits({});
  await until('it was tried', () => commit.mock.calls.length > 0);
  return name;
}

test('a question that ends while the journal cannot be written ends with the next look', async () => {
  await using at = await setup();
  const name = await endedUnwritten(at);
  at.budget.setLimits({ dailyUsd: 10 });
  await until('the question ends', async () => (await at.value(name)) === 'fits');
});

test('a question whose end could not be written ends within a minute, also where nothing else is spent', async () => {
  await using at = await setup();
  const name = await endedUnwritten(at);
  await until('it waits', () => at.clock.sleeping > 0);
  await at.clock.advance(60_000);
  await until('the question ends', async () => (await at.value(name)) === 'fits');
  expect(at.clock.sleeping).toBe(0);
});

test('a limit that is raised by too little leaves the question open', async () => {
  await using at = await setup();
  const name = (await at.questions.ask(at.question())) ?? '';
  at.budget.setLimits({ dailyUsd: 0.000_2 });
  await at.journal.commit([]);
  expect((await at.journal.waits.find(name))?.isOpen).toBe(true);
});

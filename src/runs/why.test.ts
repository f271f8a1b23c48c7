import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import type { PartSummary, RunAbout, RunSummary } from '../core/record.ts';
import { NOT_HEARD } from '../core/run.ts';
import { whyOf } from './why.ts';

const NOW = 1_000_000;
const RUN: RunSummary = {
  ...{ seq: 1, source: 'chat', profile: 'session', principal: 'test:1', state: 'DONE', lane: 'test/bot/1', session: 's' },
  ...{ attempts: 1, acceptedAt: NOW - 5_000, ahead: 0, waitsFor: [], asks: [], role: 'member', turns: 0 },
};
const budget = (step: string, limit = 'day'): Partial<RunEvent> => ({
  ...{ type: 'budget', limit, step, spentUsd: 5.02, limitUsd: 5 },
});

function about(
  run: Partial<RunSummary> | undefined,
  events: readonly Partial<RunEvent>[],
  parts: readonly Partial<PartSummary>[] = [],
): RunAbout {
  return {
    key: 'test/bot/m',
    ...(run ? { run: { ...RUN, ...run } } : {}),
    events: events.map((event, seq) => ({
      seq,
      event: { at: NOW, messageId: 'test/bot/m', channel: 'test', ...event } as RunEvent,
    })),
    parts: parts.map((part, n) => ({ key: `k${n}`, state: 'SENT', attempts: 1, notBefore: 0, ...part })),
  };
}

const SENT = [{ state: 'SENT' }] as const;
const finished = (outcome: string): Partial<RunEvent> => ({ type: 'finished', outcome, ms: 1 });
const partEnd = (type: 'part.sent' | 'part.expired' | 'part.dead', key = 'k0'): Partial<RunEvent> => ({
  ...{ type, key, ms: 1, reason: 'too old to be sent' },
});

test.each<[string, RunAbout, string, string | undefined]>([
  [
    'a refusal',
    about(undefined, [{ type: 'dropped', reason: 'not-allowed' }]),
    'It was not let in: its sender is not on the list.',
    'gateway.channels[].allowed_senders',
  ],
  [
    'a block',
    about(undefined, [{ type: 'dropped', reason: 'blocked' }]),
    'It was not let in: its sender or its group is blocked, which `gatehouse people list` shows and `gatehouse people unblock` ends.',
    undefined,
  ],
  [
    'the cap of a conversation that goes on by itself, on whatever channel',
    about(undefined, [{ type: 'dropped', reason: 'loop-cap' }]),
    'It was not let in: too many answers went to its sender or its chat within a short time.',
    undefined,
  ],
  [
    'an answer whose reader was blocked before it was sent',
    about({ outcome: 'answered' }, [], [{ state: 'EXPIRED', reason: 'withdrawn' }]),
    'It was answered, but not delivered: 1 of 1 parts withdrawn: their reader was revoked or blocked.',
    undefined,
  ],
  [
    'such an answer, when its row is purged',
    about(undefined, [
      { type: 'admitted', lane: 'l' },
      finished('answered'),
      { ...partEnd('part.expired'), reason: 'withdrawn' },
    ]),
    'It was answered, but not delivered: withdrawn: their reader was revoked or blocked.',
    undefined,
  ],
  [
    'a flood',
    about(undefined, [{ type: 'dropped', reason: 'flood:person_messages' }]),
    'It was not let in: too many messages of its sender were waiting.',
    'limits.person_messages',
  ],
  [
    'a flood that was told',
    about({ outcome: 'flood:chat_mb' }, [], SENT),
    'It was not let in: the waiting messages of its chat were too large together; the chat was told.',
    'limits.chat_mb',
  ],
  [
    'a flood that an earlier version refused',
    about(undefined, [{ type: 'dropped', reason: 'flood' }]),
    'It was not let in: too many messages of its chat or sender were waiting.',
    'limits',
  ],
  [
    'an edit of what waits',
    about(undefined, [{ type: 'dropped', reason: 'amended' }]),
    'It is no message of its own: it changed a message that still waited, and is answered with that one.',
    undefined,
  ],
  [
    'a second delivery, when the row is purged',
    about(undefined, [
      { type: 'admitted', lane: 'l' },
      { type: 'finished', outcome: 'answered', ms: 1 },
      { type: 'dropped', reason: 'duplicate' },
    ]),
    'It was answered.',
    undefined,
  ],
  [
    'a limit of the turn',
    about({ outcome: 'limit:iterations' }, [], SENT),
    'It was answered, and cut short by the limit of model calls.',
    'max_iterations',
  ],
  [
    'a task cut by its calls',
    about({ profile: 'task', outcome: 'limit:iterations' }, [], SENT),
    'It was answered, and cut short by the limit of model calls.',
    'tasks.max_iterations',
  ],
  [
    'a task cut by its time',
    about({ profile: 'task', outcome: 'limit:time' }, [], SENT),
    'It was answered, and cut short by the limit of time.',
    'tasks.timeout_secs',
  ],
  [
    'a task of which one step took too long',
    about({ profile: 'task', outcome: 'limit:step' }, [], SENT),
    'It was answered, and cut short because one step took too long.',
    'tasks.step_timeout_secs',
  ],
  [
    'a task cut by its tokens',
    about({ profile: 'task', outcome: 'limit:tokens' }, [], SENT),
    'It was answered, and cut short by the limit of tokens.',
    'tasks.max_tokens',
  ],
  [
    'a task that repeated itself',
    about({ profile: 'task', outcome: 'limit:loop' }, [], SENT),
    'It was answered, and cut short because the model repeated itself.',
    undefined,
  ],
  [
    'a sub-agent cut by its calls, which no key sets',
    about({ profile: 'subagent', outcome: 'limit:iterations' }, [], SENT),
    'It was answered, and cut short by the limit of model calls.',
    undefined,
  ],
  [
    'a failure',
    about({ state: 'DEAD', outcome: 'failed:GH2101' }, [], SENT),
    'It was given up: the model refused the key (GH2101).',
    'api_key_env',
  ],
  [
    'a failure that was told, whose notice is on its way',
    about({ outcome: 'failed:GH2108' }, [], [{ state: 'PENDING' }]),
    'It failed: the model returned nothing (GH2108).',
    undefined,
  ],
  [
    'a limit of spending',
    about({ state: 'DEAD', outcome: 'failed:GH2112' }, [budget('stopped', 'sender')], SENT),
    'It was given up: the spending limit is reached (GH2112).',
    'budget.sender_usd',
  ],
  [
    'a question to the owner',
    about({ state: 'RUNNING' }, [{ type: 'started', attempt: 1, waitedMs: 1 }, budget('asked')]),
    'It waits for the owner: a limit of spending was met.',
    'budget.daily_usd',
  ],
  [
    'a question about a model whose price is unknown',
    about({ state: 'RUNNING' }, [
      { type: 'started', attempt: 1, waitedMs: 1 },
      { ...budget('asked'), unpriced: 'acme/large' },
    ]),
    'It waits for the owner: the price of the model is unknown.',
    'model_hints.price',
  ],
  [
    'a question that was answered',
    about({ state: 'RUNNING' }, [
      budget('asked'),
      { type: 'model.done', model: 'm', tokensIn: 1, tokensOut: 1, costUsd: 1, ms: 1 },
    ]),
    'It is being worked on.',
    undefined,
  ],
  ['messages before it', about({ state: 'NEW', attempts: 0, ahead: 2 }, []), 'It waits: 2 before it in its chat.', undefined],
  [
    'a retry',
    about({ state: 'RUNNING' }, [
      { type: 'started', attempt: 1, waitedMs: 1 },
      { type: 'failed', code: 'GH1301', detail: '' },
    ]),
    expect.stringMatching(/^It is being worked on, after a failure: .* \(GH1301\)\.$/),
    undefined,
  ],
  [
    'a message that was too old',
    about({ state: 'DEAD', outcome: 'too old' }, [], SENT),
    'It was given up: too old.',
    'gateway.max_message_age_hours',
  ],
  [
    'a message that ended its process too often',
    about({ state: 'DEAD', outcome: 'gave up after 3 attempts' }, [], SENT),
    'It was given up: gave up after 3 attempts.',
    'gateway.max_attempts',
  ],
  [
    'a message that was too old, when its row is dropped',
    about(undefined, [{ type: 'admitted', lane: 'l' }, finished('too old')]),
    'It was given up: too old.',
    'gateway.max_message_age_hours',
  ],
  [
    'a message that ended its process too often, when its row is dropped',
    about(undefined, [{ type: 'admitted', lane: 'l' }, finished('gave up after 12 attempts')]),
    'It was given up: gave up after 12 attempts.',
    'gateway.max_attempts',
  ],
  [
    'an answer that was too old to be sent',
    about({ outcome: 'answered' }, [], [{ state: 'EXPIRED', reason: 'expired' }]),
    'It was answered, but not delivered: 1 of 1 parts too old to be sent: expired.',
    'gateway.answer_expiry_hours',
  ],
  [
    'an answer that was too old to be sent, when its rows are purged',
    about(undefined, [{ type: 'admitted', lane: 'l' }, finished('answered'), partEnd('part.expired')]),
    'It was answered, but not delivered: too old to be sent.',
    'gateway.answer_expiry_hours',
  ],
  [
    'an answer that was refused, when its rows are purged',
    about(undefined, [finished('answered'), { ...partEnd('part.dead'), reason: 'blocked' }]),
    'It was answered, but not delivered: refused by the platform.',
    undefined,
  ],
  [
    'a recording that could not be listened to',
    about({ outcome: NOT_HEARD }, []),
    'It was not listened to: it is not known whether it spoke to the assistant.',
    'transcription',
  ],
  [
    'a step that took too long',
    about({ outcome: 'limit:step' }, [], SENT),
    'It was answered, and cut short because one step took too long.',
    undefined,
  ],
  [
    'a limit of tokens, which no key sets',
    about({ outcome: 'limit:tokens' }, [], SENT),
    'It was answered, and cut short by the limit of tokens.',
    undefined,
  ],
  [
    'a run that is parked',
    about({ state: 'PARKED', waitsFor: ['person', 'signal'] }, []),
    'It waits for the answer of a person and a decision.',
    undefined,
  ],
  ['a stop', about({ outcome: 'cancelled' }, [], []), 'It was stopped by a person.', undefined],
  ['a silent job', about({ source: 'job', outcome: 'silent' }, []), 'The job had nothing to tell.', undefined],
  [
    'a due time without a daemon',
    about(undefined, [
      { type: 'job', job: 'a', state: 'skipped', reason: 'it was 5 min late, and this job skips times that it missed' },
    ]),
    'The job did not run (skipped): it was 5 min late, and this job skips times that it missed.',
    undefined,
  ],
  ['no model', about({ outcome: 'no-model' }, [], SENT), 'There is no model to answer it.', 'provider'],
  [
    'an answer that did not arrive',
    about({ outcome: 'answered' }, [], [{ state: 'DEAD', reason: 'chat not found' }]),
    'It was answered, but not delivered: 1 of 1 parts refused by the platform: chat not found.',
    undefined,
  ],
])('%s is told with its reason, and with the key that decided', (_name, of, verdict, configKey) => {
  const why = whyOf(of, { now: NOW });
  expect([why.verdict, why.configKey]).toEqual([verdict, configKey]);
});

test('what waits says what it waits for: a daemon that does not run, a channel that is down', () => {
  const waiting = about({ state: 'NEW', attempts: 0 }, []);
  expect(whyOf(waiting, { now: NOW, daemon: 'down' }).verdict).toBe('It waits for the daemon, which does not run.');
  const held = about({ outcome: 'answered' }, [], [{ state: 'PENDING' }]);
  const on = (channel: 'down' | 'healthy' | 'removed') => whyOf(held, { now: NOW, daemon: 'up', channel }).verdict;
  expect(on('down')).toBe('It was answered; the answer is on its way: 0 of 1 parts sent; the channel is down.');
  expect(on('removed')).toBe('It was answered; the answer is on its way: 0 of 1 parts sent; the channel is not in the config.');
  expect(on('healthy')).toBe('It was answered; the answer is on its way: 0 of 1 parts sent.');
});

test('an answer that was not tried yet names what it waits behind', () => {
  const why = (part: Partial<PartSummary>) =>
    whyOf(about({ outcome: 'answered' }, [], [{ state: 'PENDING', attempts: 0, ...part }]), { now: NOW }).verdict;
  const first = 'It was answered; the answer is on its way: 0 of 1 parts sent';
  expect(why({ behind: { count: 2, reason: 'the login was refused' } })).toBe(
    `${first}; 2 before it in its chat: the login was refused.`,
  );
  expect(why({ elsewhere: 'connection refused' })).toBe(`${first}; in another chat of its channel: connection refused.`);
});

test('the line that an answer is held up is no piece of it, also when its time was over before it was sent', () => {
  const delay = { key: 'test/bot/m#delayed', state: 'EXPIRED', reason: 'expired' } as const;
  const why = whyOf(about({ outcome: 'answered' }, [], [delay, { state: 'SENT' }]), { now: NOW });
  expect([why.verdict, why.configKey]).toEqual(['It was answered.', undefined]);
});

test.each(['EXPIRED', 'UNKNOWN', 'DEAD'] as const)('a draft that ended %s is no piece of the answer that was sent', (state) => {
  const draft = { key: 'test/bot/m#draft', state, reason: 'expired' };
  const why = whyOf(about({ outcome: 'answered' }, [], [draft, { state: 'SENT' }]), { now: NOW });
  expect([why.verdict, why.configKey]).toEqual(['It was answered.', undefined]);
});

test('of an answer whose rows are gone the last word on each part counts, and what was not needed is no part of it', () => {
  const why = (run: Partial<RunSummary> | undefined, ...events: Partial<RunEvent>[]) =>
    whyOf(about(run, [finished('answered'), ...events]), { now: NOW });
  const again = why(undefined, partEnd('part.expired'), partEnd('part.sent'), partEnd('part.sent', 'k1'));
  expect([again.verdict, again.gates.at(-1)?.text]).toEqual(['It was answered.', '2 parts sent']);
  const draft = { ...partEnd('part.expired', 'draft'), reason: 'not needed any more' };
  expect(why(undefined, draft, partEnd('part.sent')).verdict).toBe('It was answered.');
  expect(why(undefined, partEnd('part.expired', 'test/bot/m#delayed'), partEnd('part.sent')).verdict).toBe('It was answered.');
  // `dead drop` takes the row of the part, and the run stays.
  const dropped = why({ outcome: 'answered' }, partEnd('part.expired'));
  expect([dropped.verdict, dropped.configKey]).toEqual([
    'It was answered, but not delivered: too old to be sent.',
    'gateway.answer_expiry_hours',
  ]);
});

test('what a platform or a provider says is for the operator only', () => {
  const why = whyOf(about({ outcome: 'answered' }, [], [{ state: 'DEAD', reason: 'words of a platform' }]), { now: NOW });
  expect(why.verdict).toContain('words of a platform');
  expect(why.told).not.toContain('words of a platform');
});

test('each gate that a run came to is named with what happened there', () => {
  const why = whyOf(
    about(
      { outcome: 'answered', attempts: 2 },
      [
        { type: 'received' },
        { type: 'started', attempt: 2, waitedMs: 1_500 },
        budget('cheaper'),
        { type: 'model.failed', model: 'a/b', code: 'GH2102', kind: 'rate-limit', detail: '', ms: 1 },
        { type: 'model.done', model: 'c/d', tokensIn: 1, tokensOut: 1, costUsd: 1, ms: 1 },
        { type: 'tool.done', tool: 'react', callId: '1', ok: false, ms: 1 },
      ],
      SENT,
    ),
    { now: NOW },
  );
  expect(why.gates.map(({ gate, state, text }) => [gate, state, text])).toEqual([
    ['received', 'passed', 'from test'],
    ['access', 'passed', 'let in'],
    ['lane', 'passed', 'begun 2 times, after 1.5 s'],
    ['budget', 'passed', 'the limit of the day was met ($5.02 of $5.00 spent): a cheaper model was asked'],
    ['model', 'passed', '1 of 2 calls answered, by c/d'],
    ['tools', 'passed', '1 call, 1 failed'],
    ['answer', 'passed', '1 part sent'],
  ]);
});

test('a call that was refused is named with its reason, and the key of the config that decided', () => {
  const denied = {
    type: 'tool.denied',
    tool: 'cron',
    callId: '1',
    reason: '"cron" forbids it',
    key: 'tool_policy.deny',
  } as const;
  const why = whyOf(about({ outcome: 'answered' }, [{ type: 'received' }, denied], SENT), { now: NOW });
  expect(why.verdict).toBe('It was answered, but cron was not allowed: "cron" forbids it.');
  expect(why.configKey).toBe('tool_policy.deny');
  expect(why.gates.find(({ gate }) => gate === 'tools')).toEqual({
    ...{ gate: 'tools', state: 'failed', detail: 'tool_policy.deny' },
    text: '0 calls, 1 refused (cron was not allowed: "cron" forbids it)',
  });
});

test('a call that waits for a yes is named until it has one', () => {
  const asked = { type: 'tool.asked', tool: 'cron', callId: '1', reason: 'a job needs a yes', key: 'tool_policy.mode' } as const;
  const parked = { state: 'PARKED', waitsFor: ['person'] } as const;
  const why = whyOf(about(parked, [asked]), { now: NOW });
  expect([why.verdict, why.configKey]).toEqual(['It waits for a yes to cron: a job needs a yes.', 'tool_policy.mode']);
  const then = whyOf(about(parked, [asked, { type: 'settled', callId: '1!', by: 'cli' }]), { now: NOW });
  expect(then.verdict).toBe('It waits for the answer of a person.');
});

test('what was answered without a turn says nothing of how often it was begun', () => {
  const why = whyOf(about({ outcome: 'help', attempts: 0 }, [{ type: 'received' }], SENT), { now: NOW });
  expect(why.gates.map(({ gate }) => gate)).toEqual(['received', 'access', 'answer']);
});

test('a run that waits for people says for whom, and since when', () => {
  const since = Date.UTC(2026, 10, 26, 4, 30);
  const parked = { state: 'PARKED', asks: [{ who: 'Ada (telegram, 42)', since }] } as const;
  const verdict = (run: Partial<RunSummary>) => whyOf(about({ ...parked, ...run }, []), { now: since + 60_000 }).verdict;
  expect(verdict({ waitsFor: ['person'] })).toBe('It waits for Ada (telegram, 42) since 2026-11-26 04:30 UTC.');
  expect(verdict({ waitsFor: ['person', 'timer'] })).toBe(
    'It waits for Ada (telegram, 42) since 2026-11-26 04:30 UTC and a time.',
  );
  expect(verdict({ waitsFor: ['person'], asks: [{ since }] })).toBe('It waits for the answer of a person.');
});

test('a question about spending that has its answer is waited for no more, also before the run goes on', () => {
  const events = [budget('asked'), { type: 'settled', callId: 'model/0', by: 'cli' }] as const;
  const why = whyOf(about({ state: 'NEW', attempts: 0 }, events), { now: NOW, daemon: 'down' });
  expect([why.verdict, why.configKey]).toEqual(['It waits for the daemon, which does not run.', undefined]);
  expect(why.gates.find(({ gate }) => gate === 'budget')?.state).toBe('passed');
});

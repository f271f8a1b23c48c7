import { spawnSync } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { ShutOut } from '../core/people.ts';
import type { RunRow } from '../core/run.ts';
import type { NewWait, Question } from '../core/wait.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { job, MEMBER } from '../testing/jobs.ts';
import { done, line, message, part } from '../testing/journal-rows.ts';
import { needs } from '../testing/needs.ts';
import { Database } from './database.ts';
import { type OpenedJournal, openJournal } from './open.ts';

const EVE = 'test:eve';
const BUDGET = 'budget/sender/2026-1-1';
const BLOCK: ShutOut = { kind: 'shut-out', who: { channel: 'test', senderId: 'eve' }, as: 'blocked', by: 'cli' };
const REVOKE: ShutOut = { ...BLOCK, as: 'revoked' };

/** A message that is let in: in the private chat of its sender unless it says otherwise. */
async function say(journal: Journal, n: string, senderId: string, more: Partial<InboundMessage> = {}): Promise<number> {
  const from = message(n, { chatId: `chat of ${senderId}`, senderId, ...more });
  const lane = `test/bot/${from.chatId}/${n}`;
  const [accepted] = await journal.accept([{ kind: 'admit', message: from, lane, session: `_main:test:${from.chatId}` }]);
  if (accepted?.kind !== 'new') throw new Error(`${n} was ${accepted?.kind}`);
  return accepted.row.seq;
}

async function run(
  journal: Journal,
  ...said: Parameters<typeof say> extends [Journal, ...infer Rest] ? Rest : never
): Promise<RunRow> {
  const row = await journal.claim(await say(journal, ...said));
  if (!row) throw new Error(`${said[0]} cannot run`);
  return row;
}

function question(callId: string, code: string, chat: string, by: readonly string[] = []): NewWait {
  const [channel = '', account = '', chatId = ''] = chat.split('/');
  const about: Question = { text: 'May I?', answer: 'approve', to: { channel, account, chatId }, by, expiresAt: 9e15 };
  return { callId, kind: 'person', about, asked: { code, chat, parts: [] } };
}

async function park(journal: Journal, { seq, generation }: RunRow, ...waits: NewWait[]): Promise<void> {
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
}

function answer(key: string, chatId: string, isGroup = false) {
  return part(key, { lane: `test/bot/${chatId}`, part: outbound({ key, chatId, ...(isGroup ? { isGroup } : {}) }) });
}

/** Everything that a person can have, once of Eve and once of Ada. */
async function fill({ journal, pairing }: OpenedJournal, path: string): Promise<{ readonly running: RunRow }> {
  for (const senderId of ['eve', 'ada']) {
    const principal = `test:${senderId}`;
    await pairing.request({ channel: 'test', account: 'bot', senderId, senderName: 'X', chatId: `chat of ${senderId}` }, 0);
    await pairing.approve({ channel: 'test', senderId }, 1);
    await say(journal, `new-${senderId}`, senderId);
    await say(journal, `group-${senderId}`, senderId, { chatId: 'group', isGroup: true, mentionsBot: true });
    const signal = { callId: 's', kind: 'signal', about: 'budget/day/2026-1-1' } as const;
    await park(
      journal,
      await run(journal, `parked-${senderId}`, senderId),
      question('q', `CODE-${senderId}`, 'test/bot/group'),
      signal,
    );
    await journal.commit([
      { kind: 'job', job: job({ id: `job-${senderId}`, authority: { ...MEMBER, principal }, nextDue: 9e12 }) },
      { kind: 'part', part: answer(`private-${senderId}`, `chat of ${senderId}`) },
      { kind: 'part', part: answer(`group-${senderId}`, 'group', true) },
    ]);
  }
  const asked: Question = { text: 'Pay?', answer: 'approve', to: 'owner', by: [], expiresAt: 9e15 };
  const ask = (id: string, code: string) =>
    ({ kind: 'ask', id, question: asked, asked: { code, parts: [] }, late: { ok: true, output: 'deny' } }) as const;
  await journal.commit([ask(BUDGET, 'PAY-1'), ask('budget/day/2026-1-1', 'PAY-2')]);
  await park(journal, await run(journal, 'pays', 'eve'), { callId: 's', kind: 'signal', about: BUDGET });
  // Asked on behalf of Ada: Eve alone, Eve or Bob, and whoever writes in the private chat of Eve.
  await park(journal, await run(journal, 'asks-1', 'ada'), question('q', 'EVE-1', 'test/bot/group', [EVE]));
  await park(journal, await run(journal, 'asks-2', 'ada'), question('q', 'EVE-2', 'test/bot/group', [EVE, 'test:bob']));
  await park(journal, await run(journal, 'asks-3', 'ada'), question('q', 'EVE-3', 'test/bot/chat of eve'));
  using db = new Database(path, { busyMs: 5_000 });
  const grant =
    "INSERT INTO approval (id, principal, tool, digest, scope, given_by, given_at) VALUES (?, ?, 't', 'd', 'always', ?, 0)";
  db.run(grant, 'of-eve', EVE, 'cli');
  db.run(grant, 'by-eve', 'test:ada', EVE);
  db.run(grant, 'of-ada', 'test:ada', 'cli');
  for (const one of [EVE, 'mail:eve', 'test:ada'])
    db.run("INSERT INTO person (principal, id, name, role, linked_at) VALUES (?, ?, 'N', 'member', 0)", one, one.slice(-3));
  return { running: await run(journal, 'running', 'eve') };
}

/** What is left of each, by name. */
function look(path: string) {
  using db = new Database(path, { busyMs: 5_000 });
  const list = (sql: string) => db.all<{ one: string }>(sql).map(({ one }) => one);
  return {
    // With the claims that they had: a cancelled run has one more, so that its turn is fenced.
    cancelled: list("SELECT substr(key, 12) || ' ' || generation AS one FROM run WHERE outcome = 'cancelled' ORDER BY 1"),
    active: list("SELECT substr(key, 12) AS one FROM run WHERE state IN ('NEW', 'RUNNING', 'PARKED') ORDER BY 1"),
    questions: list("SELECT code AS one FROM wait WHERE state = 'OPEN' AND code IS NOT NULL ORDER BY 1"),
    withdrawn: list("SELECT DISTINCT by AS one FROM wait WHERE state = 'SETTLED'"),
    jobs: list('SELECT id AS one FROM job WHERE enabled = 1 ORDER BY 1'),
    parts: list("SELECT key AS one FROM outbox WHERE state = 'PENDING' ORDER BY 1"),
    grants: list('SELECT id AS one FROM approval ORDER BY 1'),
    links: list('SELECT principal AS one FROM person ORDER BY 1'),
    paired: list("SELECT sender_id || ' ' || state AS one FROM pairing ORDER BY 1"),
    blocks: list('SELECT sender AS one FROM block'),
    audit: list("SELECT kind AS one FROM audit WHERE kind LIKE 'person.%'"),
  };
}

const BEFORE = {
  cancelled: [],
  active: [
    'asks-1',
    'asks-2',
    'asks-3',
    'group-ada',
    'group-eve',
    'new-ada',
    'new-eve',
    'parked-ada',
    'parked-eve',
    'pays',
    'running',
  ],
  questions: ['CODE-ada', 'CODE-eve', 'EVE-1', 'EVE-2', 'EVE-3', 'PAY-1', 'PAY-2'],
  withdrawn: [],
  jobs: ['job-ada', 'job-eve'],
  parts: ['group-ada', 'group-eve', 'private-ada', 'private-eve'],
  grants: ['by-eve', 'of-ada', 'of-eve'],
  links: ['mail:eve', 'test:ada', 'test:eve'],
  paired: ['ada approved', 'eve approved'],
  blocks: [],
  audit: [],
};
const BLOCKED = {
  cancelled: ['group-eve 1', 'new-eve 1', 'parked-eve 2', 'pays 2', 'running 2'],
  active: ['asks-1', 'asks-2', 'asks-3', 'group-ada', 'new-ada', 'parked-ada'],
  questions: ['CODE-ada', 'EVE-2', 'PAY-2'],
  withdrawn: ['withdrawn'],
  jobs: ['job-ada'],
  parts: ['group-ada', 'group-eve', 'private-ada'],
  grants: ['of-ada'],
  links: ['test:ada'],
  paired: ['ada approved'],
  blocks: ['eve'],
  audit: ['person.blocked'],
};

async function setup() {
  const dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [line('left')], tools: [] }) });
  const { running } = await fill(opened, path);
  return {
    ...{ dir: dir.path, path, clock, running, ...opened },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('S3 a block ends at once all that a person has going, and nothing of others', async () => {
  await using at = await setup();
  const { journal, running, pairing, people } = at;
  expect(look(at.path)).toEqual(BEFORE);
  await journal.commit([{ ...BLOCK, reason: 'spam' }]);
  expect(look(at.path)).toEqual(BLOCKED);
  // The turn that runs can neither go on nor answer, and is told so.
  expect(await journal.cancelled([running.seq, 1])).toEqual(expect.arrayContaining([running.seq]));
  expect(await journal.step(running.seq, running.generation, { n: 0, kind: 'model', state: 'DONE', value: {} })).toBe(false);
  expect(await journal.finish(done(running, [part('late')]))).toBe(false);
  expect(await pairing.isBlocked({ channel: 'test', senderId: 'eve' })).toBe(true);
  expect(await people.blocks()).toEqual([{ channel: 'test', senderId: 'eve', by: 'cli', at: at.clock.now(), reason: 'spam' }]);
  // What waited for the withdrawn questions goes on.
  expect((await journal.work()).lanes).toEqual(expect.arrayContaining(['test/bot/chat of ada/asks-1']));
  expect((await journal.jobs.get('job-eve'))?.lastStatus).toBe('error: its creator was blocked');
  expect((await people.audit({ subject: EVE })).at(-1)).toMatchObject({
    ...{ kind: 'person.blocked', by: 'cli' },
    data: { runs: 5, questions: 4, jobs: 1, parts: 1, grants: 2, links: 1 },
  });
  // A part that is withdrawn is no letter to be sent again.
  expect(await journal.dead.list()).toEqual([]);
});

test('S3 an answer that is on its way when its reader is blocked is not sent again', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await journal.part('private-eve');
  if (!row) throw new Error('no part');
  await journal.sending(row.seq);
  await journal.commit([BLOCK]);
  expect((await journal.part('private-eve'))?.state).toBe('SENDING');
  await journal.settle(row.seq, { kind: 'retry', notBefore: 0, reason: '429' });
  expect((await journal.part('private-eve'))?.state).toBe('EXPIRED');
});

test('S3 what was let in before a block and is committed after it begins nothing', async () => {
  await using at = await setup();
  await at.journal.commit([BLOCK]);
  const place = { message: message('late', { senderId: 'eve' }), lane: 'test/bot/c', session: 's' };
  const parts = [part('answer')];
  const accepted = await at.journal.accept([
    { kind: 'admit', ...place },
    { kind: 'answer', ...place, outcome: 'help', parts },
  ]);
  expect(accepted.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
  expect((await at.journal.counts()).refused).toEqual([{ channel: 'test', reason: 'blocked', count: 2 }]);
  expect(await at.journal.part('answer')).toBeUndefined();
});

test('S3 who is revoked is turned away like one who was denied, and can be let in again by id', async () => {
  await using at = await setup();
  await at.journal.commit([REVOKE]);
  expect(look(at.path)).toEqual(REVOKED);
  const who = { channel: 'test', account: 'bot', senderId: 'eve' };
  expect(await at.pairing.decided(who)).toBe('denied');
  await at.pairing.approve(who, at.clock.now());
  expect(await at.pairing.decided(who)).toBe('approved');
});

/** One request of Eve with the words of others behind hers, whose first model call is under way. */
async function collect({ journal }: OpenedJournal, lane: string): Promise<RunRow> {
  const group = { chatId: lane, isGroup: true, mentionsBot: true };
  const said = (senderId: string) => message(`${lane}-${senderId}`, { ...group, senderId });
  const place = { lane, session: `_main:test:${lane}` };
  await journal.accept(
    ['eve', 'ada', 'bob', 'cleo', 'eve2'].map((id) => ({ kind: 'admit' as const, message: said(id), ...place })),
  );
  const [first, ...others] = await journal.waiting(lane, 9);
  const row = await journal.claim(first?.seq ?? 0, undefined, { merged: others.map(({ seq }) => seq), superseded: [] });
  if (!row) throw new Error('nothing was claimed');
  return row;
}

test.each([BLOCK, REVOKE])('what others said in a collected request of one who is $as is answered by itself', async (write) => {
  await using at = await setup();
  const { journal, pairing } = at;
  await collect(at, 'test/bot/g1');
  const answered = await collect(at, 'test/bot/g2');
  await journal.step(answered.seq, answered.generation, { n: 0, kind: 'model', state: 'DONE', value: '{}' });
  await journal.commit([{ ...BLOCK, who: { channel: 'test', senderId: 'bob' } }]);
  await pairing.request({ channel: 'test', account: 'bot', senderId: 'cleo', senderName: 'X', chatId: 'c' }, 0);
  await journal.commit([{ ...REVOKE, who: { channel: 'test', senderId: 'cleo' } }]);
  await journal.commit([write]);
  const left = (await journal.waiting('test/bot/g1', 9)).map((row) => [row.message?.senderId, row.generation]);
  // Nothing of Bob, who is blocked, and of Cleo, who is revoked.
  expect(left).toEqual([
    ['ada', 0],
    ['eve2', 0],
  ]);
  // A tool may have run for them.
  expect(await journal.waiting('test/bot/g2', 9)).toEqual([]);
});

test('a block that is lifted leaves a stranger, who may ask again', async () => {
  await using at = await setup();
  const { journal, pairing, people } = at;
  const who = { channel: 'test', account: 'bot', senderId: 'eve', senderName: 'Eve', chatId: 'c' };
  await journal.commit([BLOCK]);
  await journal.commit([{ kind: 'unblock', who, by: 'cli' }]);
  await journal.commit([{ kind: 'unblock', who, by: 'cli' }]);
  expect([await pairing.isBlocked(who), await people.blocks()]).toEqual([false, []]);
  expect((await pairing.request(who, at.clock.now())).code).toBeDefined();
  expect((await people.audit({ subject: EVE })).map(({ kind }) => kind)).toEqual([
    'pair.approved',
    'person.blocked',
    'person.unblocked',
  ]);
});

const REVOKED = { ...BLOCKED, paired: ['ada approved', 'eve denied'], blocks: [], audit: ['person.revoked'] };
/** Of `npm run sweep:people`: 1. A process a write takes minutes. */
const EVERY = Number(process.env['KILL_EVERY'] ?? 9);

const childOf = (write: ShutOut) => `
  const { openJournal } = await import('${new URL('./open.ts', import.meta.url).href}');
  const { systemClock: clock } = await import('${new URL('../lib/clock.ts', import.meta.url).href}');
  const opened = await openJournal({ dir: process.argv[1], clock, sync: 'in-commit', checks: false, remains: () => ({ lines: [], tools: [] }) });
  await opened.journal.commit([${JSON.stringify(write)}]);
  process.exit(7);`;

test.for([
  ['a block', BLOCK, BLOCKED],
  ['a revoke', REVOKE, REVOKED],
] as const)(
  'S3 killed at any write, %s is on disk as a whole or not at all, and stays so at the next start',
  { timeout: 3_600_000 },
  async ([, write, after], context) => {
    needs(context, 'strace', '-V');
    await using at = await setup();
    const ends = new Set<unknown>();
    let kills = 0;
    for (let when = 1, status: number | null = null; status !== 7; when += EVERY) {
      await using copy = await tempDir();
      await cp(at.dir, copy.path, { recursive: true });
      const kill = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', '-e', `inject=pwrite64:signal=SIGKILL:when=${when}`];
      const child = spawnSync('strace', [...kill, process.execPath, '--input-type=module', '-e', childOf(write), copy.path], {
        encoding: 'utf8',
      });
      status = child.status;
      if (status !== 7) kills += 1;
      const path = join(copy.path, 'journal.db');
      const left = look(path);
      expect([BEFORE, after]).toContainEqual(left);
      ends.add(left.audit.join());
      await using next = await openJournal({ dir: copy.path, clock: at.clock, remains: () => ({ lines: [], tools: [] }) });
      await next.journal.recover({ maxAttempts: 3, maxAgeMs: 86_400_000 }, () => []);
      expect(look(path)).toEqual(left);
    }
    expect([...ends]).toEqual(['', after.audit.join()]);
    if (EVERY === 1) console.info(`${kills} kills`);
  },
);

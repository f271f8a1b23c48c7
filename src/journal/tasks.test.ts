import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewRun } from '../core/new-run.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Task } from '../core/task.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { openJournal } from './open.ts';

const DAY = 86_400_000;
const authority = { principal: 'test:1', role: 'member', mode: 'guarded', policies: [] } as const;
const to = { channel: 'test', account: 'bot', chatId: 'c' };

const task = (id: string, more: Partial<NewRun> = {}): NewRun => ({
  ...{
    key: `api/task.cli/${id}`,
    source: { kind: 'api', client: 'task.cli' },
    profile: 'task',
    lane: `task/${id}`,
    session: `task:${id}`,
  },
  ...{ prompt: { text: `do ${id}`, media: [], at: '2026-01-01T00:00:00.000Z' }, authority },
  ...{ record: { title: id.toUpperCase(), keepDays: 30 }, ...more },
});

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const add = async (...runs: NewRun[]) => void (await journal.commit(runs.map((run) => ({ kind: 'run', run }))));
  const end = async (seq: number, state: 'DONE' | 'DEAD', outcome = 'answered') => {
    const row = await journal.claim(seq);
    await journal.commit([], {
      seq,
      generation: row?.generation ?? 0,
      end: { state, outcome, result: { ok: true, output: 'r' } },
    });
  };
  const numbers = async (query: Parameters<typeof journal.tasks.list>[0]) =>
    (await journal.tasks.list(query)).map(({ number }) => number);
  /** Days pass as a daemon sees them: it prunes each hour. */
  const pass = async (days: number) => {
    for (let n = 0; n < days * 3; n += 1) {
      await clock.advance(DAY / 3);
      await opened.prune();
    }
  };
  const close = async () => {
    await journal[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { path: dir.path, opened, journal, clock, add, end, numbers, pass, [Symbol.asyncDispose]: close };
}

test('tasks are listed newest first, by person, by chat, and those that are not over', async () => {
  await using at = await setup();
  const other = { ...authority, principal: 'test:2' };
  await at.add(task('a'), task('b', { authority: other }), task('c', { replyTo: to }));
  await at.add({ ...task('s'), profile: 'session' });
  await at.end(1, 'DONE');
  expect(await at.numbers({ limit: 10 })).toEqual([3, 2, 1]);
  expect(await at.numbers({ limit: 2 })).toEqual([3, 2]);
  expect(await at.numbers({ limit: 10, isOpen: true })).toEqual([3, 2]);
  expect(await at.numbers({ limit: 10, principal: 'test:2' })).toEqual([2]);
  expect(await at.numbers({ limit: 10, chat: to })).toEqual([3]);
  expect(await at.numbers({ limit: 10, chat: { ...to, chatId: 'd' } })).toEqual([]);
  expect([await at.journal.tasks.countOpen(), await at.journal.tasks.countOpen('test:1')]).toEqual([2, 1]);
  expect(await at.journal.tasks.get(4)).toBeUndefined();
});

test('a task that was cancelled stays as far as it came', async () => {
  await using at = await setup();
  await at.add(task('a'));
  await at.journal.commit([{ kind: 'cancel', run: 'api/task.cli/a' }]);
  expect(await at.journal.tasks.get(1)).toMatchObject({ status: 'cancelled', progress: 0 });
});

test('a step says how far its task is, and what it came to stands beside it once it is over', async () => {
  await using at = await setup();
  await at.add(task('a'));
  expect(await at.journal.tasks.get(1)).toMatchObject({ title: 'A', text: 'do a', status: 'pending', progress: 0 });
  const row = await at.journal.claim(1);
  await at.journal.step(1, row?.generation ?? 0, { n: 0, kind: 'model', state: 'DONE', value: {}, progress: 10 });
  const running = await at.journal.tasks.get('api/task.cli/a');
  expect(running).toMatchObject({ status: 'running', progress: 10 });
  expect(running).not.toHaveProperty('keepUntil');
  const end = { state: 'DONE', outcome: 'answered', result: { ok: true, output: 'r' } } as const;
  await at.journal.commit([], { seq: 1, generation: row?.generation ?? 0, end });
  expect(await at.journal.tasks.get(1)).toMatchObject({
    ...{ status: 'completed', progress: 100, result: { ok: true, output: 'r' } },
    keepUntil: at.clock.now() + 30 * DAY,
  });
});

test('a task is kept from its end on for as many days as it says, whether it is done, cancelled or failed', async () => {
  await using at = await setup();
  const keepDays = (days: number) => ({ record: { title: 't', keepDays: days } });
  await at.add(task('a', keepDays(2)), task('b'), task('c', keepDays(2)), task('d', keepDays(2)), {
    ...task('s'),
    profile: 'session',
  });
  const { record: _none, ...plain } = task('p');
  await at.add({ ...plain, profile: 'subagent' });
  await at.pass(3);
  await at.end(1, 'DONE');
  await at.end(2, 'DONE');
  await at.end(3, 'DEAD', 'failed:GH2003');
  await at.journal.commit([{ kind: 'cancel', run: 'api/task.cli/d' }]);
  await at.end(6, 'DONE');
  await at.pass(1);
  expect(await at.numbers({ limit: 10 })).toEqual([4, 3, 2, 1]);
  await at.clock.advance((1.5 * DAY) / 2);
  await at.pass(1);
  expect(await at.numbers({ limit: 10 })).toEqual([2]);
  expect(await at.journal.tasks.get(6)).toBeDefined();
  await at.pass(8);
  expect(await at.journal.tasks.get(6)).toBeUndefined();
  expect(await at.numbers({ limit: 10 })).toEqual([2]);
  expect((await at.journal.counts()).inbox).toMatchObject({ DEAD: 0 });
});

test('a task is kept beyond its days while something that it began is under way, because that works in its files', async () => {
  await using at = await setup();
  const child = (of: string, call: string): NewRun => ({
    ...task(`${of}#${call}`, { lane: `task:a#run:${call}`, session: `task:a#run:${call}`, workspace: 'task:a' }),
    ...{
      key: `api/task.cli/${of}#${call}`,
      source: { kind: 'run', parent: `api/task.cli/${of}`, callId: call },
      profile: 'subagent',
    },
  });
  await at.add(task('a', { record: { title: 'A', keepDays: 1 } }), child('a', 'x'), child('a#x', 'report'));
  await at.end(1, 'DONE');
  await at.pass(3);
  expect(await at.journal.tasks.get(1)).toBeDefined();
  await at.end(2, 'DONE');
  await at.pass(3);
  expect(await at.journal.tasks.get(1)).toBeDefined();
  await at.end(3, 'DONE');
  await at.pass(1);
  expect(await at.journal.tasks.get(1)).toBeUndefined();
});

test('a dead task is resumed once, as if it had not been tried, and no other run is', async () => {
  await using at = await setup();
  await at.add(task('a'), { ...task('s'), profile: 'session' });
  await at.end(1, 'DEAD', 'failed:GH2003');
  await at.end(2, 'DEAD', 'failed:GH2003');
  const woken: string[] = [];
  using _listening = at.journal.wakeup.listen((what, lane) => woken.push(`${what} ${lane}`));
  await at.journal.commit([{ kind: 'resume', run: 'api/task.cli/a' }]);
  await at.journal.commit([{ kind: 'resume', run: 'api/task.cli/a' }]);
  await at.journal.commit([{ kind: 'resume', run: 'api/task.cli/s' }]);
  expect(woken).toEqual(['run task/a']);
  expect(await at.journal.tasks.get(1)).toMatchObject({ status: 'pending' });
  expect((await at.journal.counts()).inbox).toMatchObject({ NEW: 1, DEAD: 1 });
  expect(await at.journal.claim(1)).toMatchObject({ attempts: 1 });
});

test('news that cannot be sent goes to the other chat in the same transaction, once', async () => {
  await using at = await setup();
  const part = (key: string, chatId: string) => ({
    part: { ...to, chatId, key, messageId: 'm', ordinal: 0, count: 1, text: key, format: 'plain' as const },
    ...{ lane: `test/bot/${chatId}`, expiresAt: at.clock.now() + DAY },
  });
  const otherwise = [part('x#0', 'other')];
  await at.journal.enqueue([{ ...part('a#0', 'c'), otherwise } as never, { ...part('b#0', 'c'), otherwise } as never]);
  const woken: string[] = [];
  using _listening = at.journal.wakeup.listen((what, lane) => woken.push(`${what} ${lane}`));
  const [first, second] = await at.journal.pending('test/bot/c', 2);
  await at.journal.settle(first?.seq ?? 0, { kind: 'dead', reason: 'gone' });
  expect(woken).toEqual(['part test/bot/other']);
  expect((await at.journal.pending('test/bot/other', 5)).map((row) => row.part.key)).toEqual(['x#0']);
  await at.journal.settle(second?.seq ?? 0, { kind: 'dead', reason: 'gone' });
  expect(await at.journal.pending('test/bot/other', 5)).toHaveLength(1);
});

test.each(['while it runs', 'at a start'])(
  'news that grew too old %s goes to the other chat with a life of its own',
  async (when) => {
    await using at = await setup();
    const part = (key: string, chatId: string) => ({
      part: { ...to, chatId, key, messageId: 'm', ordinal: 0, count: 1, text: key },
      ...{ lane: `test/bot/${chatId}`, expiresAt: at.clock.now() + DAY },
    });
    await at.journal.enqueue([{ ...part('a#0', 'c'), otherwise: [part('x#0', 'other')] }]);
    const [first] = await at.journal.pending('test/bot/c', 1);
    // A start takes a gap for half a day of the part's life at most, see `absorbGap`.
    for (let half = 0; half < 2; half += 1) {
      await at.clock.advance(DAY / 2 + 1);
      if (when === 'at a start') await at.journal.recover(BOUNDS, () => []);
    }
    if (when === 'while it runs') await at.journal.settle(first?.seq ?? 0, { kind: 'expired', isOld: true });
    const told = await at.journal.pending('test/bot/other', 9);
    expect(told.map((row) => [row.part.key, row.expiresAt])).toEqual([['x#0', at.clock.now() + DAY]]);
  },
);

test.each(['refused', 'refused after the next one was written', 'sent to the other chat at once'])(
  'the news of a task that was resumed goes to the other chat where its first news was %s',
  async (first) => {
    await using at = await setup();
    const key = 'api/task.cli/a';
    await at.add(task('a'));
    const part = (id: string, chatId: string) => ({
      part: { ...to, chatId, key: id, messageId: key, ordinal: 0, count: 1, text: id },
      ...{ lane: `test/bot/${chatId}`, expiresAt: at.clock.now() + DAY },
    });
    const other = part(`${key}#elsewhere#0`, 'other');
    const endWith = async (state: 'DONE' | 'DEAD', parts: readonly NewPart[]) => {
      const row = await at.journal.claim(1);
      await at.journal.finish({ seq: 1, generation: row?.generation ?? 0, state, outcome: 'o', lines: [], parts });
    };
    const refuse = async () => {
      for (const { seq } of await at.journal.pending('test/bot/c', 9))
        await at.journal.settle(seq, { kind: 'dead', reason: 'blocked' });
    };
    const news = [{ ...part(`${key}#0`, 'c'), otherwise: [other] }];
    await endWith('DEAD', first.startsWith('refused') ? news : [other]);
    if (first === 'refused') await refuse();
    await at.journal.commit([{ kind: 'resume', run: key }]);
    await endWith('DONE', news);
    await refuse();
    const told = await at.journal.pending('test/bot/other', 9);
    expect(told.map((row) => row.part.key)).toEqual([other.part.key, `${other.part.key}~in1.2`]);
  },
);

test('a sub-agent has the title that people are told, not what is written above its task for the model', async () => {
  await using at = await setup();
  const parent = task('a');
  const prompt = { ...parent.prompt, text: '[You are a sub-agent.]\n\nlook after it', child: { label: 'look after it' } };
  const source = { kind: 'run', parent: parent.key, callId: 'call_0' } as const;
  await at.add(parent);
  await at.add({ key: 'child', source, profile: 'subagent', lane: 'l', session: 's', prompt, authority });
  expect(await at.journal.tasks.children(1)).toMatchObject([{ title: 'look after it', text: prompt.text }]);
});

test('a task that is resumed while what it left is removed is at work, and not gone', async () => {
  await using at = await setup();
  await at.add(task('a', { record: { title: 'A', keepDays: 1 } }));
  await at.end(1, 'DEAD', 'failed:GH2103');
  await at.pass(1);
  await at.clock.advance(DAY / 3);
  await at.opened.prune(async ({ key }) => void (await at.journal.commit([{ kind: 'resume', run: key }])));
  expect(await at.journal.tasks.get(1)).toMatchObject({ status: 'pending' });
});

test('a task whose files cannot be removed stays, and keeps no other from going', async () => {
  await using at = await setup();
  const ids = Array.from({ length: 45 }, (_, n) => `t${n}`);
  await at.add(...ids.map((id) => task(id, { record: { title: id, keepDays: 1 } })));
  for (const n of ids.keys()) await at.end(n + 1, 'DONE');
  await at.pass(1);
  await at.clock.advance(DAY / 3);
  const stuck = new Set(ids.slice(0, 22).map((id) => `api/task.cli/${id}`));
  const asked: string[] = [];
  const forget = async ({ key }: Task): Promise<void> => {
    asked.push(key);
    if (stuck.has(key)) throw new Error(`the files of ${key} stay`);
  };
  await expect(at.opened.prune(forget)).rejects.toThrow('the files of api/task.cli/t0 stay');
  expect(asked).toEqual(ids.map((id) => `api/task.cli/${id}`));
  expect((await at.journal.tasks.list({ limit: 99 })).map(({ key }) => key).reverse()).toEqual([...stuck]);
  stuck.clear();
  await at.opened.prune(forget);
  expect(await at.journal.tasks.list({ limit: 99 })).toEqual([]);
});

test('a task whose files cannot be removed keeps no other housekeeping from its work', async () => {
  await using at = await setup();
  const copy = join(at.path, 'journal.db.v3.bak');
  await writeFile(copy, '');
  await at.add(task('a', { record: { title: 'A', keepDays: 1 } }));
  await at.end(1, 'DONE');
  const failures: unknown[] = [];
  for (let n = 0; n < 66; n += 1) {
    await at.clock.advance(DAY / 2);
    await at.opened.prune(() => Promise.reject(new Error('stays'))).catch((error: unknown) => void failures.push(error));
  }
  expect([failures.length > 60, existsSync(copy)]).toEqual([true, false]);
});

import { expect, test } from 'vitest';
import type { NewRun } from '../core/new-run.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Admission, RunRow } from '../core/run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { LANE, message, part, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const authority = { principal: 'test:1', role: 'owner', mode: 'full', policies: [] } as const;
const WORK = { lane: `${LANE}#work`, session: `${SESSION}#work` };

const run = (key: string, more: Partial<NewRun>): NewRun => ({
  ...{ key, source: { kind: 'api', client: 'task.chat' }, profile: 'task', lane: `${LANE}/#task:${key}` },
  ...{ session: `${WORK.session}#task:${key}`, workspace: WORK.session, authority },
  ...{ prompt: { text: key, media: [], at: '' }, ...more },
});

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const open = async () => (await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) })).journal;
  let journal = await open();
  let said = 0;
  const say = async (more: Partial<Extract<Admission, { kind: 'answer' }>>) => {
    said += 1;
    const place = { message: message(`s${said}`), lane: LANE, session: SESSION };
    await journal.accept([{ kind: 'answer', ...place, outcome: 'topic', parts: [part(`plain${said}`)], ...more }]);
  };
  await say({ topic: { to: 'work' } });
  await say({ topic: { to: '' } });
  return {
    journal: () => journal,
    say,
    begin: (...runs: readonly NewRun[]) => journal.commit(runs.map((one) => ({ kind: 'run', run: one }) as const)),
    async claim(lane: string): Promise<RunRow> {
      const [row] = await journal.waiting(lane, 1);
      const claimed = row && (await journal.claim(row.seq));
      if (!claimed) throw new Error(`nothing waits in ${lane}`);
      return claimed;
    },
    end: ({ seq, generation }: RunRow) =>
      journal.commit([], { seq, generation, end: { state: 'DONE', outcome: 'answered', result: { ok: true, output: 'gold' } } }),
    remove: (parts?: (goingOn: number) => readonly NewPart[]) => say({ topic: { gone: 'work', ...(parts ? { parts } : {}) } }),
    async restart() {
      await journal[Symbol.asyncDispose]();
      journal = await open();
    },
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a deleted topic in which nothing works is unused at once, until its directory is removed', async () => {
  await using at = await setup();
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  await at.remove();
  await at.restart();
  expect(await at.journal().goneTopics.unused()).toEqual([WORK.session]);
  await at.journal().goneTopics.removed(WORK.session);
  expect(await at.journal().goneTopics.unused()).toEqual([]);
});

test('a task that goes on keeps the directory, across a restart too, and the answer says how many go on', async () => {
  await using at = await setup();
  await at.begin(run('a', {}), run('elsewhere', { workspace: SESSION }));
  await at.remove((goingOn) => [part(`on${goingOn}`)]);
  expect((await at.journal().pending(LANE, 10)).map(({ part: { key } }) => key)).toEqual(['plain1', 'plain2', 'on1']);
  await at.restart();
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  await at.end(await at.claim(`${LANE}/#task:a`));
  expect(await at.journal().goneTopics.unused()).toEqual([WORK.session]);
});

test('a sub-agent in the background goes on with the run that began it ended, and its result is told before the directory is free', async () => {
  await using at = await setup();
  const own = { lane: `${WORK.session}#run:c`, session: `${WORK.session}#run:c` };
  await at.begin(run('parent', { ...WORK, profile: 'session' }));
  await at.claim(WORK.lane);
  const child = { label: 'dig', report: { ...WORK, authority, since: 0 } };
  const source = { kind: 'run', parent: 'parent', callId: 'c' } as const;
  const awaited = { lane: `${WORK.session}#run:d`, session: `${WORK.session}#run:d`, source: { ...source, callId: 'd' } };
  await at.begin(
    run('parent#c', { ...own, source, profile: 'subagent', prompt: { text: 'dig', media: [], at: '', child } }),
    run('parent#d', { ...awaited, profile: 'subagent' }),
  );
  await at.remove();
  expect(await at.journal().prompted.of('parent')).toMatchObject({ outcome: 'cancelled' });
  expect(await at.journal().prompted.of('parent#d')).toMatchObject({ outcome: 'cancelled' });
  await at.end(await at.claim(own.lane));
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  const report = await at.claim(WORK.lane);
  expect(report.key).toBe('parent#c#report');
  await at.end(report);
  expect(await at.journal().goneTopics.unused()).toEqual([WORK.session]);
});

test('a result that waits to be told when its topic is deleted is told all the same, and is not held', async () => {
  await using at = await setup();
  const source = { kind: 'run', parent: 'parent#c', callId: 'report' } as const;
  const tells = { since: 0, asker: 'parent', session: `${WORK.session}#run:c`, excerpt: 'gold' };
  await at.begin(run('report', { ...WORK, source, profile: 'session', prompt: { text: 'gold', media: [], at: '', tells } }));
  await at.remove();
  const { seq, generation } = await at.claim(WORK.lane);
  const topic = { name: 'work', notice: part('held'), full: '' };
  const told = { ...part('told'), topic };
  await at.journal().finish({ seq, generation, state: 'DONE', outcome: 'answered', lines: [], parts: [told] });
  expect((await at.journal().pending(LANE, 10)).map(({ part: { key } }) => key)).toEqual(['plain1', 'plain2', 'plain3', 'told']);
});

test('a topic that is begun anew keeps what is there', async () => {
  await using at = await setup();
  await at.begin(run('a', {}));
  await at.remove();
  await at.say({ topic: { to: 'work' } });
  await at.end(await at.claim(`${LANE}/#task:a`));
  expect(await at.journal().goneTopics.unused()).toEqual([]);
});

test.each([
  ['answers in the chat', `${LANE}/#job:ab12cd34`],
  ['answers in another chat', 'test/bot/chat-2/#job:ab12cd34'],
  ['answers in none', 'job/ab12cd34'],
])('a job of the topic that %s keeps the directory until its run has ended, also where that waits', async (_where, lane) => {
  await using at = await setup();
  const source = { kind: 'job', job: 'ab12cd34', due: 1 } as const;
  const { workspace: _own, ...job } = run('job/ab12cd34/1', { source, profile: 'session', lane, session: WORK.session });
  await at.begin(job);
  const { seq, generation } = await at.claim(lane);
  await at.remove();
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  const waits = [{ callId: 'a', kind: 'timer', about: 'a while', due: 1 }] as const;
  await at.journal().commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  await at.journal().commit([{ kind: 'settle', settled: { wait: `${job.key}#a`, value: { ok: true, output: '' }, by: 'due' } }]);
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  await at.end(await at.claim(lane));
  expect(await at.journal().goneTopics.unused()).toEqual([WORK.session]);
});

test('a job from before the topic began anew keeps the directory, too', async () => {
  await using at = await setup();
  const lane = `${LANE}/#job:ab12cd34`;
  const source = { kind: 'job', job: 'ab12cd34', due: 1 } as const;
  const { workspace: _own, ...job } = run('job/ab12cd34/1', { source, profile: 'session', lane, session: WORK.session });
  await at.begin(job);
  const { seq, generation } = await at.claim(lane);
  const waits = (callId: string) => [{ callId, kind: 'timer', about: 'a while', due: 1 }] as const;
  const parked = { state: 'PARKED', outcome: 'parked', historyTo: '' } as const;
  await at.journal().commit([], { seq, generation, end: { ...parked, waits: waits('a') } });
  await at.say({ restart: { topic: 'work', keep: 0 } });
  await at.journal().commit([{ kind: 'settle', settled: { wait: `${job.key}#a`, value: { ok: true, output: '' }, by: 'due' } }]);
  const again = await at.claim(lane);
  await at.remove();
  expect(await at.journal().goneTopics.unused()).toEqual([]);
  await at.journal().commit([], { seq, generation: again.generation, end: { ...parked, waits: waits('b') } });
  expect(await at.journal().goneTopics.unused()).toEqual([]);
});

/** Which runs a stop ends that answer in its chat and have a session elsewhere. */
import { expect, test } from 'vitest';
import type { Authority } from '../core/authority.ts';
import { childSession } from '../core/ids.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Accepted, Cancels, RunRow } from '../core/run.ts';
import { jobLane } from '../schedule/job-run.ts';
import { TaskBook } from '../tasks/book.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const OPERATOR: Authority = { principal: 'cli:local', role: 'owner', mode: 'full', policies: [] };
const CHAT = { channel: 'test', account: 'bot', chatId: 'chat-1' };

interface Asked {
  readonly chatId?: string;
  readonly session?: string;
  readonly authority?: Authority;
}

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  const book = new TaskBook({ journal, clock, keepDays: () => 30, reserve: 0 });
  const begun = async (key: string, { chatId, session, authority = OPERATOR }: Asked = {}): Promise<RunRow> => {
    const replyTo = chatId === '' ? {} : { replyTo: { ...CHAT, ...(chatId === undefined ? {} : { chatId }) } };
    const about = { text: key, client: 'cli', key, authority, ...replyTo, ...(session === undefined ? {} : { session }) };
    const { number } = await book.add(about);
    const row = await journal.claim(number);
    if (!row) throw new Error('the task could not be claimed');
    return row;
  };
  const parked = async (key: string, asked?: Asked): Promise<RunRow> => await waiting(await begun(key, asked));
  const waiting = async (row: RunRow): Promise<RunRow> => {
    const waits = [{ callId: 'x', kind: 'signal', about: 'a decision' }] as const;
    await journal.commit([], { ...row, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
    return row;
  };
  /** A run of a job that belongs to one conversation and answers in another chat. */
  const ofJob = async (id: string, { session, chatId, authority = OPERATOR }: Asked): Promise<RunRow> => {
    const replyTo = { ...CHAT, chatId: chatId ?? '' };
    const run: NewRun = {
      ...{ key: `job/${id}/1`, source: { kind: 'job', job: id, due: 1 }, profile: 'session' },
      ...{ lane: jobLane(id, replyTo), session: session ?? '', authority, replyTo },
      prompt: { text: id, media: [], at: '' },
    };
    await journal.commit([{ kind: 'run', run }]);
    const row = await journal.claim((await journal.waiting(run.lane, 1))[0]?.seq ?? 0);
    return row ?? expect.fail('the job could not be claimed');
  };
  const over = async ({ seq, generation }: RunRow) =>
    void (await journal.commit([], { seq, generation, end: { state: 'DONE', outcome: 'answered' } }));
  /** As the tool `spawn` begins it in the background. */
  const spawned = async (of: RunRow): Promise<void> => {
    const own = childSession(of.session, 'c');
    const run: NewRun = {
      ...{ key: `${of.key}#c`, source: { kind: 'run', parent: of.key, callId: 'c' }, profile: 'subagent' },
      ...{ lane: own, session: own, authority: of.authority },
      prompt: {
        ...{ text: 'dig', media: [], at: '' },
        child: { label: 'dig', report: { lane: of.lane, session: of.session, authority: of.authority, since: 0 } },
      },
    };
    await journal.commit([{ kind: 'run', run }]);
  };
  let stops = 0;
  const stop = async (cancels: Cancels, where: { readonly threadId?: string } = {}): Promise<readonly string[]> => {
    const { threadId } = where;
    const place =
      threadId === undefined
        ? { lane: LANE, session: SESSION }
        : { lane: `${LANE}/${threadId}`, session: `${SESSION}#thread:${threadId}` };
    stops += 1;
    const said = message(`stop ${stops}`, where);
    const [accepted] = await journal.accept([{ kind: 'answer', message: said, ...place, outcome: 'stop', parts: [], cancels }]);
    return endedBy(accepted);
  };
  return {
    ...{ journal, begun, parked, ofJob, waiting, over, spawned, stop },
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function endedBy(accepted: Accepted | undefined): readonly string[] {
  const rows = accepted?.kind === 'answered' ? accepted.cancelled : [];
  return rows.map(({ row }) => (row.message ? row.message.text : row.prompt.text));
}

test('a stop ends a task of its chat that no conversation asked for, whether it runs or is parked', async () => {
  await using at = await setup();
  await at.begun('runs');
  await at.parked('waits');
  await at.parked('of another chat', { chatId: 'chat-10' });
  await at.parked('of no chat', { chatId: '' });
  expect(await at.stop({ where: 'chat' })).toEqual(['runs', 'waits']);
});

test('a stop of one person leaves such a task to the one who asked for it', async () => {
  await using at = await setup();
  await at.parked('of the operator');
  const eve: Authority = { principal: 'test:eve', role: 'member', mode: 'guarded', policies: [] };
  await at.parked('of eve', { authority: eve });
  expect(await at.stop({ where: 'chat', principal: 'test:eve' })).toEqual(['of eve']);
  expect(await at.stop({ where: 'chat' })).toEqual(['of the operator']);
});

test('a stop ends what a task that is over began in the background, where its chat is told of the result', async () => {
  await using at = await setup();
  const [here, elsewhere] = [await at.begun('here'), await at.begun('elsewhere', { chatId: 'chat-10' })];
  for (const row of [here, elsewhere]) {
    await at.spawned(row);
    await at.over(row);
  }
  expect(await at.stop({ where: 'chat' })).toEqual(['dig']);
  expect(await at.journal.prompted.of(`${here.key}#c`)).toMatchObject({ outcome: 'cancelled' });
  expect(await at.journal.prompted.of(`${elsewhere.key}#c`)).toMatchObject({ state: 'NEW' });
});

test('a stop in a thread ends the tasks that were asked for in this thread, and no others of the chat', async () => {
  await using at = await setup();
  const [own, other] = [`${SESSION}#thread:t`, `${SESSION}#thread:t2`];
  await at.begun('runs', { session: own });
  await at.parked('waits', { session: own });
  await at.begun('of another thread', { session: other });
  await at.parked('of another thread that waits', { session: other });
  await at.parked('of the chat', { session: SESSION });
  expect(await at.stop({ where: 'lane' }, { threadId: 't' })).toEqual(['runs', 'waits']);
});

test('a job whose conversation is another chat is stopped where it answers, while it runs and while it waits, and nowhere else', async () => {
  await using at = await setup();
  const eve: Authority = { principal: 'test:eve', role: 'member', mode: 'guarded', policies: [] };
  const elsewhere = { session: '_main:test:chat-10', chatId: 'chat-1', authority: eve };
  await at.ofJob('runs', elsewhere);
  await at.waiting(await at.ofJob('waits', elsewhere));
  await at.waiting(await at.ofJob('within', { session: SESSION, chatId: 'chat-10' }));
  expect(await at.stop({ where: 'chat', principal: 'test:ada' })).toEqual([]);
  expect(await at.stop({ where: 'chat', principal: 'test:eve' })).toEqual(['runs', 'waits']);
  expect(await at.stop({ where: 'chat' })).toEqual([]);
});

test('a stop in a thread ends what waits there, also what was asked before the conversation began anew', async () => {
  await using at = await setup();
  const place = { lane: `${LANE}/t`, session: `${SESSION}#thread:t` };
  const asked = message('asked', { threadId: 't' });
  const [accepted] = await at.journal.accept([{ kind: 'admit', message: asked, ...place }]);
  const row = accepted?.kind === 'new' ? await at.journal.claim(accepted.row.seq) : undefined;
  await at.waiting(row ?? expect.fail('the message could not be claimed'));
  const anew = { kind: 'answer', message: message('anew', { threadId: 't' }), ...place, outcome: 'new', parts: [] } as const;
  await at.journal.accept([{ ...anew, restart: { topic: '', keep: 0 } }]);
  expect(await at.stop({ where: 'lane' }, { threadId: 't' })).toEqual(['text asked']);
});

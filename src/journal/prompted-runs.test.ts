import { expect, test } from 'vitest';
import type { NewRun } from '../core/new-run.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { LANE, part } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

function run(key: string, override: Partial<NewRun> = {}): NewRun {
  return {
    key,
    source: { kind: 'api', client: 'coder' },
    profile: 'session',
    lane: 'api/coder/#',
    session: 'mcp:coder',
    prompt: { text: `do ${key}`, media: [], at: '2026-01-01T00:00:00Z' },
    authority: { principal: 'mcp:coder', role: 'member', mode: 'guarded', policies: [] },
    ...override,
  };
}

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  return {
    journal,
    clock,
    claim: async (lane: string) => {
      const [row] = await journal.waiting(lane, 1);
      return (row && (await journal.claim(row.seq))) ?? Promise.reject(new Error(`nothing waits in ${lane}`));
    },
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a run is found by its key in every state, and its answer once it is over', async () => {
  await using at = await setup();
  const { journal } = at;
  expect(await journal.prompted.of('a')).toBeUndefined();
  await journal.commit([{ kind: 'run', run: run('a') }]);
  expect(await journal.prompted.of('a')).toEqual({ seq: 1, state: 'NEW', text: 'do a' });
  const { seq, generation } = await at.claim('api/coder/#');
  expect(await journal.prompted.of('a')).toMatchObject({ state: 'RUNNING' });
  const result = { ok: true, output: 'done' };
  await journal.commit([], { seq, generation, end: { state: 'DONE', outcome: 'answered', result } });
  expect(await journal.prompted.of('a')).toEqual({ seq: 1, state: 'DONE', text: 'do a', outcome: 'answered', result });
});

test('a run is cancelled by its key, whether it waits, runs or is parked, and one that is over is left as it is', async () => {
  await using at = await setup();
  const { journal } = at;
  const lanes = ['waiting', 'running', 'parked', 'over'];
  await journal.commit(lanes.map((lane) => ({ kind: 'run', run: run(lane, { lane, session: lane }) })));
  const running = await at.claim('running');
  const parked = await at.claim('parked');
  const wait = { callId: 'c', kind: 'timer', about: 'a while', due: 1e13 } as const;
  await journal.commit([], { ...parked, end: { state: 'PARKED', outcome: 'parked', waits: [wait], historyTo: '' } });
  await journal.commit([], { ...(await at.claim('over')), end: { state: 'DONE', outcome: 'answered' } });
  await journal.commit([...lanes, 'unknown'].map((key) => ({ kind: 'cancel', run: key })));
  const outcomes = await Promise.all(lanes.map(async (key) => (await journal.prompted.of(key))?.outcome));
  expect(outcomes).toEqual(['cancelled', 'cancelled', 'cancelled', 'answered']);
  expect(await journal.commit([], { ...running, end: { state: 'DONE', outcome: 'answered' } })).toBe(false);
  expect(await journal.cancelled([running.seq, parked.seq])).toEqual([running.seq, parked.seq]);
  expect(await journal.waits.earliest()).toBeUndefined();
  expect(journal.load('sender', 'mcp:coder')).toEqual({ messages: 0, bytes: 0 });
});

test('a call without an agent is over at once, is in the record with what it did, and is made once', async () => {
  await using at = await setup();
  const { journal, clock } = at;
  const replyTo = { channel: 'test', account: 'bot', chatId: 'chat-1' };
  const send = () =>
    journal.commit([
      { kind: 'own-call', call: { run: run('s', { replyTo }), tool: 'send', effect: 'outside' } },
      { kind: 'part', part: part('s#0', { part: outbound({ key: 's#0', text: 'words' }) }) },
    ]);
  await send();
  await send();
  expect(await journal.pending(LANE, 10)).toHaveLength(1);
  expect(await journal.prompted.of('s')).toMatchObject({ state: 'DONE', outcome: 'own-call' });
  const now = clock.now();
  expect(await journal.record.effects(0)).toEqual([
    {
      ...{ run: 's', session: 'mcp:coder', principal: 'mcp:coder', callId: 'send', tool: 'send', effect: 'outside' },
      ...{ startedAt: now, endedAt: now },
    },
  ]);
  expect((await journal.record.about('s'))?.parts).toMatchObject([{ key: 's#0', state: 'PENDING' }]);
  expect((await journal.record.of('s')).map(({ event }) => event.type)).toEqual(['admitted', 'finished']);
  expect(await journal.waiting('api/coder/#', 10)).toEqual([]);
  expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, DONE: 1 });
});

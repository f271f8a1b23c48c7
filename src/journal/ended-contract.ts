/** What every journal keeps of a run that is cancelled or given up. */
import { expect, it } from 'vitest';
import { encodeAnswer, encodeCall } from '../agent/stored-steps.ts';
import { argsHash } from '../agent/tool-signature.ts';
import type { Journal } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Admission, Cancels, EndedRun, RunRow } from '../core/run.ts';
import { BOUNDS, type CreateJournal as Create, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, line, message, part, SESSION } from '../testing/journal-rows.ts';

const CALLS = ['pay', 'post'].map((name) => ({ id: `call_${name}`, name, arguments: '{}' }));
const USAGE = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };

/** A model answer with two calls: the first came to an end, the second only began. */
async function work(journal: Journal, { seq, generation }: RunRow): Promise<void> {
  const answer = { text: 'on it', toolCalls: CALLS, stop: 'tools', usage: USAGE, provider: 'p', model: 'm' } as const;
  const value = encodeAnswer({ answer, at: 1_000 }, { content: 'what was read', media: [] });
  await journal.step(seq, generation, { n: 0, kind: 'model', state: 'DONE', value });
  for (const [index, call] of CALLS.entries()) {
    const step = { n: 1 + index, kind: 'tool', callId: call.id, argsHash: argsHash(call) } as const;
    await journal.step(seq, generation, { ...step, state: 'STARTED' });
    const result = { result: { ok: true, output: 'paid' }, files: [], at: 2_000 };
    if (index === 0) await journal.step(seq, generation, { ...step, state: 'DONE', value: encodeCall(call, result) });
  }
}

function stop(from: InboundMessage, cancels: Cancels): Admission {
  return { kind: 'answer', message: from, lane: LANE, session: SESSION, outcome: 'stop', parts: [part('idle')], cancels };
}

async function lines(journal: Journal): Promise<readonly string[]> {
  return (await journal.unflushed(99)).flatMap((entry) => entry.lines.map(({ line: { content } }) => content));
}

const LEFT = ['what was read', 'on it', 'paid', expect.stringMatching(/^Error: outcome unknown/), '[interrupted]'];
const TOOLS = [
  { name: 'pay', isKnown: true },
  { name: 'post', isKnown: false },
];

export function endedContract(create: Create): void {
  it.each(['running', 'parked'])(
    'a %s run that is cancelled leaves its lines in the same transaction, and writes none of its own later',
    async (how) => {
      await using harness = await create();
      const journal = await harness.open();
      const row = await begin(journal, 1);
      await work(journal, row);
      if (how === 'parked') await journal.release(row.seq, row.generation);
      await journal.accept([admit(message('waits'))]);
      const broken = { ...message('bad'), raw: 1n } as unknown as InboundMessage; // a bigint has no JSON
      await expect(journal.accept([stop(message('x'), { where: 'lane' }), admit(broken)])).rejects.toThrow();
      expect(await lines(journal)).toEqual([]);
      const [accepted] = await journal.accept([stop(message('stop'), { where: 'lane' })]);
      const cancelled = accepted?.kind === 'answered' ? accepted.cancelled : [];
      expect(cancelled.map((one) => [one.row.message?.platformId, one.hasSteps, one.lines.length, one.tools])).toEqual([
        ['m-1', true, 5, TOOLS],
        ['m-waits', false, 0, []],
      ]);
      expect(await lines(journal)).toEqual(LEFT);
      expect(await journal.step(row.seq, row.generation, { n: 9, kind: 'model', state: 'DONE' })).toBe(false);
      expect(await journal.finish(done(row, [part('late')], [line('late')]))).toBe(false);
      expect(await journal.release(row.seq, row.generation)).toBe(false);
      const next = await harness.open();
      await next.recover(BOUNDS, () => []);
      await next.accept([stop(message('again'), { where: 'lane' })]);
      expect(await lines(next)).toEqual(LEFT);
    },
  );

  it('of several people, only the rows of the one who is named are cancelled, and the answer is made of what ended', async () => {
    await using harness = await create();
    const journal = await harness.open({ highWater: 10 });
    const of = (n: string, senderId: string, lane = LANE) => admit(message(n, { senderId, isGroup: true }), lane);
    await journal.accept([
      of('1', 'ada'),
      of('2', 'bob'),
      of('3', 'ada'),
      of('4', 'bob', `${LANE}/t`),
      of('5', 'bob', `${LANE}0`),
    ]);
    const [first] = await journal.waiting(LANE, 1);
    await journal.claim(first?.seq ?? 0);
    const told: (readonly EndedRun[])[] = [];
    const parts = (ended: readonly EndedRun[]) => {
      told.push(ended);
      return [part('stopped')];
    };
    await journal.accept([stop(message('none'), { where: 'chat', principal: 'test:eve', parts })]);
    expect([told, await pendingKeys(journal)]).toEqual([[], ['idle']]);
    const [accepted] = await journal.accept([stop(message('stop'), { where: 'chat', principal: 'test:bob', parts })]);
    expect(told.map((ended) => ended.map(({ row }) => row.message?.text))).toEqual([['text 2', 'text 4']]);
    expect(accepted).toMatchObject({ kind: 'answered', cancelled: told[0] });
    expect(await pendingKeys(journal)).toEqual(['idle', 'stopped']);
    expect(await texts(journal)).toEqual(['text 3']);
    expect(await texts(journal, `${LANE}0`)).toEqual(['text 5']);
    expect((await journal.counts()).inbox).toMatchObject({ RUNNING: 1, NEW: 2 });
    expect(journal.room()).toBe(7);
  });

  it('F38 a run that is given up leaves its lines once, and its notice knows which tools ran', async () => {
    await using harness = await create();
    const killed = await harness.open();
    await work(killed, await begin(killed, 1));
    await killed.accept([admit(message('never begun'))]);
    await harness.clock.advance(BOUNDS.maxAgeMs + 1);
    const told: unknown[] = [];
    for (let start = 0; start < 2; start += 1) {
      const journal = await harness.open();
      await journal.recover(BOUNDS, (_row, _reason, tools) => {
        told.push(tools);
        return [];
      });
      expect(await lines(journal)).toEqual(LEFT);
    }
    expect(told).toEqual([TOOLS, []]);
  });
}

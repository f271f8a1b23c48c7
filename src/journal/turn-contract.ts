/** What every journal keeps of a turn, from its claim over its steps to its end and its session lines. */
import { expect, it } from 'vitest';
import type { Admission, RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import { type CreateJournal as Create, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, line, message, part, SESSION, usage } from '../testing/journal-rows.ts';

export function turnContract(create: Create): void {
  it('a lane gives its rows in order, after a row, within a limit, and never those of another lane', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1)), admit(message(2), 'other'), admit(message(3)), admit(message(4))]);
    expect(await texts(journal)).toEqual(['text 1', 'text 3', 'text 4']);
    expect(await texts(journal, 'other')).toEqual(['text 2']);
    const [first] = await journal.waiting(LANE, 1);
    const rest = await journal.waiting(LANE, 1, first?.seq);
    expect(rest.map((row) => row.message?.text)).toEqual(['text 3']);
  });

  it('one of many claims in a tick wins, and each claim has a new generation', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const seq = (await journal.waiting(LANE, 1))[0]?.seq ?? 0;
    const won = (await Promise.all(Array.from({ length: 10 }, () => journal.claim(seq)))).filter((row) => row !== undefined);
    expect(won).toHaveLength(1);
    expect(won[0]).toMatchObject({ seq, attempts: 1 });
    expect(await journal.waiting(LANE, 10)).toEqual([]);
    await journal.release(seq, won[0]?.generation ?? -1);
    const again = await journal.claim(seq);
    expect(again?.generation).toBeGreaterThan(won[0]?.generation ?? 0);
    expect(await journal.claim(999)).toBeUndefined();
  });

  it('F12 a claim is told when readers see it, before it is promised to be on disk; so is that there is none', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.accept([admit(message(1))]);
    const seq = (await journal.waiting(LANE, 1))[0]?.seq ?? 0;
    const order: string[] = [];
    let seen: Promise<readonly RunRow[]> | undefined;
    const claiming = journal.claim(seq, (row) => {
      order.push(`committed ${row?.attempts}`);
      seen = journal.waiting(LANE, 1);
    });
    expect((await claiming.finally(() => order.push('on disk')))?.attempts).toBe(1);
    expect(await journal.claim(seq, (row) => order.push(`taken ${row}`))).toBeUndefined();
    expect(order).toEqual(['committed 1', 'on disk', 'taken undefined']);
    expect(await seen).toEqual([]);
  });

  it('a parked turn gives its attempt back', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    await journal.accept([admit(message(2))]);
    expect(await journal.release(row.seq, row.generation)).toBe(true);
    expect((await journal.waiting(LANE, 1))[0]?.attempts).toBe(0);
    const second = await journal.claim(row.seq);
    expect(second?.attempts).toBe(1);
  });

  it('F12 the end of a turn is told when readers see it, before it is promised to be on disk; a stale one never', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const stale = await begin(journal, 1);
    await journal.release(stale.seq, stale.generation);
    const row = await journal.claim(stale.seq);
    if (!row) throw new Error('not claimed');
    const order: string[] = [];
    expect(await journal.finish(done(stale, [part('late')]), () => order.push('stale'))).toBe(false);
    let seen: Promise<readonly string[]> | undefined;
    const finishing = journal.finish(done(row, [part('answer')]), () => {
      order.push('committed');
      seen = pendingKeys(journal);
    });
    expect(await finishing.finally(() => order.push('on disk'))).toBe(true);
    expect(order).toEqual(['committed', 'on disk']);
    expect(await seen).toEqual(['answer']);
  });

  it('every write of a stale claim is refused and changes nothing', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const old = await begin(journal, 1);
    await journal.release(old.seq, old.generation);
    const step: StepRecord = { n: 0, kind: 'model', state: 'DONE', value: 'late' };
    const tryAll = async () => [
      await journal.step(old.seq, old.generation, step, usage('late', harness.clock.now())),
      await journal.release(old.seq, old.generation),
      await journal.finish(done(old, [part('late')], [line('late')])),
    ];
    expect(await tryAll()).toEqual([false, false, false]); // no claim owns it
    const current = await journal.claim(old.seq);
    expect(await tryAll()).toEqual([false, false, false]); // another claim owns it
    expect(await journal.steps(old.seq)).toEqual([]);
    expect(await pendingKeys(journal)).toEqual([]);
    expect(await journal.unflushed(10)).toEqual([]);
    expect(await journal.usage(0)).toEqual([]);
    if (current) expect(await journal.finish(done(current))).toBe(true);
    expect(await tryAll()).toEqual([false, false, false]); // it is over
  });

  it('steps come back in order; DONE replaces STARTED and is never undone', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const { seq, generation } = await begin(journal, 1);
    const model: StepRecord = { n: 0, kind: 'model', state: 'DONE', value: { text: 'ü', calls: ['a', 'b'] } };
    const started = (callId: string): StepRecord => ({ n: 1, kind: 'tool', state: 'STARTED', callId, argsHash: 'h' });
    const ended: StepRecord = { n: 1, kind: 'tool', state: 'DONE', callId: 'a', value: 'result' };
    for (const step of [model, started('a'), started('b'), ended, started('a')]) {
      expect(await journal.step(seq, generation, step)).toBe(true);
    }
    expect(await journal.steps(seq)).toEqual([model, { ...ended, argsHash: 'h' }, started('b')]);
    await journal.release(seq, generation);
    expect(await journal.steps(seq)).toHaveLength(3);
  });

  it('which tool began, what it changes and when it began stand after DONE; DONE alone says when it ended', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const { seq, generation } = await begin(journal, 1);
    const call = (callId: string) => ({ n: 1, kind: 'tool', callId }) as const;
    const began = { tool: 'pay', effect: 'outside', startedAt: 5 } as const;
    for (const callId of ['ended', 'unknown', 'not-run']) {
      expect(await journal.step(seq, generation, { ...call(callId), state: 'STARTED', ...began })).toBe(true);
    }
    await journal.step(seq, generation, { ...call('ended'), state: 'DONE', endedAt: 9 });
    await journal.step(seq, generation, { ...call('unknown'), state: 'DONE' });
    await journal.step(seq, generation, { ...call('not-run'), state: 'DONE', effect: 'none', endedAt: 9 });
    expect(await journal.steps(seq)).toEqual([
      { ...call('ended'), state: 'DONE', ...began, endedAt: 9 },
      { ...call('unknown'), state: 'DONE', ...began },
      { ...call('not-run'), state: 'DONE', ...began, effect: 'none', endedAt: 9 },
    ]);
  });

  it('F7 the end of a turn is one thing: lines, parts and state together, or none of them', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    const broken = { ...line('b'), content: 1n } as unknown as SessionMessage;
    await expect(journal.finish(done(row, [part('a')], [line('a'), broken]))).rejects.toThrow();
    expect(await pendingKeys(journal)).toEqual([]);
    expect(await journal.unflushed(10)).toEqual([]);
    expect(await journal.finish(done(row, [part('a'), part('b')], [line('a'), line('b')]))).toBe(true);
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    expect((await journal.counts()).inbox).toEqual({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 1, DEAD: 0 });
  });

  it('session lines wait for the flusher in order, per session, and are gone once flushed', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const other: Admission = { kind: 'admit', message: message(2, { chatId: 'c2' }), lane: 'l2', session: 's2' };
    await journal.finish(done(await begin(journal, 1), [], [line('a'), line('b')]));
    await journal.accept([other]);
    const row = await journal.claim((await journal.waiting('l2', 1))[0]?.seq ?? 0);
    if (row) await journal.finish(done(row, [], [line('c')]));
    await journal.finish(done(await begin(journal, 3), [], [line('d')]));
    const waiting = await journal.unflushed(10);
    expect(waiting.map(({ session, lines }) => [session, lines.map((entry) => entry.line.id)])).toEqual([
      [SESSION, ['a', 'b', 'd']],
      ['s2', ['c']],
    ]);
    expect(waiting[0]?.lines[0]?.line).toEqual(line('a'));
    const first = await journal.unflushed(1);
    const rest = await journal.unflushed(2, first[0]?.lines[0]?.seq);
    expect(rest.map(({ lines }) => lines.map((entry) => entry.line.id))).toEqual([['b'], ['c']]);
    await journal.flushed(first.flatMap(({ lines }) => lines.map(({ seq }) => seq)));
    expect((await journal.unflushed(10))[0]?.lines.map((entry) => entry.line.id)).toEqual(['b', 'd']);
  });
}

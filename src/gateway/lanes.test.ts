import { describe, expect, it } from 'vitest';
import { InboundBus } from '../bus/inbound-bus.ts';
import { TurnPermits } from '../bus/turn-permits.ts';
import type { Authority } from '../core/authority.ts';
import type { Journal } from '../core/journal.ts';
import type { NewRun } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import { openJournal } from '../journal/open.ts';
import { RunStopped } from '../runs/finish.ts';
import { FakeClock, inbound, recordEvents, tempDir, until } from '../testing/fakes.ts';
import { collectGarbage } from '../testing/garbage.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { Lanes, type LanesOptions } from './lanes.ts';

type Turn = (row: RunRow, signal: AbortSignal) => Promise<void>;

interface Setting {
  readonly turn?: Turn;
  readonly concurrency?: number;
  readonly channels?: number;
  readonly ofPerson?: number;
  readonly capacity?: number;
  readonly rules?: LanesOptions['rules'];
  readonly wrap?: (journal: Journal) => Journal;
}

/**
 * Lanes over a real journal. Turns are scripted; `done` holds the texts of rows in the order their turns
 * ended.
 */
async function setUp(path: string, { turn, concurrency = 10, ofPerson = concurrency, ...setting }: Setting = {}) {
  const { channels = 1, capacity = 256, wrap, rules } = setting;
  const clock = new FakeClock();
  const opened = await openJournal({ dir: path, clock, highWater: 10_000, onFatal: () => undefined });
  const journal = wrap?.(opened.journal) ?? opened.journal;
  const bus = new InboundBus(capacity);
  const done: string[] = [];
  const errors: { error: unknown; retryInMs: number }[] = [];
  const { emit, events } = recordEvents();
  const lanes = new Lanes({
    journal,
    bus,
    permits: new TurnPermits({ total: concurrency, channels, ofPerson, clock }),
    turn: async (row, signal) => {
      await turn?.(row, signal);
      const { seq, generation } = row;
      return async () => {
        if (await journal.finish({ seq, generation, state: 'DONE', outcome: 'answered', lines: [], parts: [] }))
          done.push(row.message?.text ?? '');
      };
    },
    onTurnError: (_row, error, retryInMs) => errors.push({ error, retryInMs }),
    ...(rules ? { rules } : {}),
    clock,
    emit,
  });
  let count = 0;
  const add = async (lane: string, text: string, { session = lane, publish = true, channel = 'test', senderId = 'u1' } = {}) => {
    count += 1;
    const message = inbound({ text, channel, senderId, platformId: `m${count}-${journal.bootId}` });
    const [accepted] = await journal.accept([{ kind: 'admit', message, lane, session }]);
    if (publish && accepted?.kind === 'new') bus.publish(accepted.row);
    return message;
  };
  const cancel = async (lane: string): Promise<void> => {
    count += 1;
    const message = inbound({ text: '/stop', platformId: `m${count}-${journal.bootId}` });
    const stop = {
      kind: 'answer',
      message,
      lane,
      session: lane,
      outcome: 'stop',
      parts: [],
      cancels: { where: 'lane' },
    } as const;
    const [accepted] = await journal.accept([stop]);
    const cancelled = accepted?.kind === 'answered' ? accepted.cancelled : [];
    lanes.abort(lane, new Set(cancelled.map(({ row }) => row.seq)));
  };
  const close = async (): Promise<void> => {
    const stopped = lanes.stop(0);
    await clock.advance(1);
    await stopped;
    await opened.journal[Symbol.asyncDispose]();
  };
  return { clock, journal, bus, lanes, done, errors, events, add, cancel, [Symbol.asyncDispose]: close };
}

/** Turns that wait until told to go on, or until they are aborted. */
function gate() {
  const running: string[] = [];
  const release = new Map<string, () => void>();
  const turn: Turn = ({ message }, signal) => {
    const text = message?.text ?? '';
    running.push(text);
    return new Promise((resolve, reject) => {
      release.set(text, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  };
  return { turn, running, open: (text: string) => release.get(text)?.() };
}

describe('order', () => {
  it('holds in a lane while lanes run side by side, and nothing of an idle lane stays in memory', async () => {
    await using dir = await tempDir();
    const { turn, running, open } = gate();
    await using rig = await setUp(dir.path, { turn });
    await rig.add('a', 'a1');
    await rig.add('a', 'a2');
    await rig.add('b', 'b1');
    await until('both lanes run', () => running.length === 2);
    expect(running).toEqual(['a1', 'b1']);
    expect(rig.lanes.isAtRest).toBe(false);
    open('b1');
    open('a1');
    await until('the second row runs', () => running.includes('a2'));
    open('a2');
    await rig.lanes.idle();
    expect(rig.done.filter((text) => text.startsWith('a'))).toEqual(['a1', 'a2']);
    expect(rig.lanes.stats()).toMatchObject({ lanes: 0, running: 0, waiting: 0 });
    expect(rig.lanes.isAtRest).toBe(true);
    expect(rig.bus.held).toBe(0);
  });

  it('holds when the bus was full and rows waited on disk', async () => {
    await using dir = await tempDir();
    const { turn, running, open } = gate();
    await using rig = await setUp(dir.path, { turn, capacity: 2 });
    const texts = Array.from({ length: 40 }, (_, n) => `${n}`);
    for (const text of texts) await rig.add('a', text);
    for (const [n, text] of texts.entries()) {
      await until(`row ${n} runs`, () => running.length === n + 1);
      open(text);
      // Arrives while older rows are still on disk: it must not overtake them.
      if (n === 20) await rig.add('a', 'late');
    }
    await until('the late row runs', () => running.length === 41);
    open('late');
    await rig.lanes.idle();
    expect(rig.done).toEqual([...texts, 'late']);
    expect(rig.bus.held).toBe(0);
  });

  it('keeps two lanes of one session from running at once', async () => {
    await using dir = await tempDir();
    const { turn, running, open } = gate();
    await using rig = await setUp(dir.path, { turn });
    await rig.add('thread-1', 'one', { session: 'shared' });
    await rig.add('thread-2', 'two', { session: 'shared' });
    await rig.add('thread-3', 'three', { session: 'other' });
    await until('two run', () => running.length === 2);
    expect(running).toEqual(['one', 'three']);
    open('one');
    await until('the other lane follows', () => running.includes('two'));
    open('two');
    open('three');
    await rig.lanes.idle();
  });

  it('is no other channel’s concern: one whose model takes long leaves permits to the rest', async () => {
    await using dir = await tempDir();
    const { turn, running } = gate();
    await using rig = await setUp(dir.path, { turn, concurrency: 3, channels: 2 });
    for (const lane of ['a', 'b', 'c', 'd']) await rig.add(lane, `slow ${lane}`, { channel: 'slow' });
    await until('the slow channel has what it may have', () => running.length === 2);
    await rig.add('e', 'quick', { channel: 'quick' });
    await until('the other channel’s turn runs', () => running.includes('quick'));
    expect(rig.lanes.stats()).toMatchObject({ running: 3, waiting: 2 });
  });

  it('gives each permit to the lanes in turn, so a flood delays another chat by one turn', async () => {
    await using dir = await tempDir();
    const held = Promise.withResolvers<void>();
    await using rig = await setUp(dir.path, { concurrency: 1, turn: () => held.promise });
    for (let n = 0; n < 10; n += 1) await rig.add('flood', `flood ${n}`);
    await rig.add('new', 'new');
    held.resolve();
    await rig.lanes.idle();
    // Behind the turn that ran when it came, and one more.
    expect(rig.done.indexOf('new')).toBeLessThanOrEqual(2);
  });
});

describe('memory', () => {
  it.each([4, 10_000])('holds only the messages whose turns run, whatever waits, with a bus of %i', async (capacity) => {
    await using dir = await tempDir();
    const { turn, running } = gate();
    const seen: WeakRef<object>[] = [];
    const note = <T>(rows: T): T => {
      for (const row of [rows].flat() as (RunRow | undefined)[]) if (row?.message) seen.push(new WeakRef<object>(row.message));
      return rows;
    };
    const wrap = (journal: Journal) =>
      new Proxy(journal, {
        get(target, name) {
          if (name === 'waiting') return async (...args: Parameters<Journal['waiting']>) => note(await target.waiting(...args));
          if (name === 'claim') return async (seq: number) => note(await target.claim(seq));
          const value = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    await using rig = await setUp(dir.path, { turn, concurrency: 3, capacity, wrap });
    for (let n = 0; n < 200; n += 1) seen.push(new WeakRef(await rig.add(`lane-${n % 20}`, `${n}`)));
    await until('every lane stands in the queue', () => rig.lanes.stats().waiting === 17);
    expect(running).toHaveLength(3);
    const held = () => seen.filter((one) => one.deref()).length;
    await collectGarbage(() => held() <= 2 * 3);
    expect(held()).toBeLessThanOrEqual(2 * 3);
  });
});

describe('a turn that fails inside the gateway', () => {
  it('is run again on the same claim after waits that double up to half a minute', async () => {
    await using dir = await tempDir();
    const claims: number[] = [];
    await using rig = await setUp(dir.path, {
      turn: async ({ generation }) => {
        claims.push(generation);
        if (claims.length < 8) throw new Error('disk full');
      },
    });
    await rig.add('a', 'hello');
    await until('it was answered', async () => {
      await rig.clock.advance(1_000);
      return rig.done.length === 1;
    });
    expect(rig.errors.map(({ retryInMs }) => retryInMs)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(new Set(claims).size).toBe(1);
  });

  it('does not hold its permit while it waits', async () => {
    await using dir = await tempDir();
    await using rig = await setUp(dir.path, {
      concurrency: 1,
      turn: async ({ message }) => {
        if (message?.text === 'poison') throw new Error('a bug');
      },
    });
    await rig.add('a', 'poison');
    await until('it failed', () => rig.errors.length === 1);
    await rig.add('b', 'healthy');
    await until('the other chat was answered', () => rig.done.length === 1);
    expect(rig.done).toEqual(['healthy']);
  });

  it('is given up at once by /stop, also between two attempts, and the lane goes on', async () => {
    await using dir = await tempDir();
    await using rig = await setUp(dir.path, {
      turn: async ({ message }) => {
        if (message?.text === 'poison') throw new Error('a bug');
      },
    });
    await rig.add('a', 'poison');
    await until('it failed', () => rig.errors.length === 1);
    await rig.cancel('a');
    await rig.add('a', 'next');
    await until('the next message was answered', () => rig.done.length === 1);
    expect(rig.done).toEqual(['next']);
  });
});

describe('/stop', () => {
  it('aborts the running turn with its reason and drops what waited, but not what came after', async () => {
    await using dir = await tempDir();
    const reasons: unknown[] = [];
    const { turn, running, open } = gate();
    await using rig = await setUp(dir.path, {
      turn: (row, signal) => turn(row, signal).catch((reason) => void reasons.push(reason)),
    });
    await rig.add('a', 'runs');
    await rig.add('a', 'waits');
    await until('it runs', () => running.length === 1);
    await rig.cancel('a');
    await rig.add('a', 'after');
    await until('the later one runs', () => running.length === 2);
    open('after');
    await rig.lanes.idle();
    expect(running).toEqual(['runs', 'after']);
    expect(rig.done).toEqual(['after']);
    expect(reasons).toEqual([expect.objectContaining({ by: 'user' })]);
    expect(rig.bus.held).toBe(0);
  });

  it('frees a lane whose row waits for another turn of its person, for those who write behind it', async () => {
    await using dir = await tempDir();
    const { turn, running, open } = gate();
    await using rig = await setUp(dir.path, { turn, ofPerson: 1 });
    await rig.add('a', 'slow', { senderId: 'busy' });
    await until('it runs', () => running.length === 1);
    await rig.add('b', 'waits', { senderId: 'busy' });
    await until('the next waits for it', () => rig.lanes.stats().waiting === 1);
    await rig.cancel('b');
    await rig.add('b', 'of another', { senderId: 'other' });
    await until('the other person’s turn runs', () => running.includes('of another'));
    expect(running).toEqual(['slow', 'of another']);
    open('of another');
    open('slow');
    await rig.lanes.idle();
    expect(rig.done).toEqual(['of another', 'slow']);
  });

  it('leaves the commit of a stopped turn its waits while the disk is full', async () => {
    await using dir = await tempDir();
    let isFull = true;
    await using rig = await setUp(dir.path, {
      turn: (_row, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
      wrap: (journal) =>
        new Proxy(journal, {
          get(target, name) {
            if (name === 'finish' && isFull) return () => Promise.reject(new Error('full'));
            const value = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        }),
    });
    await rig.add('a', 'one');
    await until('it runs', () => rig.lanes.stats().running === 1);
    await rig.cancel('a');
    await rig.clock.advance(3_500);
    isFull = false;
    await rig.clock.advance(4_000);
    await rig.lanes.idle();
    expect(rig.errors.map(({ retryInMs }) => retryInMs)).toEqual([1_000, 2_000, 4_000]);
  });

  it('of a lane that does nothing changes nothing', async () => {
    await using dir = await tempDir();
    await using rig = await setUp(dir.path);
    rig.lanes.abort('nobody', new Set([1]));
    expect(rig.lanes.stats().lanes).toBe(0);
  });
});

describe('the journal', () => {
  it('is asked again until it can be read', async () => {
    await using dir = await tempDir();
    let failures = 3;
    await using rig = await setUp(dir.path, {
      wrap: (journal) =>
        new Proxy(journal, {
          get(target, name) {
            if (name === 'waiting' && failures > 0) {
              failures -= 1;
              return () => Promise.reject(new Error('I/O error'));
            }
            const value = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        }),
    });
    await rig.add('a', 'left behind', { publish: false });
    rig.lanes.fetch(['a']);
    await until('it was answered', async () => {
      await rig.clock.advance(1_000);
      return rig.done.length === 1;
    });
    expect(failures).toBe(0);
  });

  it('is looked at once more when news come during a look', async () => {
    await using dir = await tempDir();
    await using rig = await setUp(dir.path);
    await rig.add('a', 'first', { publish: false });
    rig.lanes.fetch(['a']);
    const second = rig.add('a', 'second', { publish: false }).then(() => rig.lanes.fetch(['a']));
    await second;
    await rig.lanes.idle();
    expect(rig.done).toEqual(['first', 'second']);
  });
});

describe('shutdown', () => {
  it('starts no further turn, aborts running ones after the grace, and leaves the rest in the journal', async () => {
    await using dir = await tempDir();
    const reasons: unknown[] = [];
    const { turn, running } = gate();
    await using rig = await setUp(dir.path, {
      turn: async (row, signal) => {
        await turn(row, signal).catch((reason) => reasons.push(reason));
        await rig.journal.release(row.seq, row.generation);
      },
    });
    await rig.add('a', 'runs');
    await rig.add('a', 'waits');
    await until('it runs', () => running.length === 1);
    let stopped = false;
    const stopping = rig.lanes.stop(5_000).then(() => {
      stopped = true;
    });
    await rig.clock.advance(4_000);
    expect([stopped, reasons.length]).toEqual([false, 0]);
    await rig.clock.advance(2_000);
    await stopping;
    expect(reasons).toEqual([expect.any(RunStopped)]);
    expect(running).toEqual(['runs']);
    expect((await rig.journal.waiting('a', 10)).map(({ message }) => message?.text)).toEqual(['runs', 'waits']);
    expect(rig.bus.held).toBe(0);
  });

  it('takes rows that arrive too late for a turn out of memory again', async () => {
    await using dir = await tempDir();
    await using rig = await setUp(dir.path);
    await rig.lanes.stop(0);
    await rig.add('a', 'late');
    await rig.lanes.idle();
    expect([rig.done, rig.lanes.stats().lanes, rig.bus.held]).toEqual([[], 0, 0]);
  });
});

it('a stop ends a row whose rules cannot be read, without a loop that nothing holds back', async () => {
  await using dir = await tempDir();
  let reads = 0;
  const rules = async (): Promise<never> => {
    reads += 1;
    // Without an end the process would hang here for ever.
    if (reads > 100) throw new Error('read again and again');
    throw new Error('the journal is damaged');
  };
  await using at = await setUp(dir.path, { rules });
  await at.add('a', 'hello');
  await until('it failed', () => at.errors.length > 0);
  const stopped = at.lanes.stop(0);
  await at.clock.advance(1);
  await stopped;
  expect(reads).toBeLessThanOrEqual(3);
  expect(at.done).toEqual([]);
});

it('a message that is taken back as its turn begins leaves those before it as one request', async () => {
  await using dir = await tempDir();
  let takesBack: (() => Promise<unknown>) | undefined;
  await using at = await setUp(dir.path, {
    rules: async () => ({ mode: 'steer', debounceMs: 0 }),
    wrap: (journal) =>
      new Proxy(journal, {
        get(target, name) {
          if (name === 'claim')
            return async (...args: Parameters<Journal['claim']>) => {
              await takesBack?.();
              takesBack = undefined;
              return await target.claim(...args);
            };
          const value = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
  });
  await at.add('a', 'one');
  await at.add('a', 'two');
  const { platformId } = await at.add('a', 'three');
  const gone = inbound({ kind: 'delete', targetId: platformId, platformId: 'gone', senderId: 'u1', text: '' });
  takesBack = () => at.journal.accept([{ kind: 'admit', message: gone, lane: 'a', session: 'a' }]);
  // Each turn begins half a second after its message.
  const idle = at.lanes.idle().then(() => true);
  while (!(await Promise.race([idle, at.clock.advance(500)])));
  expect([at.done, at.bus.held]).toEqual([['two'], 0]);
});

describe('after a crash', () => {
  const authority: Authority = { principal: 'cli:local', role: 'owner', mode: 'full', policies: [] };
  const begun = (id: string, profile: NewRun['profile']): NewRun => ({
    ...{ key: `api/x/${id}`, source: { kind: 'api', client: 'x' }, profile, lane: id, session: id, authority },
    prompt: { text: id, media: [], at: '' },
  });
  /** What runs after one crash at which these were under way. */
  async function runsAfterCrash(
    runs: readonly NewRun[],
  ): Promise<{ readonly first: number; readonly later: number; readonly all: number }> {
    await using dir = await tempDir();
    {
      await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
      await opened.journal.commit(runs.map((run) => ({ kind: 'run', run }) as const));
      for (const lane of runs.map((run) => run.lane))
        await opened.journal.claim((await opened.journal.waiting(lane, 1))[0]?.seq ?? 0);
    }
    const held = Promise.withResolvers<void>();
    let running = 0;
    const turn: Turn = async () => {
      running += 1;
      await held.promise;
    };
    await using rig = await setUp(dir.path, { turn });
    const { lanes } = await rig.journal.recover(BOUNDS, () => []);
    rig.lanes.fetch(lanes);
    await until('it runs', () => running > 0);
    for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
    const first = running;
    await rig.clock.advance(300_001);
    await until('the others run too', () => running === runs.length);
    const later = running;
    held.resolve();
    await rig.lanes.idle();
    return { first, later, all: running };
  }

  it('tasks that were under way run one at a time, and all of them after five minutes', async () => {
    expect(await runsAfterCrash(['a', 'b', 'c'].map((id) => begun(id, 'task')))).toEqual({ first: 1, later: 3, all: 3 });
  });

  it('other runs go on side by side', async () => {
    expect(await runsAfterCrash(['a', 'b', 'c'].map((id) => begun(id, 'session')))).toEqual({ first: 3, later: 3, all: 3 });
  });
});

import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { TurnPermits } from './turn-permits.ts';

/** Jobs that run until they are ended by name; `running` in the order they started. */
function rig(total: number, channels: number, ofPerson?: number) {
  const clock = new FakeClock();
  const permits = new TurnPermits({ total, channels, ofPerson, clock });
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const ask = async (channel: string, ...names: readonly string[]): Promise<void> => {
    for (const name of names) {
      void permits.run({ channel }, async () => {
        running.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        running.splice(running.indexOf(name), 1);
      });
    }
    await settle();
  };
  const end = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) ends.get(name)?.();
    await settle();
  };
  return { clock, permits, running, ask, end, settle };
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('permits', () => {
  it('all go to the only channel there is, and no more than all', async () => {
    const { permits, running, ask, end } = rig(3, 1);
    await ask('a', ...names('a', 5));
    expect([running, permits.running, permits.waiting]).toEqual([['a0', 'a1', 'a2'], 3, 2]);
    await end('a1');
    expect(running).toEqual(['a0', 'a2', 'a3']);
  });

  it('one is kept for a channel that had no work lately, so that its first message does not wait for turns that take long', async () => {
    const { running, ask } = rig(10, 3);
    await ask('slow', ...names('s', 30));
    expect(running).toHaveLength(9);
    await ask('quick', 'q');
    expect(running.at(-1)).toBe('q');
  });

  it('are shared equally among the channels that have work: one with long turns takes no more than the others leave', async () => {
    const { running, ask, end } = rig(10, 2);
    await ask('quick', 'q0');
    await ask('slow', ...names('s', 30));
    expect(running.filter((name) => name.startsWith('s'))).toHaveLength(5);
    await end('q0');
    // It has nothing running at this instant, but it had a moment ago: five stay free for it.
    expect(running.filter((name) => name.startsWith('s'))).toHaveLength(5);
    await ask('quick', ...names('r', 6));
    expect(running.filter((name) => name.startsWith('r'))).toHaveLength(5);
  });

  it('of a channel that had no work for a minute go to the others, but for one', async () => {
    const { clock, running, ask, end } = rig(10, 2);
    await ask('quick', 'q0');
    await end('q0');
    await ask('slow', ...names('s', 30));
    expect(running).toHaveLength(5);
    await clock.advance(60_001);
    await end('s0');
    expect(running).toHaveLength(9);
  });

  it('are handed on when that minute is over, also while every turn of the others takes longer', async () => {
    const { clock, permits, running, ask, end } = rig(10, 2);
    await ask('quick', 'q0');
    await end('q0');
    await clock.advance(30_000);
    await ask('slow', ...names('s', 12));
    await clock.advance(29_999);
    expect([running.length, permits.waiting]).toEqual([5, 7]);
    await clock.advance(1);
    expect([running.length, permits.waiting]).toEqual([9, 3]);
  });

  it('that became free while nobody waited for them go to those that waited before the next that comes', async () => {
    const clock = { now: 0, monotonic: () => clock.now, sleep: () => new Promise<void>(() => undefined) };
    const permits = new TurnPermits({ total: 10, channels: 2, clock });
    const started: string[] = [];
    const ask = (channel: string, name: string): void =>
      void permits.run({ channel }, () => {
        started.push(name);
        return name === 'q0' ? Promise.resolve() : new Promise(() => undefined);
      });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    ask('quick', 'q0');
    await settle();
    for (const name of names('s', 6)) ask('slow', name);
    clock.now = 600_000;
    ask('slow', 's6');
    await settle();
    expect(started).toEqual(['q0', ...names('s', 7)]);
  });

  it('are waited for with one timer, which is gone as soon as nobody waits', async () => {
    const sleeping = new Set<AbortSignal>();
    const clock = {
      monotonic: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((_, reject) => {
          if (!signal) return;
          sleeping.add(signal);
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const permits = new TurnPermits({ total: 4, channels: 2, clock });
    const end = Promise.withResolvers<void>();
    await permits.run({ channel: 'quick' }, () => Promise.resolve());
    const jobs = names('s', 8).map(() => permits.run({ channel: 'slow' }, () => end.promise));
    const live = () => [...sleeping].filter(({ aborted }) => !aborted).length;
    expect([permits.waiting, live()]).toEqual([6, 1]);
    end.resolve();
    await Promise.all(jobs);
    expect([permits.waiting, live()]).toEqual([0, 0]);
  });

  it('that were lent come back as turns end, to whoever waited longest', async () => {
    const { running, ask, end } = rig(4, 2);
    await ask('slow', ...names('s', 10));
    expect(running).toEqual(['s0', 's1', 's2']);
    await ask('quick', 'q0', 'q1', 'q2');
    expect(running).toEqual(['s0', 's1', 's2', 'q0']);
    await end('s0');
    expect(running).toEqual(['s1', 's2', 'q0', 'q1']);
    await end('s1');
    expect(running).toEqual(['s2', 'q0', 'q1', 's3']);
  });

  it.each([1, 2, 3, 10])('a total of %i keeps every one of nine channels going', async (total) => {
    const { permits, running, ask, end } = rig(total, 9);
    for (const channel of names('c', 9)) await ask(channel, ...names(`${channel}-`, 3));
    const ended: string[] = [];
    for (let turn = 0; turn < 27; turn += 1) {
      expect(permits.running).toBeGreaterThan(0);
      expect(permits.running).toBeLessThanOrEqual(total);
      const first = running[0] ?? '';
      ended.push(first);
      await end(first);
    }
    expect([new Set(ended).size, permits.running, permits.waiting]).toEqual([27, 0, 0]);
  });

  it('come back from a job that fails', async () => {
    const { permits } = rig(1, 1);
    await expect(permits.run({ channel: 'a' }, () => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
    expect(await permits.run({ channel: 'a' }, async () => 'went on')).toBe('went on');
  });

  it('of a channel go to its senders in turn, and ten slow threads of one leave some to those who wrote lately, and one to a new one', async () => {
    const { permits, running, settle } = rig(10, 1, 10);
    const ask = async (sender: string, ...jobs: readonly string[]): Promise<void> => {
      for (const name of jobs)
        void permits.run({ channel: 'a', senderId: sender }, async () => {
          running.push(name);
          if (!name.startsWith('quick')) await new Promise(() => undefined);
        });
      await settle();
    };
    await ask('flooder', ...names('f', 20));
    expect(running).toHaveLength(9);
    await ask('other', 'quick1');
    expect(running.at(-1)).toBe('quick1');
    await ask('another', 'o0', 'o1');
    expect(running.slice(-1)).toEqual(['o0']);
    expect(permits.waiting).toBe(12);
  });

  it('of a channel among many busy ones go to one sender but for one, while others of the channel wrote lately', async () => {
    const { permits, running, ask, settle } = rig(10, 9, 10);
    for (const channel of names('c', 8)) await ask(channel, channel);
    const flood = async (sender: string, ...jobs: readonly string[]): Promise<void> => {
      for (const name of jobs)
        void permits.run({ channel: 'flooded', senderId: sender }, async () => {
          running.push(name);
          if (!name.startsWith('quick')) await new Promise(() => undefined);
        });
      await settle();
    };
    await flood('other', 'quick0');
    await flood('flooder', ...names('f', 20));
    expect(running.filter((name) => name.startsWith('f'))).toEqual(['f0']);
    await flood('other', 'quick1');
    expect(running.at(-1)).toBe('quick1');
  });

  describe('of one person', () => {
    const people = (total: number, ofPerson?: number) => {
      const at = rig(total, 1, ofPerson);
      const ends = new Map<string, () => void>();
      const by = async (senderId: string, role: 'owner' | 'member', ...jobs: readonly string[]): Promise<void> => {
        for (const name of jobs)
          void at.permits.run({ channel: 'a', senderId, role }, async () => {
            at.running.push(name);
            await new Promise<void>((resolve) => ends.set(name, resolve));
            at.running.splice(at.running.indexOf(name), 1);
          });
        await at.settle();
      };
      const end = async (name: string): Promise<void> => {
        ends.get(name)?.();
        await at.settle();
      };
      return { ...at, by, end };
    };

    it('are a third of all by default, and their other turns wait in order without one', async () => {
      const { permits, running, by, end } = people(10);
      await by('slow', 'member', ...names('s', 10));
      expect([running, permits.waiting]).toEqual([['s0', 's1', 's2'], 7]);
      await by('other', 'member', ...names('o', 5));
      expect(running.filter((name) => name.startsWith('o'))).toEqual(['o0', 'o1', 'o2']);
      const started: string[] = [...names('s', 3)];
      for (let turn = 0; turn < 9; turn += 1) {
        await end(`s${turn}`);
        for (const name of running) if (name.startsWith('s') && !started.includes(name)) started.push(name);
      }
      expect(started).toEqual(names('s', 10));
    });

    it('are at least one, however few there are', async () => {
      const { running, by, end } = people(2);
      await by('slow', 'member', 's0', 's1');
      expect(running).toEqual(['s0']);
      await end('s0');
      expect(running).toEqual(['s1']);
    });

    it('are as many as the config says, and all for the owner', async () => {
      const { running, by } = people(10, 2);
      await by('slow', 'member', ...names('s', 4));
      await by('me', 'owner', ...names('o', 9));
      expect(running.filter((name) => name.startsWith('s'))).toEqual(['s0', 's1']);
      expect(running.filter((name) => name.startsWith('o')).length).toBeGreaterThan(4);
    });

    it('are not waited for by a turn that was cancelled, which leaves its place to those behind it', async () => {
      const { permits, running, by, end, settle } = people(10, 1);
      const cancel = new AbortController();
      await by('slow', 'member', 's0');
      const job = () => Promise.reject(new Error('it ran'));
      const cancelled = permits.run({ channel: 'a', senderId: 'slow', role: 'member' }, job, cancel.signal);
      const early = permits.run({ channel: 'a', senderId: 'slow', role: 'member' }, job, cancel.signal);
      await by('slow', 'member', 's1');
      expect(permits.waiting).toBe(3);
      cancel.abort(new Error('stopped'));
      expect([await cancelled, await early, permits.waiting]).toEqual([undefined, undefined, 1]);
      expect(await permits.run({ channel: 'a', senderId: 'slow', role: 'member' }, job, cancel.signal)).toBeUndefined();
      await settle();
      expect([running, permits.running]).toEqual([['s0'], 1]);
      await end('s0');
      expect([running, permits.running, permits.waiting]).toEqual([['s1'], 1, 0]);
    });

    it('are waited for without a timer', async () => {
      const { clock, by } = people(10);
      const slept: number[] = [];
      const sleep = clock.sleep.bind(clock);
      clock.sleep = (ms, signal) => {
        slept.push(ms);
        return sleep(ms, signal);
      };
      await by('slow', 'member', ...names('s', 100));
      expect(slept).toEqual([]);
    });
  });

  it('a job that ends slowly after its signal aborted gives its permit back meanwhile, once, and its caller waits for it', async () => {
    const { permits, clock, settle, running, ask } = rig(1, 1);
    const stop = new AbortController();
    const ended = Promise.withResolvers<string>();
    const job = permits.run({ channel: 'a' }, () => ended.promise, stop.signal);
    await ask('a', 'next');
    expect([running, permits.running]).toEqual([[], 1]);
    stop.abort(new Error('stopped'));
    await clock.advance(400);
    expect([running, permits.running]).toEqual([['next'], 1]);
    ended.resolve('late');
    expect(await job).toBe('late');
    await settle();
    expect(permits.running).toBe(1);
  });
});

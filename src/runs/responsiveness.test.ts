import { describe, expect, it } from 'vitest';
import { FakeClock, inbound, MemoryLogger } from '../testing/fakes.ts';
import { Escalation, type SwitchableRouter } from './escalation.ts';
import { Responsiveness } from './responsiveness.ts';

function sampled(...latencies: readonly number[]) {
  const observed = new Responsiveness();
  return { observed, changes: latencies.map((ms) => observed.sample(ms)) };
}

const usual = [900, 1_000, 1_100, 5_000, 1_000];

describe('responsiveness (spec A9)', () => {
  it('has no baseline before the fifth turn, and nothing is slow until then', () => {
    const { observed, changes } = sampled(1, 9_000, 9_000, 9_000);
    expect([observed.baseline, changes.every((change) => change === undefined), observed.patience]).toEqual([
      undefined,
      true,
      30_000,
    ]);
  });

  it('begins with the median of the first five', () => {
    expect(sampled(...usual).observed.baseline).toBe(1_000);
    expect(sampled(...usual).observed.patience).toBe(10_000);
    expect(sampled(9_000, 9_000, 9_000, 9_000, 9_000).observed.patience).toBe(18_000);
  });

  it('learns a fifth of the median of each twenty', () => {
    const { observed } = sampled(...usual, ...Array.from({ length: 15 }, () => 2_000));
    expect(observed.baseline).toBe(0.8 * 1_000 + 0.2 * 2_000);
  });

  it('three slow turns in a row activate once, and one that is not ends it', () => {
    expect(sampled(...usual, 3_001, 3_001, 3_000, 3_001, 3_001, 3_001, 9_000, 2_000, 9_000).changes.slice(5)).toEqual([
      ...[undefined, undefined, undefined, undefined, undefined],
      ...['activated', undefined, 'deactivated', undefined],
    ]);
  });
});

function rig(isOn = true) {
  const router: SwitchableRouter = { mode: 'lane' };
  const clock = new FakeClock();
  const told: string[] = [];
  const live = { isOn };
  const escalation = new Escalation({
    isOn: () => live.isOn,
    router: () => router,
    tell: ({ id }) => told.push(id),
    ...{ clock, logger: new MemoryLogger() },
  });
  const answeredIn = (lane: string, chatId: string, ...latencies: readonly number[]): void => {
    const message = inbound({ chatId });
    const facts = {
      seq: 1,
      key: `k-${chatId}`,
      profile: 'session',
      session: 's',
      attempts: 1,
      generation: 1,
      acceptedAt: 0,
    } as const;
    const authority = { principal: 'test:user-1', role: 'member', mode: 'guarded', policies: [] } as const;
    for (const ms of latencies) escalation.answered({ ...facts, lane, authority, source: { kind: 'chat' }, message }, ms);
  };
  const answered = (chatId: string, ...latencies: readonly number[]): void =>
    answeredIn(`test/bot/${chatId}`, chatId, ...latencies);
  return {
    clock,
    escalation,
    router,
    told,
    live,
    answered,
    answeredIn,
    isActive: (chatId: string) => escalation.isActive(inbound({ chatId })),
  };
}

const slow = [...usual, 9_000, 9_000, 9_000];

describe('escalation', () => {
  it('is told once, and the router goes back to what it did when the last slow chat is quick again', () => {
    const { answered, router, told, isActive } = rig();
    answered('a', ...slow, 9_000);
    expect([isActive('a'), isActive('b'), router.mode, told]).toEqual([true, false, 'hedge', ['k-a#slow']]);
    answered('b', ...slow);
    answered('a', 1_000);
    expect([isActive('a'), isActive('b'), router.mode]).toEqual([false, true, 'hedge']);
    answered('b', 1_000);
    expect([isActive('b'), router.mode, told.length]).toEqual([false, 'lane', 2]);
  });

  it('ends in a chat that fell silent when a turn of another one ends', async () => {
    const { answered, router, clock, isActive } = rig();
    answered('a', ...slow);
    await clock.advance(29 * 60_000);
    answered('b', ...slow);
    expect([isActive('a'), isActive('b'), router.mode]).toEqual([true, true, 'hedge']);
    await clock.advance(60_000);
    answered('b', 9_000);
    expect([isActive('a'), isActive('b'), router.mode]).toEqual([false, true, 'hedge']);
    await clock.advance(30 * 60_000);
    answered('c', 1_000);
    expect([isActive('b'), router.mode]).toEqual([false, 'lane']);
  });

  it('ends in the only chat once it was silent for half an hour, before its next turn', async () => {
    const { answered, router, clock, isActive } = rig();
    answered('a', ...slow);
    await clock.advance(31 * 60_000);
    expect([isActive('a'), router.mode]).toEqual([false, 'lane']);
  });

  it('goes on while turns beside a long one end', async () => {
    const { answered, answeredIn, clock, isActive } = rig();
    answered('a', ...slow);
    await clock.advance(29 * 60_000);
    answeredIn('test/bot/a##1', 'a', 1_000);
    await clock.advance(60_000);
    answered('b', 1_000);
    expect(isActive('a')).toBe(true);
  });

  it('ends where a person chooses, and where the config turns it off', () => {
    const { answered, router, live, isActive, escalation } = rig();
    answered('a', ...slow);
    escalation.leave(inbound({ chatId: 'a' }));
    expect([isActive('a'), router.mode]).toEqual([false, 'lane']);
    answered('b', ...slow);
    live.isOn = false;
    expect(isActive('b')).toBe(false);
    answered('c', 1_000);
    expect(router.mode).toBe('lane');
  });

  it('is off by default, and does not count what ran beside another turn', () => {
    const off = rig(false);
    off.answered('a', ...slow);
    expect([off.isActive('a'), off.router.mode]).toEqual([false, 'lane']);
    const { answered, isActive } = rig();
    answered('a##1', ...slow);
    expect(isActive('a##1')).toBe(false);
  });
});

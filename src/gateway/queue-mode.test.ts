import { describe, expect, it } from 'vitest';
import type { Authority } from '../core/authority.ts';
import type { InboundMessage } from '../core/message.ts';
import type { QueueMode } from '../core/queueing.ts';
import type { RunRow } from '../core/run.ts';
import { inbound } from '../testing/fakes.ts';
import { planTurn, settleMs } from './queue-mode.ts';

interface Given extends Partial<InboundMessage> {
  readonly generation?: number;
  readonly acceptedAt?: number;
  readonly role?: Authority['role'];
}

/** Rows 1, 2, 3 … of one lane. */
function rows(...given: readonly Given[]): readonly RunRow[] {
  return given.map(({ generation = 0, acceptedAt = 0, role = 'member', ...message }, i) => {
    const whole = inbound({ platformId: `m${i + 1}`, text: `text ${i + 1}`, ...message });
    const authority: Authority = { principal: `test:${whole.senderId}`, role, mode: 'guarded', policies: [] };
    const facts = { seq: i + 1, key: whole.id, profile: 'session', lane: 'l', session: 's', attempts: 0, acceptedAt } as const;
    return { ...facts, generation, authority, source: { kind: 'chat' }, message: whole };
  });
}

const plan = (mode: QueueMode, waiting: readonly RunRow[], debounceMs = 0) => planTurn({ mode, debounceMs }, waiting);
const only = (lead: number) => ({ lead, merged: [], superseded: [] });

describe('what runs of three messages that wait', () => {
  const three = rows({}, {}, {});
  it.each([
    ['followup', only(1)],
    ['collect', { lead: 1, merged: [2, 3], superseded: [] }],
    ['steer', { lead: 3, merged: [], superseded: [1, 2] }],
    ['interrupt', { lead: 3, merged: [], superseded: [1, 2] }],
    ['speculative', only(1)],
  ] as const)('%s', (mode, expected) => expect(plan(mode, three)).toEqual(expected));

  it('nothing, where none waits', () => expect(plan('collect', [])).toBeUndefined());
});

describe('what is taken in its place only', () => {
  it.each([
    ['a command', { text: '/new' }],
    ['a correction', { kind: 'edit' }],
    ['a voice note that may not be for the agent', { overheard: true }],
    ['a row that began already', { generation: 1 }],
  ] as const)('%s, and nothing behind it', (_what, alone) => {
    expect(plan('collect', rows({}, {}, alone, {}))).toEqual({ lead: 1, merged: [2], superseded: [] });
    expect(plan('steer', rows({}, {}, alone, {}))).toEqual({ lead: 2, merged: [], superseded: [1] });
    expect(plan('collect', rows(alone, {}))).toEqual(only(1));
    expect(plan('interrupt', rows(alone, {}))).toEqual(only(1));
  });
});

describe('in a group', () => {
  const group = (...senders: readonly string[]) => rows(...senders.map((senderId) => ({ senderId, isGroup: true })));

  it('a message takes the place of no other person’s', () => {
    expect(plan('steer', group('ann', 'ben', 'ann'))).toEqual({ lead: 3, merged: [], superseded: [1] });
    expect(plan('interrupt', group('ann', 'ben'))).toEqual(only(1));
  });

  it('people of the same rights are answered together, and those of others are not done with them', () => {
    expect(plan('collect', group('ann', 'ben', 'ann'))).toEqual({ lead: 1, merged: [2, 3], superseded: [] });
    const guest = rows(
      { senderId: 'ann', role: 'owner' },
      { senderId: 'ann', role: 'owner' },
      { senderId: 'eve', role: 'guest' },
      {},
    );
    expect(plan('collect', guest)).toEqual({ lead: 1, merged: [2], superseded: [] });
  });

  it('a person for whom the config has rules of their own is answered apart', () => {
    const collect = (...senders: readonly string[]) =>
      planTurn({ mode: 'collect', debounceMs: 0, hasOwnRules: ({ senderId }) => senderId === 'ben' }, group(...senders));
    expect(collect('ann', 'eve', 'ben', 'ann')).toEqual({ lead: 1, merged: [2], superseded: [] });
    expect(collect('ben', 'ben', 'ann')).toEqual({ lead: 1, merged: [2], superseded: [] });
  });

  it('a burst is of one person', () => {
    expect(plan('followup', group('ann', 'ann', 'ben', 'ann'), 500)).toEqual({ lead: 1, merged: [2], superseded: [] });
  });
});

describe('what waits where the channel gathers bursts', () => {
  const at = (...times: readonly number[]) => rows(...times.map((acceptedAt) => ({ acceptedAt })));

  it('is one request only as far as each message follows the one before it within the pause', () => {
    const merged = (...times: readonly number[]) => plan('followup', at(...times), 500)?.merged;
    expect(merged(0, 500, 1_000, 1_501, 1_600)).toEqual([2, 3]);
    expect(merged(0, 60_000, 60_100)).toEqual([]);
    expect(plan('speculative', at(0, 60_000), 500)).toEqual(only(1));
  });

  it('is one request however far apart where the mode is collect', () => {
    expect(plan('collect', at(0, 60_000, 3_600_000), 500)).toEqual({ lead: 1, merged: [2, 3], superseded: [] });
  });

  it('is one request too where the clock was set back between two messages', () => {
    expect(plan('followup', at(60_000, 0, 100), 500)?.merged).toEqual([2, 3]);
  });
});

describe('how long a turn waits for the rest of a burst', () => {
  const left = (mode: QueueMode, debounceMs: number, first: number, newest: number, now: number) =>
    settleMs({ mode, debounceMs }, { first, newest }, now);

  it('half a second where only the newest counts', () => {
    expect([left('steer', 0, 1_000, 1_400, 1_100), left('interrupt', 0, 1_000, 1_400, 1_500)]).toEqual([400, 0]);
    expect(left('followup', 0, 1_000, 1_000, 1_000)).toBe(0);
  });

  it('the pause of the channel after each message, and ten of them at most', () => {
    expect(left('followup', 300, 1_000, 1_200, 1_250)).toBe(250);
    expect(left('followup', 300, 1_000, 1_200, 1_500)).toBe(0);
    expect(left('followup', 300, 1_000, 3_900, 3_950)).toBe(50);
  });
});

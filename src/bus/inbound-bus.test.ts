import { expect, test } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { inbound } from '../testing/fakes.ts';
import { queuedRow } from './inbound-bus.ts';

const FACTS = {
  seq: 1,
  key: 'k',
  profile: 'session',
  lane: 'l',
  session: 's',
  acceptedAt: 0,
  attempts: 0,
  generation: 0,
} as const;

/** By a person of channel `a`, whose id there holds a colon. */
const AUTHORITY = { principal: 'a:ada:1', role: 'member', mode: 'guarded', policies: [] } as const;

function jobTo(channel: string): RunRow {
  const replyTo = { channel, account: 'bot', chatId: 'c', isGroup: false } as const;
  return {
    ...FACTS,
    authority: AUTHORITY,
    source: { kind: 'job', job: 'j', due: 1 },
    prompt: { text: 'go', media: [], at: '2026-01-01T00:00:00.000Z' },
    replyTo,
  };
}

test('what a job of a person does counts as turns of that person, as what they write on their channel', () => {
  const message = inbound({ channel: 'a', senderId: 'ada:1' });
  const written = queuedRow({ ...FACTS, authority: AUTHORITY, source: { kind: 'chat' }, message });
  expect([written, queuedRow(jobTo('a'))]).toMatchObject([
    { channel: 'a', senderId: 'ada:1' },
    { channel: 'a', senderId: 'ada:1' },
  ]);
  // Elsewhere they have another id, which this one must not be taken for.
  expect(queuedRow(jobTo('b'))).toMatchObject({ channel: 'b', senderId: 'a:ada:1' });
});

/** Rows of the journal for its tests: what a gateway would hand in, with everything that no test is about. */

import type { Journal } from '../core/journal.ts';
import type { UsageEntry } from '../core/ledger.ts';
import type { InboundMessage, RefusalReason } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Admission, RunRow, TurnResult } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { inbound, outbound } from './fakes.ts';

export const LANE = 'test/bot/chat-1';
export const SESSION = '_main:test:chat-1';

export function message(n: number | string, override: Partial<InboundMessage> = {}): InboundMessage {
  return inbound({ platformId: `m-${n}`, text: `text ${n}`, ...override });
}

export function admit(from: InboundMessage, lane = LANE): Admission {
  return { kind: 'admit', message: from, lane, session: SESSION };
}

export function refuse(from: InboundMessage, reason: RefusalReason): Admission {
  return { kind: 'refuse', message: from, reason };
}

export function part(key: string, override: Partial<NewPart> = {}): NewPart {
  return { part: outbound({ key, text: `part ${key}` }), lane: LANE, expiresAt: Date.UTC(2026, 0, 2), ...override };
}

export function line(id: string): SessionMessage {
  return { id, role: 'user', content: `line ${id}`, timestamp: '2026-01-01T00:00:00Z' };
}

export function usage(id: string, at: number): UsageEntry {
  const facts = { provider: 'p', model: 'm', session: SESSION, channel: 'test', sender: 'user-1', purpose: 'chat' };
  return { id, at, tokensIn: 10, tokensOut: 5, tokensCached: 1, costUsd: 0.25, ...facts };
}

/** Ends what waits and runs in the lane, as `/stop` does. */
export async function stopLane(journal: Journal): Promise<void> {
  const place = { message: message('stop'), lane: LANE, session: SESSION };
  await journal.accept([{ kind: 'answer', ...place, outcome: 'stop', parts: [], cancels: { where: 'lane' } }]);
}

/** Accepts one message and begins its turn. */
export async function begin(journal: Journal, n: number | string): Promise<RunRow> {
  const [accepted] = await journal.accept([admit(message(n))]);
  if (accepted?.kind !== 'new') throw new Error(`expected a new row, got ${accepted?.kind}`);
  const row = await journal.claim(accepted.row.seq);
  if (!row) throw new Error('the new row could not be claimed');
  return row;
}

export function done(row: RunRow, parts: readonly NewPart[] = [], lines: readonly SessionMessage[] = []): TurnResult {
  return { seq: row.seq, generation: row.generation, state: 'DONE', outcome: 'answered', lines, parts };
}

export function dead(row: RunRow, parts: readonly NewPart[] = []): TurnResult {
  return { seq: row.seq, generation: row.generation, state: 'DEAD', outcome: 'failed:GH2103', lines: [], parts };
}

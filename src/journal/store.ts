import { GatehouseError } from '../core/errors.ts';
import type { RunEvent } from '../core/events.ts';
import type { InboundMessage, Json, OutboundPart } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { RemainsOf } from '../core/run.ts';
import type { AgingClock } from './aging.ts';
import type { Database } from './database.ts';
import type { KnownChats } from './known-chats.ts';

/** What was refused: never let in, or no work of its own. */
export interface Refusal {
  readonly at: number;
  readonly channel: string;
  /** `chatKey`. */
  readonly chat: string;
  /** `messageKey`. */
  readonly run: string;
  readonly reason: string;
}

/** What every operation on the file works with. */
export interface Store {
  readonly db: Database;
  readonly bootId: string;
  readonly clock: Clock;
  readonly aging: AgingClock;
  /** Writes are gathered until the transaction ends: see `record-writer.ts`. */
  readonly record: { write(event: RunEvent): void; refuse(refusal: Refusal): void };
  /** What a run leaves in its session that ends without its agent. */
  readonly remains: RemainsOf;
  /**
   * Rows of the ledger since this process last looked how many of them are in no sum (see `usage-sums.ts`).
   */
  readonly usage: { rowsSinceLook: number };
  readonly chats: KnownChats;
  /** By channel, what is noted in the file; it never changes: see `Chats.firstAccount`. */
  readonly firstAccounts: Map<string, string>;
  /** Sessions that were begun anew since this process opened the journal, which moved their runs. */
  readonly restarted: Set<string>;
}

/**
 * Reads JSON that we wrote. Text that is no longer JSON means the file is damaged, whatever SQLite says:
 * GH1302.
 */
export function readJson(text: string, where: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new GatehouseError('GH1302', `the journal can no longer be trusted: ${where} is not readable`, { cause: error });
  }
}

/** The shape is the one `accept` was given; only JSON damage can be noticed here. */
export function readMessage(text: string, seq: number): InboundMessage {
  return readJson(text, `run ${seq}`) as unknown as InboundMessage;
}

/**
 * The part as it was given: what became of it later is stored beside its fields, and nothing for an adapter
 * to see.
 */
export function readPart(text: string, seq: number): OutboundPart {
  const stored = readJson(text, `outbox row ${seq}`) as unknown as OutboundPart & { readonly replacedBy?: string };
  const { replacedBy: _, ...part } = stored;
  return part;
}

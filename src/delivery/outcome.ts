import type { SendClass, SendResult } from '../core/channel.ts';
import { LOGIN_REFUSED, type OutboxRow, type Settlement } from '../core/outbox.ts';
import { backoffMs } from '../lib/backoff.ts';

/** What to do when it cannot be known whether a part of a `blind` channel arrived. */
export type BlindPolicy = 'at_most_once' | 'at_least_once';

/** What one attempt means for its part, before anything is written. */
export type Outcome =
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  /** Send class `find`: ask the platform. */
  | { readonly kind: 'find'; readonly detail: string };

export interface OutcomeContext {
  readonly sendClass: SendClass;
  readonly blind: BlindPolicy;
  readonly maxAttempts: number;
  /** Epoch ms. */
  readonly now: number;
  readonly random: () => number;
  /** Until the part expires. */
  readonly leftMs: number;
  /** Whether "may be a repeat" can be shown on this part. */
  readonly markable: boolean;
}

const BACKOFF_MS = 1_000;
const BACKOFF_CAP_MS = 60_000;
/** A login that was refused is mended by a person, and servers lock accounts that insist. */
const LOGIN_WAIT_MS = 60_000;
const LOGIN_WAIT_CAP_MS = 300_000;

/**
 * The decision table of design 3 step 7. `row` is as it was before the attempt, which is number `row.attempts
 * + 1`, but for `doubtSince`: see `inDoubt`. Only what is proven not to have arrived, or cannot arrive twice,
 * is sent again.
 */
export function outcomeOf(result: SendResult, row: OutboxRow, context: OutcomeContext): Outcome {
  switch (result.kind) {
    case 'sent':
      return settle(arrived(row, result.platformId));
    case 'retry':
      return again(result.reason, row, context, result.afterMs);
    case 'refused':
      if (result.reason === 'auth') return refusedLogin(result.detail, row, context);
      if (result.reason === 'markup' && !row.plain && row.attempts + 1 < context.maxAttempts) {
        const reason = 'refused markup, now as plain text';
        return settle({ kind: 'retry', notBefore: context.now, reason, plain: true, ...doubtOf(row) });
      }
      return settle({ kind: 'dead', reason: `${result.reason}: ${result.detail}` });
    case 'unknown':
      return context.sendClass === 'find' ? { kind: 'find', detail: result.detail } : unknownOutcome(result.detail, row, context);
  }
}

/**
 * The same for a part that edits: doing it again changes nothing, so a doubt is no reason to stop on any send
 * class.
 */
export function editOutcome(result: SendResult, row: OutboxRow, context: OutcomeContext): Outcome {
  if (result.kind === 'unknown') return again(result.detail, row, context);
  const isFinal = result.kind === 'refused' && result.reason !== 'auth' && (result.reason !== 'markup' || row.plain);
  if (!isFinal) return outcomeOf(result, row, context);
  return settle(impossible(row, `the edit was refused: ${result.detail}`, context.now));
}

/** The part is at the platform. */
export function arrived({ part }: OutboxRow, platformId: string): Settlement {
  return { kind: 'sent', platformId, ...(part.supersedes === undefined ? {} : { replaces: part.supersedes }) };
}

/**
 * An edit that cannot be had. Recorded before anything is sent: a SENDING part with `edits` is always one
 * that may be repeated.
 */
export function impossible(row: OutboxRow, reason: string, now: number): Settlement {
  if (row.part.editOnly) return { kind: 'expired' };
  return { kind: 'retry', notBefore: now, reason: `${reason}; now as a message of its own`, plain: row.plain, asNew: true };
}

/** For classes `idem` and `blind`, and for `find` when the platform cannot say. */
export function unknownOutcome(detail: string, row: OutboxRow, context: OutcomeContext): Outcome {
  if (context.sendClass === 'idem') return again(detail, row, context);
  if (context.sendClass === 'blind' && context.blind === 'at_least_once' && context.markable) {
    return again(detail, row, context);
  }
  return settle({ kind: 'unknown', reason: detail });
}

/**
 * The login was refused, which says nothing of the part: it waits for the operator, as long again as it
 * waited already, and no attempt is counted. When it would expire meanwhile it is given up, to be found and
 * replayed.
 */
function refusedLogin(detail: string, row: OutboxRow, { now, leftMs }: OutcomeContext): Outcome {
  const reason = `${LOGIN_REFUSED} ${detail}`;
  const waitMs = Math.min(LOGIN_WAIT_CAP_MS, Math.max(LOGIN_WAIT_MS, now - row.createdAt));
  if (waitMs >= leftMs) return settle({ kind: 'dead', reason });
  return settle({ kind: 'retry', notBefore: now + waitMs, reason, plain: row.plain, uncounted: true, ...doubtOf(row) });
}

/** Sends again after the platform's own delay or a doubling one, until the attempts are used up. */
export function again(
  reason: string,
  row: OutboxRow,
  context: Pick<OutcomeContext, 'maxAttempts' | 'now' | 'random'>,
  afterMs?: number,
): Extract<Outcome, { kind: 'settle' }> {
  const attempt = row.attempts + 1;
  if (attempt >= context.maxAttempts) return settle({ kind: 'dead', reason: `gave up after ${attempt} attempts: ${reason}` });
  const { random } = context;
  const waitMs = afterMs ?? backoffMs(attempt - 1, { baseMs: BACKOFF_MS, capMs: BACKOFF_CAP_MS, random });
  return settle({ kind: 'retry', notBefore: context.now + Math.max(0, waitMs), reason, plain: row.plain, ...doubtOf(row) });
}

/** The row after an attempt that may have arrived and began at `startedAt`, epoch ms. */
export function inDoubt(row: OutboxRow, startedAt: number): OutboxRow {
  return { ...row, doubtSince: row.doubtSince ?? startedAt };
}

/** The row when it is known of all its attempts that they did not arrive. */
export function withoutDoubt({ doubtSince: _, ...row }: OutboxRow): OutboxRow {
  return row;
}

function doubtOf({ doubtSince }: OutboxRow): Pick<OutboxRow, 'doubtSince'> {
  return doubtSince === undefined ? {} : { doubtSince };
}

function settle(settlement: Settlement): Extract<Outcome, { kind: 'settle' }> {
  return { kind: 'settle', settlement };
}

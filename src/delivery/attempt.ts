import { statSync } from 'node:fs';
import type { Channel, SendResult } from '../core/channel.ts';
import { errorText } from '../core/errors.ts';
import type { OutboundFile, OutboundPart } from '../core/message.ts';
import type { OutboxRow } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import { errnoOrText } from '../lib/errno.ts';
import { unreadFileResult } from '../lib/unread-file.ts';
import { withTimeLimit } from '../lib/with-time-limit.ts';
import { measureSent } from './measure.ts';
import { again, arrived, type Outcome, type OutcomeContext, unknownOutcome, withoutDoubt } from './outcome.ts';

/**
 * A message that was accepted may take a moment until the platform can find it; the platform may be slow to
 * answer at all.
 */
const FIND_AFTER_MS = [1_000, 5_000, 15_000];
const FIND_TIMEOUT_MS = 30_000;
/** An adapter that ends a call by itself knows more of it than the caller that breaks it off. */
const OWN_LIMIT_MARGIN_MS = 5_000;

const NO_EDITS: SendResult = { kind: 'refused', reason: 'invalid', detail: 'this channel edits no messages' };

/**
 * One wire call under a time limit; with `target` it edits that message. Never throws: whatever an adapter
 * throws means that it is not known what became of it.
 */
export async function sendOnce(
  channel: Channel,
  part: OutboundPart,
  options: { plain: boolean; timeoutMs: number; clock: Clock; signal: AbortSignal; target?: string },
): Promise<SendResult> {
  const { plain, target } = options;
  const call = async (signal: AbortSignal): Promise<SendResult> => {
    try {
      const fault = fileFault(part);
      if (fault) return fault;
      if (target === undefined) return await channel.send(part, { plain, signal });
      return (await channel.edit?.(target, part, { plain, signal })) ?? NO_EDITS;
    } catch (error) {
      return { kind: 'unknown', detail: errorText(error) };
    }
  };
  const limited = await withTimeLimit(call, options.timeoutMs, options);
  if (!limited && options.signal.aborted) return { kind: 'unknown', detail: 'cut off by the end of the process' };
  return limited ?? { kind: 'unknown', detail: `no answer within ${Math.round(options.timeoutMs / 1_000)} s` };
}

/** Undefined = its files can be sent. Nothing has left: what cannot be looked at just now is tried again. */
function fileFault(part: OutboundPart): SendResult | undefined {
  for (const file of filesOf(part)) {
    try {
      const torn = tornFile(file);
      if (torn !== undefined) return { kind: 'refused', reason: 'invalid', detail: torn };
    } catch (error) {
      return unreadFileResult(errnoOrText(error), `the copy of ${file.name}`);
    }
  }
  return undefined;
}

function filesOf({ file, mail }: OutboundPart): readonly OutboundFile[] {
  return [...(file ? [file] : []), ...(mail?.files ?? [])];
}

/**
 * Why a file must not be sent: after a power loss, or by a person's hand, it may not be what the tool chose.
 * One that is not there is for the adapter to judge: some only name it. Throws the system's error where it
 * cannot be looked at.
 */
function tornFile({ path, name, bytes }: OutboundFile): string | undefined {
  // Not through the thread pool, where a look that takes microseconds would queue behind file syncs.
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size === bytes) return undefined;
  return `the copy of ${name} has ${found.size} of ${bytes} bytes`;
}

/**
 * For send class `find`: what became of a part whose sending ended in doubt. `row` as before that attempt.
 * Rejects with `signal.reason`; the row is then still SENDING and the next start asks again.
 */
export async function lookUp(
  channel: Channel,
  row: OutboxRow,
  detail: string,
  options: { context: OutcomeContext; clock: Clock; signal: AbortSignal },
): Promise<Outcome> {
  const { clock, signal, context } = options;
  for (const waitMs of FIND_AFTER_MS) {
    await clock.sleep(waitMs, signal);
    const timeoutMs = longer(FIND_TIMEOUT_MS, channel.limits.findMs);
    const found = await withTimeLimit((limit) => ask(channel, row, limit), timeoutMs, { clock, signal });
    signal.throwIfAborted();
    if (found === 'absent') return again(detail, withoutDoubt(row), { ...context, now: clock.now() });
    if (found) return { kind: 'settle', settlement: arrived(row, found.platformId) };
  }
  return unknownOutcome(`${detail}; the platform cannot say`, row, context);
}

/**
 * Of one call that sends a part: at least `ms`. Class `idem` has to be able to repeat it while the platform
 * still knows the key.
 */
export function sendLimit({ limits, sendClass, idemWindowMs = Infinity }: Channel, ms: number): number {
  const limit = longer(ms, limits.sendMs);
  return sendClass === 'idem' ? Math.min(limit, idemWindowMs / 2 - OWN_LIMIT_MARGIN_MS) : limit;
}

function longer(ms: number, own: number | undefined): number {
  return Math.max(ms, own === undefined ? 0 : own + OWN_LIMIT_MARGIN_MS);
}

/** A part may wait for days before its first attempt, and some adapters read all that was written since. */
async function ask(channel: Channel, { part, createdAt, doubtSince = createdAt }: OutboxRow, signal: AbortSignal) {
  try {
    return await channel.find?.(part, signal, doubtSince);
  } catch {
    return undefined; // the same as "cannot say now": asked again, then UNKNOWN
  }
}

/** Sleeps until the time is over or the signal aborts, whichever is first; never rejects. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(Math.max(0, Math.ceil(ms)), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const REPEAT_MARK = '(may be a repeat)\n';

/**
 * The part with a visible mark, or undefined where it has no room for one. A line of its own, so that
 * Markdown after it still works.
 */
export function marked(part: OutboundPart, channel: Channel): OutboundPart | undefined {
  const text = `${REPEAT_MARK}${part.text}`;
  const room = part.file ? channel.limits.caption : channel.limits.text;
  return measureSent(text, channel.limits) <= room ? { ...part, text } : undefined;
}

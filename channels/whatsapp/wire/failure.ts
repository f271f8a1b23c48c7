/** Why a call failed or a connection ended, in the terms of the SDK. */
import { errorText } from '../../../src/core/errors.ts';
import type { CallFailure } from '../../kit/call-error.ts';

/** Why a connection ended; `status` is the platform's code where it gave one. */
export class Ended extends Error {
  readonly status: number | undefined;
  /** How long the platform wants to be left alone, where it says so. */
  readonly waitMs: number | undefined;

  constructor(cause: unknown) {
    super(cause === undefined ? 'closed by us' : errorText(cause), { cause });
    this.name = 'Ended';
    this.status = statusOf(cause);
    const data: unknown = cause instanceof Error && 'data' in cause ? cause.data : undefined;
    const seconds = typeof data === 'object' && data !== null && 'expire' in data ? Number(data.expire) : Number.NaN;
    this.waitMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  }
}

/**
 * The SDK's refusal to write on a closed connection. All that it asks before the message itself fails in the
 * same way.
 */
const CLOSED = 428;

/**
 * `StaleGroupAddressingMode` of WhatsApp Web: the group has come to call its members by LID, or by number
 * again, since it was asked for them. The web app asks anew and sends the message again.
 */
export const ADDRESSING_CHANGED = 421;

/**
 * Sorts what the SDK throws while it prepares and sends a message. Preparing asks the server for devices and
 * keys; only the last step writes the message, and a failure of that step has no status.
 */
export function toFailure(error: unknown): CallFailure {
  // A question was cut off by the end of the connection: the SDK then throws the close code itself.
  if (typeof error === 'number') return { kind: 'unreached', detail: `the connection ended (${error})` };
  const detail = errorText(error);
  const status = statusOf(error);
  if (status === CLOSED) return { kind: 'unreached', detail };
  const code = error instanceof Error && 'data' in error ? error.data : undefined;
  if (typeof code === 'number' && Number.isInteger(code)) return { kind: 'api', code, detail: `${code} ${detail}` };
  if (detail === 'All encryptions failed') return { kind: 'unreached', detail: 'it could not be encrypted for any device' };
  return { kind: 'lost', detail };
}

function statusOf(error: unknown): number | undefined {
  const output: unknown = error instanceof Error && 'output' in error ? error.output : undefined;
  const status: unknown = typeof output === 'object' && output !== null && 'statusCode' in output ? output.statusCode : undefined;
  return typeof status === 'number' ? status : undefined;
}

import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/**
 * The one error class. `message` says what happened in a sentence, `hint` what to do about it (a command
 * where there is one), `cause` keeps the original. Neither message nor hint may hold a secret. Expected
 * refusals are values, not errors.
 */
export class GatehouseError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatehouseError';
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].hint;
  }
}

export function isGatehouseError(value: unknown): value is GatehouseError {
  return value instanceof Error && value.name === 'GatehouseError' && 'code' in value;
}

/** The text of anything thrown, for a log line. */
export function errorText(value: unknown): string {
  if (!(value instanceof Error)) return String(value);
  // Node's own errors begin with their code.
  const known = 'code' in value && typeof value.code === 'string' && !value.message.startsWith(value.code);
  const code = known ? `${value.code}: ` : '';
  const cause = value.cause === undefined ? '' : ` (${errorText(value.cause)})`;
  return `${code}${value.message}${cause}`;
}

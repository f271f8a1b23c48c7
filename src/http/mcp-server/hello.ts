/**
 * How a bridge says for which client it speaks, and what it is answered: one line each. Without a library: a
 * bridge is a process of its own for each client.
 */
import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { GatehouseError } from '../../core/errors.ts';

/** Names, in `_meta` of a call, what tells it from all others where the client names no key itself. */
export const CALL_KEY = 'gatehouse/key';

/** `id`: of this bridge, made at random. */
export interface Hello {
  readonly as: string;
  readonly id: string;
}

/** Undefined = it is none. */
export function readHello(line: string): Hello | undefined {
  const { as, id } = parsed(line);
  return typeof as === 'string' && typeof id === 'string' && /^[a-z0-9]{1,32}$/.test(id) ? { as, id } : undefined;
}

export type Welcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly hint: string };

/** Throws where the daemon does not let the client in, with its reason, or GH2306 where that is no daemon. */
export function checkWelcome(line: string): void {
  const { ok, code, message, hint } = parsed(line);
  if (ok === true) return;
  if (ok !== false || typeof message !== 'string' || typeof hint !== 'string')
    throw new GatehouseError('GH2306', 'what listens at the socket is no daemon of this version');
  throw new GatehouseError(isCode(code) ? code : 'GH2306', message, { hint });
}

/** No such client: with the lines that make it one. */
export function unknownClient(name: string): GatehouseError {
  const shown = JSON.stringify(name.slice(0, 64));
  return new GatehouseError('GH1003', `the config of the daemon has no MCP client ${shown}`, {
    hint: `add \`"mcp_clients": { ${shown}: {} }\` to it; a running daemon takes it at once`,
  });
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

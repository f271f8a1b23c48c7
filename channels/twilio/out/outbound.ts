/** `OutboundPart` -> one message, and the outcome of that call -> `SendResult`. */
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { CallFailure, ErrorCode } from '../../kit/call-error.ts';
import { sendResultOf } from '../../kit/call-result.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { REFUSALS, TRY_AGAIN } from '../wire/failure.ts';
import { toCheaper, toPlainText } from './format.ts';

export const TEXT_LIMIT = PLATFORM_LIMITS.text.value;

/** The body of a part: what `find` will look for, so the same part always gives the same text. */
export async function toBody(part: Pick<OutboundPart, 'text'>, plain: boolean): Promise<string> {
  if (plain || part.text === '') return part.text;
  const printed = await toPlainText(part.text);
  // An ellipsis takes three signs, or one where that is too much for a text that is nearly full.
  const cheaper = [toCheaper(printed), toCheaper(printed.replaceAll('…', '.'))];
  const text = cheaper.find((one) => one.length <= TEXT_LIMIT) ?? printed;
  // Text that renders to nothing, or grew past the limit, goes out as it was written (spec D4).
  return text === '' || text.length > TEXT_LIMIT ? part.text : text;
}

/** What delivery is told about a call that failed. */
export function toSendResult(failure: CallFailure): SendResult {
  return sendResultOf(failure, ({ status = 200, code, detail: words, retryAfterMs }) => {
    const number = code === undefined ? `HTTP ${status}` : `error ${code}`;
    const again = TRY_AGAIN.get(code);
    if (again || status === 429) {
      const afterMs = retryAfterMs ?? again?.afterMs ?? 1_000;
      return { kind: 'retry', reason: `${number}: ${again?.why ?? words}`, afterMs, scope: 'account' };
    }
    if (status >= 500) return undefined;
    const known = REFUSALS.get(code);
    if (known) return { kind: 'refused', reason: known[0], detail: `${number}: ${known[1]} (${words})` };
    const isLogin = status === 401 || (code === undefined ? status === 403 || status === 404 : LOGIN_CODES.has(code));
    return { kind: 'refused', reason: isLogin ? 'auth' : 'invalid', detail: `${number}: ${words}` };
  });
}

/**
 * Authenticate, account not active, no such account (https://www.twilio.com/docs/api/errors). What else is
 * refused concerns one message.
 */
const LOGIN_CODES: ReadonlySet<ErrorCode> = new Set([20_003, 20_005, 20_404]);

/** What providers mean by their errors: by the words in `failure-kinds.json`, else by the status. */
import type { FailureKind } from '../../core/model.ts';
import table from './failure-kinds.json' with { type: 'json' };

export interface ErrorBody {
  /** What was said, also by the provider behind a router. */
  readonly text: string;
  /** `code`, `type`, `status`, reasons of a body, lower case, with spaces. Providers differ least here. */
  readonly words: string;
  /** The window, where the body names it in a field. */
  readonly window?: number;
}

const pattern = (source: string | undefined): RegExp | undefined => (source === undefined ? undefined : new RegExp(source, 'i'));
const ROWS = table.rows.map(({ kind, says, words, unless, ...only }) => ({
  ...{ kind: kind as FailureKind, only },
  ...{ says: pattern(says?.join('|')), words: pattern(words), unless: pattern(unless) },
}));
const CONTEXT_WINDOW = new RegExp(table.contextWindow.join('|'), 'i');
const OUTPUT_LIMIT = new RegExp(table.outputLimit.join('|'), 'i');
type ByStatus = Readonly<Record<number, FailureKind>>;
const OF_STATUS: ByStatus = { 403: 'forbidden', 429: 'rate-limit', 503: 'overloaded', 529: 'overloaded' };
/** Whatever the body says. */
const CERTAIN: ByStatus = { 401: 'auth', 402: 'payment', 408: 'timeout', 409: 'server' };

/** `status`: undefined in the middle of a stream. */
export function kindOf(status: number | undefined, body: ErrorBody, provider: string): FailureKind {
  const certain = CERTAIN[status ?? 0];
  if (certain) return certain;
  // A bound of the output is about the request's wish, however much its words sound like the window.
  if (outputLimitIn(body.text) !== undefined) return 'bad-request';
  const everything = `${body.words} ${body.text}`;
  const row = ROWS.find(
    ({ says, words, unless, only }) =>
      (only.provider ?? provider) === provider &&
      (status === undefined ? says !== undefined || words !== undefined : (only.statuses?.includes(status) ?? true)) &&
      (says?.test(everything) ?? true) &&
      (words?.test(body.words) ?? true) &&
      !unless?.test(everything),
  );
  if (row) return row.kind;
  if (status === undefined) return kindOfWords(everything, body.words);
  // Spec B3: gateways pass on the troubles of their upstreams under statuses of their own.
  const upstream = /connection (?:refused|reset)|timed out|overloaded/i.test(body.text) ? 'overloaded' : 'bad-request';
  return OF_STATUS[status] ?? (status >= 500 ? 'server' : upstream);
}

function kindOfWords(everything: string, words: string): FailureKind {
  if (/rate.?limit|too many requests|resource_exhausted|throttl|per minute/i.test(everything)) return 'rate-limit';
  if (/overloaded|capacity|unavailable/i.test(everything)) return 'overloaded';
  if (/authenticat|permission/.test(words)) return words.includes('permission') ? 'forbidden' : 'auth';
  return /invalid_(?:request|argument|prompt)|image|bad_request|not_found/.test(words) ? 'bad-request' : 'server';
}

/** The window that the body of an overflow names, in tokens. */
export function windowIn({ text, window }: ErrorBody): number | undefined {
  return window ?? numberIn(CONTEXT_WINDOW, text);
}

/** The most output tokens that would be accepted, where the body says that the request asks for more. */
export function outputLimitIn(text: string): number | undefined {
  return numberIn(OUTPUT_LIMIT, text);
}

/** Undefined also for what is too small to be a limit. */
function numberIn(limit: RegExp, text: string): number | undefined {
  const digits = limit
    .exec(text)
    ?.slice(1)
    .find((group) => group !== undefined);
  const number = Number(digits?.replaceAll(',', ''));
  return Number.isSafeInteger(number) && number >= 256 ? number : undefined;
}

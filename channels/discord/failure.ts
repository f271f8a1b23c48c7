/** What can go wrong with a call, by what a caller can do about it, and what delivery and the operator are told. */
import type { ChannelHealth, SendResult } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import { DeadlineError } from '../kit/deadline.ts';
import { withAdvice } from '../kit/reported-health.ts';

/** Holds neither the token nor a URL with one. */
export type CallFailure =
  /** The platform answered with an error; `code` is its own number for it. */
  | { readonly kind: 'api'; readonly status: number; readonly code?: number; readonly detail: string }
  /** Too many requests; nothing was done. `global`: no call of this bot is taken before. */
  | { readonly kind: 'limited'; readonly afterMs: number; readonly global: boolean; readonly detail: string }
  /** The request never reached the platform: refused, no route, no name, no TLS. */
  | { readonly kind: 'unreached'; readonly detail: string }
  /** The request left and no readable answer came back. */
  | { readonly kind: 'lost'; readonly detail: string };

export class CallError extends Error {
  readonly failure: CallFailure;

  constructor(call: string, failure: CallFailure) {
    super(`${call}: ${failure.kind === 'api' ? `${failure.status} ` : ''}${failure.detail}`);
    this.name = 'CallError';
    this.failure = failure;
  }
}

/** True for an error with which the platform said no for good: asking again changes nothing. */
export function isFinal(error: unknown): error is CallError {
  if (!(error instanceof CallError)) return false;
  const { failure } = error;
  return failure.kind === 'api' && failure.status < 500 && failure.status !== 401;
}

/** How long the platform asked to wait, in ms. */
export function waitOf(error: unknown): number | undefined {
  return error instanceof CallError && error.failure.kind === 'limited' ? error.failure.afterMs : undefined;
}

type Refusal = Extract<SendResult, { kind: 'refused' }>['reason'];

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const REFUSALS: ReadonlyMap<number, Refusal> = new Map([
  [10_003, 'chat-gone'], // unknown channel
  [10_004, 'chat-gone'], // unknown guild
  [10_013, 'chat-gone'], // unknown user
  [20_009, 'blocked'], // explicit content filter
  [50_001, 'blocked'], // missing access
  [50_007, 'blocked'], // cannot send messages to this user
  [50_008, 'blocked'], // cannot send messages in this channel
  [50_013, 'blocked'], // missing permissions
  [50_278, 'blocked'], // no mutual servers
  [50_159, 'markup'], // a voice message must not have other content
  [50_160, 'markup'], // a voice message must be one sound
  [50_161, 'markup'], // a voice message must tell its length and waveform
  [50_173, 'markup'], // no voice messages in this channel: the second try sends a file
  [50_083, 'blocked'], // the thread is archived
  [160_005, 'blocked'], // the thread is locked
  [200_000, 'blocked'], // AutoMod
  [200_001, 'blocked'], // AutoMod, title
  [240_000, 'blocked'], // harmful link
]);

/** What delivery is told about a call that failed. */
export function toSendResult(failure: CallFailure): SendResult {
  switch (failure.kind) {
    case 'unreached':
      return { kind: 'retry', reason: failure.detail, scope: 'account' };
    case 'limited':
      return { kind: 'retry', reason: failure.detail, afterMs: failure.afterMs, scope: failure.global ? 'account' : 'chat' };
    case 'lost':
      return { kind: 'unknown', detail: failure.detail };
    case 'api': {
      const { status, code, detail } = failure;
      // 5xx comes from a machine that may have passed the message on already.
      if (status >= 500) return { kind: 'unknown', detail: `${status} ${detail}` };
      if (status === 401) return { kind: 'refused', reason: 'auth', detail };
      const known = code === undefined ? undefined : REFUSALS.get(code);
      if (known) return { kind: 'refused', reason: known, detail };
      if (/^content\[BASE_TYPE_MAX_LENGTH\]|Must be 2000 or fewer/m.test(detail)) {
        return { kind: 'refused', reason: 'too-long', detail };
      }
      return { kind: 'refused', reason: status === 403 ? 'blocked' : 'invalid', detail };
    }
  }
}

/** What the operator is told about a connection that could not be made, and how long to wait beyond the ordinary back-off. */
export interface Diagnosis {
  readonly health: ChannelHealth;
  readonly detail: string;
  readonly waitMs: number;
  /** Only the operator can mend it, with a restart. */
  readonly final: boolean;
}

/** A call that was to open the connection failed. */
export function diagnoseCall(error: unknown): Diagnosis {
  if (error instanceof DeadlineError) {
    return { health: 'degraded', detail: `GH1502: the platform does not answer (${error.message})`, waitMs: 0, final: false };
  }
  if (!(error instanceof CallError))
    return { health: 'degraded', detail: `GH1502: ${errorText(error)}`, waitMs: 0, final: false };
  const { failure } = error;
  if (failure.kind === 'limited')
    return { health: 'degraded', detail: `GH1502: ${failure.detail}`, waitMs: failure.afterMs, final: false };
  if (failure.kind === 'api' && failure.status === 401) {
    return {
      health: 'down',
      detail: `GH1501: the platform refused the bot token (401 ${failure.detail}): reset it on the Bot page, set it anew and restart`,
      waitMs: 0,
      final: true,
    };
  }
  if (failure.kind === 'api')
    return { health: 'degraded', detail: `GH1502: ${failure.status} ${failure.detail}`, waitMs: 0, final: false };
  return { health: 'degraded', detail: withAdvice(failure.detail), waitMs: 0, final: false };
}

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes */
export const DISALLOWED_INTENTS = 4_014;

/** The close codes after which the same attempt would fail again. */
const FATAL: ReadonlyMap<number, string> = new Map([
  [4_004, 'GH1501: the platform refused the bot token: reset it on the Bot page, set it anew and restart'],
  [4_010, 'GH1502: the platform refused the shard: this is an error of ours, please report it'],
  [4_011, 'GH1501: the bot is in too many servers for one connection (more than 2500)'],
  [4_012, 'GH1502: the platform refused this version of its API: upgrade gatehouse'],
  [4_013, 'GH1502: the platform does not know these intents: upgrade gatehouse'],
  [DISALLOWED_INTENTS, 'GH1501: an intent is not enabled: enable it on the Bot page of the developer portal'],
]);

/** A connection ended. Undefined for an end that is no news: it is resumed. */
export function diagnoseClose(code: number | undefined): Diagnosis | undefined {
  const detail = code === undefined ? undefined : FATAL.get(code);
  return detail === undefined ? undefined : { health: 'down', detail, waitMs: 0, final: true };
}

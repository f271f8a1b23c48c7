/**
 * What can go wrong with a call, by what a caller can do about it, and what delivery and the operator are
 * told.
 */
import type { SendResult } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import { type ApiFailure, apiFailureOf, CallError, type CallFailure, type ErrorCode } from '../../kit/call-error.ts';
import { type Refusal, sendResultOf } from '../../kit/call-result.ts';
import { type Diagnosis, degraded, diagnose, down } from '../../kit/diagnosis.ts';

/**
 * Over by itself, and nothing was done: "Send messages has been temporarily disabled", "This feature has been
 * temporarily disabled server-side", "Service resource is being rate limited", "Cloudflare is blocking your
 * request" (https://docs.discord.com/developers/topics/opcodes-and-status-codes#json). The last one comes as
 * "internal network error" with a 403 (https://github.com/discord/discord-api-docs/issues/6473).
 */
const PASSING: ReadonlySet<ErrorCode | undefined> = new Set([40_004, 40_006, 40_062, 40_333]);
const PASSING_MS = 60_000;

/** True for an error that is over by itself: nothing was done, and the same call is taken later. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(apiFailureOf(error)?.code);
}

/** True for an error with which the platform said no for good: asking again changes nothing. */
export function isFinal(error: unknown): boolean {
  const { status = 500 } = apiFailureOf(error) ?? {};
  return status < 500 && status !== 401 && !isPassing(error);
}

/**
 * Whether a message was refused because it is a reply: "the current user must have the READ_MESSAGE_HISTORY
 * permission" (https://docs.discord.com/developers/resources/message#create-message).
 */
export function isReplyRefused(failure: ApiFailure | undefined): boolean {
  return failure?.code === 160_002;
}

/**
 * Whether the platform knows no such message, or no place for it: unknown channel, unknown message
 * (https://docs.discord.com/developers/topics/opcodes-and-status-codes#json).
 */
export function isNotThere(failure: ApiFailure | undefined): boolean {
  return failure?.code === 10_003 || failure?.code === 10_008;
}

/** Whether the bot lacks a permission: missing access, missing permissions (the same page). */
export function isNotPermitted(failure: ApiFailure): boolean {
  return failure.code === 50_001 || failure.code === 50_013;
}

/** How long the platform asked to wait, in ms. */
export function waitOf(error: unknown): number | undefined {
  return error instanceof CallError && error.failure.kind === 'limited' ? error.failure.retryAfterMs : undefined;
}

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const REFUSALS: ReadonlyMap<ErrorCode | undefined, Refusal> = new Map([
  [10_003, 'chat-gone'], // unknown channel
  [10_004, 'chat-gone'], // unknown guild
  [10_013, 'chat-gone'], // unknown user
  // Of these words and not of the chat, which takes others.
  [20_009, 'invalid'], // explicit content filter
  [200_000, 'invalid'], // AutoMod
  [200_001, 'invalid'], // AutoMod, title
  [240_000, 'invalid'], // harmful link
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
]);

/** What delivery is told about a call that failed. */
export function toSendResult(failure: CallFailure): SendResult {
  return sendResultOf(failure, ({ status = 200, code, detail }) => {
    if (PASSING.has(code)) return { kind: 'retry', reason: `${code} ${detail}`, afterMs: PASSING_MS, scope: 'chat' };
    if (status >= 500 || status === 401) return undefined;
    const isLong = /^content\[BASE_TYPE_MAX_LENGTH\]|Must be 2000 or fewer/m.test(detail);
    return REFUSALS.get(code) ?? (isLong ? 'too-long' : undefined);
  });
}

/** A call that was to open the connection failed. */
export function diagnoseCall(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ failure }) => {
      if (failure.kind !== 'api' || failure.status !== 401) return undefined;
      const what = `the platform refused the bot token (401 ${failure.detail})`;
      return { ...down(`GH1501: ${what}: reset it on the Bot page, set it anew and restart`), refusedLogin: true };
    },
    ofOther: (other) => degraded(`GH1502: ${errorText(other)}`),
  });
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
  return detail === undefined ? undefined : down(detail);
}

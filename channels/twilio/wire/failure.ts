/** Twilio's error numbers (https://www.twilio.com/docs/api/errors) by what can be done about them. */
import type { ErrorCode } from '../../kit/call-error.ts';
import type { Refusal } from '../../kit/call-result.ts';

/** Numbers of a refused request. */
export const REFUSALS: ReadonlyMap<ErrorCode | undefined, readonly [Refusal, string]> = new Map([
  [20003, ['auth', 'the account SID or auth token is wrong']],
  [20005, ['auth', 'the account is not active']],
  [21211, ['chat-gone', 'this is no phone number']],
  [21214, ['chat-gone', 'the number cannot be reached']],
  [21217, ['chat-gone', 'this is no phone number']],
  [21265, ['chat-gone', 'a short code cannot be written to']],
  [21408, ['blocked', "messages to this country are not enabled: see the console's geo permissions"]],
  [21606, ['invalid', 'from_number cannot send such messages, or is not of this account']],
  [21608, ['blocked', 'a trial account writes only to numbers verified in the console']],
  [21610, ['blocked', 'the person wrote STOP; only START from them ends that']],
  [21612, ['chat-gone', 'no route from this number to that one']],
  [21614, ['chat-gone', 'the number takes no messages: perhaps a land line']],
  [21617, ['too-long', 'the text is longer than 1600 characters']],
  [21620, ['invalid', 'public_url is no address Twilio can fetch a file from']],
  [21623, ['too-long', 'the file is too large']],
  [21635, ['chat-gone', 'a land line takes no messages']],
  [21660, ['invalid', 'from_number is not of this account']],
] satisfies readonly (readonly [number, readonly [Refusal, string]])[]);

/** Numbers of a request that was not taken now, and how long to wait where the answer does not say. */
export const TRY_AGAIN: ReadonlyMap<ErrorCode | undefined, { readonly afterMs: number; readonly why: string }> = new Map([
  [14107, { afterMs: 10_000, why: 'too many messages for this number' }],
  [20429, { afterMs: 1_000, why: 'too many requests' }],
  [21611, { afterMs: 60_000, why: 'too many messages wait to be sent from this number' }],
  [63038, { afterMs: 3_600_000, why: 'the daily limit of the account is reached' }],
]);

export interface Undelivered {
  readonly meaning: string;
  /** It will happen to every message: the operator should know. */
  readonly everybody?: true;
}

/** Numbers of a status callback: the message was taken, and then did not arrive. */
export const UNDELIVERED: ReadonlyMap<number, Undelivered> = new Map<number, Undelivered>([
  [11751, { meaning: 'the files of the message are too large' }],
  [12300, { meaning: 'the type of the file is not what Twilio expected' }],
  [21610, { meaning: 'the person wrote STOP' }],
  [30001, { meaning: 'the queue of the number is full' }],
  [30002, { meaning: 'the Twilio account is suspended', everybody: true }],
  [30003, { meaning: 'the phone is switched off or out of reach' }],
  [30004, { meaning: 'the person or their network blocks messages' }],
  [30005, { meaning: 'the number does not exist any more' }],
  [30006, { meaning: 'a land line, or a network that cannot be reached' }],
  [30007, { meaning: 'the network took the message for spam' }],
  [30008, { meaning: 'the network did not say why' }],
  [30010, { meaning: 'the message costs more than allowed' }],
  [30019, { meaning: 'the file is larger than the network takes' }],
  [30022, { meaning: 'the network limits how much this number may send' }],
  [30023, { meaning: 'the daily limit of the number at this network is reached' }],
  [30032, { meaning: 'the toll-free number is not verified: finish that in the console', everybody: true }],
  [30034, { meaning: 'the number is not registered for A2P 10DLC: finish that in the console', everybody: true }],
  [30410, { meaning: 'the network did not answer in time' }],
  [30453, { meaning: 'the person is a suspected victim of fraudulent traffic, and Twilio blocked the message' }],
  [63038, { meaning: 'the daily limit of the account is reached', everybody: true }],
]);

/** Platforms without markup: what is sent is what is shown. */

import { PLATFORM_LIMITS } from '../../../channels/twilio/platform-limits.ts';
import { tooLong, type Verdict } from './verdict.ts';

/** https://www.twilio.com/docs/api/errors/21617: "generally 1600 characters"; code units are never fewer. */
const BODY = PLATFORM_LIMITS.text.value;
/**
 * RFC 2812 2.3: "510 characters maximum allowed for the command and its parameters"; the server puts the
 * sender's name in front.
 */
const LINE = 510;
/** Nickname 30, user 10 and host 63 with their signs: what the line is relayed with. */
const PREFIX = 106;

export function judgeTwilio(body: string): Verdict {
  return {
    violations: [...tooLong(body.length, BODY, 'characters'), ...(body.trim() === '' ? ['the message is empty'] : [])],
    visible: body,
  };
}

export function judgeIrc(lines: readonly string[]): Verdict {
  const violations = lines.flatMap((line) => [
    ...tooLong(Buffer.byteLength(line) + PREFIX, LINE, 'bytes'),
    ...(/\p{Cc}/u.test(line) ? ['a control character'] : []),
    ...(/^PRIVMSG \S+ :./.test(line) ? [] : [`no message: ${line}`]),
  ]);
  return { violations, visible: lines.map((line) => line.replace(/^PRIVMSG \S+ :/, '')).join('\n') };
}

/** A terminal: an answer must not drive it. */
export function judgeTerminal(text: string): Verdict {
  return { violations: /(?![\n\t])\p{Cc}/u.test(text) ? ['a control character'] : [], visible: text };
}

/** A line of the server -> `InboundMessage`. Pure. */
import type { InboundMessage } from '../../../src/core/message.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { isChannel, type Line } from '../wire/line.ts';

export interface InboundContext {
  readonly channel: string;
  readonly account: string;
  /** Of the bot. */
  readonly nick: string;
  /** Stands in where the server gives a message no id. */
  readonly platformId: string;
  /**
   * By what it is known where it is shown again without its id: bouncers keep no `msgid`. Absent where the
   * server says no time.
   */
  readonly secondaryId?: string | undefined;
  /** It was written before, perhaps long ago, and may have been answered. */
  readonly isUndated?: boolean;
  /** Stands in where the server gives a message no time. */
  readonly timestamp: number;
}

/** A request of one program to another begins like this (CTCP). People write one of them: `/me waves`. */
const REQUEST = '\u0001';
const ACTION = '\u0001ACTION ';
/**
 * No person: `***` and `*status` of ZNC, since no nickname holds an asterisk, and the history of joins that
 * Ergo tells as words.
 */
const VOICES = /^\*|^HistServ!HistServ@localhost$/;
/** A colour with its numbers, in one way or the other, and every other character that is not shown. */
const COLOUR = `${'\u0003'}(?:\\d\\d?(?:,\\d\\d?)?)?|${'\u0004'}(?:[\\da-fA-F]{6}(?:,[\\da-fA-F]{6})?)?`;
const FORMATTING = new RegExp(`${COLOUR}|\\p{Cc}`, 'gu');

/** What a person said; undefined for every other line. */
export function toInbound(
  line: Line,
  { channel, account, nick, platformId, secondaryId, isUndated, timestamp }: InboundContext,
): InboundMessage | undefined {
  const { tags, address } = line;
  const [target = '', said = ''] = line.params;
  const isAction = said.startsWith(ACTION);
  if (line.command !== 'PRIVMSG' || address === undefined) return undefined;
  // History shows what we said as well, and a bouncer what another client of ours says.
  if (line.nick.toLowerCase() === nick.toLowerCase() || VOICES.test(`${line.nick}!${address}`)) return undefined;
  if (said.startsWith(REQUEST) && !isAction) return undefined;

  const text = (isAction ? `* ${line.nick} ${said.slice(ACTION.length)}` : said).replace(FORMATTING, '');
  const isGroup = isChannel(target);
  // The server vouches for an account. A user and host holds an @, so it is never taken for an account.
  const senderId = tags.get('account') ?? address;
  return inboundMessage(
    { channel, account },
    {
      platformId: tags.get('msgid') ?? secondaryId ?? platformId,
      ...(secondaryId !== undefined && { secondaryId }),
      ...(isUndated && { refusal: 'undated' as const }),
      timestamp: Date.parse(tags.get('time') ?? '') || timestamp,
      senderId,
      senderName: line.nick.replace(FORMATTING, ''),
      // Only a nickname can be written to, but it may change hands: with its owner it is one conversation.
      chatId: isGroup ? target.toLowerCase() : `${line.nick}!${senderId}`,
      isGroup,
      text: isGroup ? withoutCall(text, nick) : text,
      mentionsBot: isGroup && isNamed(text, nick),
      replyContext: { nick: line.nick },
    },
  );
}

/** `bot: what is this?` -> `what is this?` */
function withoutCall(text: string, nick: string): string {
  return text.replace(new RegExp(`^@?${nick}(?:[:,]\\s*|\\s+|$)`, 'i'), '');
}

/** The nickname as a word of its own: `robots` does not name `bot`. */
function isNamed(text: string, nick: string): boolean {
  return new RegExp(`(?<![\\w-])${nick}(?![\\w-])`, 'i').test(text);
}

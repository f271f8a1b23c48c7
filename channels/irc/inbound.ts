import { messageKey } from '../../src/core/ids.ts';
import type { InboundMessage } from '../../src/core/message.ts';

const FORM = /^(?:@(\S+) +)?(?::(\S+) +)?(\S*)((?: +[^:\s]\S*)*)(?: +:(.*))?/s;
/** Colours with their numbers, then whatever else nobody sees. */
const FORMATTING = new RegExp(`${'\u0003'}(?:\\d\\d?(?:,\\d\\d?)?)?|\\p{Cc}`, 'gu');

/** A line of RFC 1459 2.3.1 with the tags of IRCv3. Only people have an `address`, their user and host. */
export function parseLine(line: string) {
  const [, tags = '', prefix = '', command = '', middle = '', trailing] = FORM.exec(line) ?? [];
  const [nick = '', address] = prefix.split('!');
  const params = [...middle.split(' ').filter(Boolean), ...(trailing === undefined ? [] : [trailing])];
  return { tags: new Map(tags.split(';').map((tag) => tag.split(/=(.*)/s) as [string, string])), nick, address, command, params };
}

export type Line = ReturnType<typeof parseLine>;
/** Who we are, and what stands in where the server gives a message no id and no time. */
type Us = Pick<InboundMessage, 'channel' | 'account' | 'platformId' | 'timestamp'> & { readonly nick: string };

/** What somebody said; undefined for every other line. */
export function toInbound({ tags, nick, address, command, params }: Line, us: Us): InboundMessage | undefined {
  const [[target = '', said = ''], { channel, account }] = [params, us];
  const act = said.startsWith('\u0001ACTION ');
  if (command !== 'PRIVMSG' || address === undefined || (said.startsWith('\u0001') && !act)) return undefined;
  // Only a nickname can be written to, and only with its owner it is always the same conversation.
  // An account is vouched for by the server; a user and host holds an @ and is never taken for one.
  const senderId = tags.get('account') ?? address;
  const base = { channel, account, platformId: tags.get('msgid') ?? us.platformId };
  const text = (act ? `* ${nick} ${said.slice(8)}` : said).replace(FORMATTING, '');
  const isGroup = /^[#&]/.test(target);
  return {
    ...{ id: messageKey(base), kind: 'message', ...base, chatId: isGroup ? target.toLowerCase() : `${nick}!${senderId}` },
    ...{ senderId, senderName: nick, media: [], isGroup, replyContext: { nick } },
    text: isGroup ? text.replace(new RegExp(`^@?${us.nick}(?:[:,]\\s*|\\s+|$)`, 'i'), '') : text,
    mentionsBot: isGroup && new RegExp(`(?<![\\w-])${us.nick}(?![\\w-])`, 'i').test(text),
    timestamp: Date.parse(tags.get('time') ?? '') || us.timestamp,
  };
}

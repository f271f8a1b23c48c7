/** A line of the protocol: RFC 1459 2.3.1 with the tags of IRCv3. Pure. */

export interface Line {
  readonly tags: ReadonlyMap<string, string>;
  /** Of the person, or the name of the server. */
  readonly nick: string;
  /** User and host of a person; a server has none. */
  readonly address: string | undefined;
  readonly command: string;
  readonly params: readonly string[];
  /** The last parameter, in which servers put words for people. */
  readonly last: string;
}

/** Address of ZNC's own voice. */
export const ZNC = 'znc@znc.in';

/** `@tags :nick!user@host COMMAND one two :and words to the end` */
const FORM = /^(?:@(\S+) +)?(?::(\S+) +)?(\S*)((?: +[^:\s]\S*)*)(?: +:(.*))?/s;

/** Takes any text: what has no form of a line has an empty command. */
export function parseLine(text: string): Line {
  const [, tags = '', sender = '', command = '', middle = '', words] = FORM.exec(text) ?? [];
  const [nick = '', address] = sender.split('!');
  const params = middle.split(' ').filter((param) => param !== '');
  if (words !== undefined) params.push(words);
  return { tags: parseTags(tags), nick, address, command, params, last: params.at(-1) ?? '' };
}

/** A tag without a value counts as absent, as IRCv3 says. */
function parseTags(tags: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const tag of tags.split(';')) {
    const [key = '', value = ''] = tag.split(/=(.*)/s);
    if (value !== '') found.set(key, value);
  }
  return found;
}

/**
 * A channel, or those of it who have a right: `@#help` is read by its operators alone (STATUSMSG of
 * modern.ircdocs.horse). So it is a conversation of its own, answered where it was asked.
 */
export const CHANNEL = /^[~&@%+]*[#&]/;

export function isChannel(target: string): boolean {
  return CHANNEL.test(target);
}

/** The channel of those who have a right in it; servers speak of that where they refuse a message to them. */
export function channelOf(target: string): string {
  return target.replace(/^[~&@%+]+(?=[#&])/, '');
}

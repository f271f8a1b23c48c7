/** What a message says, without the bot's own name and with the names of others in place of their ids. */
import { type JsonObject, objects, str } from '../../kit/json.ts';
import { label } from '../../kit/senders-words.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { snowflake } from '../wire/ids.ts';
import { writtenIn } from './cards.ts';

export interface Addressing {
  /** Our own user id. */
  readonly account: string;
  /** Roles whose mention addresses us; empty unless the operator wants it. */
  readonly roles: ReadonlySet<string>;
  /** Whether @everyone and @here address us. */
  readonly everyone: boolean;
}

/** What people see in place of an id. Undefined where that is not known: the id stays. */
export interface NameOf {
  readonly user: (id: string) => string | undefined;
  readonly role: (id: string) => string | undefined;
  readonly channel: (id: string) => string | undefined;
}

/**
 * A user, member, role, channel or emoji as it stands in a text
 * (https://discord.com/developers/docs/reference#message-formatting).
 */
const TOKEN = /<(?:@!?(?<user>\d{15,20})|@&(?<role>\d{15,20})|#(?<channel>\d{15,20})|a?:(?<emoji>\w{1,64}):\d{15,20})>/g;

/** Ids of the channels and roles that the text of a message names, each once. */
export function idsIn(messages: readonly JsonObject[]): {
  readonly channels: readonly string[];
  readonly roles: readonly string[];
} {
  const found = messages.flatMap((message) => [...writtenIn(message).matchAll(TOKEN)].map(({ groups = {} }) => groups));
  const of = (kind: 'channel' | 'role'): readonly string[] => [...new Set(found.flatMap((groups) => groups[kind] ?? []))];
  return { channels: of('channel'), roles: of('role') };
}

/**
 * The text as people read it, and whether it addresses us. Only a name that the platform itself resolved
 * counts: one in a code block, or one that was merely typed, is listed nowhere.
 */
export function readText(
  message: JsonObject,
  to: Addressing,
  nameOf?: NameOf,
): { readonly text: string; readonly mentioned: boolean } {
  const names = new Map(objects(message['mentions']).map((user) => [str(user['id']) ?? '', displayName(user)]));
  const roles = new Set(Array.isArray(message['mention_roles']) ? message['mention_roles'] : []);
  let mentioned = to.everyone && message['mention_everyone'] === true;
  const content = writtenIn(message);
  let out = '';
  let at = 0;
  for (const match of content.matchAll(TOKEN)) {
    const { user, role, channel, emoji } = match.groups ?? {};
    const own = (user === to.account && names.has(to.account)) || (role !== undefined && roles.has(role) && to.roles.has(role));
    if (own) mentioned = true;
    const called = user === undefined ? role && nameOf?.role(role) : (names.get(user) ?? nameOf?.user(user));
    const room = channel && nameOf?.channel(channel);
    const shown = own ? '' : emoji ? `:${emoji}:` : called ? `@${label(called)}` : room ? `#${label(room)}` : match[0];
    out += content.slice(at, match.index) + shown;
    at = match.index + match[0].length;
    if (shown !== '') continue;
    // "hey @bot do" reads "hey do"; "@bot: do" and "@bot, do" read "do".
    if (out === '') at += /^[\s,:]*/.exec(content.slice(at))?.[0].length ?? 0;
    else if (content[at] === ' ' && out.endsWith(' ')) at += 1;
  }
  out += content.slice(at);
  return { text: mentioned ? out.trim() : out, mentioned };
}

const MAX_THREAD_NAME = PLATFORM_LIMITS.threadName.value;

/**
 * The name of a thread that is opened for a message: its first words, without the people, roles and channels
 * in it; `otherwise` for a message without words.
 */
export function threadName(message: JsonObject, otherwise: string): string {
  const named = writtenIn(message).replaceAll(TOKEN, (...match) => {
    const { emoji } = match.at(-1) as { readonly emoji?: string };
    return emoji ? `:${emoji}:` : ' ';
  });
  const words = named
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replace(/^[\s,:]+/, '')
    .trim();
  if (words.length <= MAX_THREAD_NAME) return words || otherwise;
  const cut = words.slice(0, MAX_THREAD_NAME - 1).replace(/[\uD800-\uDBFF]$/, '');
  const atWord = cut.lastIndexOf(' ');
  return `${(atWord > MAX_THREAD_NAME / 2 ? cut.slice(0, atWord) : cut).trimEnd()}…`;
}

/** What people see of somebody. Anyone can take any name: it decides nothing (reliability.md A3). */
export function displayName(user: JsonObject, member: JsonObject = {}): string {
  return label(str(member['nick']) ?? str(user['global_name']) ?? str(user['username']) ?? snowflake(user['id']) ?? '');
}

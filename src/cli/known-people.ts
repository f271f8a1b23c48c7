/** Whom the config and the journal know: for commands that name a person. */
import type { LoadedConfig } from '../../config/load.ts';
import { ConfigError } from '../../config/problem.ts';
import { GatehouseError } from '../core/errors.ts';
import { principalOf } from '../core/ids.ts';
import type { PersonRef } from '../core/people.ts';
import { nearest } from '../lib/edit-distance.ts';
import { type CommandContext, readConfig } from './context.ts';
import type { OpenJournal } from './deps.ts';

/**
 * What decides about a person, the strongest first. `guest`: the list lets all in. `asked`: they wait for the
 * owner's word.
 */
export type Standing = 'blocked' | 'listed' | 'paired' | 'guest' | 'denied' | 'asked' | 'owner';

export interface KnownPerson extends PersonRef {
  readonly standing: Standing;
  /** Named in `gateway.owner`, which alone lets no one in. */
  readonly isOwner?: true;
  readonly name?: string;
  /** Epoch ms at which they asked, or were blocked. */
  readonly since?: number;
  readonly lastSeen?: number;
  /** Of a block. */
  readonly reason?: string;
}

type Gateway = LoadedConfig['config']['gateway'];

/** Undefined where the config cannot be read: who has to be kept out must not wait for it to be mended. */
export async function gatewayOf(context: CommandContext): Promise<Gateway | undefined> {
  try {
    return (await readConfig(context)).config.gateway;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { out } = context;
    out.say(`${out.mark('warn', 'stderr')} the config cannot be read (${error.message}): only the journal is looked at`);
    return undefined;
  }
}

/** `telegram:42`. The id may have colons of its own. Throws GH1001. */
export function personOf(words: string): PersonRef {
  const at = words.indexOf(':');
  const who = { channel: words.slice(0, at).trim(), senderId: words.slice(at + 1).trim() };
  if (at > 0 && who.channel !== '' && who.senderId !== '' && who.senderId !== '*') return who;
  const message = who.senderId === '*' ? '`*` is no person' : `${JSON.stringify(words.slice(0, 100))} names no person`;
  throw new GatehouseError('GH1001', message, { hint: 'write CHANNEL:ID, as `gatehouse people list` shows it' });
}

/** Where people are known from, beside the config. */
export interface KnownIn {
  readonly people: Pick<OpenJournal['people'], 'blocks' | 'seen'>;
  readonly pairing: Pick<OpenJournal['pairing'], 'list'>;
}

/** One entry a person, by channel and id. */
export async function knownPeople(
  gateway: Gateway | undefined,
  { people, pairing }: KnownIn,
  now: number,
): Promise<readonly KnownPerson[]> {
  const found = new Map<string, KnownPerson>();
  // The strongest first: what comes later only adds what is not known.
  const add = (person: KnownPerson): void => {
    const key = principalOf(person);
    found.set(key, { ...person, ...found.get(key) });
  };
  for (const { reason, at, channel, senderId } of await people.blocks())
    add({ channel, senderId, standing: 'blocked', since: at, ...(reason === undefined ? {} : { reason }) });
  for (const person of configured(gateway)) add(person);
  for (const { channel, senderId, senderName: name, state, createdAt: since } of await pairing.list(now))
    add({ channel, senderId, name, since, standing: state === 'approved' ? 'paired' : state === 'pending' ? 'asked' : 'denied' });
  for (const [principal, lastSeen] of await people.seen()) {
    const known = found.get(principal);
    // No name of a channel has a colon.
    const [channel = ''] = principal.split(':', 1);
    const who = { channel, senderId: principal.slice(channel.length + 1) };
    if (known) found.set(principal, { ...known, lastSeen });
    else if (letsAllIn(gateway, who.channel)) add({ ...who, standing: 'guest', lastSeen });
  }
  for (const owner of owners(gateway)) add(owner);
  return [...found.values()].sort((a, b) => (principalOf(a) < principalOf(b) ? -1 : 1));
}

function* owners(gateway: Gateway | undefined): Iterable<KnownPerson> {
  for (const { channel, chat_id: chatId, sender_ids: ids } of gateway?.owner ?? [])
    for (const senderId of ids.length > 0 ? ids : [chatId]) yield { channel, senderId, standing: 'owner', isOwner: true };
}

function* configured(gateway: Gateway | undefined): Iterable<KnownPerson> {
  for (const channel of gateway?.channels ?? [])
    for (const senderId of channel.allowed_senders)
      if (senderId !== '*') yield { channel: nameOf(channel), senderId, standing: 'listed' };
}

export function letsAllIn(gateway: Gateway | undefined, channel: string): boolean {
  return gateway?.channels.some((one) => nameOf(one) === channel && one.allowed_senders.includes('*')) ?? false;
}

/** Whether it is the terminal: who can type there cannot be kept out. */
export function isTerminal(gateway: Gateway | undefined, channel: string): boolean {
  return gateway?.channels.some((one) => nameOf(one) === channel && one.type === 'cli') ?? channel === 'cli';
}

function nameOf({ name, type }: Gateway['channels'][number]): string {
  return name ?? type;
}

/** Channels of the config and of those who are known. */
export function channelsOf(gateway: Gateway | undefined, known: readonly PersonRef[]): readonly string[] {
  return [...new Set([...(gateway?.channels ?? []).map(nameOf), ...known.map(({ channel }) => channel)])].sort();
}

/** What to try where a person is not known: the nearest of those who are. */
export function nearHint(who: PersonRef, known: readonly PersonRef[]): string {
  const near = nearest(principalOf(who), known.map(principalOf));
  const list = '`gatehouse people list` shows who is known';
  return near === undefined ? list : `did you mean ${near}? ${list}`;
}

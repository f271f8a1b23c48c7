// a name -> the people who are known by it on any channel, each with all their private chats
import type { Chat, Chats } from '../core/chats.ts';
import { personShown } from './behalf.ts';

export interface FindPeopleOptions {
  readonly chats: Chats;
  /** Instance names of what is configured. */
  readonly channelNames: () => readonly string[];
  /** The ids of the person that this one is of, in a fixed order. */
  readonly linked: (principal: string) => readonly string[];
  /** An id of each person of whom a linked account had this name. */
  readonly linkedAs: (name: string) => readonly string[];
}

export interface FoundPerson {
  readonly ids: readonly string[];
  /** On all channels, the one that was used last first. */
  readonly chats: readonly Chat[];
}

/**
 * In any case. Several people of one name are several entries: the caller refuses, and names them. For the
 * owner alone: to others it would tell who there is.
 */
export async function peopleNamed(name: string, options: FindPeopleOptions): Promise<readonly FoundPerson[]> {
  const people = new Set<string>(options.linkedAs(name).map((principal) => idOf(principal, options)));
  for (const channel of options.channelNames())
    for (const { principal } of await options.chats.named(channel, name))
      if (principal !== undefined) people.add(idOf(principal, options));
  const found: FoundPerson[] = [];
  for (const person of people) found.push(await personOf(person, options));
  return found;
}

/** All chats of the person that this id is of. */
export async function personOf(
  principal: string,
  { chats, linked }: Pick<FindPeopleOptions, 'chats' | 'linked'>,
): Promise<FoundPerson> {
  const ids = linked(principal);
  const own: Chat[] = [];
  for (const id of ids) own.push(...(await chats.find(id)));
  return { ids, chats: own.sort((a, b) => (b.lastIn ?? 0) - (a.lastIn ?? 0)) };
}

function idOf(principal: string, { linked }: Pick<FindPeopleOptions, 'linked'>): string {
  return linked(principal)[0] ?? principal;
}

/** For the model: `Ada (telegram:42), slack:U1`. A name that it did not give may be a stranger's words. */
export function listed(people: readonly FoundPerson[], name: string): string {
  const shown = ({ ids, chats: [chat] }: FoundPerson): string => {
    const isSame = chat?.title?.toLowerCase() === name.toLowerCase();
    return personShown(isSame ? chat?.title : undefined, chat?.principal ?? ids[0] ?? '');
  };
  return people.map(shown).join(', ');
}

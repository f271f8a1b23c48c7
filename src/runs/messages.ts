// words of a run -> its own chat, or another that is known and let in -> parts of the outbox, in one commit
import { UNTRUSTED } from '../core/authority.ts';
import type { Channel } from '../core/channel.ts';
import type { Chat, Chats } from '../core/chats.ts';
import type { Commits } from '../core/commit.ts';
import { chatKey, inTopic, partKey, sentForId, sessionKey } from '../core/ids.ts';
import type { Address, InboundMessage, SentFor } from '../core/message.ts';
import type { ChatName, Messages, NotWritten, Words, Written } from '../core/messages.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { planBelow } from '../delivery/plan-below.ts';
import { headOf, receiverTitle } from './behalf.ts';
import type { DailyCap } from './daily-cap.ts';
import { type FindPeopleOptions, listed, peopleNamed, personOf } from './find-people.ts';
import { type LetInOptions, readerOf } from './let-in.ts';

export interface MessagesOptions extends LetInOptions, Omit<FindPeopleOptions, 'chats'> {
  readonly journal: Pick<Outbox, 'enqueue' | 'part' | 'sentFor'> & Commits & { readonly chats: Chats };
  /** Told of a line that is on disk, for the session of another chat. */
  readonly onLine: (session: string, line: SessionMessage) => void;
  /** Undefined = it does not work now. */
  readonly channel: (name: string) => Channel | undefined;
  readonly cap: DailyCap;
  /** Whether a person is on no list. */
  readonly isGuest: (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>) => Promise<boolean>;
  readonly isReserved: (words: string) => boolean;
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly clock: { now(): number };
  readonly expiresInMs: () => number;
}

/** A chat that words were to go to; undefined = none is known. `where`: as it was named. */
interface Named {
  readonly chat: Chat | undefined;
  readonly where: string;
}

/** Another chat, and who reads there. */
export interface Receiver {
  readonly kind: 'found';
  readonly address: Address;
  /** As of `SentFor`. */
  readonly reader: string;
  readonly title: string;
  readonly head: string;
  /** The topic in which people speak there now. */
  readonly active: string;
}

/**
 * Writes beside the answer of one run. Other chats get only what is asked for by a person who is named above
 * every piece of it, and only chats from which a person has written who may still do so; 20 messages a day.
 */
export class RunMessages implements Messages {
  readonly #options: MessagesOptions;
  readonly #row: RunRow;
  readonly #home: Address | undefined;

  /** `home`: as `RunScope.origin`. */
  constructor(row: RunRow, home: Address | undefined, options: MessagesOptions) {
    this.#row = row;
    this.#home = home;
    this.#options = options;
  }

  isHome({ channel, chatId }: ChatName): boolean {
    const home = this.#home;
    if (!home || (channel !== undefined && channel !== home.channel)) return false;
    return chatId === undefined || chatId === home.chatId;
  }

  isReserved(words: string): boolean {
    return this.#options.isReserved(words);
  }

  async find(chat: ChatName): Promise<{ readonly kind: 'found'; readonly title: string; readonly head: string } | NotWritten> {
    return this.isHome(chat) ? { kind: 'found', title: 'this chat', head: '' } : await this.receiver(chat);
  }

  async write(words: Words, key: string, signal: AbortSignal): Promise<Written | NotWritten> {
    const id = sentForId(key);
    const { journal, cap } = this.#options;
    const isHome = this.isHome(words.chat);
    // Before all else: an earlier attempt may have written to a chat that is shut out by now.
    const earlier = await journal.part(partKey(id, 0));
    if (earlier) {
      const { sentFor } = earlier.part;
      return { kind: 'written', title: sentFor ? await this.#titleFor(earlier.part, sentFor) : 'this chat' };
    }
    if (isHome) return await this.#enqueue(this.#homeParts(words, id), 'this chat', signal);
    const receiver = await this.receiver(words.chat);
    if (receiver.kind === 'refused') return receiver;
    return await cap.within([receiver.reader], () => this.#relay(receiver, words, id, signal));
  }

  /** With a line in the session of that chat, in one commit: the agent there must know what was said. */
  async #relay(receiver: Receiver, words: Words, id: string, signal: AbortSignal): Promise<Written> {
    signal.throwIfAborted();
    const { journal, onParts, onLine } = this.#options;
    const { address, active } = receiver;
    const title = await this.#titleFor(address, { ...receiver, readers: [receiver.reader] });
    const parts = this.#partsFor(receiver, words, id);
    const session = inTopic(sessionKey(address, await journal.chats.firstAccount(address.channel)), active);
    const line = this.#lineFor(receiver, words, id);
    await journal.commit([...parts.map((part) => ({ kind: 'part', part }) as const), { kind: 'line', session, line }]);
    onParts(parts);
    onLine(session, line);
    return { kind: 'written', title };
  }

  /** For the model: the name that a guest chose is words of a stranger, so the id alone is told. */
  async #titleFor(
    { channel, account, chatId }: Address,
    { readers: [reader = ''], title }: Pick<SentFor, 'readers' | 'title'>,
  ): Promise<string> {
    const isGroup = reader === chatKey({ channel, account, chatId });
    if (isGroup || !(await this.#options.isGuest({ channel, account, senderId: reader.slice(channel.length + 1) }))) return title;
    return receiverTitle({ channel, chatId, name: undefined, isGroup: false });
  }

  /** What others chose the words of is untrusted there, whatever it is here. */
  #lineFor({ head }: Receiver, { text, choices, taint = 0 }: Words, id: string): SessionMessage {
    const offered = choices.map(({ label }, n) => `\n${n + 1}. ${label}`).join('');
    return {
      id,
      role: 'assistant',
      content: `${head}\n\n${text}${offered}`,
      by: this.#row.authority.principal,
      taint: taint | (this.#row.taint ?? 0) | UNTRUSTED,
      timestamp: new Date(this.#options.clock.now()).toISOString(),
    };
  }

  async #enqueue(parts: readonly NewPart[], title: string, signal: AbortSignal): Promise<Written> {
    signal.throwIfAborted();
    await this.#options.journal.enqueue(parts);
    this.#options.onParts(parts);
    return { kind: 'written', title };
  }

  /** Behind the place of the first piece of the answer, which platforms put where they said "is thinking". */
  #homeParts(words: Words, id: string): readonly NewPart[] {
    const home = this.#home;
    if (!home) throw new Error('a run without a chat has no home');
    return this.#plan(home, words, id, '').map((row) => {
      const { ordinal, count } = row.part;
      return { ...row, part: { ...row.part, ordinal: ordinal + 1, count: count + 1 } };
    });
  }

  #partsFor({ address, reader, title, head }: Receiver, words: Words, id: string): readonly NewPart[] {
    const sentFor = { readers: [reader], title, ...(this.#home ? { told: this.#home } : {}) };
    return this.#plan(address, words, id, head).map((row) => ({ ...row, part: { ...row.part, sentFor } }));
  }

  #plan(address: Address, { text, choices }: Words, id: string, head: string): readonly NewPart[] {
    const { channel: find, clock, expiresInMs } = this.#options;
    const channel = find(address.channel);
    const parts = planBelow(head, {
      ...{ message: { id, ...address }, text, files: [], choices },
      buttons: channel?.buttons ?? false,
      limits: channel?.limits,
      now: clock.now(),
      expiresInMs: expiresInMs(),
    });
    return parts.map((row) => ({ ...row, part: { ...row.part, messageId: this.#row.key } }));
  }

  /** Whom words to another chat reach, or why they may not be written. Rejects as the journal does. */
  async receiver({ channel, chatId }: ChatName): Promise<Receiver | NotWritten> {
    const { rules } = this.#options;
    if (channel !== undefined && !rules(channel)) return refused(`no channel is called ${JSON.stringify(channel)}`);
    const found = chatId === undefined ? await this.#ownChat(channel) : await this.#named(chatId, channel);
    if ('kind' in found) return found;
    const { chat, where } = found;
    if (chat?.lastIn === undefined)
      return refused(`no person has written to the agent from ${where}, and only where one has it may write`);
    const { address, title: name, active = '' } = chat;
    const reader = await readerOf(chat, this.#options);
    if (reader === undefined) return refused(`${where} is not let in any more`);
    return {
      ...{ kind: 'found', address, reader, active },
      title: receiverTitle({ channel: address.channel, chatId: address.chatId, name, isGroup: address.isGroup === true }),
      head: await this.head(),
    };
  }

  /** Of the person who asks, on another channel. */
  async #ownChat(channel: string | undefined): Promise<Named | NotWritten> {
    if (channel === undefined) return refused('name the channel and the chat');
    const { chats } = await personOf(this.#row.authority.principal, this.#findOptions());
    const [chat] = chats.filter((one) => this.#isOn(channel, one));
    if (!chat) return refused(`the person who asks is linked with no account on ${channel}: name the chat`);
    return { chat, where: `their account on ${channel}` };
  }

  /**
   * By the id of the chat, else by that of the person in it, else, for the owner alone, by the name of the
   * person on any channel: to others it would tell who there is.
   */
  async #named(chatId: string, named: string | undefined): Promise<Named | NotWritten> {
    const channel = named ?? this.#home?.channel;
    const where = channel === undefined ? JSON.stringify(chatId) : `${JSON.stringify(chatId)} on ${channel}`;
    const known = channel === undefined ? undefined : await this.#byId(channel, chatId);
    if (known) return { chat: known, where };
    if (this.#row.authority.role !== 'owner') return { chat: undefined, where };
    const isMeant = (one: Chat): boolean => this.#isOn(named ?? one.address.channel, one);
    const people = (await peopleNamed(chatId, this.#findOptions())).filter(({ chats }) => chats.some(isMeant));
    if (people.length > 1)
      return refused(`${where} is the name of several people: name one by the id, ${listed(people, chatId)}`);
    const chats = (people[0]?.chats ?? []).filter(isMeant);
    const here = channel === undefined ? undefined : chats.find(({ address }) => address.channel === channel);
    return { chat: here ?? (named === undefined ? chats[0] : undefined), where };
  }

  async #byId(channel: string, chatId: string): Promise<Chat | undefined> {
    const { chats } = this.#options.journal;
    const account = this.#options.channel(channel)?.account ?? (await chats.firstAccount(channel));
    if (account === undefined) return undefined;
    const chat = await chats.of(chatKey({ channel, account, chatId }));
    if (chat) return chat;
    return (await chats.find(`${channel}:${chatId}`)).find(({ address }) => address.account === account);
  }

  /** With the account that works there now, where one does. */
  #isOn(channel: string, { address }: Chat): boolean {
    const account = this.#options.channel(channel)?.account;
    return address.channel === channel && (account === undefined || address.account === account);
  }

  #findOptions(): FindPeopleOptions {
    return { ...this.#options, chats: this.#options.journal.chats };
  }

  /** The line above what other people read. */
  async head(): Promise<string> {
    return headOf(await this.#asker(), this.#row.authority.principal);
  }

  /** The name of the person on whose account the run acts. Undefined = none is known. */
  async #asker(): Promise<string | undefined> {
    const { message, authority } = this.#row;
    if (message) return message.senderName;
    return (await this.#options.journal.chats.find(authority.principal))[0]?.title;
  }
}

function refused(reason: string): NotWritten {
  return { kind: 'refused', reason };
}

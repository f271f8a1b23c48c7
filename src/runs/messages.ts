// words of a run -> its own chat, or another that is known and let in -> parts of the outbox, in one commit
import type { Channel } from '../core/channel.ts';
import type { Chat, Chats } from '../core/chats.ts';
import { chatKey, partKey, sentForId } from '../core/ids.ts';
import type { Address } from '../core/message.ts';
import type { ChatName, Messages, NotWritten, Words, Written } from '../core/messages.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { RunRow } from '../core/run.ts';
import { planBelow } from '../delivery/plan-below.ts';
import { headOf, receiverTitle } from './behalf.ts';
import type { DailyCap } from './daily-cap.ts';
import { type LetInOptions, readerOf } from './let-in.ts';

export interface MessagesOptions extends LetInOptions {
  readonly journal: Pick<Outbox, 'enqueue' | 'part' | 'sentFor'> & { readonly chats: Chats };
  /** Undefined = it does not work now. */
  readonly channel: (name: string) => Channel | undefined;
  readonly cap: DailyCap;
  readonly isReserved: (words: string) => boolean;
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly clock: { now(): number };
  readonly expiresInMs: () => number;
}

/** Another chat, and who reads there. */
export interface Receiver {
  readonly kind: 'found';
  readonly address: Address;
  /** As of `SentFor`. */
  readonly reader: string;
  readonly title: string;
  readonly head: string;
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
    if (earlier) return { kind: 'written', title: earlier.part.sentFor?.title ?? 'this chat' };
    if (isHome) return await this.#enqueue(this.#homeParts(words, id), 'this chat', signal);
    const receiver = await this.receiver(words.chat);
    if (receiver.kind === 'refused') return receiver;
    return await cap.within([receiver.reader], () => this.#enqueue(this.#partsFor(receiver, words, id), receiver.title, signal));
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
  async receiver({ channel: named, chatId }: ChatName): Promise<Receiver | NotWritten> {
    const channel = named ?? this.#home?.channel;
    if (channel === undefined || chatId === undefined) return refused('name the channel and the chat');
    if (!this.#options.rules(channel)) return refused(`no channel is called ${JSON.stringify(channel)}`);
    const where = `${JSON.stringify(chatId)} on ${channel}`;
    const [chat, ...more] = await this.#known(channel, chatId);
    if (more.length > 0) {
      const all = [chat, ...more].map((one) => JSON.stringify(one?.address.chatId)).join(', ');
      return refused(`${where} is the name of several people: name one by the id of the chat, ${all}`);
    }
    if (chat?.lastIn === undefined)
      return refused(`no person has written to the agent from ${where}, and only where one has it may write`);
    const { address, title: name } = chat;
    const reader = await readerOf(chat, this.#options);
    if (reader === undefined) return refused(`${where} is not let in any more`);
    return {
      ...{ kind: 'found', address, reader },
      title: receiverTitle({ channel, chatId: address.chatId, name, isGroup: address.isGroup === true }),
      head: await this.head(),
    };
  }

  /**
   * By the id of the chat, else by that of the person in it, else, for the owner alone, by the name of the
   * person: to others it would tell who there is.
   */
  async #known(channel: string, chatId: string): Promise<readonly Chat[]> {
    const { chats } = this.#options.journal;
    const account = this.#options.channel(channel)?.account ?? (await chats.firstAccount(channel));
    if (account === undefined) return [];
    const chat = await chats.of(chatKey({ channel, account, chatId }));
    if (chat) return [chat];
    const ofAccount = ({ address }: Chat): boolean => address.account === account;
    const ofPerson = (await chats.find(`${channel}:${chatId}`)).filter(ofAccount).slice(0, 1);
    if (ofPerson.length > 0 || this.#row.authority.role !== 'owner') return ofPerson;
    return (await chats.named(channel, chatId)).filter(ofAccount);
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

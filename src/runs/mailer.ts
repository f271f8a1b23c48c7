// a letter of a run -> may it go? -> one part of the outbox, which the mail channel sends
import type { Channel } from '../core/channel.ts';
import type { Chats } from '../core/chats.ts';
import { laneKey, partKey, principalOf, sentForId } from '../core/ids.ts';
import type { Address, OutboundFile, OutboundPart } from '../core/message.ts';
import type { Letter, LetterFile, Mailer, NotWritten, Written } from '../core/messages.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { PersonRef } from '../core/people.ts';
import type { RunRow } from '../core/run.ts';
import type { DailyCap } from './daily-cap.ts';
import { type FindPeopleOptions, listed, peopleNamed } from './find-people.ts';

export interface MailerOptions extends Omit<FindPeopleOptions, 'chats'> {
  readonly journal: Pick<Outbox, 'enqueue' | 'part'> & { readonly chats: Chats };
  /** Those that write mail and work now, by instance name. Asked at each use. */
  readonly channels: () => ReadonlyMap<string, Channel>;
  readonly isBlocked: (who: PersonRef) => Promise<boolean>;
  /** A private copy of at most so many bytes; rejects as `AnswerScope.attach`. */
  readonly copy: (file: LetterFile, maxBytes: number) => Promise<OutboundFile>;
  readonly cap: DailyCap;
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly clock: { now(): number };
  readonly expiresInMs: () => number;
}

/** Mail of one run. Its readers need not have written to us; they must not be blocked. */
export class RunMailer implements Mailer {
  readonly #options: MailerOptions;
  readonly #row: RunRow;
  readonly #home: Address | undefined;

  constructor(row: RunRow, home: Address | undefined, options: MailerOptions) {
    this.#options = options;
    this.#row = row;
    this.#home = home;
  }

  async find(
    letter: Omit<Letter, 'subject'>,
  ): Promise<{ readonly kind: 'found'; readonly from: string; readonly fileBytes: number } | NotWritten> {
    const channel = this.#channel(letter);
    if (!channel)
      return refused(letter.channel === undefined ? 'no mail channel works now' : 'no mail channel is called so, or works now');
    const { name, account, limits } = channel;
    if (letter.text.length > limits.text) return refused(`the body has more than ${limits.text} characters`);
    for (const address of [...letter.to, ...letter.cc]) {
      const senderId = address.toLowerCase();
      if (senderId === account) return refused(`${address} is the address that the mail would come from`);
      if (await this.#options.isBlocked({ channel: name, senderId })) return refused(`${address} is blocked`);
    }
    return { kind: 'found', from: account, fileBytes: limits.uploadBytes };
  }

  async addressOf(name: string): Promise<{ readonly kind: 'found'; readonly address: string } | NotWritten> {
    const what = JSON.stringify(name);
    if (this.#row.authority.role !== 'owner') return refused(`${what} is no address`);
    const people = await peopleNamed(name, { ...this.#options, chats: this.#options.journal.chats });
    if (people.length > 1)
      return refused(`${what} is the name of several people: name one by the address, ${listed(people, name)}`);
    const channels = this.#options.channels();
    const mail = people[0]?.chats.find(({ address, principal }) => channels.has(address.channel) && principal !== undefined);
    const address = mail?.principal?.slice(mail.address.channel.length + 1);
    return address === undefined
      ? refused(`no mail of a person by the name ${what} is known; write the address`)
      : { kind: 'found', address };
  }

  async attach(letter: Pick<Letter, 'channel'>, file: LetterFile, signal: AbortSignal): Promise<OutboundFile> {
    signal.throwIfAborted();
    return await this.#options.copy(file, this.#channel(letter)?.limits.uploadBytes ?? 0);
  }

  async isWritten(key: string): Promise<boolean> {
    return (await this.#options.journal.part(partKey(sentForId(key), 0))) !== undefined;
  }

  async write(letter: Letter, files: readonly OutboundFile[], key: string, signal: AbortSignal): Promise<Written | NotWritten> {
    const { cap, journal, onParts } = this.#options;
    const title = [...letter.to, ...letter.cc].join(', ');
    // Before all else: an earlier attempt may have written to a person who is blocked by now.
    if (await this.isWritten(key)) return { kind: 'written', title };
    const found = await this.find(letter);
    const channel = this.#channel(letter);
    if (found.kind === 'refused' || !channel) return found.kind === 'refused' ? found : refused('no mail channel works now');
    const row = this.#partOf(letter, { files, title, channel, key });
    return await cap.within(row.part.sentFor?.readers ?? [], async (): Promise<Written> => {
      signal.throwIfAborted();
      await journal.enqueue([row]);
      onParts([row]);
      return { kind: 'written', title };
    });
  }

  #partOf(
    { to, cc, subject, text }: Letter,
    {
      files,
      title,
      channel,
      key,
    }: { readonly files: readonly OutboundFile[]; readonly title: string; readonly channel: Channel; readonly key: string },
  ): NewPart {
    const { clock, expiresInMs } = this.#options;
    const where = { channel: channel.name, account: channel.account, chatId: to[0]?.toLowerCase() ?? '' };
    const readers = [...to, ...cc].map((address) => principalOf({ channel: channel.name, senderId: address.toLowerCase() }));
    const part: OutboundPart = {
      ...where,
      key: partKey(sentForId(key), 0),
      messageId: this.#row.key,
      ...{ ordinal: 0, count: 1, text },
      mail: { to, cc, subject, files },
      sentFor: { readers, title, ...(this.#home ? { told: this.#home } : {}) },
    };
    return { part, lane: laneKey(where), expiresAt: clock.now() + expiresInMs() };
  }

  #channel({ channel: named }: Pick<Letter, 'channel'>): Channel | undefined {
    const channels = this.#options.channels();
    if (named !== undefined) return channels.get(named);
    return channels.get(this.#home?.channel ?? '') ?? [...channels.values()][0];
  }
}

function refused(reason: string): NotWritten {
  return { kind: 'refused', reason };
}

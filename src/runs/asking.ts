// a run asks -> whom, and may it -> a wait with a question, which the park writes
import { createHash } from 'node:crypto';
import type { Asked, Asking, Found, Wondering } from '../core/asking.ts';
import { PRIVATE } from '../core/authority.ts';
import type { Chats } from '../core/chats.ts';
import { chatKey, shortHash } from '../core/ids.ts';
import type { Address } from '../core/message.ts';
import type { ChatName, NotWritten, Written } from '../core/messages.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { RunRow } from '../core/run.ts';
import type { OnBehalf, Question, Wanted } from '../core/wait.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { spellOutText } from '../lib/spell-out.ts';
import type { Owner } from '../operator/owner.ts';
import { receiverTitle } from './behalf.ts';
import type { DailyCap } from './daily-cap.ts';
import type { RunMessages } from './messages.ts';

const DAY_MS = 24 * 3_600_000;
/** How long a person may take where the model does not say. */
const ANSWER_MS = 7 * DAY_MS;
const MOST_CHARS = 2_000;
const OWNER = 'owner';
const REQUESTER = 'requester';
const TO_OWNER = 'the owner';

export interface AskingOptions {
  readonly journal: Pick<Outbox, 'enqueue'> & { readonly chats: Chats };
  readonly owner: Pick<Owner, 'prepare' | 'exists'>;
  readonly cap: DailyCap;
  /** Whether such a channel is configured. */
  readonly isChannel: (name: string) => boolean;
  /** Whether what is written there is surely of the person whose it seems to be. */
  readonly provesSender: (channel: string) => boolean;
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly clock: { now(): number };
  /** After how long a person is reminded, once. 0 = never. */
  readonly remindAfterMs: () => number;
}

/** A person who can be asked, and where. */
interface Person {
  readonly kind: 'found';
  readonly to: Question['to'];
  readonly by: readonly string[];
  readonly title: string;
  readonly onBehalf?: OnBehalf;
}

/**
 * Asks people on account of one run: the person it works for, in their chat; the owner; and those whom it may
 * write to, in their private chats, by the rules of `RunMessages`.
 */
export class RunAsking implements Asking {
  readonly #options: AskingOptions;
  readonly #row: RunRow;
  readonly #home: Address | undefined;
  readonly #messages: RunMessages;

  /** `home`: as `RunScope.origin`. */
  constructor(row: RunRow, home: Address | undefined, messages: RunMessages, options: AskingOptions) {
    this.#options = options;
    this.#row = row;
    this.#home = home;
    this.#messages = messages;
  }

  get refusal(): string | undefined {
    const { profile } = this.#row;
    return profile === 'subagent' || profile === 'node' ? 'ask_human is not available to subagents' : undefined;
  }

  isHome(to: Asked): boolean {
    return to === REQUESTER || to === OWNER || this.#messages.isHome(this.#named(to));
  }

  isReserved(words: string): boolean {
    return this.#messages.isReserved(words);
  }

  async find(to: Asked): Promise<Found | NotWritten> {
    const person = await this.#person(to);
    if (person.kind === 'refused') return person;
    const { title, by, onBehalf } = person;
    return { kind: 'found', title, head: onBehalf?.head ?? '', reader: by[0] ?? OWNER };
  }

  async question(wondering: Wondering): Promise<{ readonly kind: 'wait'; readonly wait: Wanted } | NotWritten> {
    const person = await this.#person(wondering.to);
    if (person.kind === 'refused') return person;
    const unproven = person.to !== OWNER && !this.#options.provesSender(person.to.channel);
    if (wondering.answer === 'approve' && unproven)
      return refused(
        'a yes that comes by mail or SMS counts for nothing, because its sender may be forged: ask for text or a choice',
      );
    const readers = person.onBehalf?.sentFor?.readers ?? [];
    return await this.#options.cap.within(readers, async () => ({ kind: 'wait', wait: this.#wait(person, wondering) }) as const);
  }

  async tell(to: Asked, text: string, key: string, signal: AbortSignal): Promise<Written | NotWritten> {
    const person = await this.#person(to);
    if (person.kind === 'refused') return person;
    if (person.to === OWNER) return await this.#tellOwner(person, text, key, signal);
    const isHome = this.#home !== undefined && chatKey(person.to) === chatKey(this.#home);
    const { channel, chatId } = person.to;
    return await this.#messages.write({ chat: isHome ? {} : { channel, chatId }, text, choices: [] }, key, signal);
  }

  #wait(person: Person, { text, answer, choices, expiresInMs = ANSWER_MS, preset }: Wondering): Wanted {
    const now = this.#options.clock.now();
    const due = now + expiresInMs;
    const remindAfter = this.#options.remindAfterMs();
    const shown = answer === 'approve' ? spellOutText(text, MOST_CHARS) : text;
    const about: Question = {
      text: `❓ ${shown}\n`,
      answer,
      ...(answer === 'choice' ? { choices } : {}),
      ...{ to: person.to, by: person.by, who: person.title },
      ...(person.onBehalf ? { onBehalf: person.onBehalf } : {}),
      ...(answer === 'approve' ? { digest: digestOf(text) } : {}),
      ...(remindAfter > 0 && remindAfter < expiresInMs ? { remindAt: now + remindAfter } : {}),
      expiresAt: due,
    };
    const late =
      preset === undefined
        ? { ok: false, output: 'Error: no answer came in time' }
        : { ok: true, output: `${preset}\n[Nobody answered in time: this is the default.]` };
    return { kind: 'person', about, due, late };
  }

  async #person(to: Asked): Promise<Person | NotWritten> {
    if (to === OWNER) return await this.#theOwner();
    if (to === REQUESTER || this.#messages.isHome(this.#named(to))) return await this.#requester();
    const receiver = await this.#messages.receiver(this.#named(to));
    if (receiver.kind === 'refused') return receiver;
    const { address, reader, title, head } = receiver;
    if (reader === this.#row.authority.principal) return await this.#requester();
    if (address.isGroup) return refused('a question goes to one person, and this is a group');
    const sentFor = { readers: [reader], title, ...(this.#home ? { told: this.#home } : {}) };
    return { kind: 'found', to: address, by: [reader], title, onBehalf: { head, sentFor, taint: PRIVATE } };
  }

  async #theOwner(): Promise<Person | NotWritten> {
    if (!this.#options.owner.exists) return refused('there is no chat of the owner: the config names none in gateway.owner');
    const isOwn = this.#row.authority.role === 'owner';
    const person = { kind: 'found', to: OWNER, by: [], title: TO_OWNER } as const;
    return isOwn ? person : { ...person, onBehalf: { head: await this.#messages.head(), taint: 0 } };
  }

  /** In the chat of the run, where they are in it; else in their own. */
  async #requester(): Promise<Person | NotWritten> {
    const { message, authority } = this.#row;
    const { principal, role } = authority;
    const { chats } = this.#options.journal;
    const own = await chats.find(principal);
    const home = this.#home;
    const isThere = home && (message !== undefined || (await this.#isIn(principal, home)));
    const to = isThere ? home : own[0]?.address;
    if (!to) return role === 'owner' ? await this.#theOwner() : refused('there is no chat in which the person could be asked');
    const [channel = ''] = principal.split(':', 1);
    const name = message?.senderName ?? own[0]?.title;
    const title = receiverTitle({ channel, chatId: principal.slice(channel.length + 1), name, isGroup: false });
    return { kind: 'found', to, by: [principal], title };
  }

  /** Whether the person can answer in this chat, of a run that no message began. */
  async #isIn(principal: string, home: Address): Promise<boolean> {
    if (!principal.startsWith(`${home.channel}:`)) return false;
    return home.isGroup === true || (await this.#options.journal.chats.of(chatKey(home)))?.principal === principal;
  }

  async #tellOwner({ onBehalf }: Person, text: string, key: string, signal: AbortSignal): Promise<Written | NotWritten> {
    const { owner, journal, onParts } = this.#options;
    const words = onBehalf ? `${onBehalf.head}\n\n${text}` : text;
    const ready = owner.prepare(`told/${shortHash(key, 32)}`, words, { expiresInMs: DAY_MS });
    if (!ready) return refused('no chat of the owner can be used now');
    signal.throwIfAborted();
    await journal.enqueue(ready.parts);
    ready.onDisk();
    onParts(ready.parts);
    return { kind: 'written', title: TO_OWNER };
  }

  /** `channel:id`, else an id or a name on the channel of the run. */
  #named(to: Asked): ChatName {
    const [channel = ''] = to.split(':', 1);
    const isNamed = channel.length < to.length && this.#options.isChannel(channel);
    return isNamed ? { channel, chatId: to.slice(channel.length + 1) } : { chatId: to };
  }
}

function digestOf(text: string): string {
  return createHash('sha256')
    .update(canonicalJson({ asked: text }))
    .digest('hex');
}

function refused(reason: string): NotWritten {
  return { kind: 'refused', reason };
}

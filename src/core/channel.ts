/** The port between a platform adapter and the gateway. */
import type { ZodType } from 'zod';
import type { ChannelLimits } from './channel-limits.ts';
import type { CommandEntry } from './command-entry.ts';
import type { EarlierMessage } from './earlier-message.ts';
import type { ChatRef, InboundMessage, MediaRef, OutboundPart } from './message.ts';
import type { PlatformLimits } from './platform-limits.ts';
import type { Clock, Logger } from './ports.ts';
import type { Webhooks } from './webhooks.ts';

export type { ChannelLimits, Rate } from './channel-limits.ts';
export type { Webhook, WebhookAnswer, WebhookHandler, WebhookRequest, Webhooks } from './webhooks.ts';

/**
 * How inbound messages can be made lossless (reliability.md 1.1). A ack-gated, B cursor, C push without ack.
 */
export type InboundClass = 'A' | 'B' | 'C';
/** What a crash between "request written" and "reply stored" means (reliability.md 1.2). */
export type SendClass = 'idem' | 'find' | 'blind';

export type ChannelHealth = 'starting' | 'healthy' | 'degraded' | 'down' | 'stopped';

/**
 * What an attempt to send came to. The journal's next state follows from it and from the channel's send
 * class.
 */
export type SendResult =
  | { readonly kind: 'sent'; readonly platformId: string }
  /** Proven not to have been accepted: connection refused, 429. `scope` says who must wait. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number; readonly scope: 'part' | 'chat' | 'account' }
  /**
   * The platform said no for good. `markup` makes delivery try once more as plain text. `auth`: it refused
   * the login, so nothing at all can be sent before the operator mends it; all parts of the account wait for
   * that. What a login may merely not do is `invalid`.
   */
  | {
      readonly kind: 'refused';
      readonly reason: 'markup' | 'too-long' | 'chat-gone' | 'blocked' | 'auth' | 'invalid';
      readonly detail: string;
    }
  /** It cannot be known: the request left, and no answer came back. */
  | { readonly kind: 'unknown'; readonly detail: string };

export interface SendOptions {
  /** Send the text as it stands, without the platform's markup: the second try after a `markup` refusal. */
  readonly plain: boolean;
  readonly signal: AbortSignal;
}

export type Receipt =
  /** Durable (or a known duplicate, or refused and counted): acknowledge now. */
  | { readonly kind: 'accepted' }
  /** Above the high-water mark: do not acknowledge, offer the same batch again after the delay. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number };

/** What the gateway offers to an adapter. Given to `start`; never kept after `stop`. */
export interface ChannelHost {
  /**
   * Commits a batch and the cursor in one transaction (design 3, commit 1). Only after it resolved `accepted`
   * may the adapter acknowledge. Rejects when the journal cannot write (disk full): then nothing was accepted
   * and nothing may be acknowledged.
   */
  receive(batch: readonly InboundMessage[], cursor?: string): Promise<Receipt>;
  /** The last cursor committed for this channel and account, undefined at first start. */
  cursor(): Promise<string | undefined>;
  /** Reports a change of state; `detail` is shown to the operator and must hold no secret. */
  health(state: ChannelHealth, detail?: string): void;
  /**
   * The adapter's input ended and will not come back (EOF on a pipe). The app decides whether to stop. With
   * an error: the adapter broke for a reason that it does not know, which is a defect; the app starts another
   * in its place after a while.
   */
  ended(error?: unknown): void;
}

export interface MediaFile {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly mime?: string;
  readonly size?: number;
}

/** Stands for the account of a channel whose login is still to be made: nothing is kept or sent under it. */
export const NOT_LINKED = 'not-linked';

/**
 * One account on one platform: wire calls only. Splitting, dedup, access, mention rule, rate budget, retry,
 * typing and media caps happen once, outside. An adapter throws only from `start` (a `GatehouseError` with
 * the fix in its hint).
 */
export interface Channel {
  /** Instance name, as configured. */
  readonly name: string;
  readonly type: string;
  /** `NOT_LINKED` while no login is stored. */
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass: InboundClass;
  readonly sendClass: SendClass;
  /**
   * Class `idem`: for how many ms the platform surely knows a key. A part that may have arrived longer ago is
   * UNKNOWN instead of sent again. Absent = for ever.
   */
  readonly idemWindowMs?: number;
  /**
   * Connects and keeps receiving until `signal` aborts; sending works until `stop`. Resolves once ready to
   * receive. Transient failures afterwards are the adapter's to retry (kit/reconnect); a failure that only
   * the operator can mend is reported with `host.health('down', …)`.
   */
  start(host: ChannelHost, signal: AbortSignal): Promise<void>;
  /** Stops receiving, then closes. Safe to call twice, and without `start`. */
  stop(): Promise<void>;
  /** One wire call (or one upload) for one part; never splits, never retries, never throws. */
  send(part: OutboundPart, options: SendOptions): Promise<SendResult>;
  /** Omit where the platform has no typing indicator; nothing is shown then. Failures are ignored. */
  typing?(part: Pick<OutboundPart, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void>;
  /**
   * Required for send class `find`: did the part with this key arrive? It was not sent before `since`, epoch
   * ms by our clock. Undefined = the platform cannot say now.
   */
  find?(part: OutboundPart, signal: AbortSignal, since?: number): Promise<{ readonly platformId: string } | 'absent' | undefined>;
  /**
   * Replaces the text of a message of ours. Omit where the platform cannot. Like `send`: one wire call, never
   * throws. `retry` and `unknown` may be tried again: the same edit twice is one edit.
   */
  edit?(platformId: string, part: OutboundPart, options: SendOptions): Promise<SendResult>;
  /**
   * Whether what is sent for this thread stands in the chat itself, because the thread could not be opened.
   * Omit it where a thread is always there.
   */
  standsInChat?(threadId: string): boolean;
  /**
   * Takes a message of ours away: the half of an answer that could not be made whole by `edit`. Omit where
   * the platform cannot; it then stays, and the whole answer stands below it. One that is gone already is a
   * success. Rejects when it may still be there; the message is the platform's reason and holds no secret.
   */
  withdraw?(
    target: Pick<OutboundPart, 'chatId' | 'threadId' | 'replyContext'> & { platformId: string },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Puts an emoji under a message, or takes ours away with undefined; the same one twice is one. Omit where
   * the platform has none. Rejects when it was not put, also where the platform knows no such reaction; the
   * message is the platform's reason and holds no secret.
   */
  react?(
    target: Pick<OutboundPart, 'chatId' | 'threadId' | 'replyContext'> & { platformId: string },
    emoji: string | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * What stood in the thread of a message before it, or in its chat where it is in no thread: the message
   * that opened the thread, then the newest, at most `limit` in all, oldest first. What is shown as the
   * newest is the newest; a `gap` tells where that could not be had. Omit where the platform does not tell.
   * Rejects with the platform's reason, which holds no secret.
   */
  earlier?(message: InboundMessage, limit: number, signal: AbortSignal): Promise<readonly EarlierMessage[]>;
  /**
   * What the members of a group say that it is about, as a topic or a description; '' = nothing. Omit where
   * the platform has no such thing, or does not tell. Rejects as `earlier`.
   */
  about?(chat: ChatRef, signal: AbortSignal): Promise<string>;
  /**
   * True where the account is a person's own: what they write to themselves comes from the sender `account`,
   * who is the operator, and no other person there is offered a pairing code. Absent: the account is the
   * agent's.
   */
  readonly ownersAccount?: boolean;
  /** True where `OutboundPart.choices` become buttons. Absent: the text has to list them. */
  readonly buttons?: boolean;
  /**
   * True where `OutboundPart.mail` becomes a mail to people who never wrote. Absent: the channel has none.
   */
  readonly writesMail?: true;
  /** Omit where messages never carry files; such a ref is then answered with a note. Rejects with GH15xx. */
  download?(media: MediaRef, signal: AbortSignal): Promise<MediaFile>;
}

/**
 * The value of a secret's environment variable; throws GH1103 naming the variable when it is unset or empty.
 * From then on texts come without it, unless it is one of `shown`, in capitals or not: what the config
 * states anyway, and the ids of messages hold, can be no secret.
 */
export type ReadSecret = (variable: string, shown?: readonly string[]) => string;

/** What `create` may use: nothing else of the daemon is visible to an adapter. */
export interface ChannelDeps {
  /** Instance name: the `channel` of every message it makes. */
  readonly name: string;
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 <= x < 1; for jitter. */
  readonly random: () => number;
  /**
   * A directory of this instance alone, for credentials and keys that the platform makes (a WhatsApp login).
   * Absolute, mode 0700; the adapter makes it when it needs it.
   */
  readonly dir: string;
  /** Where the platform can call us. */
  readonly webhooks: Webhooks;
  /** For the platform's own menu of commands. */
  readonly commands: readonly CommandEntry[];
  /** The process's own terminal, for the channel that is one; absent when there is none to give away. */
  readonly terminal?: Terminal;
}

/** What `gatehouse channels login` shows and asks while an account is linked. */
export interface LoginUi {
  say(text: string): void;
  /** Draws the text as a QR code. */
  qr(content: string): void;
}

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /**
   * A person types there: prompt, line editing and history. Otherwise one line in is one message, one answer
   * out is one block.
   */
  readonly interactive: boolean;
  /** Default true: words may have colours, as a person at an interactive terminal wants them. */
  readonly colors?: boolean;
  /** Default true: the terminal shows more than ASCII. */
  readonly unicode?: boolean;
  /**
   * Tells the person what is not part of the conversation: a line beside the answers. Absent: nothing is
   * told.
   */
  readonly tell?: (line: string) => void;
  /** Given instead of typing: this one message is taken, and the input ends. */
  readonly message?: string;
  /** Where entered lines are kept between starts; absent = not kept. */
  readonly historyFile?: string;
  /**
   * Told how to put the prompt back after another part of the program wrote to the same screen; only for an
   * interactive terminal.
   */
  readonly onPrompt?: (redraw: () => void) => void;
}

/**
 * What a channel promises with its default settings, in words of its platform: its row in channels/README.md.
 */
export interface ChannelGuarantee {
  readonly inbound: InboundClass;
  /** How that comes about; a clause without a full stop. */
  readonly inboundHow: string;
  readonly send: SendClass;
  readonly sendHow?: string;
  /** What a crash, or an outage, can cost. `nothing` where that is so. */
  readonly loss: string;
}

/**
 * One per folder of `channels/`, its `index.ts`'s only export that others use. Loading it must not load the
 * platform's SDK.
 */
export interface ChannelDescriptor<Settings = unknown> {
  readonly type: string;
  /** A strict object schema with a description per key; becomes part of config/schema.json. */
  readonly settings: ZodType<Settings>;
  /**
   * What ids of chats look like that are surely groups. Absent where there are none, or an id does not tell.
   */
  readonly groupId?: RegExp;
  readonly guarantee: ChannelGuarantee;
  /** What its platform takes, for docs/limits.md. Absent where the operator's own server decides. */
  readonly platformLimits?: PlatformLimits;
  /**
   * The commands in the form in which the operator gives them to the platform; stands in the channel's
   * README.md. Absent where the adapter tells the platform itself, or there is no menu.
   */
  readonly manifest?: (commands: readonly CommandEntry[]) => string;
  /** The local terminal: its sender is the owner, so access is not checked and the demo model may answer. */
  readonly local?: boolean;
  /**
   * Links an account where the platform does that by a device and not by a key; resolves once it is stored.
   * Omit elsewhere.
   */
  login?(settings: Settings, deps: ChannelDeps, ui: LoginUi, signal: AbortSignal): Promise<void>;
  /**
   * Forgets what `login` stored; given by the same channels. Resolves to what is left for the person to do at
   * the platform, or to undefined when nothing was stored. Rejects with GH1503 while the daemon uses it.
   */
  logout?(settings: Settings, deps: ChannelDeps, signal: AbortSignal): Promise<string | undefined>;
  /** Connects nothing; imports the SDK. Rejects with GH1103 or GH1101 when the settings cannot work. */
  create(settings: Settings, deps: ChannelDeps): Promise<Channel>;
}

/** A descriptor whose settings type is not known here: what a registry holds. */
export interface AnyChannelDescriptor extends Omit<ChannelDescriptor, 'settings' | 'create' | 'login' | 'logout'> {
  readonly settings: ZodType;
  login?(settings: never, deps: ChannelDeps, ui: LoginUi, signal: AbortSignal): Promise<void>;
  logout?(settings: never, deps: ChannelDeps, signal: AbortSignal): Promise<string | undefined>;
  create(settings: never, deps: ChannelDeps): Promise<Channel>;
}

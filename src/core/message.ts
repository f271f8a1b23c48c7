/** What people send and what they get back, in the one shape every channel adapter maps to and from. */

/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Where a conversation takes place. `channel` is the configured instance name (its `name`, default its type),
 * `account` the immutable id of our own identity on that platform (bot id, mailbox address).
 */
export interface ChatRef {
  readonly channel: string;
  readonly account: string;
  readonly chatId: string;
  /**
   * Forum topic, Slack thread, e-mail thread root. Absent where the platform has none or the message is in
   * none.
   */
  readonly threadId?: string;
}

/** Where words go: a conversation, and what its adapter needs to write there. */
export interface Address extends ChatRef {
  readonly isGroup?: boolean;
  readonly replyContext?: { readonly [key: string]: Json };
}

/** Where an answer goes; `id` is the key of the run that it answers. */
export interface AnswerTarget extends Address {
  readonly id: string;
}

export type MediaKind = 'photo' | 'voice' | 'audio' | 'video' | 'document';

/** A file that is still at the platform. Bytes are fetched in `prepare`, after the message is durable. */
export interface MediaRef {
  readonly kind: MediaKind;
  /** Opaque to everyone but the adapter that made it (a Telegram file_id, an IMAP part address). */
  readonly ref: string;
  /** As the sender named it: untrusted, never used as a path. */
  readonly name?: string;
  readonly mime?: string;
  /** Bytes as the platform states them; may be absent or wrong, so caps are enforced while reading too. */
  readonly size?: number;
}

export interface QuotedMessage {
  readonly platformId: string;
  /** Its words alone; whose they are is said by `fromBot` and `origin`. */
  readonly text?: string;
  /** Of words that neither the sender nor the agent wrote: `written by Ada, not by the sender`. */
  readonly origin?: string;
  /** True when the quoted message is one of ours: counts as addressing the bot in a group. */
  readonly fromBot: boolean;
  /**
   * Only the sender's app says which words these are and whose: the platform vouches for neither. Absent: it
   * does.
   */
  readonly isRepeated?: true;
  /**
   * Immutable id of its author: set where the adapter fetched the message because the agent was called in.
   * The gateway then leaves words and files out unless its author may write to the agent, or is the agent. It
   * is stored with the words, so that they are erased with their author.
   */
  readonly senderId?: string;
  /**
   * Immutable id of its author, where that came with the message and is neither its sender nor the agent. It
   * decides nothing: an erasure and an export go by it.
   */
  readonly authorId?: string;
  /**
   * Files that come along with it; behind those of the message itself once the gateway let its author
   * through.
   */
  readonly media?: readonly MediaRef[];
}

/** The sender of a `delete` where the platform reports that a message is gone, and not who deleted it. */
export const UNKNOWN_SENDER = 'unknown';

export interface InboundMessage extends ChatRef {
  /** Correlation id: `messageKey()` of this message, unique and stable across redelivery and restart. */
  readonly id: string;
  /**
   * `edit` and `delete` name the message they change in `targetId` (its platformId). Before that message's
   * turn began they change or cancel it; later an edit becomes a correction the agent sees and a delete is
   * recorded only. A `reaction` names the message it is about; `text` is the emoji, empty when it was taken
   * back. Pressing a button is a `message` with the choice's value as its text.
   */
  readonly kind: 'message' | 'edit' | 'delete' | 'reaction';
  readonly targetId?: string;
  /**
   * The dedup key within (channel, account): what the platform repeats when it delivers the same message
   * again.
   */
  readonly platformId: string;
  /** A second logical key, where one message can arrive under two transport ids (Message-ID for mail). */
  readonly secondaryId?: string;
  /**
   * Immutable id of the author: the only thing access decisions look at. Never a display name or a username.
   * Of a `delete`, who took the message back, or `UNKNOWN_SENDER`.
   */
  readonly senderId: string;
  readonly senderName: string;
  /** Words of people; what the adapter wrote into it is named by `marks`. */
  readonly text: string;
  /**
   * Ranges of `text` that the adapter wrote, in order, each with whole lines that begin with `[`: what was
   * forwarded, a poll, the subject of a mail. All the rest is words of people, and so is the whole text where
   * this is absent (`src/lib/marks.ts`).
   */
  readonly marks?: readonly (readonly [from: number, to: number])[];
  readonly media: readonly MediaRef[];
  readonly replyTo?: QuotedMessage;
  readonly isGroup: boolean;
  /**
   * The thread is one that the answer to this message opens: the message itself stands in the chat, among
   * those of all other threads. Absent where the message was written in its thread.
   */
  readonly startsThread?: true;
  /**
   * What was said in the group since the agent last spoke there, and how people reacted to messages, oldest
   * first. Added by the gateway, never by an adapter.
   */
  readonly background?: readonly BackgroundLine[];
  /** In a group: the text names the bot, or is a command for it. The adapter strips the name from `text`. */
  readonly mentionsBot: boolean;
  /**
   * In a group: nothing written addresses the agent, but a voice note may. Its words decide in its lane,
   * before the agent is asked. Set by the gateway, never by an adapter.
   */
  readonly overheard?: true;
  /**
   * Messages that waited behind this one and are answered with it (queue mode collect), oldest first. Added
   * by the journal when the turn begins.
   */
  readonly queued?: readonly InboundMessage[];
  /**
   * Key of the run in whose lane it would have waited, and beside which it runs (queue mode speculative).
   * Added by the journal.
   */
  readonly beside?: string;
  /**
   * Set when the adapter must not let this reach a model: another bot, an automatic reply, a forged author.
   */
  readonly refusal?: RefusalReason;
  /** Milliseconds since the epoch, the platform's clock. */
  readonly timestamp: number;
  /**
   * What the adapter needs to answer this message (mail headers, a message id to reply to). Copied to every
   * part of the answer.
   */
  readonly replyContext?: { readonly [key: string]: Json };
}

/**
 * Whether an edit or delete counts for what `authorId` wrote: only its author changes a message or takes it
 * back (attack A37). A platform that does not tell who deleted a message tells that it is gone.
 */
export function mayChange({ kind, senderId }: Pick<InboundMessage, 'kind' | 'senderId'>, authorId: string): boolean {
  return senderId === authorId || (kind === 'delete' && senderId === UNKNOWN_SENDER);
}

export interface BackgroundLine extends Pick<InboundMessage, 'text' | 'marks'> {
  /** Absent: an earlier version stored the line. */
  readonly senderId?: string;
  readonly senderName: string;
}

/** Keys of section `limits` of the config beyond which a message is refused. */
export type WaitingLimit = 'person_messages' | 'person_mb' | 'chat_messages' | 'chat_mb';

/** Why a message was not handed to the agent. Counted by channel and reason; content is not kept. */
export type RefusalReason =
  | 'not-allowed'
  | 'pairing-required'
  | 'denied'
  /** The owner blocked its sender, whatever the config says. */
  | 'blocked'
  | 'group-not-allowed'
  | 'not-mentioned'
  | 'bot-author'
  | 'automatic-mail'
  | 'forged-sender'
  | 'own-message'
  | 'loop-cap'
  | 'empty'
  /** A word to which the platform replies itself (STOP, HELP). */
  | 'answered-by-platform'
  | 'too-large'
  /** So much of the same lane or sender waits already: which key of section `limits` says so. */
  | `flood:${WaitingLimit}`
  | 'unreadable'
  /** Shown again without a time by which it could be told whether it was answered. */
  | 'undated'
  | 'deleted'
  /**
   * An edit after which the message says what it said before: platforms announce reactions and previews that
   * way.
   */
  | 'unchanged'
  /** A reaction: recorded, and not a question to the agent. */
  | 'reaction';

/** One deliverable piece of an answer; what the journal's outbox holds and `Channel.send` takes. */
export interface OutboundPart extends ChatRef {
  /** Idempotency key: the same on every attempt at this part, unique over all parts. */
  readonly key: string;
  /** Key of the run that this part belongs to. Absent = a notice of ours. */
  readonly messageId?: string;
  /** Its chat is a group, which platforms give a rate of its own. Absent: it is not, or that is not known. */
  readonly isGroup?: boolean;
  /** 0-based place in the answer, and how many parts the answer has. */
  readonly ordinal: number;
  readonly count: number;
  /**
   * Markdown, already split to the channel's limit; the adapter renders its dialect. Empty only with a file.
   */
  readonly text: string;
  /**
   * What stays of `text` in the journal once no attempt follows, because that holds a secret. Absent: all of
   * it.
   */
  readonly keptAs?: string;
  readonly file?: OutboundFile;
  /**
   * Answers to press, in order; at most 10, of the topics of a chat as many as `ChannelLimits.buttons`
   * says, or 51. Never where the channel has no buttons: the text lists them then. See `Channel.buttons`.
   */
  readonly choices?: readonly Choice[];
  /** How many of them stand beside each other, where the adapter decides that. Default 1. */
  readonly perRow?: number;
  /**
   * Key of an earlier part of ours: its message gets this text, instead of a second one being sent. Where
   * that part is not known to have arrived, or the platform refuses the edit, this one is sent like any
   * other. Never on a part with a file.
   */
  readonly edits?: string;
  /**
   * Key of the first part of the answer that this one takes the place of, be it in the same message or in a
   * new one.
   */
  readonly supersedes?: string;
  /**
   * With `edits`: of no use as a message of its own, so it is dropped (EXPIRED) where the edit is impossible.
   * Without text it takes that message away.
   */
  readonly editOnly?: boolean;
  /** The first text of a draft says that there is work, and holds no words of the answer. */
  readonly isStatus?: true;
  readonly replyContext?: { readonly [key: string]: Json };
  /** Only of words that a person had the agent write outside the chat of their run. */
  readonly sentFor?: SentFor;
  /** Only where `Channel.writesMail`: it begins a conversation. `chatId` is the first address of `to`. */
  readonly mail?: NewMail;
}

/** On whose wish words leave the chat of a run. */
export interface SentFor {
  /** Whom they reach, by `principalOf`; a group by its `chatKey`. */
  readonly readers: readonly string[];
  /** The same for people: `Ada (slack)`. */
  readonly title: string;
  /** The chat that is told when they cannot be delivered: their readers never are. Absent = no chat is. */
  readonly told?: Address;
}

/** What a mail has beside its text. Addresses are bare, each stands in one of the lists, and once. */
export interface NewMail {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly files: readonly OutboundFile[];
}

/** One answer that can be pressed instead of typed. */
export interface Choice {
  readonly label: string;
  /**
   * Comes back as the text of a message of the person who pressed it. At most 60 bytes of UTF-8 (Telegram
   * takes 64).
   */
  readonly value: string;
}

export interface OutboundFile {
  /** Absolute path of a private copy that no tool can change. */
  readonly path: string;
  readonly name: string;
  readonly mime: string;
  readonly kind: MediaKind;
  readonly bytes: number;
}

// the agent is called into a group or thread -> what the platform has of it -> lines the agent may read
import type { Channel } from '../core/channel.ts';
import type { EarlierMessage } from '../core/earlier-message.ts';
import { errorText } from '../core/errors.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { fromMark, mark, markedInMark } from '../lib/marks.ts';
import { withTimeLimit } from '../lib/with-time-limit.ts';

/** Messages that are asked for: a screen or two, which is what a person would read before they answer. */
const MOST = 30;
/** Longest line of one message, in UTF-16 units. */
const LINE_CHARS = 500;
/** The turn waits for it. */
const FETCH_MS = 10_000;

export interface EarlierOptions {
  /** By instance name. */
  readonly channel: (name: string, signal: AbortSignal) => Promise<Channel | undefined>;
  /** Whether this person may write to the agent. */
  readonly mayWrite: (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>) => Promise<boolean>;
  /** Whether the owner blocked this person: then nothing of theirs is shown. */
  readonly isBlocked: (who: Pick<InboundMessage, 'channel' | 'senderId'>) => Promise<boolean>;
  /** Whether the agent is shown what people said there who may not write to it (`context_from`). */
  readonly showsAll: (chat: Pick<InboundMessage, 'channel' | 'chatId'>) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What was said in a group or thread before the agent was called in. One for the daemon. */
export class Earlier {
  readonly #options: EarlierOptions;

  constructor(options: EarlierOptions) {
    this.#options = options;
  }

  /**
   * Lines for the agent above the words of a message that begins its session in a group; '' where there are
   * none. Of people who may not write to the agent only a count, unless the operator allowed their words.
   * Never rejects for the platform: then a line says that it could not be asked. Rejects with the reason of
   * `signal`.
   */
  async of({ message }: RunRow, signal: AbortSignal): Promise<string> {
    // What is said in a direct chat is all said to the agent.
    if (message?.kind !== 'message' || !message.isGroup) return '';
    const channel = await this.#channel(message.channel, signal);
    if (!channel) return '';
    return await this.#said(channel, message, signal);
  }

  async #said(channel: Channel, message: InboundMessage, signal: AbortSignal): Promise<string> {
    if (!channel.earlier) return '';
    const found = await this.#ask(message, (limit) => channel.earlier?.(message, MOST, limit) ?? Promise.resolve([]), signal);
    if (!found) return '[what was said here before could not be fetched]';
    return await this.#lines(message, found);
  }

  /** One that is down for longer than a moment is not waited for: the turn goes on without. */
  async #channel(name: string, signal: AbortSignal): Promise<Channel | undefined> {
    const find = (limit: AbortSignal) => this.#options.channel(name, limit).catch(() => undefined);
    const channel = await withTimeLimit(find, FETCH_MS, { clock: this.#options.clock, signal });
    signal.throwIfAborted();
    return channel;
  }

  /** Undefined = the platform could not be asked. */
  async #ask<T>(message: InboundMessage, ask: (limit: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    const { clock, logger } = this.#options;
    const call = async (limit: AbortSignal): Promise<{ readonly value: T } | { readonly error: unknown }> => {
      try {
        return { value: await ask(limit) };
      } catch (error) {
        return { error };
      }
    };
    const found = await withTimeLimit(call, FETCH_MS, { clock, signal });
    signal.throwIfAborted();
    if (found && 'value' in found) return found.value;
    const detail = found ? errorText(found.error) : `no answer within ${FETCH_MS / 1_000} s`;
    logger.warn('earlier.failed', { channel: message.channel, chat: message.chatId, detail });
    return undefined;
  }

  async #lines(message: InboundMessage, found: readonly EarlierMessage[]): Promise<string> {
    const { mayWrite, isBlocked, showsAll } = this.#options;
    const { channel, account, platformId, replyTo, background = [] } = message;
    const isQuoted = replyTo?.text !== undefined;
    const isToldAnyway = new Set(background.map(({ senderName, text }) => `${senderName}\n${text}`));
    const all = showsAll(message);
    const known = new Map<string, boolean>();
    const lines: string[] = [];
    let others = 0;
    for (const one of found) {
      if (one.gap === 'before' && lines.length > 0) lines.push('  (messages between these are not shown)');
      if (one.platformId === platformId || (isQuoted && one.platformId === replyTo?.platformId)) continue;
      if (isToldAnyway.has(`${one.senderName}\n${one.text}`)) continue;
      const { senderId, senderName, fromBot, text, marks } = one;
      const who = { channel, account, senderId };
      if (!known.has(senderId)) known.set(senderId, fromBot || (all ? !(await isBlocked(who)) : await mayWrite(who)));
      if (!known.get(senderId)) others += 1;
      else if (text.trim() !== '')
        lines.push(`  ${fromBot ? mark('you') : fromMark(senderName)} ${markedInMark(text, marks, LINE_CHARS)}`);
    }
    if (found.at(-1)?.gap === 'after') lines.push('  (what was said last could not be reached)');
    const left = others === 0 ? [] : [`  (${others} ${others === 1 ? 'message' : 'messages'} of others not shown)`];
    if (lines.length + left.length === 0) return '';
    return ['[said here before you were called in, not to you:', ...lines, ...left, ']'].join('\n');
  }
}

// a run of a group -> what its members say that the group is about -> a line of the prompt, where it is news
import { UNTRUSTED } from '../core/authority.ts';
import type { Channel } from '../core/channel.ts';
import { errorText } from '../core/errors.ts';
import type { Address } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { mark } from '../lib/marks.ts';
import { withTimeLimit } from '../lib/with-time-limit.ts';

/** As long as Slack's topic and description can be together, nearly; about 150 tokens. UTF-16 units. */
const ABOUT_CHARS = 600;
/** How long an answer of the platform is used, in memory alone: it is asked at most once in that time. */
const KEEP_MS = 300_000;
/** How long after a failure the platform is not asked again, and what was known is used. */
const RETRY_MS = 60_000;
const STALE_MS = 3_600_000;
/** The turn waits for it. */
const FETCH_MS = 3_000;
const MAX_GROUPS = 500;

const OPENS = 'this group, as its members describe it: ';
const TOLD = new RegExp(`^\\[${OPENS}.*\\]$`, 'm');
const GONE = mark(`${OPENS}they say nothing about it any more`);

export interface GroupAboutOptions {
  /** By instance name. */
  readonly channel: (name: string, signal: AbortSignal) => Promise<Channel | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Known {
  /** Undefined = never known. */
  readonly text: string | undefined;
  readonly knownAt: number;
  readonly askAgainAt: number;
}

/**
 * In Slack the project is the channel: its topic and description say what the work is about (P53). They are
 * words of others, so what is told is UNTRUSTED. One for the daemon.
 */
export class GroupAbout {
  readonly #options: GroupAboutOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: GroupAboutOptions) {
    this.#options = options;
  }

  /**
   * A line for the agent above the words of a run, where its history does not say the same already: at first,
   * after a change, and once a summary took the place of the line. So no earlier line of the prompt ever
   * changes, and none is paid for twice. '' = nothing is to be told. Never rejects for the platform; rejects
   * with the reason of `signal`.
   */
  async news(row: RunRow, history: readonly SessionMessage[], signal: AbortSignal): Promise<string> {
    const chat = groupOf(row);
    if (!chat) return '';
    const text = await this.#of(chat, signal);
    if (text === undefined) return '';
    const told = history.findLast(({ role, content }) => role === 'user' && TOLD.test(content));
    const last = told && TOLD.exec(told.content)?.[0];
    const line = text === '' ? GONE : mark(`${OPENS}${text}`, ABOUT_CHARS);
    return line === (last ?? GONE) ? '' : line;
  }

  /** Undefined = not known. */
  async #of(chat: Address, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options;
    const key = JSON.stringify([chat.channel, chat.account, chat.chatId]);
    const before = this.#known.get(key);
    if (before && clock.monotonic() < before.askAgainAt) return before.text;
    const text = await this.#ask(chat, signal);
    const now = clock.monotonic();
    const isStale = before !== undefined && now - before.knownAt > STALE_MS;
    const known =
      text === undefined
        ? { text: isStale ? undefined : before?.text, knownAt: before?.knownAt ?? now, askAgainAt: now + RETRY_MS }
        : { text: text.trim(), knownAt: now, askAgainAt: now + KEEP_MS };
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_GROUPS && oldest !== undefined) this.#known.delete(oldest);
    return known.text;
  }

  /** '' where the channel has no such thing; undefined where the platform could not be asked. */
  async #ask(chat: Address, signal: AbortSignal): Promise<string | undefined> {
    const { clock, logger, channel: find } = this.#options;
    let detail: string | undefined = `no answer within ${FETCH_MS / 1_000} s`;
    const ask = async (limit: AbortSignal): Promise<string | undefined> => {
      try {
        const channel = await find(chat.channel, limit);
        // A channel that is down is told of elsewhere.
        if (channel) return (await channel.about?.(chat, limit)) ?? '';
        detail = undefined;
      } catch (error) {
        detail = errorText(error);
      }
      return undefined;
    };
    const text = await withTimeLimit(ask, FETCH_MS, { clock, signal });
    signal.throwIfAborted();
    if (text !== undefined || detail === undefined) return text;
    logger.warn('group-about.failed', { channel: chat.channel, chat: chat.chatId, detail });
    return undefined;
  }
}

/**
 * The group of a message, or the one that a task was begun in. A job that no words of others had a part in is
 * not told: its tools would ask for a yes that they need not ask for today.
 */
function groupOf(row: RunRow): Address | undefined {
  const { message, replyTo, source, taint = 0 } = row;
  if (message) return message.isGroup ? message : undefined;
  if (source.kind === 'job' && (taint & UNTRUSTED) === 0) return undefined;
  return replyTo?.isGroup ? replyTo : undefined;
}

/** What the platform refuses of a thread that is started from a message, each rule with its page. */
import type { RuleRefusal } from './rules.ts';
import type { JsonObject } from './wire.ts';

/**
 * "1-100 character channel name", "can be set to: 60, 1440, 4320, 10080"
 * (https://docs.discord.com/developers/resources/channel#start-thread-from-message).
 */
const NAME_LIMIT = 100;
const ARCHIVE_MINUTES: readonly unknown[] = [undefined, 60, 1_440, 4_320, 10_080];
/** `GUILD_TEXT` and `GUILD_ANNOUNCEMENT`, the two kinds of which that page says what becomes of them. */
const STARTS_THREADS: readonly unknown[] = [0, 5];

const ROUTE = /^\/channels\/(\d+)\/messages\/(\d+)\/threads$/;

export interface ThreadStart {
  readonly channel: string;
  /** Id of the message, and of the thread. */
  readonly message: string;
}

/** The channel and message of a call that starts a thread. */
export function threadStart(method: string, route: string): ThreadStart | undefined {
  const [, channel, message] = ROUTE.exec(route) ?? [];
  return method === 'POST' && channel !== undefined && message !== undefined ? { channel, message } : undefined;
}

export interface ThreadWorld {
  /** Whether the bot may start threads there. */
  readonly isAllowed: boolean;
  /** Kind of the channel. */
  readonly type: unknown;
  /** The message has a thread. */
  readonly exists: boolean;
}

/**
 * Codes of https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. Undefined: the thread is
 * made.
 */
export function threadRefusal({ name, auto_archive_duration }: JsonObject, world: ThreadWorld): RuleRefusal | undefined {
  if (!world.isAllowed) return { status: 403, body: { message: 'Missing Permissions', code: 50_013 } };
  if (!STARTS_THREADS.includes(world.type)) {
    return { status: 400, body: { message: 'Cannot execute action on this channel type', code: 50_024 } };
  }
  const isName = typeof name === 'string' && name.trim() !== '' && name.length <= NAME_LIMIT;
  if (!isName || !ARCHIVE_MINUTES.includes(auto_archive_duration)) {
    return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
  }
  if (!world.exists) return undefined;
  return { status: 400, body: { message: 'A thread has already been created for this message', code: 160_004 } };
}

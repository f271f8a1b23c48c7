/** What was written while the bot was away: which chats are asked and when, and what a failure means. */
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { type JsonObject, obj, str } from '../../kit/json.ts';
import { compareIds, idAt, laterId, snowflake, timeOf } from '../wire/ids.ts';
import { type HistoryEnd, MAX_HISTORY, readHistory } from './catch-up.ts';
import { type Cursor, withGap, withJoined, withoutGap } from './cursor.ts';
import type { Place, Places } from './places.ts';

/**
 * Counts of chats that lack messages, by the reason. `withheld`: messages may be missing, as nothing is shown
 * where something was written.
 */
export type Unread = Readonly<Record<'forbidden' | 'withheld' | 'cut' | 'failed', number>>;

export interface MissedOptions {
  readonly places: Places;
  readonly catchUpMs: number;
  /** Answers a GET; rejects with a `CallError`. */
  readonly get: (route: string, query: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly cursor: () => Promise<Cursor>;
  /** Commits a change of the cursor. */
  readonly keep: (change: (cursor: Cursor) => Cursor) => Promise<void>;
  /** Commits messages of one place, the oldest first. */
  readonly offer: (messages: readonly JsonObject[], place: Place) => Promise<void>;
  readonly told: (unread: Unread) => void;
  /** Time to call `retry`, between two events. */
  readonly due: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Messages of a chat may come out of order; those this much older than the newest are asked for again. */
const OVERLAP_MS = 10_000;
/** About half a minute: longer and one chat that cannot be read would hold up all the others. */
const ATTEMPTS = 6;
const RETRY_MS = 60_000;
const MAX_RETRY_MS = 600_000;

/** Every method rejects only when the adapter stops, and none may run beside another. */
export class Missed {
  readonly #options: MissedOptions;
  /** Chats that were asked since this session began, or this process, or that have nothing to ask for. */
  readonly #tried = new Set<string>();
  /** Servers that a new session has not told yet. */
  #untold = new Set<string>();
  /** Rooms that none of them has listed yet. */
  #unlisted = new Set<string>();
  readonly #unread = new Map<string, keyof Unread>();
  /** The last answer was none: the next chat is not given the whole patience again. */
  #failing = false;
  #waiting = false;
  #retryMs = RETRY_MS;

  constructor(options: MissedOptions) {
    this.#options = options;
  }

  /**
   * A connection stands. With a new session the platform tells these servers and their rooms next. An old one
   * goes on: what was pushed meanwhile was pushed again, and only what this process did not ask for, or could
   * not read, is asked for.
   */
  async begin(session: 'resumed' | ReadonlySet<string>): Promise<void> {
    const { seen, privates, gaps } = await this.#options.cursor();
    const oldest = this.#oldest();
    const rooms = [...seen].reverse().flatMap(([chat, last]) => (compareIds(last, oldest) >= 0 ? [chat] : []));
    const resumed = session === 'resumed';
    if (!resumed) {
      this.#tried.clear();
      this.#untold = new Set(session);
      this.#unlisted = new Set([...rooms, ...gaps.keys()].filter((chat) => !privates.has(chat)));
    }
    for (const chat of [...seen.keys()].reverse()) if (privates.has(chat)) await this.before(chat);
    if (resumed) {
      for (const chat of rooms) await this.before(chat);
      await this.#readGaps();
    } else if (this.#untold.size === 0) await this.#readUnlisted();
    // A server that is out of order is told only once it is well again; its threads are no reason to wait for
    // it.
    else if (this.#unlisted.size > 0) this.#retryLater();
  }

  /** A server as GUILD_CREATE tells it. */
  async guild(guild: JsonObject): Promise<void> {
    const { places, cursor } = this.#options;
    const told = places.learnGuild(guild);
    await this.#learnJoined(guild);
    const known = await cursor();
    const { seen, since, gaps } = known;
    for (const place of told) {
      const { id, lastMessageId } = place;
      this.#unlisted.delete(id);
      // Rooms that were silent for longer than is ever fetched are not asked, however many there are.
      const newest = laterId(seen.get(id) ?? since, this.#floor(place, known));
      if (gaps.has(id) || (lastMessageId !== undefined && compareIds(lastMessageId, newest) > 0)) await this.#read(id);
      else this.#tried.add(id);
    }
    if (this.#untold.delete(String(guild['id'])) && this.#untold.size === 0) await this.#readUnlisted();
  }

  /**
   * Fetches what was missed, before a message of this chat. A chat that cannot be read now is read later: it
   * must not hold up the rest.
   */
  async before(chat: string): Promise<void> {
    if (!this.#tried.has(chat)) await this.#read(chat);
  }

  /** A room is no more, and what is missing of it neither. */
  async forget(chat: string): Promise<void> {
    const { cursor, keep } = this.#options;
    this.#unlisted.delete(chat);
    if ((await cursor()).gaps.has(chat)) await keep((before) => withoutGap(before, chat));
    if (this.#unread.has(chat)) this.#tell(chat, 'complete');
  }

  /**
   * Asks again for what could not be read. One failure ends the round: the platform is in trouble, and live
   * messages wait behind it.
   */
  async retry(): Promise<void> {
    this.#waiting = false;
    if (!(await this.#readGaps())) return;
    this.#retryMs = RETRY_MS;
    await this.#readUnlisted();
  }

  async #readGaps(): Promise<boolean> {
    // The cursor holds so many gaps and no more.
    const failed = [...this.#unread].flatMap(([chat, why]) => (why === 'failed' ? [chat] : []));
    for (const chat of new Set([...(await this.#options.cursor()).gaps.keys(), ...failed])) {
      if ((await this.#read(chat)) === 'failed') return false;
    }
    return true;
  }

  /** Rooms that were known and stand in no list: threads that fell asleep meanwhile, and what is gone. */
  async #readUnlisted(): Promise<void> {
    for (const chat of this.#unlisted) await this.before(chat);
  }

  async #read(chat: string): Promise<keyof Unread | 'complete'> {
    const { catchUpMs, cursor, places, get, offer, keep, clock, signal } = this.#options;
    this.#tried.add(chat);
    if (catchUpMs === 0) return 'complete';
    const from = this.#after(chat, await cursor());
    let after = from;
    const sleep = (ms: number): Promise<void> => clock.sleep(ms, signal);
    const attempts = this.#failing ? 1 : ATTEMPTS;
    const answer = await readHistory({ place: chat, after, attempts, get, sleep }, async (messages) => {
      const place = (await places.lookFor(chat)) ?? ((await cursor()).privates.has(chat) ? { id: chat } : undefined);
      // Taken for a private chat, a channel would be answered whether it is allowed or not.
      if (!place) return false;
      const floor = this.#floor(place, await cursor());
      await offer(
        messages.filter(({ id }) => compareIds(String(id), floor) > 0),
        place,
      );
      after = String(obj(messages.at(-1))['id']);
      return true;
    });
    const known = await cursor();
    const end = this.#judge(chat, answer, from, known);
    this.#failing = end === 'failed';
    // Live messages move on what was seen; what is missing before them stays known, also to the next start.
    if (end === 'failed') await keep((before) => withGap(before, chat, after));
    else if (end !== 'withheld' && known.gaps.has(chat)) await keep((before) => withoutGap(before, chat));
    if (end === 'failed') this.#retryLater();
    this.#tell(chat, end);
    return end;
  }

  /** What the platform's answer says about messages after `from`. */
  #judge(chat: string, answer: HistoryEnd, from: string, { seen, gaps, privates }: Cursor): keyof Unread | 'complete' {
    switch (answer) {
      case 'nothing': {
        // Only a known message, which may have been deleted, tells a room that is not shown from a silent
        // one.
        const written = [seen.get(chat), this.#options.places.known(chat)?.lastMessageId];
        const isShown = privates.has(chat) || !written.some((id) => id !== undefined && compareIds(id, from) > 0);
        return isShown ? 'complete' : 'withheld';
      }
      case 'forbidden':
      case 'hidden':
        // No permission would help where the bot is not any more.
        if (this.#unlisted.delete(chat)) return 'complete';
        // A server lists the rooms that it hides, too: nobody ever meant those for the bot.
        return answer === 'forbidden' || seen.has(chat) || gaps.has(chat) ? 'forbidden' : 'complete';
      case 'gone':
        return 'complete';
      default:
        return answer;
    }
  }

  async #learnJoined(guild: JsonObject): Promise<void> {
    const id = snowflake(guild['id']);
    const at = Date.parse(str(guild['joined_at']) ?? '');
    if (id === undefined || Number.isNaN(at)) return;
    const joined = idAt(at);
    const oldest = this.#oldest();
    const { joined: known } = await this.#options.cursor();
    if (compareIds(joined, oldest) <= 0 || known.get(id) === joined) return;
    await this.#options.keep((before) => withJoined(before, id, joined, oldest));
  }

  #after(chat: string, cursor: Cursor): string {
    const from = cursor.gaps.get(chat) ?? idAt(timeOf(cursor.seen.get(chat) ?? cursor.since) - OVERLAP_MS);
    return laterId(from, this.#floor(this.#options.places.known(chat), cursor));
  }

  /** Nothing older was ever ours to answer there. */
  #floor(place: Place | undefined, { since, joined }: Cursor): string {
    const start = laterId(this.#oldest(), since);
    return laterId(start, (place?.guildId !== undefined && joined.get(place.guildId)) || start);
  }

  #tell(chat: string, end: keyof Unread | 'complete'): void {
    const { logger, told } = this.#options;
    if (end === 'complete') this.#unread.delete(chat);
    else {
      if (this.#unread.get(chat) !== end) logger.warn('discord.not-caught-up', { chat, why: end });
      this.#unread.set(chat, end);
    }
    const count = (why: keyof Unread): number => [...this.#unread.values()].filter((other) => other === why).length;
    told({ forbidden: count('forbidden'), withheld: count('withheld'), failed: count('failed'), cut: count('cut') });
  }

  #retryLater(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    const { clock, signal, due } = this.#options;
    const waitMs = this.#retryMs;
    this.#retryMs = Math.min(MAX_RETRY_MS, waitMs * 2);
    // The sleep ends early only because the adapter stops.
    void clock.sleep(waitMs, signal).then(due, () => undefined);
  }

  #oldest(): string {
    return idAt(this.#options.clock.now() - this.#options.catchUpMs);
  }
}

/** What is missing of what was written meanwhile; undefined when nothing is. */
export function unreadWords({ forbidden, withheld, failed, cut }: Unread): string | undefined {
  const what = 'messages written while it was not connected';
  const words = [
    forbidden > 0 &&
      `${what} are not answered in ${forbidden} chats: give the bot the permissions View Channel and Read Message History there`,
    withheld > 0 && `${what} may be missing in ${withheld} chats: give the bot the permission Read Message History there`,
    failed > 0 && `${what} are still to be fetched in ${failed} chats: the platform does not answer, trying again`,
    cut > 0 && `${what} were too many in ${cut} chats: only the first ${MAX_HISTORY} of each are answered`,
  ].filter((line) => line !== false);
  return words.length === 0 ? undefined : words.join('; ');
}

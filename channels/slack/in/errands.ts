/**
 * Payloads for which the platform has to be asked something before they are acknowledged: beside the line of
 * messages, so that none of them waits for the answer.
 */
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { obj, str } from '../../kit/json.ts';
import type { Colleagues } from './colleagues.ts';
import type { DirectChats } from './direct-chats.ts';
import { authorOfTarget, isShortcut, personOf } from './inbound-shortcut.ts';
import type { Intake, IntakeItem } from './intake.ts';
import type { UserNames } from './names.ts';
import type { Pane } from './pane.ts';
import type { SlackPayload } from './payload.ts';

/** Under way at once; above it payloads are left with the platform. */
const MOST = 100;
/**
 * A mention may come without the files of its message (https://github.com/PrefectHQ/marvin/pull/1368). The
 * other event of the same message has them, and is there within this time.
 */
const TWIN_MS = 1_000;
/** What a command, and what its person writes behind it, may wait for the platform. */
const COMMAND_MS = 1_000;

const NO_ROOM = 'more arrives than can be stored';

export interface ErrandsOptions {
  readonly intake: Pick<Intake, 'push'>;
  readonly directChats: DirectChats;
  readonly colleagues: Pick<Colleagues, 'inDoubt' | 'has'>;
  readonly names: Pick<UserNames, 'nameOf'>;
  readonly pane: Pane;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class Errands {
  readonly #options: ErrandsOptions;
  readonly #running = new Set<Promise<void>>();
  /** By person: their command that waits for the platform, and what came from them since, in that order. */
  readonly #held = new Map<string, IntakeItem[]>();

  constructor(options: ErrandsOptions) {
    this.#options = options;
  }

  /**
   * As `Intake.push`. What fails and may succeed later is not acknowledged: the platform delivers an event
   * again, and tells the person of a shortcut. A command is taken all the same, for it comes once.
   */
  take(item: IntakeItem): boolean {
    const { kind } = item.payload;
    const errand = this.#errandOf(item);
    const held = this.#held.get(senderOf(item.payload) ?? '');
    if (held && held.length < MOST && (!errand || kind === 'command')) return held.push(item) > 0;
    const isAsGiven = kind === 'command' && (held !== undefined || this.#running.size >= MOST);
    if (!errand || isAsGiven) return this.#options.intake.push(item);
    if (this.#running.size >= MOST) {
      // Leaving the connection brings an event again; a shortcut comes once, and those under way would be
      // lost with it.
      if (kind !== 'event') this.#warn(kind, new Error(`${MOST} wait for the platform already`));
      return kind !== 'event';
    }
    const running = errand()
      .catch((error: unknown) => this.#warn(kind, error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  /** After an abort: resolves when none is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  #warn(kind: string, error: unknown): void {
    const { signal, logger } = this.#options;
    if (!signal.aborted) logger.warn('slack.not-acknowledged', { kind, error: errorText(error) });
  }

  #errandOf(item: IntakeItem): (() => Promise<void>) | undefined {
    const { payload } = item;
    const { pane, colleagues, clock, signal } = this.#options;
    // A flood of them goes in as it is: no connection is left for the sake of a file.
    if (mayLackFiles(payload) && this.#running.size < MOST) {
      return async () => {
        await clock.sleep(TWIN_MS, signal);
        this.#hand(item, await this.#sisterOf(payload));
      };
    }
    const place = pane.placeOf(payload);
    if (place) {
      return async () => {
        await pane.suggest(place, signal);
        await item.ack();
      };
    }
    const person = isShortcut(payload) ? personOf(payload.body) : undefined;
    if (person !== undefined) return () => this.#takeShortcut(item, person);
    const asker = askerInDirect(payload);
    if (asker !== undefined) return () => this.#takeCommand(item, asker);
    return colleagues.inDoubt(payload) && (async () => this.#hand(item, await this.#sisterOf(payload)));
  }

  /** Rejects where the line has no room, as `take` would have said. */
  async #takeShortcut({ payload, ack }: IntakeItem, person: string): Promise<void> {
    const { directChats, names, signal } = this.#options;
    const author = authorOfTarget(payload.body);
    const [directId, authorName, sister] = await Promise.all([
      directChats.idOf(person, signal),
      author === undefined || author === person ? undefined : names.nameOf(author, signal),
      this.#sisterOf(payload),
    ]);
    const shortcut = { ...(directId !== undefined && { directId }), ...(authorName !== undefined && { authorName }) };
    this.#hand({ payload: { ...payload, shortcut }, ack }, sister);
  }

  /**
   * Moves the command to the direct conversation with the app, wherever it was given. It stays where it was
   * given without the scope for that, and where the platform does not say in time which conversation it is:
   * mostly it is that one. What the person writes and commands meanwhile follows.
   */
  async #takeCommand(item: IntakeItem, person: string): Promise<void> {
    const held = [item];
    this.#held.set(person, held);
    try {
      const directId = await this.#directIdOf(person);
      for (const { payload, ack } of held) {
        const isMoved = directId !== undefined && askerInDirect(payload) !== undefined;
        const body = isMoved ? { ...payload.body, channel_id: directId } : payload.body;
        // What finds no room is not acknowledged.
        if (!this.#options.intake.push({ payload: { ...payload, body }, ack })) this.#warn(payload.kind, new Error(NO_ROOM));
      }
    } finally {
      this.#held.delete(person);
    }
  }

  /** Undefined where the platform does not say it. Rejects with `signal.reason`. */
  async #directIdOf(person: string): Promise<string | undefined> {
    const { directChats, logger, signal } = this.#options;
    try {
      return await directChats.idOf(person, signal, COMMAND_MS);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('slack.direct-chat-unknown', { error: errorText(error) });
      return undefined;
    }
  }

  async #sisterOf(payload: SlackPayload): Promise<Pick<SlackPayload, 'sisterTeam'>> {
    const { colleagues, signal } = this.#options;
    const person = colleagues.inDoubt(payload);
    return person && (await colleagues.has(person, signal)) ? { sisterTeam: person.team } : {};
  }

  #hand({ payload, ack }: IntakeItem, sister: Pick<SlackPayload, 'sisterTeam'>): void {
    const isTaken = this.#options.intake.push({ payload: { ...payload, ...sister }, ack });
    if (!isTaken) throw new Error(NO_ROOM);
  }
}

function mayLackFiles({ kind, body }: SlackPayload): boolean {
  const event = kind === 'event' ? obj(body['event']) : {};
  return event['type'] === 'app_mention' && event['files'] === undefined;
}

/**
 * Who gave a command in a direct conversation. That may be one with another person, and looks the same: "the
 * user is invoking the slash command in a DM with another user", where each call of the app is refused
 * (https://github.com/slack-ruby/slack-ruby-client/issues/227).
 */
function askerInDirect({ kind, body }: SlackPayload): string | undefined {
  const isDirect = kind === 'command' && str(body['channel_id'])?.startsWith('D') === true;
  return isDirect ? str(body['user_id']) : undefined;
}

/** Who wrote, edited, pressed or commanded; undefined where the payload does not say. */
function senderOf({ kind, body }: SlackPayload): string | undefined {
  if (kind !== 'event') return kind === 'command' ? str(body['user_id']) : personOf(body);
  const event = obj(body['event']);
  return str(event['user']) ?? str(obj(event['message'])['user']);
}

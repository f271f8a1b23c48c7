/** What both modes share: who we are, the way in, the catch-up, and what the operator is told. */
import type { ChannelDeps, ChannelHealth, ChannelHost } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { CallError } from '../../kit/call-error.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../../kit/deadline.ts';
import { HealthSum, inOrder } from '../../kit/health-sum.ts';
import { str } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import { reconnect } from '../../kit/reconnect.ts';
import type { SlackSettings } from '../settings.ts';
import type { SlackClient } from '../wire/client.ts';
import { judge, refusal, refusedLogin } from '../wire/failure.ts';
import { BotTurns } from './bots.ts';
import { catchUp, noteOf } from './catch-up.ts';
import { Colleagues } from './colleagues.ts';
import { Cursor } from './cursor.ts';
import type { DirectChats } from './direct-chats.ts';
import type { EarlierOptions } from './earlier.ts';
import { Errands } from './errands.ts';
import type { Identity, InboundContext } from './inbound-fields.ts';
import { Intake, type IntakeItem } from './intake.ts';
import { UserNames } from './names.ts';
import { Notices } from './notices.ts';
import { Pane } from './pane.ts';
import { ThreadParents } from './parents.ts';

export interface ReceiverOptions {
  readonly client: SlackClient;
  readonly directChats: DirectChats;
  readonly host: ChannelHost;
  readonly account: string;
  readonly settings: SlackSettings;
  readonly deps: ChannelDeps;
  readonly signal: AbortSignal;
  /** Called when the channel is ready to receive, or is known not to be for now. */
  readonly settled: () => void;
}

/** What can be wrong, in the order in which it is shown. */
type Part = 'login' | 'journal' | 'connection' | 'history';

/** The platform wants an acknowledgement within three seconds. */
const CATCH_UP_FIRST_MS = 2_000;
const HELD_BACK_MS = 120_000;
/** Messages that were edited of late. */
const MAX_EDITED = 500;
/** A refusal may be the platform's mood and last for minutes; a revoked login is refused for ever. */
const GIVE_UP_AFTER_MS = 300_000;

export class Receiver {
  readonly options: ReceiverOptions;
  /** Set once the login was accepted. */
  intake: Intake | undefined;
  /** The same. */
  notices: Notices | undefined;
  readonly #health: HealthSum<Part>;
  readonly #allowedBots: ReadonlySet<string>;
  #me: Identity | undefined;
  readonly #names: UserNames;
  readonly #colleagues: Colleagues;
  #cursor: Cursor | undefined;
  #intakeDone: Promise<void> | undefined;
  #errands: Errands | undefined;
  readonly #edited = new RecentSet(MAX_EDITED);
  /** While it waits for the end of a minute in which events were held back. */
  #fetchingHeldBack: Promise<void> | undefined;
  #heldBackMinutes = 0;
  /** The first start of all: nothing can have been missed, and what is older was not meant for us. */
  #fresh = false;
  /** Waited between refusals since anything was reached last, ms. */
  #refusedForMs = 0;

  constructor(options: ReceiverOptions) {
    this.options = options;
    this.#allowedBots = new Set(options.settings.allowed_bots);
    const { client, deps } = options;
    this.#names = new UserNames({ client, clock: deps.clock });
    this.#colleagues = new Colleagues({ client, clock: deps.clock, me: () => this.#context().me });
    // While the bot token is refused the socket may stand, but nothing can be answered.
    const order = inOrder('login', 'journal', 'connection', 'history');
    this.#health = new HealthSum<Part>((...health) => options.host.health(...health), order, ['connection']);
    options.client.watchLogin((refused) => {
      if (refused === undefined) this.#health.set('login', 'healthy');
      else this.#health.set('login', 'down', refusedLogin('bot token', refused));
    });
  }

  /** What messages are read with; undefined before the first login. */
  get reading(): Pick<EarlierOptions, 'context' | 'names' | 'colleagues'> | undefined {
    return this.#me && { context: this.#context(), names: this.#names, colleagues: this.#colleagues };
  }

  /** Asks who we are, and opens the intake the first time. Rejects with a `CallError` at a refused login. */
  async login(): Promise<void> {
    const { client, host, deps, signal, settings } = this.options;
    const answer = await withDeadline({ clock: deps.clock, ms: CALL_TIMEOUT_MS, signal }, (inner) =>
      client.call('auth.test', {}, inner),
    );
    const [userId, teamId] = [str(answer['user_id']), str(answer['team_id'])];
    if (userId === undefined || teamId === undefined) throw new CallError('auth.test', refusal('invalid_auth'));
    this.#me = { userId, teamId, enterpriseId: str(answer['enterprise_id']), botId: str(answer['bot_id']) ?? '' };
    if (this.intake) return;
    const stored = await host.cursor();
    const cursor = new Cursor(stored, client.now());
    this.#fresh = stored === undefined;
    this.#cursor = cursor;
    const { clock, random, logger } = deps;
    const [names, colleagues] = [this.#names, this.#colleagues];
    const context = (): InboundContext => this.#context();
    const answered = cursor.answered.bind(cursor);
    const parents = new ThreadParents({ client, clock, logger, names, colleagues, context, answered });
    this.notices = new Notices({ logger, onLogin: () => void this.#probe(), onHeldBack: () => this.#heldBack() });
    this.intake = new Intake({
      ...{ host, cursor, clock, random, logger, signal, names, parents, context },
      ...{ notices: this.notices, bots: new BotTurns(this.#allowedBots) },
      onEdit: (targetId) => this.#edited.add(targetId),
      onTrouble: (detail, state) => this.#health.set('journal', state, detail),
    });
    const pane = new Pane({ client, clock, logger, prompts: settings.suggested_prompts });
    const { directChats } = this.options;
    this.#errands = new Errands({ intake: this.intake, directChats, colleagues, names, pane, clock, logger, signal });
    this.#intakeDone = this.intake.run().catch((error: unknown) => host.ended(error));
  }

  /**
   * Fetches what was missed and then moves the cursor; tries again until it worked. `live`: from now on every
   * live message moves the cursor too, because a gap would be noticed. Never rejects; ends with the signal.
   */
  async catchUp(live: boolean, signal: AbortSignal): Promise<void> {
    const { intake } = this;
    const cursor = this.#cursor;
    if (!intake || !cursor) return;
    const { client, settings, deps } = this.options;
    const { clock, logger, random } = deps;
    const hours = settings.catch_up_hours;
    // What is pushed comes over a socket that is open by now; later it may only be fetched.
    const now = client.now() / 1_000;
    if (cursor.correct(client.now())) logger.warn('slack.cursor-ahead');
    const run = async (): Promise<void> => {
      const fresh = this.#fresh;
      if (fresh) {
        await intake.commitCursor(() => cursor.caughtUp(cursor.ts));
        this.#fresh = false;
        if (!live) cursor.interrupted();
      }
      // Even then: it shows which histories could not be read after an outage.
      const context = (): InboundContext => this.#context();
      const options = { client, intake, cursor, hours, clock, logger, signal, context, colleagues: this.#colleagues };
      this.#note(hours > 0 ? noteOf(await catchUp(options)) : undefined);
      signal.throwIfAborted();
      if (!fresh) await intake.commitCursor(() => cursor.caughtUp(now));
      if (!live) cursor.interrupted();
    };
    const onEnd = (error: unknown, waitMs: number): boolean => {
      if (error === undefined) return false;
      logger.warn('slack.catch-up-failed', { error: errorText(error), waitMs });
      this.#note('what was written during the outage is not fetched yet, trying again');
      return true;
    };
    await reconnect({ run, onEnd, clock, random, signal });
  }

  /**
   * Does the same in the background. Live messages wait for missed ones, but not for long; `begun` resolves
   * when they go on, `done` when everything is fetched or the signal aborted. Neither rejects.
   */
  catchUpFirst(live: boolean, signal: AbortSignal): { readonly begun: Promise<void>; readonly done: Promise<void> } {
    const done = this.catchUp(live, signal);
    const begun = Promise.race([done, pause(this.options.deps.clock, CATCH_UP_FIRST_MS, signal)]);
    return { begun, done };
  }

  /** The connection broke: the cursor stands still until the next catch-up came to its end. */
  interrupted(): void {
    this.#cursor?.interrupted();
  }

  /** We wrote in this thread: its replies are addressed to us from now on. */
  wrote(chatId: string, threadId: string): void {
    this.#cursor?.join(chatId, threadId);
  }

  /** As `Intake.push`; false before the login, too. */
  take(item: IntakeItem): boolean {
    return this.#errands?.take(item) ?? false;
  }

  /**
   * Whether a message was edited since the start, as far as is known: its answer may be about other words.
   */
  wasEdited(platformId: string): boolean {
    return this.#edited.has(platformId);
  }

  /** After an abort: resolves when the batch under way is committed and acknowledged. */
  async intakeEnded(): Promise<void> {
    await this.#intakeDone;
    await this.#errands?.ended();
    await this.#fetchingHeldBack;
  }

  /**
   * The platform pushes no more than 30,000 events an hour
   * (https://docs.slack.dev/reference/events/app_rate_limited) and never those that it held back: the history
   * has them. It says so each minute; once that minute is over is soon enough.
   */
  #heldBack(): void {
    this.#heldBackMinutes += 1;
    this.#cursor?.interrupted();
    this.#note('the platform holds events back because there are too many, they are fetched later');
    this.#fetchingHeldBack ??= this.#fetchHeldBack().finally(() => {
      this.#fetchingHeldBack = undefined;
    });
  }

  async #fetchHeldBack(): Promise<void> {
    const { deps, signal } = this.options;
    for (let fetched = 0; fetched !== this.#heldBackMinutes && !signal.aborted; ) {
      fetched = this.#heldBackMinutes;
      await pause(deps.clock, HELD_BACK_MS, signal);
      // The socket may be gone by then: that nothing is missing is for the catch-up behind the next one to
      // say.
      await this.catchUp(false, signal);
    }
  }

  /** Both tokens were accepted. */
  connected(): void {
    this.#refusedForMs = 0;
  }

  healthy(): void {
    this.health('healthy');
  }

  /** What the connection was found to be; what else is wrong is shown before it and does not change it. */
  health(state: ChannelHealth, detail?: string): void {
    this.#health.set('connection', state, detail);
  }

  /** What an outage would cost, or has cost. */
  #note(gaps: string | undefined): void {
    this.#health.set('history', 'healthy', gaps);
  }

  /** Tells the operator. `waitMs`: the coming wait. False when trying again is no use, else ms on top. */
  failed(error: unknown, waitMs: number): number | false {
    const { state, detail, refusedLogin, waitMs: moreMs } = judge(error);
    const again = !refusedLogin || this.#refusedForMs < GIVE_UP_AFTER_MS;
    if (refusedLogin) this.#refusedForMs += waitMs;
    this.health(state, detail);
    this.options.deps.logger.warn('slack.disconnected', { detail, again });
    this.options.settled();
    return again && moreMs;
  }

  /** Whoever watches the login learns how it went. Never rejects. */
  async #probe(): Promise<void> {
    const { client, deps, signal } = this.options;
    try {
      await withDeadline({ clock: deps.clock, ms: CALL_TIMEOUT_MS, signal }, (inner) => client.call('auth.test', {}, inner));
    } catch (error) {
      deps.logger.info('slack.login-probe-failed', { error: errorText(error) });
    }
  }

  #context(): InboundContext {
    const { account, client, settings, deps } = this.options;
    const me = this.#me;
    if (!me) throw new Error('nothing is read before the login');
    return {
      channel: deps.name,
      account,
      me,
      replyInThread: settings.reply_in_thread,
      directThreads: settings.direct_threads,
      followThreads: settings.follow_threads,
      allowedBots: this.#allowedBots,
      commands: deps.commands,
      joined: (chatId, threadId) => this.#cursor?.joined(chatId, threadId) ?? false,
      now: client.now(),
    };
  }
}

/** Sleeps until the time is over or the signal aborts, whichever is first; never rejects. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<undefined> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

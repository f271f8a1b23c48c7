/** The gateway connection: one socket at a time, resumed where possible, with a growing wait between. */
import type { ChannelHealth } from '../../../src/core/channel.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { linkedSignal } from '../../../src/lib/linked-signal.ts';
import type { Context } from '../../kit/context.ts';
import { reconnect, STEADY_MS } from '../../kit/reconnect.ts';
import type { DiscordClient } from '../wire/client.ts';
import { DISALLOWED_INTENTS, diagnoseCall, diagnoseClose } from '../wire/failure.ts';
import type { GatewayEnd, Session } from '../wire/gateway.ts';
import { intents, NO_CONTENT } from '../wire/intents.ts';
import { MAX_QUEUED, type Pushed } from './receive.ts';

export interface ConnectOptions extends Context {
  readonly client: Pick<DiscordClient, 'gateway'>;
  readonly session: Session | undefined;
  readonly messageContent: boolean;
  readonly push: (packet: Pushed) => void;
  /** Events that wait to be worked off. */
  readonly queued: () => number;
  readonly health: (state: ChannelHealth, detail?: string) => void;
  /** Told after each connection that could not be made. */
  readonly failed: () => void;
  /** Told when the platform refused the intent for texts; the connection is made without it. */
  readonly contentRefused: (detail: string) => void;
}

/** As many connections in a row that stood only briefly are no accident. */
const FLAPS = 3;
/** Then a new session is begun. */
const RESUME_ATTEMPTS = 2;
/** The SDK waits for RESUMED for ever. Events before it, the replayed ones, begin the wait anew. */
const BEGIN_TIMEOUT_MS = 90_000;
/** The queue is looked at this often while it is too long. */
const DRAIN_MS = 1_000;

/** Connects until the signal aborts or the login is refused. Never rejects: it reports failures as health. */
export async function keepConnected(options: ConnectOptions): Promise<void> {
  const { client, clock, random, logger, signal, health } = options;
  let { session, messageContent } = options;
  let flaps = 0;
  let refused = false;
  let notResumed = 0;
  await reconnect({
    clock,
    random,
    signal,
    // A token that was reset is never valid again, and the new one comes with a restart.
    onEnd: () => !refused,
    steadyMs: STEADY_MS,
    run: async (connected) => {
      while (options.queued() >= MAX_QUEUED / 2) await clock.sleep(DRAIN_MS, signal);
      using life = linkedSignal(signal);
      const resuming = session !== undefined;
      let began: number | undefined;
      let packets = 0;
      void beginsInTime(clock, life, () => (began === undefined ? packets : 'began'));
      const begin = (): void => {
        began ??= clock.monotonic();
        connected();
      };
      try {
        const end = await client.gateway({
          intents: intents(messageContent),
          session,
          signal: life.signal,
          onPacket: (packet) => {
            packets += 1;
            if (packet.t === 'READY' || packet.t === 'RESUMED') begin();
            options.push({ ...packet, connection: life.signal });
            // The platform keeps what we do not take for as long as the session can be resumed.
            if (options.queued() > MAX_QUEUED) life.abort(new Error('too many events wait'));
          },
        });
        if (signal.aborted) return;
        // The server where a session is resumed may be gone while the platform is well. Then a new session
        // begins, and the history fills the gap.
        notResumed = began === undefined ? notResumed + 1 : 0;
        session = notResumed >= RESUME_ATTEMPTS ? undefined : end.session;
        if (end.code === DISALLOWED_INTENTS && messageContent) {
          messageContent = false;
          session = undefined;
          logger.warn('discord.content-refused');
          options.contentRefused(NO_CONTENT);
          return;
        }
        if (resuming && began === undefined && end.session === undefined && diagnoseClose(end.code) === undefined) {
          logger.info('discord.session-over');
          return;
        }
        const isStable = began !== undefined && clock.monotonic() - began >= STEADY_MS;
        flaps = isStable ? 1 : flaps + 1;
        refused = tell(end, began !== undefined, flaps, options);
      } catch (error) {
        if (signal.aborted) return;
        const diagnosis = diagnoseCall(error);
        refused = diagnosis.refusedLogin === true;
        health(diagnosis.state, diagnosis.detail);
        logger.warn('discord.connect-failed', { detail: diagnosis.detail });
        options.failed();
        if (diagnosis.waitMs > 0) await clock.sleep(diagnosis.waitMs, signal);
      } finally {
        // Whoever waited for the connection to prove stable need not any more.
        life.abort(new Error('the connection ended'));
      }
    },
  });
}

/** Reports an end that is news. True when trying again would change nothing. */
function tell(end: GatewayEnd, began: boolean, flaps: number, options: ConnectOptions): boolean {
  const { health, logger, failed } = options;
  const fatal = diagnoseClose(end.code);
  logger.warn('discord.disconnected', { detail: end.detail, resumable: end.session !== undefined });
  if (fatal) health(fatal.state, fatal.detail);
  // The platform asks every client to reconnect now and then; only what does not heal is worth telling.
  else if (!began || flaps >= FLAPS) health('degraded', `GH1502: ${end.detail}`);
  if (!began) failed();
  return fatal !== undefined;
}

/** Ends a connection that is alive and tells nothing: the session would never begin. */
async function beginsInTime(
  clock: Clock,
  life: Pick<AbortController, 'signal' | 'abort'>,
  state: () => 'began' | number,
): Promise<void> {
  try {
    for (let before: number | undefined, now = state(); now !== 'began'; before = now, now = state()) {
      if (now === before) return life.abort(new Error('the session did not begin in time'));
      await clock.sleep(BEGIN_TIMEOUT_MS, life.signal);
    }
  } catch {
    return; // it ended before
  }
}

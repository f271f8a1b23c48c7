/** The long poll: updates -> `host.receive` -> only then the poll whose higher offset acknowledges them. */
import { setImmediate } from 'node:timers/promises';
import type { Update } from 'grammy/types';
import { errorText } from '../../../src/core/errors.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import type { ReceivingContext } from '../../kit/context.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type Diagnosis, degraded, diagnose, down, REFUSED_WAIT_MS } from '../../kit/diagnosis.ts';
import { keepReceiving } from '../../kit/keep-receiving.ts';
import { changesOnly, type ReportHealth } from '../../kit/reported-health.ts';
import { storeMessages } from '../../kit/store-messages.ts';
import type { TelegramClient } from '../wire/client.ts';
import { firstOpenAlbum, untilOpenAlbum } from './albums.ts';
import type { InboundContext } from './inbound.ts';
import { answerPresses, readUpdates } from './read-updates.ts';

export interface PollOptions extends ReceivingContext {
  readonly client: Pick<TelegramClient, 'getMe' | 'getUpdates' | 'deleteWebhook' | 'answerPress'>;
  readonly channel: string;
  readonly account: string;
  readonly pollTimeoutSecs: number;
  readonly callTimeoutMs: number;
  /** Called once: receiving, or failed for the first time and trying again. */
  readonly settled: () => void;
  /** Called each time when it is receiving again. */
  readonly connected: () => void;
  /** A group became a supergroup and has a new id. */
  readonly migrated: (from: string, to: string) => void;
}

/**
 * A poll silent for this much longer than the platform may hold it is dead: its connection broke unnoticed.
 */
const SILENCE_MS = 120_000;
/** Each poll ends the other program's poll, so two of them must not take turns quickly. */
const CONFLICT_WAIT_MS = 10_000;

/** Receives until the signal aborts. Never rejects: every failure is reported as health and tried again. */
export async function pollUpdates(options: PollOptions): Promise<void> {
  const { clock, random, signal, settled, logger } = options;
  const state: PollState = {
    health: changesOnly((state, detail) => options.host.health(state, detail)),
    first: true,
    conflicted: false,
  };
  await keepReceiving({
    run: async (connected) => {
      try {
        await receive(options, state, () => {
          connected();
          settled();
          options.connected();
        });
      } catch (error) {
        state.first = false;
        state.conflicted = isConflict(error);
        if (!signal.aborted) await clearWebhook(error, options);
        throw error;
      }
    },
    judge,
    health: state.health,
    event: 'telegram.poll-failed',
    ...{ settled, clock, random, logger, signal },
  });
}

/** What outlives one connection. */
interface PollState {
  readonly health: ReportHealth;
  /** The first poll wants an answer at once, so that `start` need not wait for a quiet chat's whole poll. */
  first: boolean;
  /** Polling worked only if a long poll came back: each short one merely ends the other program's. */
  conflicted: boolean;
}

async function receive(options: PollOptions, state: PollState, connected: () => void): Promise<void> {
  const { client, host, clock, signal } = options;
  const me = await withDeadline({ clock, ms: options.callTimeoutMs, signal }, (inner) => client.getMe(inner));
  if (!state.first && !state.conflicted) state.health('healthy');
  const context: InboundContext = { channel: options.channel, account: options.account, me };
  let offset = parseCursor(await host.cursor());
  for (;;) {
    const timeoutSecs = state.first ? 0 : options.pollTimeoutSecs;
    const ms = state.first ? options.callTimeoutMs : timeoutSecs * 1_000 + SILENCE_MS;
    const polled = await withDeadline({ clock, ms, signal }, (inner) =>
      client.getUpdates({ ...(offset !== undefined && { offset }), timeoutSecs }, inner),
    );
    state.first = false;
    state.conflicted = false;
    connected();
    state.health('healthy');
    // The answer shows that the platform saw the offset and forgot what lies below. The offset is left out
    // from then on: ids start again at a random, perhaps lower number after a quiet week, and an old offset
    // would skip those (Bot API, Update).
    offset = undefined;
    const updates = await wholeAlbums(polled, options);
    const last = updates.at(-1);
    if (!last) continue;
    const next = last.update_id + 1;
    await storeMessages(readUpdates(updates, context, options), String(next), {
      ...options,
      onTrouble: (detail, health) => state.health(health, detail),
    });
    offset = next;
    await answerPresses(updates, options);
    // The turns that this began come first: to build a poll takes as long as to ask a model.
    await setImmediate();
  }
}

/** How long the rest of an album may take to follow its first pictures. */
const ALBUM_WAIT_MS = 700;
/** An album has ten pictures at most: this many looks see the end of several in a row. */
const ALBUM_LOOKS = 5;

/** The updates and what followed them: a poll without an offset gives all again until it is acknowledged. */
async function wholeAlbums(polled: readonly Update[], options: PollOptions): Promise<readonly Update[]> {
  const { client, clock, signal } = options;
  let updates = polled;
  for (let look = 0; look < ALBUM_LOOKS && firstOpenAlbum(updates) !== undefined; look += 1) {
    await clock.sleep(ALBUM_WAIT_MS, signal);
    const more = await withDeadline({ clock, ms: options.callTimeoutMs, signal }, (inner) =>
      client.getUpdates({ timeoutSecs: 0 }, inner),
    );
    if (more.length <= updates.length) break;
    updates = more;
  }
  return untilOpenAlbum(updates);
}

async function clearWebhook(error: unknown, options: PollOptions): Promise<void> {
  if (!isConflict(error) || !errorText(error).includes('webhook')) return;
  const { client, clock, logger, signal } = options;
  try {
    await withDeadline({ clock, ms: options.callTimeoutMs, signal }, (inner) => client.deleteWebhook(inner));
    logger.warn('telegram.webhook-deleted');
  } catch (failed) {
    logger.warn('telegram.webhook-not-deleted', { error: errorText(failed) });
  }
}

function isConflict(error: unknown): boolean {
  return apiFailureOf(error)?.status === 409;
}

export function judge(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ failure }) => {
      if (failure.kind !== 'api') return undefined;
      const { status, detail } = failure;
      if (status === 401 || status === 404) {
        const advice = 'compare it with what @BotFather shows for the bot, set it anew and restart';
        return down(`GH1501: the platform refused the bot token (${status} ${detail}): ${advice}`, REFUSED_WAIT_MS);
      }
      if (status !== 409) return undefined;
      const webhook = detail.includes('webhook');
      const what = webhook ? 'a webhook was set for this bot and is being removed' : 'another program polls with this bot token';
      return degraded(`GH1503: ${what}`, webhook ? 0 : CONFLICT_WAIT_MS);
    },
  });
}

function parseCursor(cursor: string | undefined): number | undefined {
  const value = cursor === undefined ? Number.NaN : Number(cursor);
  return Number.isSafeInteger(value) ? value : undefined;
}

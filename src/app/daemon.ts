// Config in, running daemon out: the one place that knows every part (decision D9). Each part is built by a
// file of compose/.
import { errorText } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import type { Delivery } from '../delivery/deliver.ts';
import { channelHost, type Gateway } from '../gateway/gateway.ts';
import type { Lanes } from '../gateway/lanes.ts';
import { pruneUploads } from '../media/prune-uploads.ts';
import type { ChannelSet } from './channels.ts';
import { closeParts } from './close-parts.ts';
import { composeChannels } from './compose/channels.ts';
import { composeDelivery, composePlan } from './compose/delivery.ts';
import { composeEvents } from './compose/events.ts';
import { composeGateway } from './compose/gateway.ts';
import { createOperator, tellOfChannels } from './compose/operator.ts';
import { type Base, type Config, type DaemonOptions, type HotSettings, redactOf } from './compose/options.ts';
import { recover } from './compose/recovery.ts';
import { composeRunner } from './compose/runner.ts';
import { composeTicker } from './compose/schedule.ts';
import { composeStores } from './compose/store.ts';
import { keepHouse } from './keep-house.ts';
import type { ModelStack } from './model-stack.ts';
import type { Observations } from './observe.ts';
import { onOwnBehalf } from './origin.ts';

export type { DaemonOptions } from './compose/options.ts';

/** The running parts. `close` is the only way down; it is safe to call twice. */
export interface Daemon {
  readonly gateway: Gateway;
  readonly journal: Journal;
  readonly channels: ChannelSet;
  readonly lanes: Lanes;
  readonly observations: Observations;
  readonly models: ModelStack;
  /** Applies what may change without a restart (spec F3): system prompt, length of history, and limits on spending. */
  reconfigure(config: Config): void;
  /**
   * Stops intake, parks turns, finishes sends under way within the limits, then closes everything as
   * `closeParts` does.
   */
  close(limits?: CloseLimits): Promise<void>;
}

interface CloseLimits {
  readonly turnsMs: number;
  readonly deliveryMs: number;
}

/**
 * Builds the graph, recovers what earlier processes left, then starts the channels. The caller holds the lock
 * of the data directory. Rejects with GH12xx or GH13xx when the data directory cannot be used; a channel that
 * fails only goes `down`.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, clock, logger } = options;
  const { events, observations } = composeEvents(options);
  const { opened, journal, transcripts } = await composeStores(options, events.emit);
  events.observe(journal.record.note);
  const { channels, webhooks } = await composeChannels(options, events);
  let hot: HotSettings = { ...config.gateway, heartbeat: config.heartbeat };
  // Delivery is built last; parts that are committed before are found in the outbox when it begins.
  let running: Delivery | undefined;
  const base: Base = {
    ...{ options, events, journal, channels },
    entries: new Map(config.gateway.channels.map((entry) => [entry.name ?? entry.type, entry])),
    onParts(parts) {
      // What sends belongs to all, whichever turn or channel made the part.
      onOwnBehalf(() => {
        for (const lane of new Set(parts.map((part) => part.lane))) running?.poke(lane);
      });
    },
    hot: () => hot,
  };
  const { onParts } = base;
  const redact = redactOf(options);
  const operator = createOperator({ chats: config.gateway.owner, journal, channels, onParts, redact, clock, logger });
  const models = await options.model({ journal, emit: events.emit, operator });
  const delivery = composeDelivery(base);
  running = delivery;
  const parts = composePlan(base, operator);
  const turn = { base, models, operator, transcripts, delivery, parts };
  const built = composeGateway(turn, composeRunner(turn), opened.pairing);
  const { gateway, lanes } = built;

  await recover(base, built, parts);
  tellOfChannels(operator.owner, channels, events);
  journal.onOutsideChange(() => {
    gateway.look().catch((error) => logger.warn('journal.look-failed', { detail: errorText(error) }));
  });
  journal.wakeup.listen((what, lane) =>
    onOwnBehalf(() => {
      if (what === 'run') lanes.fetch([lane]);
      else if (what === 'part') delivery.poke(lane);
    }),
  );
  await operator.approvals.recover();
  const prune = async (): Promise<void> => {
    await opened.prune();
    await pruneUploads(options.dataDir, clock.now());
  };
  const ticker = composeTicker(base, operator, opened.pairing);
  const housekeeping = keepHouse(prune, clock, logger);
  await channels.start((channel, report) =>
    channelHost(gateway, journal, { channel: channel.name, account: channel.account }, report),
  );
  ticker.start();

  // What is listed is closed in reverse: turns have stopped by then, then what they left to send (sends need
  // their channels), then the disk.
  const closed = { journal: opened, owner: operator.owner, transcripts, webhooks, channels, delivery, models };
  let closing: Promise<void> | undefined;
  const close = async (limits: CloseLimits): Promise<void> => {
    housekeeping[Symbol.dispose]();
    channels.stopReceiving();
    const graceMs = limits.turnsMs + limits.deliveryMs;
    const stop = () => ticker[Symbol.asyncDispose]().then(() => gateway.stop(limits));
    await closeParts({ stop, parts: closed, graceMs, clock, logger });
  };
  return {
    ...{ gateway, journal, channels, lanes, observations, models },
    reconfigure: ({ gateway, budget, heartbeat }) => {
      hot = { ...gateway, heartbeat };
      ticker.wake();
      models.setLimits?.(budget);
    },
    close: (limits = { turnsMs: 5_000, deliveryMs: 10_000 }) => {
      closing ??= close(limits);
      return closing;
    },
  };
}

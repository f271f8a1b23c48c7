// Config in, running daemon out: the one place that knows every part (decision D9). Each part is built by a
// file of compose/.
import type { Journal } from '../core/journal.ts';
import type { KeyChange } from '../core/reload.ts';
import type { Delivery } from '../delivery/deliver.ts';
import { channelHost, type Gateway } from '../gateway/gateway.ts';
import type { Lanes } from '../gateway/lanes.ts';
import type { WebhookServer } from '../http/webhook-server.ts';
import type { OpenedJournal } from '../journal/open.ts';
import { Uploads } from '../media/uploads.ts';
import { DailyCap } from '../runs/daily-cap.ts';
import type { McpServers } from '../tools/mcp/servers.ts';
import type { Plugins } from '../tools/plugins/plugins.ts';
import { DiskQuota } from '../workspace/disk-quota.ts';
import { auditedReload, auditStart } from './audited-config.ts';
import type { ChannelSet } from './channels.ts';
import { type CloseLimits, closedOnce, closeParts, stopWork } from './close-parts.ts';
import { composeChannels } from './compose/channels.ts';
import { composeDelivery, composePlan } from './compose/delivery.ts';
import { composeErasing } from './compose/erasing.ts';
import { composeEvents } from './compose/events.ts';
import { composeGateway } from './compose/gateway.ts';
import { composeMcpClients } from './compose/mcp-clients.ts';
import { LiveModels } from './compose/models.ts';
import { createOperator, lookingAfterQuestions, tellOfChannels, tellOfStrangers } from './compose/operator.ts';
import { type Base, type Config, type DaemonOptions, type Programs, redactOf } from './compose/options.ts';
import { recover } from './compose/recovery.ts';
import { composePrograms } from './compose/sandbox.ts';
import { composeTicker } from './compose/schedule.ts';
import { composeSources } from './compose/sources.ts';
import { composeStores } from './compose/store.ts';
import { pruning } from './compose/tasks.ts';
import { followJournal } from './follow-journal.ts';
import { keepHouse } from './keep-house.ts';
import type { ModelStack } from './model-stack.ts';
import type { Observations } from './observe.ts';
import { onOwnBehalf } from './origin.ts';
import { Reloader } from './reload.ts';
import { reloadParts } from './reload-parts.ts';

export type { DaemonOptions } from './compose/options.ts';

/** The running parts. `close` is the only way down; it is safe to call twice. */
export interface Daemon {
  readonly gateway: Gateway;
  readonly journal: Journal;
  readonly channels: ChannelSet;
  readonly lanes: Lanes;
  readonly observations: Observations;
  readonly models: ModelStack;
  readonly mcp: Pick<McpServers, 'status'>;
  readonly plugins: Pick<Plugins, 'status'>;
  readonly programs: Pick<Programs, 'status'>;
  readonly disk: Pick<DiskQuota, 'room'>;
  readonly opened: Pick<OpenedJournal, 'syncMs'>;
  readonly webhooks: Pick<WebhookServer, 'refused'>;
  /**
   * Takes a changed config into use, all that can be without a restart of the process, or nothing of it. As
   * `Reloader.reload`.
   */
  reload(config: Config, signal: AbortSignal): Promise<readonly KeyChange[]>;
  /**
   * Stops intake, stops turns at their next step, finishes sends under way within the limits, then closes
   * everything as `closeParts` does.
   */
  close(limits?: CloseLimits): Promise<void>;
}

/**
 * Builds the graph, recovers what earlier processes left, then starts the channels. The caller holds the lock
 * of the data directory. Rejects with GH12xx or GH13xx when the data directory cannot be used; a channel that
 * fails only goes `down`.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, clock, logger } = options;
  const { events, observations } = composeEvents(options);
  const { opened, journal, transcripts, sessions, linked } = await composeStores(options, events.emit);
  const { pairing, people } = opened;
  events.observe(journal.record.note);
  // Before recovery tells of calls that they were cut off: what they started must not go on meanwhile.
  const programs = await composePrograms(options, journal);
  const { channels, webhooks } = await composeChannels(options, events);
  const reloader = new Reloader(config);
  const { mcp, plugins, found } = await composeSources(options, { opened, journal });
  const disk = new DiskQuota({ ...options, limits: () => reloader.running.disk });
  // Delivery is built last; parts that are committed before are found in the outbox when it begins.
  let running: Delivery | undefined;
  const base: Base = {
    ...{ options, events, journal, channels, disk, programs, uploads: new Uploads({ ...options, disk }) },
    cap: new DailyCap(journal, clock, linked.of),
    linked,
    onParts(parts) {
      // What sends belongs to all, whichever turn or channel made the part.
      onOwnBehalf(() => {
        for (const lane of new Set(parts.map((part) => part.lane))) running?.poke(lane);
      });
    },
    live: () => reloader.running,
    isChanging: () => reloader.isChanging,
    ...found,
  };
  const operator = createOperator({ ...base, chats: () => base.live().gateway.owner, redact: redactOf(options), clock, logger });
  const models = await LiveModels.create(options.model, { config, journal, emit: events.emit, operator, linked: linked.of });
  const delivery = composeDelivery(base);
  running = delivery;
  const parts = composePlan(base, operator);
  const turn = { base, models: () => models.current, operator, transcripts, delivery, parts, pairing, people };
  const built = composeGateway(turn);
  await recover(base, built, parts);
  await auditStart(config, { journal, people, logger });
  tellOfChannels(operator.owner, channels, events);
  tellOfStrangers(operator.owner, events);
  followJournal(base, built, delivery);
  await operator.approvals.recover();
  const erasing = composeErasing(base, { people, sessions, transcripts }, built);
  const ticker = composeTicker(base, operator, pairing, erasing);
  const housekeeping = keepHouse(pruning(base, opened, transcripts), clock, logger);
  // Before the channels: one that takes minutes to connect must not keep jobs and parked runs from their
  // dates.
  ticker.start();
  const clients = await composeMcpClients(turn, built);
  await channels.start((channel, report) =>
    channelHost(built.gateway, journal, { channel: channel.name, account: channel.account }, report),
  );
  reloader.take(reloadParts({ ...built, channels, models, mcp, clients, delivery, ticker, more: options.reloadable, clock }));

  // What is listed is closed in reverse: turns have stopped by then, then what they left to send (sends need
  // their channels), then the disk.
  const closed = {
    ...{ journal: opened, owner: operator.owner, transcripts, webhooks, channels, delivery, models, mcp },
    ...{ uploads: base.uploads, programs, clients },
  };
  const close = closedOnce(async (limits) => {
    housekeeping[Symbol.dispose]();
    channels.stopReceiving();
    const stop = () => stopWork([ticker, erasing], () => built.gateway.stop(limits));
    await closeParts({ stop, parts: closed, graceMs: limits.turnsMs + limits.deliveryMs, clock, logger });
  });
  return {
    ...{ gateway: built.gateway, lanes: built.lanes, journal, channels, observations, mcp, plugins, programs },
    ...{ disk, opened, webhooks },
    get models() {
      return models.current;
    },
    reload: lookingAfterQuestions(operator, auditedReload(reloader, { journal, logger })),
    close,
  };
}

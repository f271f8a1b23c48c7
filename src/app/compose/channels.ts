import type { EventBus } from '../../bus/event-bus.ts';
import { WebhookServer } from '../../http/webhook-server.ts';
import { ChannelSet } from '../channels.ts';
import { entriesOf } from '../reload-channels.ts';
import { type DaemonOptions, redactOf } from './options.ts';

/** The channels of the config, created and not yet started, and the server for their webhooks. */
export async function composeChannels(
  options: DaemonOptions,
  events: EventBus,
): Promise<{ readonly channels: ChannelSet; readonly webhooks: WebhookServer }> {
  const { config, registry, secret, terminal, dataDir, clock, logger, onAllEnded } = options;
  const webhooks = new WebhookServer({ ...config.gateway.webhooks, logger, clock });
  const channels = await ChannelSet.create([...entriesOf(config).values()], {
    ...{ registry, secret, dataDir, webhooks, clock, logger, onAllEnded, emit: events.emit, redact: redactOf(options) },
    ...(terminal ? { terminal } : {}),
  });
  options.stop?.addEventListener('abort', () => channels.stopReceiving(), { once: true });
  events.observe((event) => {
    if (event.type === 'received' && event.channel) channels.received(event.channel);
    if (event.type === 'part.sent' && event.channel) channels.sent(event.channel);
  });
  return { channels, webhooks };
}

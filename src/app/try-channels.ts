import type { LoadedConfig } from '../../config/load.ts';
import type { ChannelHost } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { WebhookServer } from '../http/webhook-server.ts';
import { systemClock } from '../lib/clock.ts';
import { createRedactor } from '../lib/redact.ts';
import { SILENT } from '../lib/silent-logger.ts';
import { ChannelSet, type Registry } from './channels.ts';
import { noSuchChannel } from './login-channel.ts';
import { Secrets } from './secrets.ts';

export interface TryOptions {
  readonly config: LoadedConfig['config'];
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registry: Registry;
  /** Only this one; all but the terminal when left out. */
  readonly name?: string;
  /** How long a channel may take to connect. ms, default 20 s. */
  readonly timeoutMs?: number;
}

/** Takes nothing: whatever a platform hands over stays there for the daemon. */
const TAKES_NOTHING: Pick<ChannelHost, 'receive' | 'cursor'> = {
  receive: async () => ({ kind: 'busy', retryAfterMs: 60_000 }),
  cursor: async () => undefined,
};

/**
 * Connects the configured channels as the daemon would, acknowledging nothing, and tells how each of them
 * stands. For use while no daemon runs: most platforms allow one connection of an account. Rejects with
 * GH1003 for a name that is not configured, GH1001 for the terminal, and as `refuseSharedTokens` throws.
 */
export async function tryChannels(options: TryOptions): Promise<readonly ChannelStatus[]> {
  const { config, env, name, timeoutMs = 20_000 } = options;
  const entries = config.gateway.channels
    .map((entry) => ({ name: entry.name ?? entry.type, type: entry.type, settings: entry.settings }))
    .filter((entry) => (name === undefined ? entry.type !== 'cli' : entry.name === name));
  if (name !== undefined && entries.length === 0) throw noSuchChannel(config, name);
  if (name !== undefined && entries.every((entry) => entry.type === 'cli'))
    throw new GatehouseError('GH1001', `${name} is the terminal: there is nothing to connect to`, {
      hint: 'talk to the agent there with `gatehouse chat`',
    });
  const secrets = new Secrets(env);
  await using webhooks = new WebhookServer({ ...config.gateway.webhooks, port: 0, logger: SILENT });
  await using channels = await ChannelSet.create(entries, {
    registry: options.registry,
    secret: secrets.secret,
    redact: createRedactor(secrets.all),
    ...{ dataDir: options.dataDir, webhooks, clock: systemClock, logger: SILENT },
    emit: () => undefined,
    onAllEnded: () => undefined,
  });
  const over = new AbortController();
  const late = systemClock.sleep(timeoutMs, over.signal).catch(() => undefined);
  await Promise.race([channels.start((_channel, report) => ({ ...TAKES_NOTHING, ...report })), late]);
  over.abort(new Error('tried'));
  return channels.status();
}

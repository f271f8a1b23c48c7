import { DeadlineError, withDeadline } from '../../channels/kit/deadline.ts';
import type { Channel, ChannelHost, Webhooks } from '../core/channel.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { COMMAND_MENU } from '../gateway/commands/index.ts';
import { installCommand } from '../lib/optional-packages.ts';
import { settleOrLeave } from '../lib/settle-or-leave.ts';
import { type ChannelEntry, type ChannelSetOptions, channelDir } from './channel-options.ts';
import { type Origin, onBehalfOf, onOwnBehalf } from './origin.ts';

interface LifeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The config, a missing variable, a refused login, an unknown type: trying again changes nothing before the
 * operator mends it.
 */
const OPERATORS_TO_MEND = /^GH(?:11\d\d|1501|1506|1510)$/;
/**
 * A channel that takes longer to stop is left behind: it may hold up neither the next one nor the end of the
 * process.
 */
const STOP_MS = 3_000;

/**
 * The adapter of a configured channel, not started. Rejects with GH1506 for an unknown type, and as the
 * adapter does.
 */
export async function makeChannel(
  { name, type, settings }: ChannelEntry,
  options: ChannelSetOptions,
  origin: Origin,
): Promise<{ readonly channel: Channel; readonly isLocal: boolean }> {
  const { registry, secret, clock, random = Math.random, logger, terminal, dataDir, webhooks } = options;
  const load = registry[type];
  if (!load) throw new GatehouseError('GH1506', `there is no channel type ${type}`);
  mustBeInstalled(type);
  const descriptor = await load();
  const channel = await descriptor.create(settings as never, {
    ...{ name, secret, clock, random },
    logger: logger.child({ channel: name }),
    dir: channelDir(dataDir, name),
    webhooks: ownWebhooks(webhooks.for(name), origin),
    commands: COMMAND_MENU,
    ...(terminal ? { terminal } : {}),
  });
  return { channel, isLocal: descriptor.local ?? false };
}

/** Throws GH1510 with the command that installs what a channel type lacks. */
export function mustBeInstalled(type: string, has?: (name: string) => boolean): void {
  const command = installCommand('channels', type, has);
  if (command === undefined) return;
  throw new GatehouseError('GH1510', `the package of channel type ${type} is not installed`, {
    hint: `run \`${command}\`, then start again`,
  });
}

/** Rejects as `start` does, or with `signal.reason` when it goes on for 2 s after an abort. */
export async function startChannel(
  channel: Channel,
  host: ChannelHost,
  signal: AbortSignal,
  options: LifeOptions,
): Promise<void> {
  const started = await settleOrLeave(channel.start(host, signal), signal, options.clock);
  if (started !== 'left') return;
  late(channel, 'its start did not end when intake did', options);
  signal.throwIfAborted();
}

/** Never rejects. */
export async function stopChannel(channel: Channel, options: LifeOptions): Promise<void> {
  const limit = { clock: options.clock, ms: STOP_MS, signal: new AbortController().signal };
  try {
    await withDeadline(limit, () => channel.stop());
  } catch (error) {
    if (error instanceof DeadlineError) late(channel, `its stop did not end within ${STOP_MS} ms`, options);
    else options.logger.warn('channel.stop-failed', { channel: channel.name, detail: errorText(error) });
  }
}

function late({ name: channel }: Channel, detail: string, { logger }: LifeOptions): void {
  logger.error('channel.late', { channel, code: 'GH1006', detail, hint: ERROR_CODES.GH1006.hint });
}

/** What a channel hands over is the gateway's: what that does with it is not on the channel's behalf. */
export function ownBehalf(host: ChannelHost): ChannelHost {
  return {
    ...host,
    receive: (batch, cursor) => onOwnBehalf(() => host.receive(batch, cursor)),
    cursor: () => onOwnBehalf(() => host.cursor()),
  };
}

/** The server is shared: whichever channel opened it, a request is handled on behalf of the one it is for. */
function ownWebhooks(webhooks: Webhooks, origin: Origin): Webhooks {
  return {
    serve: (handler, options) =>
      onOwnBehalf(() => webhooks.serve((request, signal) => onBehalfOf(origin, () => handler(request, signal)), options)),
  };
}

/** Whether starting again may help. What was not foreseen may pass; what has a code says so. */
export function mayPass(error: unknown): boolean {
  return !(isGatehouseError(error) && OPERATORS_TO_MEND.test(error.code));
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}

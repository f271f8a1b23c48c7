import { DeadlineError, withDeadline } from '../../channels/kit/deadline.ts';
import type { Channel, ChannelHost, Webhooks } from '../core/channel.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { settleOrLeave } from '../lib/settle-or-leave.ts';
import { type Origin, onBehalfOf, onOwnBehalf } from './origin.ts';

interface LifeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A channel that takes longer to stop is left behind: it may hold up neither the next one nor the end of the
 * process.
 */
const STOP_MS = 3_000;

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
export function ownWebhooks(webhooks: Webhooks, origin: Origin): Webhooks {
  return {
    serve: (handler, options) =>
      onOwnBehalf(() => webhooks.serve((request, signal) => onBehalfOf(origin, () => handler(request, signal)), options)),
  };
}

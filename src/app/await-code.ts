// a channel of the config -> connected -> the first message that is exactly a code -> who wrote it, and where
import type { Channel, ChannelHost } from '../core/channel.ts';
import { GatehouseError } from '../core/errors.ts';
import type { InboundMessage } from '../core/message.ts';
import { WebhookServer } from '../http/webhook-server.ts';
import { systemClock } from '../lib/clock.ts';
import { createRedactor } from '../lib/redact.ts';
import { SILENT } from '../lib/silent-logger.ts';
import { ChannelSet } from './channels.ts';
import { Secrets } from './secrets.ts';
import type { TryOptions } from './try-channels.ts';

export interface AwaitCodeOptions extends Omit<TryOptions, 'name' | 'timeoutMs'> {
  /** Instance name of the channel. */
  readonly name: string;
  /** What the message has to be, blanks around it aside. */
  readonly code: string;
  readonly timeoutMs: number;
}

/** More than a poll takes to leave. */
const ACKNOWLEDGED_MS = 1_500;
/** Between two looks at what a platform holds. */
const LOOK_AGAIN_MS = 1_500;
/** So many may be all that a platform hands out at once, and the code stands behind them. */
const MANY = 80;
/** An adapter that is told to wait so long is stopped before. */
const HELD_MS = 60_000;

/**
 * `taken`: messages that came before the code and were taken from the platform; no one answers them. `held`:
 * others that wait at the platform for a daemon, and `code` with them, which that daemon must not take for a
 * request.
 */
export type CodeSender = Pick<InboundMessage, 'channel' | 'chatId' | 'senderId' | 'senderName' | 'isGroup'> & {
  readonly taken: number;
  readonly held: number;
  readonly code?: InboundMessage;
};

type Heard = { readonly kind: 'sender'; readonly sender: CodeSender } | { readonly kind: 'again' } | { readonly kind: 'ended' };

/**
 * Listens on one channel until a message is exactly the code. What else waits there belongs to the daemon:
 * where the platform keeps what is not acknowledged, it stays, and is looked at anew until the code is behind
 * it. What a platform pushes once, and what is more than it hands out at once, is taken and counted.
 * Undefined when the time is over. Rejects with GH1502, or the code of the channel, when that does not
 * connect. For use while no daemon runs.
 */
export async function awaitCode(options: AwaitCodeOptions): Promise<CodeSender | undefined> {
  const over = new AbortController();
  const ended = { kind: 'ended' } as const;
  const late: Promise<Heard> = systemClock.sleep(options.timeoutMs, over.signal).then(
    () => ended,
    () => ended,
  );
  const count = { taken: 0 };
  try {
    for (;;) {
      const heard = await hear(options, late, count);
      if (heard.kind === 'sender') return heard.sender;
      if (heard.kind === 'ended') return undefined;
      const next = await Promise.race([late, systemClock.sleep(LOOK_AGAIN_MS, over.signal)]);
      if (next) return undefined;
    }
  } finally {
    over.abort();
  }
}

/** Connects once. */
async function hear(options: AwaitCodeOptions, late: Promise<Heard>, count: { taken: number }): Promise<Heard> {
  const { config, env, name } = options;
  const entry = config.gateway.channels.find((one) => (one.name ?? one.type) === name);
  const secrets = new Secrets(env);
  await using webhooks = new WebhookServer({ ...config.gateway.webhooks, logger: SILENT });
  const found = Promise.withResolvers<Heard>();
  await using channels = await ChannelSet.create(entry ? [{ name, type: entry.type, settings: entry.settings }] : [], {
    registry: options.registry,
    secret: secrets.secret,
    redact: createRedactor(secrets.all),
    ...{ dataDir: options.dataDir, webhooks, clock: systemClock, logger: SILENT },
    emit: () => undefined,
    onAllEnded: () => found.resolve({ kind: 'ended' }),
  });
  await channels.start((channel, report) => ({
    ...report,
    receive: receiver(options.code, channel, count, found.resolve),
    cursor: async () => undefined,
  }));
  const [status] = channels.status();
  if (status?.state === 'down')
    throw new GatehouseError('GH1502', `${name} does not connect: ${status.detail ?? 'no reason is known'}`);
  const heard = await Promise.race([found.promise, late]);
  // A platform that is polled hears with the next poll that the code was taken; else a daemon would get it again.
  if (heard.kind === 'sender' && !heard.sender.code) await systemClock.sleep(ACKNOWLEDGED_MS);
  return heard;
}

function receiver(
  code: string,
  { inboundClass }: Pick<Channel, 'inboundClass'>,
  count: { taken: number },
  found: (heard: Heard) => void,
): ChannelHost['receive'] {
  return async (batch) => {
    const isCode = (message: InboundMessage): boolean => message.kind === 'message' && message.text.trim() === code;
    const message = batch.find(isCode);
    const others = batch.filter((one) => !isCode(one)).length;
    if (others > 0 && inboundClass !== 'C' && (message || batch.length < MANY)) {
      const sender = message && { ...message, taken: count.taken, held: others, code: message };
      found(sender ? { kind: 'sender', sender } : { kind: 'again' });
      return { kind: 'busy', retryAfterMs: HELD_MS };
    }
    count.taken += others;
    if (message) found({ kind: 'sender', sender: { ...message, taken: count.taken, held: 0 } });
    return { kind: 'accepted' };
  };
}

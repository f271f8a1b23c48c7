// a channel of the config -> connected -> the first message that is exactly a code -> who wrote it, and where
import type { ChannelHost } from '../core/channel.ts';
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

/** `others`: messages of other people that came meanwhile. */
export type CodeSender = Pick<InboundMessage, 'channel' | 'chatId' | 'senderId' | 'senderName' | 'isGroup'> & {
  readonly others: number;
};

/**
 * Listens on one channel until a message is exactly the code. What others write meanwhile is taken, because
 * the code may stand behind it, and counted: no one but the operator is let in yet, so it would come to
 * nothing in a daemon as well, and no one is answered. Undefined when the time is over. Rejects
 * with GH1502, or the code of the channel, when that does not connect. For use while no daemon runs.
 */
export async function awaitCode(options: AwaitCodeOptions): Promise<CodeSender | undefined> {
  const { config, env, name, code, timeoutMs } = options;
  const entry = config.gateway.channels.find((one) => (one.name ?? one.type) === name);
  const secrets = new Secrets(env);
  await using webhooks = new WebhookServer({ ...config.gateway.webhooks, logger: SILENT });
  const found = Promise.withResolvers<CodeSender | undefined>();
  await using channels = await ChannelSet.create(entry ? [{ name, type: entry.type, settings: entry.settings }] : [], {
    registry: options.registry,
    secret: secrets.secret,
    redact: createRedactor(secrets.all),
    ...{ dataDir: options.dataDir, webhooks, clock: systemClock, logger: SILENT },
    emit: () => undefined,
    onAllEnded: () => found.resolve(undefined),
  });
  let others = 0;
  const receive: ChannelHost['receive'] = async (batch) => {
    const isCode = (message: InboundMessage): boolean => message.kind === 'message' && message.text.trim() === code;
    const message = batch.find(isCode);
    others += batch.filter((one) => !isCode(one)).length;
    if (message) found.resolve({ ...message, others });
    return { kind: 'accepted' };
  };
  await channels.start((_channel, report) => ({ ...report, receive, cursor: async () => undefined }));
  const [status] = channels.status();
  if (status?.state === 'down')
    throw new GatehouseError('GH1502', `${name} does not connect: ${status.detail ?? 'no reason is known'}`);
  const over = new AbortController();
  const late = systemClock.sleep(timeoutMs, over.signal).then(
    () => undefined,
    () => undefined,
  );
  const sender = await Promise.race([found.promise, late]).finally(() => over.abort());
  // A platform that is polled hears with the next poll that the code was taken; else a daemon would get it again.
  if (sender) await systemClock.sleep(ACKNOWLEDGED_MS);
  return sender;
}

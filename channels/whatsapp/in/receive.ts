/** Stays connected and offers what arrives: one connection after the other on one login. */
import type { proto, WAMessage } from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { ReceivingContext } from '../../kit/context.ts';
import { RecentMap } from '../../kit/recent.ts';
import { reconnect, STEADY_MS } from '../../kit/reconnect.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import { isOwnMessageId } from '../out/outbound.ts';
import type { WhatsAppSettings } from '../settings.ts';
import { WhatsAppConnection } from '../wire/client.ts';
import { describeEnding } from '../wire/endings.ts';
import { Ended } from '../wire/failure.ts';
import { isMe } from '../wire/ids.ts';
import type { LoginStore } from '../wire/store.ts';
import { MOST_PICTURES } from './albums.ts';
import { type InboundContext, toInbound, undecryptable, unreadable } from './inbound.ts';
import type { SelfChatCap } from './self-chat.ts';
import type { Origin, ReadingOptions } from './stanza-reader.ts';

export interface SessionOptions extends ReceivingContext {
  readonly store: LoginStore;
  readonly settings: WhatsAppSettings;
  readonly channel: string;
  readonly account: string;
  /** Set where the chat of the account with itself is read. */
  readonly selfChat: SelfChatCap | undefined;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Ends receiving; the connection stays for what is still to be sent. */
  readonly intake: AbortSignal;
  /** Called once or more: connected, or failed for the first time and trying again. */
  readonly settled: () => void;
  /** The connection to send over. */
  readonly connected: (connection: WhatsAppConnection | undefined) => void;
}

/** A server that asks again and again to connect at once is not obeyed for ever. */
const MAX_RESTARTS = 5;
/** A message is asked for this often; when so many fail in a row, it is not about one message any more. */
const MAX_UNDECRYPTABLE = 5;

/** Until the signal aborts, or the platform said something that only the operator can mend. Never rejects. */
export async function stayConnected(options: SessionOptions): Promise<void> {
  const { channel, host, clock, random, signal, logger, settled } = options;
  let restarts = 0;
  const partOf = new RecentMap<string>(MOST_PICTURES);
  await reconnect({
    run: async (connected) => {
      for (;;) {
        const ended = await connectOnce({ ...options, partOf }, () => {
          connected();
          host.health('healthy');
          settled();
        });
        restarts += 1;
        const { next } = describeEnding(ended, channel);
        if (next !== 'now' || restarts > MAX_RESTARTS || signal.aborted) throw ended;
      }
    },
    onEnd: (error, waitMs) => {
      restarts = 0;
      const ending = describeEnding(error instanceof Ended ? error : new Ended(error), channel);
      logger.warn('whatsapp.disconnected', { detail: ending.detail, next: ending.next, waitMs });
      host.health(ending.health, ending.detail);
      settled();
      return ending.next !== 'stop' && ending.waitMs;
    },
    clock,
    random,
    signal,
    steadyMs: STEADY_MS,
  });
}

async function connectOnce(options: SessionOptions & Pick<ReadingOptions, 'partOf'>, opened: () => void): Promise<Ended> {
  const { store, settings, clock, logger, signal } = options;
  const over = new AbortController();
  const watch = watchReading(options);
  const connection = new WhatsAppConnection({
    store,
    partOf: options.partOf,
    url: settings.web_socket_url,
    ...(settings.client_version !== undefined && { version: settings.client_version }),
    requireEncryption: settings.require_encryption,
    clock,
    logger,
    onMessage: async (message, origin, more) => {
      try {
        await receive({ message, origin, ...more }, connection, options, over.signal);
        watch(origin);
      } catch (error) {
        // The SDK answers a message whose handling broke off with a refusal, which must not find an open
        // socket. Once intake has ended, what is still to be sent goes out on this connection before it ends.
        if (!over.signal.aborted) connection.fail(error instanceof Error ? error : new Error(errorText(error)));
        await connection.ended;
        throw error;
      }
    },
  });
  const onAbort = (): void => void connection.close();
  const onIntakeEnd = (): void => over.abort(options.intake.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  options.intake.addEventListener('abort', onIntakeEnd, { once: true });
  const ended = connection.ended.then((reason) => {
    over.abort(reason);
    return reason;
  });
  try {
    if (options.intake.aborted) onIntakeEnd();
    if (signal.aborted) onAbort();
    options.connected(connection);
    await connection.opened;
    opened();
    return await ended;
  } catch (error) {
    return error instanceof Ended ? error : new Ended(error);
  } finally {
    options.connected(undefined);
    signal.removeEventListener('abort', onAbort);
    options.intake.removeEventListener('abort', onIntakeEnd);
    await connection.close();
  }
}

/** Tells the operator that nothing can be decrypted any more, and when that is over. */
function watchReading({ host, channel }: SessionOptions): (origin: Origin) => void {
  let failed = 0;
  return (origin) => {
    if (origin === 'encrypted') {
      if (failed >= MAX_UNDECRYPTABLE) host.health('healthy');
      failed = 0;
    } else if (origin === 'undecryptable') {
      failed += 1;
      if (failed !== MAX_UNDECRYPTABLE) return;
      const again = `if it goes on, link the account again with \`gatehouse channels login ${channel}\``;
      host.health('degraded', `GH1502: ${failed} messages in a row could not be decrypted; ${again}`);
    }
  };
}

interface Arrived {
  readonly message: WAMessage;
  readonly origin: Origin;
  readonly others: readonly proto.IMessage[];
  readonly destination?: string;
}

async function receive(
  arrived: Arrived,
  connection: WhatsAppConnection,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { host, channel, account, selfChat, store } = options;
  signal.throwIfAborted();
  const me = connection.me ?? { phone: account };
  // The server could write what is not encrypted, and could put words to another person into this chat.
  const { origin, destination } = arrived;
  const isRead = selfChat !== undefined && origin === 'encrypted' && (destination === undefined || isMe(destination, me));
  const isSent = (id: string) => isOwnMessageId(id) || store.sent(id) !== undefined;
  const context = { channel, account, me, pins: connection.pins, ...(isRead && { isSent }) };
  const found = read(arrived, context, connection, options);
  const inbound = found && selfChat && found.senderId === account ? selfChat.judge(found) : found;
  if (!inbound) return;
  const onTrouble: StoringOptions['onTrouble'] = (detail, state) => host.health(state, detail);
  await storeMessages([inbound], undefined, { ...options, signal, onTrouble });
}

function read(
  { message, origin, others }: Arrived,
  context: InboundContext,
  connection: WhatsAppConnection,
  { settings, logger }: SessionOptions,
): InboundMessage | undefined {
  if (origin === 'plaintext' && settings.require_encryption) return unreadable(message, context, 'forged-sender');
  if (origin === 'undecryptable' || origin === 'absent') {
    const refused = undecryptable(message, context);
    if (refused) logger.warn('whatsapp.message-undecryptable', { id: message.key.id, origin });
    return refused;
  }
  try {
    const inbound = toInbound(message, context, others);
    if (!inbound) logger.debug('whatsapp.stanza-ignored', { id: message.key.id });
    return inbound;
  } catch (error) {
    if (!connection.isOpen) throw error; // it is the store that could not be read
    // One message that cannot be read must not stop those behind it.
    logger.error('whatsapp.message-unreadable', { id: message.key.id, error: errorText(error) });
    return unreadable(message, context, 'unreadable');
  }
}

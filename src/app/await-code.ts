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
  /** Of a text that is the code of an earlier attempt: no daemon is to answer it. */
  readonly isOldCode: (text: string) => boolean;
  readonly timeoutMs: number;
  /** Takes from the platform what hides the code. No one answers it. Default false. */
  readonly dropWaiting?: boolean;
  readonly stop?: AbortSignal;
}

/** More than a poll takes to leave. */
const ACKNOWLEDGED_MS = 1_500;
/** Between two looks at what a platform holds. */
const LOOK_AGAIN_MS = 1_500;
/**
 * So many may be all that a platform hands out at once, and the code stands behind them: Telegram's page has
 * 100 updates, of which an album at its end, of up to ten, is left for the next.
 */
const PAGE = 90;
/** An adapter that is told to wait so long is stopped before. */
const HELD_MS = 60_000;

/**
 * `taken`: messages that came before the code and were taken from the platform; no one answers them. `held`:
 * others that wait at the platform for a daemon, and `codes` with them, which that daemon must not take for
 * requests.
 */
export type CodeSender = Pick<InboundMessage, 'channel' | 'chatId' | 'senderId' | 'senderName' | 'isGroup'> & {
  readonly taken: number;
  readonly held: number;
  readonly codes: readonly InboundMessage[];
};

/**
 * `hidden`: so many messages wait that the platform may not show the code behind them. `late`: the time is
 * over, or the channel has ended. `stopped`: by the signal. `waiting`: messages that were seen there last;
 * `taken` as of `CodeSender`.
 */
export type CodeOutcome =
  | { readonly kind: 'sender'; readonly sender: CodeSender }
  | { readonly kind: 'hidden' | 'late' | 'stopped'; readonly waiting: number; readonly taken: number };

type Heard = CodeOutcome | { readonly kind: 'again' };

interface Seen {
  taken: number;
  waiting: number;
  /** The code is there: what comes now is a daemon's. */
  isOver: boolean;
}

/**
 * Listens on one channel until a message is exactly the code. What else waits there belongs to the daemon:
 * where the platform keeps what is not acknowledged, it stays, and is looked at anew until the code is behind
 * it. What a platform pushes once is taken and counted. Rejects with GH1502, or the code of the channel, when
 * that does not connect. For use while no daemon runs.
 */
export async function awaitCode(options: AwaitCodeOptions): Promise<CodeOutcome> {
  const over = new AbortController();
  const seen: Seen = { taken: 0, waiting: 0, isOver: false };
  const late: Promise<CodeOutcome> = systemClock.sleep(options.timeoutMs, anyOf(over.signal, options.stop)).then(
    () => outcome('late', seen),
    () => outcome('stopped', seen),
  );
  try {
    for (;;) {
      const heard = await hear(options, late, seen);
      if (heard.kind !== 'again') return heard;
      const next = await Promise.race([late, systemClock.sleep(LOOK_AGAIN_MS, over.signal)]);
      if (next) return next;
    }
  } finally {
    over.abort();
  }
}

function outcome(kind: 'hidden' | 'late' | 'stopped', { waiting, taken }: Seen): CodeOutcome {
  return { kind, waiting, taken };
}

function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** Connects once. */
async function hear(options: AwaitCodeOptions, late: Promise<CodeOutcome>, seen: Seen): Promise<Heard> {
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
    onAllEnded: () => found.resolve(outcome('late', seen)),
  });
  const started = channels.start((channel, report) => ({
    ...report,
    receive: receiver(options, channel, seen, found.resolve),
    cursor: async () => undefined,
  }));
  // On a network that swallows everything the first calls take long.
  const early = await Promise.race([started.then(() => undefined), late]);
  if (early) return early;
  const [status] = channels.status();
  if (status?.state === 'down')
    throw new GatehouseError('GH1502', `${name} does not connect: ${status.detail ?? 'no reason is known'}`);
  const heard = await Promise.race([found.promise, late]);
  // A polled platform hears with the next poll that the code was taken; else a daemon would get it again.
  if (heard.kind === 'sender' && heard.sender.held === 0) await systemClock.sleep(ACKNOWLEDGED_MS);
  return options.stop?.aborted ? outcome('stopped', seen) : heard;
}

function receiver(
  { code, isOldCode, dropWaiting = false }: AwaitCodeOptions,
  { inboundClass }: Pick<Channel, 'inboundClass'>,
  seen: Seen,
  found: (heard: Heard) => void,
): ChannelHost['receive'] {
  const textOf = ({ kind, text }: InboundMessage): string => (kind === 'message' ? text.trim() : '');
  return async (batch) => {
    const codes = batch.filter((one) => textOf(one) === code || isOldCode(textOf(one)));
    const message = codes.find((one) => textOf(one) === code);
    const others = batch.length - codes.length;
    const mayStay = inboundClass !== 'C';
    if (mayStay && seen.isOver) return { kind: 'busy', retryAfterMs: HELD_MS };
    if (message) seen.isOver = true;
    if (others > 0 && mayStay && (message || !dropWaiting)) {
      seen.waiting = others;
      if (message) found({ kind: 'sender', sender: { ...message, taken: seen.taken, held: others, codes } });
      else found(sizeOf(batch) < PAGE ? { kind: 'again' } : outcome('hidden', seen));
      return { kind: 'busy', retryAfterMs: HELD_MS };
    }
    seen.taken += others;
    if (message) found({ kind: 'sender', sender: { ...message, taken: seen.taken, held: 0, codes: [] } });
    return { kind: 'accepted' };
  };
}

/** An album is one message, and at the platform one for each of its files. */
function sizeOf(batch: readonly InboundMessage[]): number {
  return batch.reduce((sum, { media }) => sum + Math.max(1, media.length), 0);
}

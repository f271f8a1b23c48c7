/**
 * The webhook: the platform posts each update, and takes it for delivered once we answered after the commit.
 */
import { createHmac } from 'node:crypto';
import type { Update } from 'grammy/types';
import type { ChannelHealth, Webhook, WebhookHandler, Webhooks } from '../../../src/core/channel.ts';
import { equalSecrets } from '../../../src/lib/equal-secrets.ts';
import type { ReceivingContext } from '../../kit/context.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { HealthSum, inOrder } from '../../kit/health-sum.ts';
import { InboundLine } from '../../kit/inbound-line.ts';
import { obj } from '../../kit/json.ts';
import { keepReceiving } from '../../kit/keep-receiving.ts';
import type { ReportHealth } from '../../kit/reported-health.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import { answerWith, createWebhookIntake, refusedRequest, type WebhookContent } from '../../kit/webhook-intake.ts';
import type { TelegramClient, WebhookInfo } from '../wire/client.ts';
import type { InboundContext } from './inbound.ts';
import { answerPresses, type ReadingOptions, readUpdates } from './read-updates.ts';
import { judge } from './receive.ts';

export interface WebhookOptions extends ReceivingContext, ReadingOptions {
  readonly client: Pick<TelegramClient, 'getMe' | 'setWebhook' | 'webhookInfo' | 'answerPress'>;
  readonly channel: string;
  readonly account: string;
  /** Origin under which the platform reaches the webhook server; the path is ours. */
  readonly publicUrl: string;
  /** Of the bot: a program that knows it can set any webhook, so the secret of ours may be made of it. */
  readonly token: string;
  readonly webhooks: Webhooks;
  readonly settled: () => void;
  readonly connected: () => void;
}

/** Below the 50 s after which the platform gives a request up (its server's source, WebhookActor). */
const HOLD_MS = 20_000;
/** Another program may set a webhook of its own at any time, and nothing tells us. */
const LOOK_EVERY_MS = 60_000;
/** Updates that may wait for the journal; the platform keeps the rest. */
const MOST_WAITING = 256;

/** Receives until the signal aborts. Never rejects: every failure is reported as health and tried again. */
export async function receiveWebhook(options: WebhookOptions): Promise<void> {
  const { client, host, clock, random, logger, signal, webhooks, publicUrl, channel, account, settled } = options;
  const sum = new HealthSum<'journal' | 'connection'>((...words) => host.health(...words), inOrder('journal', 'connection'), [
    'connection',
  ]);
  const health: ReportHealth = (state, detail) => sum.set('connection', state, detail);
  const secret = createHmac('sha256', options.token).update(`webhook of ${channel}`).digest('hex');
  const call = <T>(run: (inner: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ clock, ms: options.callTimeoutMs, signal }, run);
  let context: InboundContext | undefined;
  let webhook: Webhook | undefined;
  try {
    await keepReceiving({
      run: async (connected) => {
        const me = await call((inner) => client.getMe(inner));
        context = { channel, account, me };
        webhook ??= await webhooks.serve(
          handlerOf(options, { secret, onTrouble: (detail, state) => sum.set('journal', state, detail), context: () => context }),
        );
        const url = `${publicUrl}${webhook.path}`;
        await call((inner) => client.setWebhook({ url, secret }, inner));
        logger.info('telegram.webhook', { url, local: webhook.localOrigin });
        const since = clock.now();
        connected();
        settled();
        options.connected();
        for (;;) {
          const info = await call((inner) => client.webhookInfo(inner));
          if (info.url !== url) throw new Error('GH1503: another program set a webhook for this bot; ours is set again');
          health(...healthOf(info, since));
          await clock.sleep(LOOK_EVERY_MS, signal);
        }
      },
      judge,
      health,
      event: 'telegram.webhook-failed',
      ...{ settled, clock, random, logger, signal },
    });
  } finally {
    // The webhook stays set: what is written meanwhile waits at the platform for a day.
    await webhook?.[Symbol.asyncDispose]();
  }
}

/** What the platform says of its last request to us, in its words, unless that was before we listened. */
function healthOf(
  { last_error_date: at = 0, last_error_message: words, pending_update_count: waiting }: WebhookInfo,
  since: number,
): readonly [ChannelHealth, string?] {
  // It keeps the last error for ever; one that is older than the last two looks is over when nothing waits.
  const isOver = at * 1_000 < since || waiting === 0;
  if (words === undefined || isOver) return ['healthy'];
  const what = `GH1502: Telegram cannot deliver ${waiting} updates: ${words}; check public_url and the proxy`;
  return ['degraded', what];
}

interface Handling {
  readonly secret: string;
  readonly onTrouble: StoringOptions['onTrouble'];
  readonly context: () => InboundContext | undefined;
}

function handlerOf(options: WebhookOptions, { secret, onTrouble, context }: Handling): WebhookHandler {
  const { clock, logger } = options;
  const line = new InboundLine(MOST_WAITING);
  return createWebhookIntake({
    read: ({ method, headers, body }): WebhookContent => {
      if (method !== 'POST') return answerWith(405);
      if (!equalSecrets(headers['x-telegram-bot-api-secret-token'] ?? '', secret)) return refusedRequest('wrong secret token');
      const update = parse(body);
      const known = context();
      // What is no update would come again for ever.
      if (!update) return answerWith(200);
      if (!known) return { kind: 'later' };
      const stored = line.push(() => storeMessages(readUpdates([update], known, options), undefined, { ...options, onTrouble }));
      if (!stored) return { kind: 'later' };
      void stored.then(() => answerPresses([update], options)).catch(() => undefined); // the channel stops
      return { kind: 'messages', store: () => stored };
    },
    holdMs: HOLD_MS,
    refused: { status: 401, event: 'telegram.request-refused' },
    clock,
    logger,
  });
}

function parse(body: Buffer): Update | undefined {
  try {
    const update: unknown = JSON.parse(body.toString());
    return Number.isSafeInteger(obj(update)['update_id']) ? (update as Update) : undefined;
  } catch {
    return undefined;
  }
}

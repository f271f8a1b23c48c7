/** The two ways in: a long connection of ours, or requests of theirs. Both end in `intake.ts`. */
import type { ChannelDeps, ChannelHost, Webhook, WebhookHandler } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import { settledOrAborted } from '../../../src/lib/time-limit.ts';
import { CallError } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type Diagnosis, degraded, diagnose, down, REFUSED_WAIT_MS } from '../../kit/diagnosis.ts';
import { keepReceiving } from '../../kit/keep-receiving.ts';
import { STEADY_MS } from '../../kit/reconnect.ts';
import { changesOnly, type ReportHealth } from '../../kit/reported-health.ts';
import { answerWith, createWebhookIntake } from '../../kit/webhook-intake.ts';
import { whenAborted } from '../../kit/when-aborted.ts';
import type { BotIdentity, FeishuClient } from '../wire/client.ts';
import { isRefusedLogin } from '../wire/failure.ts';
import { EventIntake } from './intake.ts';
import type { KnownMessages } from './known-messages.ts';
import { readWebhook, type WebhookKeys } from './request.ts';

export interface ReceiveOptions {
  readonly client: Pick<FeishuClient, 'botInfo' | 'connect'>;
  readonly host: ChannelHost;
  readonly known: KnownMessages;
  readonly account: string;
  readonly deps: ChannelDeps;
  /** Absent: the long connection. */
  readonly webhook?: WebhookKeys;
  readonly callTimeoutMs: number;
  /** Called with each answer to "who am I". */
  readonly identified: (me: BotIdentity) => void;
  readonly signal: AbortSignal;
  /** Called once: receiving, or failed for the first time and trying again. */
  readonly settled: () => void;
}

/** The platform waits 3 s. */
const ANSWER_MS = 2_500;

/** Receives until the signal aborts. Never rejects: every failure is reported as health and tried again. */
export async function receiveEvents(options: ReceiveOptions): Promise<void> {
  const { deps, signal, settled } = options;
  const { clock, random, logger } = deps;
  const health = changesOnly((state, detail) => options.host.health(state, detail));
  const server: Server = {};
  const live: typeof converse = options.webhook ? (...args) => listen(server, ...args) : converse;
  const run = (connected: () => void): Promise<void> => live(options, health, connected);
  const told = { judge, health, event: 'feishu.connection-failed', settled };
  await keepReceiving({ ...{ run, clock, random, logger, signal }, ...told, steadyMs: STEADY_MS });
  await server.hook?.[Symbol.asyncDispose]();
}

/** What stays while the API is asked again and again who we are. */
interface Server {
  hook?: Webhook;
  /** Absent until it is known who we are: mentions cannot be told from other words. */
  intake?: EventIntake;
}

/** One long connection, from its beginning to its end. */
async function converse(options: ReceiveOptions, health: ReportHealth, connected: () => void): Promise<void> {
  const { client, deps, signal, callTimeoutMs: ms, settled } = options;
  const { clock } = deps;
  const intake = createIntake(options, health, await identify(options));
  const connection = await withDeadline({ clock, ms, signal }, (inner) =>
    client.connect((payload) => intake.take(payload, signal), inner),
  );
  try {
    connected();
    health('healthy');
    settled();
    await settledOrAborted(connection.closed, signal);
  } finally {
    connection.close();
    await intake.idle();
  }
  throw new CallError('connection', { kind: 'lost', detail: 'the platform ended the connection' });
}

/**
 * Serves until the signal aborts. The address is there before the API answers: the console checks it, and
 * events wait with 503.
 */
async function listen(server: Server, options: ReceiveOptions, health: ReportHealth, connected: () => void): Promise<void> {
  const { deps, webhook, signal, settled } = options;
  if (!webhook) throw new Error('no keys for a webhook');
  server.hook ??= await deps.webhooks.serve(createHandler(webhook, server, options));
  const intake = createIntake(options, health, await identify(options));
  server.intake = intake;
  connected();
  health('healthy');
  deps.logger.info('feishu.listening', { path: server.hook.path });
  settled();
  await whenAborted(signal);
  await intake.idle();
}

function createHandler(keys: WebhookKeys, server: Server, { deps, signal }: ReceiveOptions): WebhookHandler {
  const { clock, logger } = deps;
  const json = { 'content-type': 'application/json' };
  return createWebhookIntake({
    read: (request) => {
      if (request.method !== 'POST') return answerWith(405);
      const verdict = readWebhook(request, keys, clock.now());
      if (verdict.kind === 'refused') return verdict;
      if (verdict.kind === 'challenge') return answerWith(200, JSON.stringify({ challenge: verdict.challenge }), json);
      const { intake } = server;
      return intake ? { kind: 'messages', store: (inner) => intake.take(verdict.payload, inner) } : { kind: 'later' };
    },
    holdMs: ANSWER_MS,
    stored: { status: 200, headers: json, body: '{}' },
    refused: { status: 401, event: 'feishu.webhook-refused' },
    // Not committed, or not known to be: the platform delivers it again, and its key is recognised.
    onNotStored: (error) => logger.warn('feishu.webhook-not-accepted', { error: errorText(error) }),
    signal,
    clock,
    logger,
  });
}

async function identify({ client, deps, signal, callTimeoutMs: ms, identified }: ReceiveOptions): Promise<BotIdentity> {
  const me = await withDeadline({ clock: deps.clock, ms, signal }, (inner) => client.botInfo(inner));
  identified(me);
  return me;
}

function createIntake({ host, known, account, deps }: ReceiveOptions, health: ReportHealth, me: BotIdentity): EventIntake {
  const { clock, random, logger, name } = deps;
  return new EventIntake({ host, known, context: { channel: name, account, me }, health, clock, random, logger });
}

function judge(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ failure, message }) => {
      if (!isRefusedLogin(failure)) return degraded(`GH1502: ${message}`, failure.kind === 'api' ? failure.retryAfterMs : 0);
      const advice = 'check the App ID, the App Secret and `region`, and that bot and scopes are published';
      return down(`GH1501: ${message}: ${advice}`, REFUSED_WAIT_MS);
    },
    ofOther: (other) => down(errorText(other)),
  });
}

/** An adapter of Feishu and the platform it talks to, for tests. */
import { channel as descriptor } from '../../../channels/feishu/index.ts';
import type { Channel, Webhooks } from '../../core/channel.ts';
import type { InboundMessage, OutboundPart } from '../../core/message.ts';
import type { Clock } from '../../core/ports.ts';
import { type FeishuServer, startFeishuServer } from '../../simulator/feishu/server.ts';
import { FEISHU_KEYS, WebhookCaller } from '../../simulator/feishu/webhook.ts';
import { channelDeps, testWebhooks } from '../channel-deps.ts';
import { answeringClock, TestHost } from '../channel-host.ts';
import { MemoryLogger, outbound, until } from '../fakes.ts';

export interface FeishuPlatform extends AsyncDisposable {
  readonly server: FeishuServer;
  readonly logger: MemoryLogger;
  /** Where the adapter can be called; throws while it cannot. */
  readonly hookUrl: () => string;
  /** A new adapter, not started. */
  create(options?: { readonly settings?: object; readonly secret?: string; readonly clock?: Clock }): Promise<Channel>;
}

export async function feishuPlatform(mode: 'ws' | 'webhook' = 'ws'): Promise<FeishuPlatform> {
  const server = await startFeishuServer();
  const hooks = testWebhooks();
  const logger = new MemoryLogger();
  let hookUrl: string | undefined;
  const caller = new WebhookCaller(() => hookUrl);
  if (mode === 'webhook') server.caller = caller;
  const webhooks: Webhooks = {
    async serve(handler, options) {
      const hook = await hooks.for('feishu').serve(handler, options);
      hookUrl = `${hook.localOrigin}${hook.path}`;
      return hook;
    },
  };
  return {
    server,
    logger,
    hookUrl() {
      if (hookUrl === undefined) throw new Error('nothing is served');
      return hookUrl;
    },
    create({ settings = {}, secret = server.appSecret, clock = answeringClock() } = {}) {
      const secrets: Readonly<Record<string, string>> = {
        FEISHU_APP_ID: server.appId,
        FEISHU_APP_SECRET: secret,
        FEISHU_ENCRYPT_KEY: FEISHU_KEYS.encryptKey,
        FEISHU_VERIFICATION_TOKEN: FEISHU_KEYS.verificationToken,
      };
      const parsed = descriptor.settings.parse({ api_root: server.url, mode, send_timeout_secs: 20, ...settings });
      return descriptor.create(parsed, {
        ...channelDeps({ webhooks, clock, logger, random: Math.random }),
        name: 'feishu',
        secret: (variable) => secrets[variable] ?? '',
      });
    },
    async [Symbol.asyncDispose]() {
      await caller[Symbol.asyncDispose]();
      await hooks[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

export interface FeishuScene extends FeishuPlatform {
  readonly channel: Channel;
  readonly host: TestHost;
  send(part: Partial<OutboundPart>, plain?: boolean): ReturnType<Channel['send']>;
  /** The message at this place among those accepted, once it is there. */
  message(index?: number): Promise<InboundMessage>;
}

/** With a started adapter. */
export async function feishuScene(
  mode: 'ws' | 'webhook' = 'ws',
  options: Parameters<FeishuPlatform['create']>[0] = {},
): Promise<FeishuScene> {
  const platform = await feishuPlatform(mode);
  const channel = await platform.create(options);
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  // The platform delivers from a moment after the handshake on.
  await new Promise((resolve) => setTimeout(resolve, mode === 'ws' ? 30 : 0));
  return {
    ...platform,
    channel,
    host,
    send: (part, plain = false) =>
      channel.send(outbound({ channel: 'feishu', account: channel.account, chatId: 'oc_ou_ada', ...part }), {
        plain,
        signal: new AbortController().signal,
      }),
    message: (index = 0) => until('the message arrived', () => host.accepted[index]),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform[Symbol.asyncDispose]();
    },
  };
}

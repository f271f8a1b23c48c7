/** A company, its API and an adapter on it, for tests. Never shipped. */
import { channel as descriptor } from '../../../channels/wecom/index.ts';
import type { Channel, ChannelDeps } from '../../core/channel.ts';
import type { OutboundPart } from '../../core/message.ts';
import { WecomPush } from '../../simulator/wecom/push.ts';
import { startWecomServer, type WecomServer } from '../../simulator/wecom/server.ts';
import { channelDeps, testWebhooks } from '../channel-deps.ts';
import { quickClock, TestHost } from '../channel-host.ts';
import { MemoryLogger, outbound, tempDir } from '../fakes.ts';

export interface WecomPlatform extends AsyncDisposable {
  readonly server: WecomServer;
  readonly push: WecomPush;
  readonly logger: MemoryLogger;
  /** Another adapter on the same account and directory. */
  create(settings?: Readonly<Record<string, unknown>>, deps?: Partial<ChannelDeps>, secret?: string): Promise<Channel>;
  part(override?: Partial<OutboundPart>): OutboundPart;
}

/** `timing`: how long the platform waits for an answer, and before it repeats. */
export async function startWecomPlatform(timing: { timeoutMs?: number; pauseMs?: number } = {}): Promise<WecomPlatform> {
  const [server, dir] = await Promise.all([startWecomServer(), tempDir()]);
  const push = new WecomPush({ corpId: server.corpId, agentId: server.agentId, timeoutMs: 2_000, pauseMs: 50, ...timing });
  const webhooks = testWebhooks();
  const logger = new MemoryLogger();
  return {
    server,
    push,
    logger,
    create(settings, deps, secret = server.secret) {
      const secrets: Readonly<Record<string, string>> = {
        WECOM_CORP_ID: server.corpId,
        WECOM_AGENT_SECRET: secret,
        WECOM_TOKEN: push.token,
        WECOM_ENCODING_AES_KEY: push.aesKey,
      };
      return descriptor.create(descriptor.settings.parse({ agent_id: server.agentId, api_root: server.url, ...settings }), {
        ...channelDeps(),
        name: 'wecom',
        secret: (variable) => secrets[variable] ?? '',
        clock: quickClock(),
        logger,
        random: Math.random,
        dir: dir.path,
        webhooks: push.follow(webhooks.for('wecom')),
        ...deps,
      });
    },
    part: (override) => outbound({ channel: 'wecom', account: `${server.corpId}:${server.agentId}`, chatId: 'ada', ...override }),
    async [Symbol.asyncDispose]() {
      push.stop();
      await webhooks[Symbol.asyncDispose]();
      await server.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** The same with one adapter that is started. */
export async function startWecomScene(settings?: Readonly<Record<string, unknown>>, deps?: Partial<ChannelDeps>) {
  const platform = await startWecomPlatform();
  const host = new TestHost();
  const channel = await platform.create(settings, deps);
  await channel.start(host, new AbortController().signal);
  return {
    ...platform,
    host,
    channel,
    send: (override: Partial<OutboundPart>, plain = false) =>
      channel.send(platform.part(override), { plain, signal: new AbortController().signal }),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform[Symbol.asyncDispose]();
    },
  };
}

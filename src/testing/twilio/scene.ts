/** A channel of ours before a Twilio of ours. */
import type { Channel, ChannelDeps, ChannelDescriptor, Webhooks } from '../../core/channel.ts';
import type { WebhookServer } from '../../http/webhook-server.ts';
import { startTwilioServer, type TwilioServer } from '../../simulator/twilio/server.ts';
import { channelDeps, testWebhooks } from '../channel-deps.ts';
import { quickClock, TestHost } from '../channel-host.ts';
import { MemoryLogger } from '../fakes.ts';

/** What Twilio believes to call; it resolves nowhere. */
export const PUBLIC_URL = 'https://gatehouse.example/hooks/twilio';

export interface TwilioScene extends AsyncDisposable {
  readonly platform: TwilioServer;
  readonly logger: MemoryLogger;
  /** Not started. `secret` overrides the auth token. */
  create(settings?: object, deps?: Partial<ChannelDeps> & { readonly authToken?: string }): Promise<Channel>;
  /** Created and started. */
  start(settings?: object, host?: TestHost, deps?: Partial<ChannelDeps>): Promise<{ channel: Channel; host: TestHost }>;
}

export async function twilioScene<Settings>(descriptor: ChannelDescriptor<Settings>, authToken?: string): Promise<TwilioScene> {
  const platform = await startTwilioServer(authToken);
  const server = testWebhooks();
  const logger = new MemoryLogger();
  const running: Channel[] = [];
  const create: TwilioScene['create'] = async (settings = {}, { authToken: token, ...deps } = {}) => {
    const options = descriptor.settings.parse({
      from_number: platform.number,
      public_url: PUBLIC_URL,
      api_root: platform.url,
      poll_interval_secs: 3_600,
      // Two seconds of this clock: the double fetches a file back before it answers.
      send_timeout_secs: 40,
      find_grace_secs: 0,
      media_hosts: ['127.0.0.1'],
      ...settings,
    });
    const secret = (name: string) => (name.includes('SID') ? platform.accountSid : (token ?? platform.authToken));
    const webhooks = pointing(server, platform);
    const channel = await descriptor.create(options, {
      ...channelDeps({ name: 'twilio', secret, clock: quickClock(), logger, random: Math.random, webhooks, ...deps }),
    });
    running.push(channel);
    return channel;
  };
  return {
    platform,
    logger,
    create,
    async start(settings, host = new TestHost(), deps) {
      const channel = await create(settings, deps);
      await channel.start(host, new AbortController().signal);
      return { channel, host };
    },
    async [Symbol.asyncDispose]() {
      for (const channel of running) await channel.stop();
      await platform.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The platform is told where the channel listens as soon as it does. */
function pointing(server: WebhookServer, platform: TwilioServer): Webhooks {
  const inner = server.for('twilio');
  return {
    async serve(handler, options) {
      const hook = await inner.serve(handler, options);
      const publicOrigin = new URL(PUBLIC_URL).origin;
      platform.target = { publicUrl: PUBLIC_URL, toLocal: (url) => url.replace(publicOrigin, hook.localOrigin) };
      return hook;
    },
  };
}

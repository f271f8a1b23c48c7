/** An adapter on the test workspace, for the adapter's own tests. */
import type { Channel, ChannelDescriptor } from '../../core/channel.ts';
import type { Clock } from '../../core/ports.ts';
import { COMMAND_MENU } from '../../gateway/commands/index.ts';
import { SIGNING_SECRET, SlackRequests } from '../../simulator/slack/requests.ts';
import { type SlackServer, startSlackServer } from '../../simulator/slack/server.ts';
import type { SlackSocketOptions } from '../../simulator/slack/socket-server.ts';
import { channelDeps, testWebhooks } from '../channel-deps.ts';
import { answeringClock, quickClock, TestHost } from '../channel-host.ts';
import { MemoryLogger } from '../fakes.ts';

export interface SlackSetup extends AsyncDisposable {
  readonly server: SlackServer;
  readonly logger: MemoryLogger;
  /** Mode `http`: how the platform reaches the adapter. */
  readonly requests?: SlackRequests;
  readonly url?: string;
  create(botToken?: string): Promise<Channel>;
  /** Creates and starts; stopped with the setup. */
  start(host?: TestHost): Promise<{ readonly channel: Channel; readonly host: TestHost }>;
}

export interface SlackSetupOptions extends SlackSocketOptions {
  readonly mode?: 'socket' | 'http';
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
}

/** Ends waits of minutes, which only schedules have, at once. Deadlines of seconds suffice a busy machine. */
export function impatientClock(): Clock {
  const quick = quickClock(10);
  return { ...quick, sleep: (ms, signal) => quick.sleep(ms > 100_000 ? 200 : ms, signal) };
}

export async function slackSetup<Settings>(
  descriptor: ChannelDescriptor<Settings>,
  { mode = 'socket', settings = {}, clock = answeringClock(), ...sockets }: SlackSetupOptions = {},
): Promise<SlackSetup> {
  const server = await startSlackServer(sockets);
  const webhooks = testWebhooks();
  const logger = new MemoryLogger();
  const running: Channel[] = [];
  const create = (botToken = server.botToken): Promise<Channel> => {
    const secrets: Record<string, string> = {
      SLACK_BOT_TOKEN: botToken,
      SLACK_APP_TOKEN: server.appToken,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
    };
    const parsed = descriptor.settings.parse({ mode, api_root: server.apiRoot, send_timeout_secs: 60, ...settings });
    const secret = (variable: string): string => secrets[variable] ?? '';
    const deps = channelDeps({
      ...{ name: 'slack', webhooks: webhooks.for('slack'), secret, clock, logger, random: Math.random },
      commands: COMMAND_MENU,
    });
    return descriptor.create(parsed, deps);
  };
  let requests: SlackRequests | undefined;
  let url: string | undefined;
  if (mode === 'http') {
    // Serving anything tells the address.
    await using probe = await webhooks.for('probe').serve(async () => ({ status: 200 }));
    url = `${probe.localOrigin}/hooks/slack`;
    requests = new SlackRequests(url);
    server.transport = requests;
  }
  return {
    server,
    logger,
    ...(requests && { requests }),
    ...(url !== undefined && { url }),
    create,
    async start(host = new TestHost()) {
      const channel = await create();
      running.push(channel);
      await channel.start(host, new AbortController().signal);
      return { channel, host };
    },
    async [Symbol.asyncDispose]() {
      for (const channel of running) await channel.stop();
      await requests?.[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

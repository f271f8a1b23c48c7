/** What an adapter is given, for tests. */
import type { ChannelDeps, Webhooks } from '../core/channel.ts';
import { WebhookServer } from '../http/webhook-server.ts';
import { systemClock } from '../lib/clock.ts';
import { MemoryLogger } from './fakes.ts';

const NO_WEBHOOKS: Webhooks = {
  serve: () => Promise.reject(new Error('this test serves no webhooks')),
};

/** Every secret is `token` unless overridden; the directory cannot exist, and nothing can be served. */
export function channelDeps(override: Partial<ChannelDeps> = {}): ChannelDeps {
  return {
    name: 'test',
    secret: () => 'token',
    clock: systemClock,
    logger: new MemoryLogger(),
    random: () => 0,
    dir: '/dev/null/channel',
    webhooks: NO_WEBHOOKS,
    commands: [],
    ...override,
  };
}

/** A real server on any free port of 127.0.0.1; its `for(name)` is what an adapter's `webhooks` is. */
export function testWebhooks(): WebhookServer {
  return new WebhookServer({ host: '127.0.0.1', port: 0, logger: new MemoryLogger() });
}

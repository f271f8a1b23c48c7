import { startTelegramServer } from '../../src/simulator/telegram/server.ts';
import { channelDeps, testWebhooks } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { tooLong } from '../../src/testing/dialects/verdict.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';
import { channel as descriptor } from './index.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';

async function stage(mode: 'poll' | 'webhook', chatId: string): Promise<StreamingStage> {
  const server = await startTelegramServer();
  const webhooks = testWebhooks();
  const probe = await webhooks.for('probe').serve(async () => ({ status: 204 }));
  const settings = { api_root: server.url, poll_timeout_secs: 1, mode, public_url: probe.localOrigin };
  const channel = await descriptor.create(descriptor.settings.parse(settings), {
    ...channelDeps({ name: 'telegram', secret: () => server.token, clock: quickClock(1) }),
    webhooks: webhooks.for('telegram'),
  });
  await channel.start(new TestHost(), new AbortController().signal);
  const isGroup = chatId.startsWith('-');
  return {
    channel,
    chat: { chatId, isGroup, ...(isGroup && { replyContext: { messageId: 1 } }) },
    seen: async () =>
      server.sends.map(({ text, ignoredEntities = 0 }) => ({
        violations: tooLong(ignoredEntities, 0, 'entities that are not shown'),
        visible: text,
      })),
    refuseEdits() {
      const description = "Bad Request: message can't be edited";
      server.fault({ method: 'editMessageText', kind: 'error', status: 400, description, times: 1_000 });
    },
    limitNextEdit() {
      const description = 'Too Many Requests: retry after 4';
      server.fault({ method: 'editMessageText', kind: 'error', status: 429, description, parameters: { retry_after: 4 } });
    },
    // A minute's worth and a burst.
    rates: [
      { calls: 'both', most: 60 * PLATFORM_LIMITS.chatRate.value + 2, withinMs: 60_000 },
      ...(isGroup ? [{ calls: 'both', most: PLATFORM_LIMITS.groupRate.value, withinMs: 60_000 } as const] : []),
    ],
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await probe[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

streamingContract('Telegram', () => stage('poll', '1000'));
streamingContract('Telegram by webhook, in a group,', () => stage('webhook', '-1001'));

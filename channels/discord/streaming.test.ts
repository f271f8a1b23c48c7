import { startDiscordProxy } from '../../src/simulator/discord/proxy.ts';
import { standingMessages } from '../../src/simulator/discord/standing.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { judgeDiscord } from '../../src/testing/dialects/discord.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';
import { channel as descriptor } from './index.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';

const EDIT = /^PATCH \/channels\/\d+\/messages\/\d+$/;

async function stage(): Promise<StreamingStage> {
  const proxy = await startDiscordProxy();
  const settings = descriptor.settings.parse({ api_root: proxy.url, cdn_origins: [proxy.origin], slash_commands: false });
  const deps = channelDeps({ name: 'discord', secret: () => proxy.peer.token, clock: quickClock(1) });
  const channel = await descriptor.create(settings, deps);
  return {
    channel,
    chat: { chatId: proxy.peer.channelId },
    seen: async () => standingMessages(proxy.calls).map((content) => judgeDiscord(content)),
    refuseEdits() {
      const body = { message: 'Missing Access', code: 50_001 };
      proxy.fault({ call: EDIT, kind: 'answer', status: 403, body, times: 1_000 });
    },
    limitNextEdit() {
      const headers = { 'retry-after': '4', 'x-ratelimit-scope': 'user' };
      const body = { message: 'slow down', retry_after: 4, global: false };
      proxy.fault({ call: EDIT, kind: 'answer', status: 429, headers, body });
    },
    rates: [
      { calls: 'send', most: PLATFORM_LIMITS.chatRate.value, withinMs: 5_000 },
      { calls: 'edit', most: PLATFORM_LIMITS.chatRate.value, withinMs: 5_000 },
    ],
    // The SDK makes at most 50 calls a second.
    callGapMs: 22,
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await proxy.close();
    },
  };
}

streamingContract('Discord', stage);

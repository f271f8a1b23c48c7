import { expect } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { judgeFeishu } from '../../src/testing/dialects/feishu.ts';
import type { FakeClock } from '../../src/testing/fakes.ts';
import { feishuPlatform } from '../../src/testing/feishu/scene.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';

/** Of a message, and of a card entity: its text, its settings and itself. */
const EDIT = /^(?:PUT|PATCH) .*\/(?:messages|cards)\/[^/]+(?:\/settings|\/elements\/.*)?$/;

async function stage(clock: FakeClock, cards: boolean): Promise<StreamingStage> {
  const platform = await feishuPlatform();
  const { server } = platform;
  server.now = () => clock.now();
  const settings = cards ? {} : { streaming_cards: false };
  const adapterClock = { ...quickClock(1), now: () => clock.now() };
  const adapters: Channel[] = [];
  const create = async (): Promise<Channel> => {
    const adapter = await platform.create({ clock: adapterClock, settings });
    adapters.push(adapter);
    return adapter;
  };
  return {
    channel: await create(),
    restart: create,
    chat: { chatId: 'oc_ou_ada' },
    async seen() {
      expect(server.cards.made > 0).toBe(cards);
      return server.posts.map(({ id, type, content }) => {
        const { violations, visible } = judgeFeishu(type, content);
        return { violations: [...violations, ...(server.cards.isStreaming(id) ? ['more is to come'] : [])], visible };
      });
    },
    refuseEdits() {
      const code = cards ? 200750 : 230075;
      for (let n = 0; n < 100; n += 1) server.faults.push({ match: EDIT, kind: 'error', status: 400, code });
    },
    limitNextEdit() {
      const headers = { 'x-ogw-ratelimit-limit': '100', 'x-ogw-ratelimit-reset': '4' };
      server.faults.push({ match: EDIT, kind: 'error', status: 429, code: 99991400, headers });
    },
    rates: [{ calls: 'both', most: PLATFORM_LIMITS.chatRate.value, withinMs: 1_000 }],
    async [Symbol.asyncDispose]() {
      for (const adapter of adapters) await adapter.stop();
      await platform[Symbol.asyncDispose]();
    },
  };
}

streamingContract('Feishu in streaming cards', (clock) => stage(clock, true));
streamingContract('Feishu in ordinary messages', (clock) => stage(clock, false));

import { BOT_USER, DIRECT } from '../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { judgeSlack, judgeSlackBlocks } from '../../src/testing/dialects/slack.ts';
import { slackSetup } from '../../src/testing/slack/setup.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';
import { channel as descriptor } from './index.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';

async function stage(): Promise<StreamingStage> {
  const at = await slackSetup(descriptor, { clock: quickClock(1) });
  const { server } = at;
  const channel = await at.create();
  return {
    channel,
    chat: { chatId: DIRECT },
    seen: async () =>
      server.workspace.messages
        .filter(({ user }) => user === BOT_USER)
        .map(({ text, blocks = [] }) => (blocks.length > 0 ? judgeSlackBlocks(blocks) : judgeSlack(text, true))),
    refuseEdits: () => server.fault({ method: 'chat.update', kind: 'error', error: 'msg_too_long', times: 1_000 }),
    limitNextEdit: () => server.fault({ method: 'chat.update', kind: 'limit', retryAfter: 4 }),
    // A minute's worth of messages and a burst.
    rates: [
      { calls: 'send', most: 60 * PLATFORM_LIMITS.chatRate.value + 2, withinMs: 60_000 },
      { calls: 'edit', most: PLATFORM_LIMITS.editRate.value, withinMs: 60_000 },
    ],
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await at[Symbol.asyncDispose]();
    },
  };
}

streamingContract('Slack', stage);

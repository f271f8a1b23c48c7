import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { twilioScene } from '../../src/testing/twilio/scene.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

const ADA = '+14155550001';

async function setup(): Promise<ChannelSetup> {
  const scene = await twilioScene(descriptor);
  const { platform } = scene;
  return {
    people: [ADA, '+14155550002'],
    create: () => scene.create(),
    createRefused: () => scene.create({}, { authToken: 'ffffffffffffffffffffffffffffffff' }),
    deliver: async ({ text, senderId, file }) => {
      const files = file && [
        { bytes: file.bytes, mime: 'application/pdf', ...(file.statedSize !== undefined && { statedSize: file.statedSize }) },
      ];
      platform.inject(senderId, text, files ? { files } : {});
    },
    seen: async () => platform.sends.map(({ body }) => ({ text: body })),
    unacknowledged: async () => platform.unanswered,
    connections: () => platform.connections(),
    part: (override) => outbound({ channel: 'twilio', account: platform.number, chatId: ADA, ...override }),
    async limitNextSend() {
      platform.fault({
        call: 'send',
        kind: 'error',
        status: 429,
        code: 20429,
        message: 'Too Many Requests',
        headers: { 'retry-after': '3' },
      });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => platform.fault({ call: 'send', kind: 'drop' }),
    refuseNextSend: async () =>
      platform.fault({
        call: 'send',
        kind: 'error',
        status: 400,
        code: 21610,
        message: 'Attempt to send to unsubscribed recipient',
      }),
    goDown: () => platform.close(),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

channelContract('twilio', setup);

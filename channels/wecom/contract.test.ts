import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { startWecomPlatform } from '../../src/testing/wecom/scene.ts';
import { channelContract } from '../contract.ts';

async function setup(): Promise<ChannelSetup> {
  const platform = await startWecomPlatform();
  const { server, push } = platform;
  return {
    people: ['ada', 'bob'],
    create: () => platform.create({ send_timeout_secs: 20 }),
    createRefused: () => platform.create({}, {}, 'revoked'),
    deliver: async ({ text, senderId, file }) => {
      if (!file) return push.message(senderId, { MsgType: 'text', Content: text });
      // A statement that is not true: the server states no length, and the callback the wrong one.
      server.addMedia(file.name, { ...file, stateLength: file.statedSize === undefined });
      const size = file.statedSize ?? file.bytes.length;
      push.message(senderId, { MsgType: 'file', MediaId: file.name, FileName: file.name, FileSize: size });
    },
    seen: async () => server.sends.map(({ text, file }) => ({ text, ...(file && { fileName: file.name }) })),
    unacknowledged: async () => push.pending,
    connections: () => server.connections(),
    part: (override) => platform.part(override),
    async limitNextSend() {
      server.fault({ method: 'message/send', kind: 'errcode', errcode: 45_009, errmsg: 'api freq out of limit' });
      return {}; // the answer states no time; the documentation does
    },
    loseNextReply: async () => server.fault({ method: 'message/send', kind: 'drop' }),
    refuseNextSend: async () => server.fault({ method: 'message/send', kind: 'errcode', errcode: 81_013 }),
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

channelContract('wecom', setup, {
  'a file arrives as a reference whose bytes can be fetched':
    'a WeCom message is a text or a file and never both; wecom.test.ts plays it with a file alone',
});

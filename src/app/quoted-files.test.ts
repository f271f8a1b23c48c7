/** A picture that a person points to with a reply: from what the platform sends to what the agent reads. */
import { expect, test } from 'vitest';
import { toInbound as fromFeishu, readEvent } from '../../channels/feishu/in/inbound.ts';
import { toInbound as fromWhatsapp } from '../../channels/whatsapp/in/inbound.ts';
import type { InboundMessage } from '../core/message.ts';
import { prepare } from '../runs/prepare.ts';
import { feishuEvent, messageEvent } from '../simulator/feishu/events.ts';
import { tempDir } from '../testing/fakes.ts';
import { png } from '../testing/pictures.ts';
import { TestChannel } from '../testing/test-channel.ts';

const PICTURE = png(2, 2);

/** Of whom the sender's app says that they sent a picture; `key` is what it is fetched with. */
function whatsappReply(key: object): InboundMessage | undefined {
  const quotedMessage = { imageMessage: { ...key, mimetype: 'image/png' } };
  const contextInfo = { stanzaId: 'Q', participant: '15552220000@s.whatsapp.net', quotedMessage };
  const message = { extendedTextMessage: { text: 'what is this?', contextInfo } };
  const pins = { lidOf: () => undefined, phoneOf: () => undefined, pin: () => undefined };
  const me = { phone: '15550000000', lid: '900000000000001' };
  const remoteJid = '15551110000@s.whatsapp.net';
  return fromWhatsapp(
    { key: { remoteJid, fromMe: false, id: 'M1' }, messageTimestamp: 1_790_000_000, pushName: 'Ada', message },
    { channel: 'wa', account: me.phone, me, pins },
  );
}

function feishuReply(): InboundMessage | undefined {
  const event = feishuEvent('im.message.receive_v1', messageEvent({ text: 'what is this?', parentId: 'om_p' }), {
    appId: 'cli_x',
  });
  const media = [{ kind: 'photo', ref: 'om_p:image:img_v3_p' }] as const;
  return fromFeishu(
    readEvent(event),
    { channel: 'feishu', account: 'cli_x', me: { openId: 'ou_bot', name: 'G' } },
    { chatId: 'oc_1', isGroup: false, senderId: 'ou_2', fromBot: false, text: '', media },
  );
}

async function read(message: InboundMessage | undefined, isThere = true): Promise<{ text: string; files: number }> {
  if (!message) throw new Error('it was not read');
  await using dir = await tempDir();
  const channel = new TestChannel('test', { downloadBytes: 10_000 });
  channel.download = async () => {
    if (!isThere) throw new Error('it is gone');
    return { bytes: ReadableStream.from([PICTURE]) };
  };
  const { text, media } = await prepare(message, {
    ...{ channel: async () => channel, workspace: dir.path, timeoutMs: 5_000, signal: new AbortController().signal },
    onMediaError: () => undefined,
  });
  return { text: media.reduce((all, path) => all.replace(path, 'PATH'), text), files: media.length };
}

const KEY = { mediaKey: Buffer.alloc(32, 1), directPath: '/v/p' };
const WHATSAPP =
  '[in reply to another message (written by 15552220000, not by the sender), as the sender repeats it: “(photo)”]\nwhat is this?';
const FEISHU = '[in reply to another message (written by ou_2, not by the sender): “(photo)”]\nwhat is this?';

test.each([
  ['whatsapp', () => whatsappReply(KEY), WHATSAPP],
  ['feishu', feishuReply, FEISHU],
])(
  '%s: a question in reply to a picture brings the picture, and where it is gone that there was one',
  async (_type, reply, words) => {
    const bytes = PICTURE.length;
    expect(await read(reply())).toEqual({ text: `${words}\n[Photo: PATH (image/png, ${bytes} bytes)]`, files: 1 });
    expect(await read(reply(), false)).toEqual({
      text: `${words}\n[Photo could not be fetched (GH1505); it is not available]`,
      files: 0,
    });
  },
);

test('whatsapp: a picture whose key is left out of the reply is told of', async () => {
  expect(await read(whatsappReply({}))).toEqual({ text: WHATSAPP, files: 0 });
});

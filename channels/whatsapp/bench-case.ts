import { proto, type WAMessage } from '@whiskeysockets/baileys';
import type { BenchCase } from '../bench.ts';
import { toInbound } from './in/inbound.ts';
import { toWhatsApp } from './out/format.ts';

const context = {
  channel: 'whatsapp',
  account: '15550000000',
  me: { phone: '15550000000', lid: '900000000000001' },
  pins: { lidOf: () => undefined, phoneOf: () => undefined, pin: () => undefined },
};

/** A message as it comes out of the decryption, which is the package's. */
export const benchCase: BenchCase = {
  receive(number) {
    const key = { remoteJid: '15551110000@s.whatsapp.net', fromMe: false, id: `M${number}` };
    const message = { key, messageTimestamp: 1_790_000_000, pushName: 'Ada', message: { conversation: `message ${number}` } };
    const bytes = proto.WebMessageInfo.encode(proto.WebMessageInfo.create(message)).finish();
    return () => toInbound(proto.WebMessageInfo.decode(bytes) as WAMessage, context);
  },
  render: toWhatsApp,
};

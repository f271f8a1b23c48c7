/** A message of a person, and the stanza in which the server hands it to the device. */
import { type BinaryNode, proto } from '@whiskeysockets/baileys';
import type { Bundle, Phone } from './phone.ts';

/** What a person writes, and how it shall reach the device. */
export interface Written {
  readonly from: Phone;
  readonly message: proto.IMessage;
  readonly id?: string;
  /** Into this group instead of the private chat. */
  readonly group?: string;
  /** Into the chat of the account with itself, as its own phone hands it to the device. */
  readonly toSelf?: boolean;
  /** Which of the sender's addresses the stanza names first; the other one comes beside it. Default phone. */
  readonly by?: 'phone' | 'lid';
  /** Leaves the other address out. */
  readonly alone?: boolean;
  /** Sent without end-to-end encryption, which no phone does. */
  readonly plaintext?: boolean;
  /** In place of what the phone would encrypt. */
  readonly enc?: readonly BinaryNode[];
  readonly attributes?: Readonly<Record<string, string>>;
}

/** `written` as the phone of its writer hands it to the server, encrypted for the device with these keys. */
export async function messageStanza(written: Written, id: string, bundle: Bundle): Promise<BinaryNode> {
  const { from, group, by = 'phone', plaintext, alone = false } = written;
  const self = written.toSelf ? (by === 'phone' ? from.phoneJid : from.lidJid) : undefined;
  const message =
    self === undefined ? written.message : { deviceSentMessage: { destinationJid: self, message: written.message } };
  const bytes = proto.Message.encode(message).finish();
  const content = plaintext
    ? [{ tag: 'plaintext', attrs: {}, content: bytes }]
    : (written.enc ?? (group ? await from.encryptForGroup(group, message, bundle) : [await from.encrypt(message, bundle)]));
  const [own, other] = by === 'phone' ? [from.phoneJid, from.lidJid] : [from.lidJid, from.phoneJid];
  const beside = by === 'phone' ? 'lid' : 'pn';
  const place = group ? { from: group, participant: own } : { from: own };
  const recipient = self === undefined ? {} : { recipient: self };
  const alternative = alone ? {} : { [`${group ? 'participant' : 'sender'}_${beside}`]: other };
  const t = String(Math.floor(Date.now() / 1_000));
  const attrs = {
    ...place,
    ...alternative,
    ...recipient,
    id,
    t,
    type: 'text',
    notify: from.name,
    addressing_mode: by === 'phone' ? 'pn' : 'lid',
    ...written.attributes,
  };
  return { tag: 'message', attrs, content: [...content] };
}

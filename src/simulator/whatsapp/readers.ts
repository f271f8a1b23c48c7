/** What the phones of people make of the messages of the device under test. */
import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import { PLATFORM_LIMITS } from '../../../channels/whatsapp/platform-limits.ts';
import type { Group } from './answers.ts';
import type { Phone } from './phone.ts';

/** A message of the device under test, as its readers see it. */
export interface Seen {
  readonly id: string;
  readonly to: string;
  readonly message: proto.IMessage;
  readonly attrs: Readonly<Record<string, string>>;
  /** Epoch ms at which the server took it. */
  readonly at: number;
}

export interface Readers {
  /** By number or LID; undefined for nobody. */
  phone(user: string): Phone | undefined;
  readonly owner: Phone;
  readonly groups: ReadonlyMap<string, Group>;
}

/** `ProtocolMessage.Type` (WAProto). */
const REVOKE = 0;
/** A later edit is shown nowhere, and the sender is not told. */
const EDITABLE_MS = PLATFORM_LIMITS.editable.value;

/** Opened by every phone it is for: one that cannot read it fails. The text is as the first one reads it. */
export async function readStanza(node: BinaryNode, { phone, owner, groups }: Readers): Promise<proto.IMessage | undefined> {
  const parts = Array.isArray(node.content) ? node.content : [];
  const { to = '' } = node.attrs;
  const read: proto.IMessage[] = [];
  const recipients = parts.find(({ tag }) => tag === 'participants')?.content;
  for (const { attrs, content } of Array.isArray(recipients) ? recipients : []) {
    const reader = phone(userOf(attrs['jid']));
    const enc = Array.isArray(content) ? content.find(({ tag }) => tag === 'enc') : undefined;
    if (!reader || !enc) continue;
    const message = await reader.decrypt(enc);
    if (message.senderKeyDistributionMessage) await reader.learnGroupKey(message.senderKeyDistributionMessage);
    else if (reader !== owner) read.push(message);
    // In the chat of the account with itself its phone is the reader.
    else if (phone(userOf(to)) === owner) read.push(message.deviceSentMessage?.message ?? message);
  }
  const single = parts.find(({ tag }) => tag === 'enc');
  if (!(single?.content instanceof Uint8Array)) return read[0];
  const group = groups.get(to);
  if (!group) return await phone(userOf(to))?.decrypt(single);
  for (const member of group.members) read.push(await member.decryptForGroup(to, single.content));
  return read[0];
}

/** `123:7@s.whatsapp.net` -> `123`. */
export function userOf(jid: string | undefined): string {
  return jid?.split(/[@:]/)[0] ?? '';
}

/** The words of a message as an app shows them. */
export function wordsOf(message: proto.IMessage): string {
  const document = message.documentWithCaptionMessage?.message?.documentMessage ?? message.documentMessage;
  return (
    message.extendedTextMessage?.text ??
    message.conversation ??
    message.imageMessage?.caption ??
    message.videoMessage?.caption ??
    document?.caption ??
    ''
  );
}

/** The messages of a chat list as people see them now: edits are made, and what was taken back is gone. */
export function shown(seen: readonly Seen[]): readonly Seen[] {
  const visible: Seen[] = [];
  for (const one of seen) {
    const { protocolMessage, reactionMessage } = one.message;
    if (reactionMessage) continue;
    if (!protocolMessage) {
      visible.push(one);
      continue;
    }
    const at = visible.findIndex(({ id, to }) => id === protocolMessage.key?.id && to === one.to);
    const old = visible[at];
    if (!old) continue;
    if (protocolMessage.editedMessage && one.at - old.at > EDITABLE_MS) continue;
    if (protocolMessage.editedMessage) visible[at] = { ...old, message: protocolMessage.editedMessage };
    else if ((protocolMessage.type ?? REVOKE) === REVOKE) visible.splice(at, 1);
  }
  return visible;
}

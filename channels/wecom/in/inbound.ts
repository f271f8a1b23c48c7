/**
 * A decrypted callback -> `InboundMessage`. Pure (https://developer.work.weixin.qq.com/document/path/90239
 * and 90240).
 */
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage, MediaRef, RefusalReason } from '../../../src/core/message.ts';
import { inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { bracketNote, composed, ours } from '../../kit/senders-words.ts';
import { parseXml, textOf, type XmlElement } from './xml.ts';

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly corpId: string;
  readonly agentId: string;
  /** Epoch ms; stands in for a time the platform did not state. */
  readonly now: number;
}

export type Decoded =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  /** A notice that nobody wrote: somebody opened the chat, moved, was added to the company. */
  | { readonly kind: 'notice'; readonly event: string }
  /** For another application or company: its keys are the same, its people are not ours. */
  | { readonly kind: 'foreign' };

/** Never throws. What the platform signed and cannot be read is a message with the refusal `unreadable`. */
export function toInbound(plaintext: Buffer, context: InboundContext): Decoded {
  const root = parseXml(plaintext.toString('utf8'));
  const from = root && textOf(root, 'FromUserName');
  if (!root || !from || from.length > MAX_ID) return unreadable(plaintext, context);
  const agentId = textOf(root, 'AgentID');
  if (textOf(root, 'ToUserName') !== context.corpId || (agentId !== undefined && agentId !== context.agentId)) {
    return { kind: 'foreign' };
  }
  const event = textOf(root, 'MsgType') === 'event' ? (textOf(root, 'Event') ?? 'unnamed') : undefined;
  if (event !== undefined) return toPress(root, { event, from, context });
  const id = textOf(root, 'MsgId');
  if (!id || id.length > MAX_ID) return unreadable(plaintext, context);
  return { kind: 'message', message: build({ platformId: id, from, root, context, ...contentOf(root) }) };
}

/** User ids have at most 64 bytes, media ids some hundred: longer ones are not stored. */
const MAX_ID = 512;

interface Content {
  readonly text: string;
  readonly marks?: InboundMessage['marks'];
  readonly media: readonly MediaRef[];
  readonly refusal?: RefusalReason;
}

/** Pressed buttons and menu entries are what a person says; other events are notices. */
function toPress(root: XmlElement, press: { event: string; from: string; context: InboundContext }): Decoded {
  const { event, from, context } = press;
  const key = textOf(root, 'EventKey') ?? '';
  if ((event !== 'click' && event !== 'template_card_event') || key === '') return { kind: 'notice', event: event.slice(0, 64) };
  // Events have no id: the platform says to tell them apart by sender and time. The rest separates two
  // presses within a second.
  const facts = [from, textOf(root, 'CreateTime') ?? '', event, key, textOf(root, 'TaskId') ?? ''];
  const platformId = `press:${shortHash(JSON.stringify(facts), 32)}`;
  return { kind: 'message', message: build({ platformId, from, root, context, text: key, media: [] }) };
}

function build(of: Content & { platformId: string; from: string; root: XmlElement; context: InboundContext }): InboundMessage {
  const { platformId, from, root, context, text, marks, media, refusal } = of;
  const seconds = textOf(root, 'CreateTime') ?? '';
  return inboundMessage(context, {
    chatId: from,
    platformId,
    // The callback names nobody; the user id is what colleagues see in the directory.
    senderId: from,
    text,
    ...(marks && { marks }),
    media,
    ...(refusal && { refusal }),
    timestamp: /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1_000 : context.now,
  });
}

function contentOf(root: XmlElement): Content {
  const of = (name: string): string => textOf(root, name) ?? '';
  switch (of('MsgType')) {
    case 'text': {
      const text = of('Content');
      return { text, media: [], ...(text.trim() === '' && { refusal: 'empty' }) };
    }
    case 'image':
      return fileOf({ kind: 'photo', ref: of('MediaId') });
    case 'voice':
      return fileOf({
        kind: 'voice',
        ref: of('MediaId'),
        mime: /^\w{1,8}$/.test(of('Format')) ? `audio/${of('Format').toLowerCase()}` : 'audio/amr',
      });
    case 'video':
      return fileOf({ kind: 'video', ref: of('MediaId'), mime: 'video/mp4' });
    case 'file': {
      const size = /^\d{1,12}$/.test(of('FileSize')) ? Number(of('FileSize')) : undefined;
      const name = of('FileName') || of('Title') || undefined;
      return fileOf(mediaRef({ kind: 'document', ref: of('MediaId'), name, size }));
    }
    case 'location':
      return noteOf('location', of('Label'), `(${of('Location_X')}, ${of('Location_Y')})`);
    case 'link':
      return noteOf('link', of('Title'), of('Description'), of('Url'));
    case '':
      return { text: '', media: [], refusal: 'unreadable' };
    // Documented are the kinds above; the apps have more (mini programs, notes, cards).
    default:
      return noteOf(of('MsgType'), of('Title'), of('Description'), of('Content'), of('Url'));
  }
}

function noteOf(kind: string, ...words: readonly string[]): Content {
  return { ...composed(ours(bracketNote(kind, ...words))), media: [] };
}

function fileOf(media: MediaRef): Content {
  const known = media.ref !== '' && media.ref.length <= MAX_ID;
  return known ? { text: '', media: [media] } : { text: '', media: [], refusal: 'unreadable' };
}

/** Counted under the hash of what came, so that the same thing sent again is one message. */
function unreadable(plaintext: Buffer, { channel, account, now }: InboundContext): Decoded {
  const platformId = `unreadable:${shortHash(plaintext.toString('latin1'), 32)}`;
  return { kind: 'message', message: unreadableMessage({ channel, account, platformId }, now) };
}

/**
 * The content of a message, by its type -> words and files. Pure.
 * https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content
 */
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { type JsonObject, obj, parseJson } from '../../kit/json.ts';
import { stringOf } from '../wire/fields.ts';
import { type KindWords, kindWords } from './kind-words.ts';
import { MentionNames } from './mention-names.ts';
import { postWords } from './post-words.ts';

export interface Content {
  /** Our line above the words, for what is neither text nor a file. */
  readonly note: string;
  /** Words of people. */
  readonly text: string;
  readonly media: readonly MediaRef[];
  /** The text names the bot; its name is taken out of it. */
  readonly mentionsBot: boolean;
}

export interface RawContent {
  readonly messageId: string;
  readonly type: string;
  /** JSON, as the platform sends it. */
  readonly content: string;
  readonly mentions: unknown;
}

/** Never throws: what cannot be read has no words and no files. `botOpenId` is whose name is taken out. */
export function readContent(raw: RawContent, botOpenId: string | undefined): Content {
  const content = obj(parseJson(raw.content));
  const names = new MentionNames(raw.mentions, botOpenId);
  const media: MediaRef[] = [];
  const add = (kind: MediaKind, type: 'image' | 'file', key: unknown, name?: unknown, mime?: string): void => {
    const ref = toRef(raw.messageId, type, stringOf(key));
    if (ref === undefined) return;
    const label = stringOf(name).slice(0, 255);
    media.push({ kind, ref, ...(label !== '' && { name: label }), ...(mime !== undefined && { mime }) });
  };
  const { note = '', text } = wordsOf(raw, content, names, add);
  return { note, text: names.found ? text.trim() : text, media, mentionsBot: names.found };
}

type Words = Pick<Content, 'text'> & Partial<KindWords>;
type Add = (kind: MediaKind, type: 'image' | 'file', key: unknown, name?: unknown, mime?: string) => void;

function wordsOf({ type, mentions }: RawContent, content: JsonObject, names: MentionNames, add: Add): Words {
  switch (type) {
    case 'text':
      return { text: names.replace(stringOf(content['text'])) };
    case 'post':
      return {
        text: postWords(content, names, (kind, piece) =>
          kind === 'photo'
            ? add('photo', 'image', piece['image_key'])
            : add('video', 'file', piece['file_key'], piece['file_name']),
        ),
      };
    case 'image':
      add('photo', 'image', content['image_key']);
      return { text: '' };
    case 'file':
      add('document', 'file', content['file_key'], content['file_name']);
      return { text: '' };
    case 'audio':
      // What people record is opus; the platform makes it so.
      add('voice', 'file', content['file_key'], undefined, 'audio/ogg');
      return { text: '' };
    case 'media':
    case 'video':
      add('video', 'file', content['file_key'], content['file_name'], 'video/mp4');
      return { text: '' };
    default:
      // Others made what is in it: a name there addresses no one.
      return kindWords(type, content, new MentionNames(mentions, undefined));
  }
}

const REF = /^([\w-]{1,200}):(image|file):([\w.-]{1,300})$/;

function toRef(messageId: string, type: 'image' | 'file', key: string): string | undefined {
  const ref = `${messageId}:${type}:${key}`;
  return REF.test(ref) ? ref : undefined;
}

/** What `readContent` put into a ref; undefined for anything else. */
export function readRef(
  ref: string,
): { readonly messageId: string; readonly type: 'image' | 'file'; readonly key: string } | undefined {
  const [, messageId, type, key] = REF.exec(ref) ?? [];
  if (messageId === undefined || key === undefined) return undefined;
  return { messageId, type: type === 'image' ? 'image' : 'file', key };
}

/** What people see of it, where nothing tells ours from theirs. */
export function shownIn({ note, text }: Pick<Content, 'note' | 'text'>): string {
  return [note, text].filter((lines) => lines !== '').join('\n');
}

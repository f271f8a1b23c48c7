/** The content of a message, by its type -> words and files. Pure. https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content */
import type { InboundMessage, MediaKind, MediaRef } from '../../../src/core/message.ts';
import { type JsonObject, list, obj, parseJson } from '../../kit/json.ts';
import { bracketNote, composed, label, ours } from '../../kit/senders-words.ts';
import { stringOf } from '../wire/fields.ts';

export interface Content {
  readonly text: string;
  readonly marks?: InboundMessage['marks'];
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
  const names = new Names(raw.mentions, botOpenId);
  const media: MediaRef[] = [];
  const add = (kind: MediaKind, type: 'image' | 'file', key: unknown, name?: unknown, mime?: string): void => {
    const ref = toRef(raw.messageId, type, stringOf(key));
    if (ref === undefined) return;
    const label = stringOf(name).slice(0, 255);
    media.push({ kind, ref, ...(label !== '' && { name: label }), ...(mime !== undefined && { mime }) });
  };
  const text = wordsOf(raw.type, content, names, add);
  const written = WRITTEN.has(raw.type) ? { text: names.found ? text.trim() : text } : composed(ours(text));
  return { ...written, media, mentionsBot: names.found };
}

/** Kinds of which the words are the sender's; of all others a note is made. */
const WRITTEN: ReadonlySet<string> = new Set(['text', 'post', 'image', 'file', 'audio', 'media']);

type Add = (kind: MediaKind, type: 'image' | 'file', key: unknown, name?: unknown, mime?: string) => void;

function wordsOf(type: string, content: JsonObject, names: Names, add: Add): string {
  switch (type) {
    case 'text':
      return names.replace(stringOf(content['text']));
    case 'post':
      return postWords(content, names, add);
    case 'image':
      add('photo', 'image', content['image_key']);
      return '';
    case 'file':
      add('document', 'file', content['file_key'], content['file_name']);
      return '';
    case 'audio':
      // What people record is opus; the platform makes it so.
      add('voice', 'file', content['file_key'], undefined, 'audio/ogg');
      return '';
    case 'media':
      add('video', 'file', content['file_key'], content['file_name'], 'video/mp4');
      return '';
    default:
      return noteOf(type, content);
  }
}

function noteOf(type: string, content: JsonObject): string {
  switch (type) {
    case 'sticker':
      return '[sticker]';
    case 'location':
      return bracketNote(
        'location',
        stringOf(content['name']),
        `(${stringOf(content['latitude'])}, ${stringOf(content['longitude'])})`,
      );
    case 'share_chat':
      return '[shared group]';
    case 'share_user':
      return '[shared contact]';
    case 'merge_forward':
      return '[forwarded conversation that bots cannot see]';
    case 'interactive':
      return bracketNote('card', cardWords(content));
    // Nobody wrote it: "Ada joined the group".
    case 'system':
    case '':
      return '';
    default:
      return bracketNote(type);
  }
}

/** Rich text: lines of pieces, bare or under a locale. */
function postWords(content: JsonObject, names: Names, add: Add): string {
  const post = Array.isArray(content['content'])
    ? content
    : obj(Object.values(content).find((value) => Array.isArray(obj(value)['content'])));
  const lines = list(post['content']).map((line) =>
    list(line)
      .map((piece) => pieceWords(obj(piece), names, add))
      .join(''),
  );
  const title = names.replace(stringOf(post['title']));
  return [...(title === '' ? [] : [title]), ...lines].join('\n').trim();
}

function pieceWords(piece: JsonObject, names: Names, add: Add): string {
  const text = stringOf(piece['text']);
  switch (stringOf(piece['tag'])) {
    case 'text':
    case 'md':
      return names.replace(text);
    case 'a': {
      const href = stringOf(piece['href']);
      return href === '' || href === text ? text : `${text} (${href})`;
    }
    case 'at':
      return names.at(stringOf(piece['user_id']), stringOf(piece['user_name']));
    case 'code_block':
      return `\`\`\`${stringOf(piece['language']).toLowerCase()}\n${text}\n\`\`\``;
    case 'emotion':
      return `:${stringOf(piece['emoji_type'])}:`;
    case 'hr':
      return '---';
    case 'img':
      add('photo', 'image', piece['image_key']);
      return '';
    case 'media':
      add('video', 'file', piece['file_key'], piece['file_name']);
      return '';
    default:
      return text;
  }
}

/** The visible words of a card, in order; people forward cards. */
function cardWords(card: JsonObject): string {
  const words: string[] = [];
  const waiting: unknown[] = [card];
  for (let next = waiting.pop(); next !== undefined && words.length < 200; next = waiting.pop()) {
    if (Array.isArray(next)) waiting.push(...next.slice(0, 200).toReversed());
    else if (typeof next === 'object' && next !== null) {
      for (const [key, value] of Object.entries(next).toReversed()) {
        if (typeof value === 'object') waiting.push(value);
        else if (['content', 'text', 'title'].includes(key) && typeof value === 'string') words.push(value);
      }
    }
  }
  return words.join(' ');
}

/** The placeholders of a message (`@_user_1`) and whose they are. */
class Names {
  found = false;
  readonly #byKey = new Map<string, { readonly name: string; readonly bot: boolean }>();

  constructor(mentions: unknown, botOpenId: string | undefined) {
    for (const mention of list(mentions).slice(0, 200)) {
      const { key, id, name } = obj(mention);
      const placeholder = stringOf(key);
      if (placeholder === '') continue;
      // An event has an object with an id of each kind, a stored message the id alone.
      const openId = stringOf(obj(id)['open_id']) || stringOf(id);
      // By id: a person may carry the bot's name (A3). "@all" is nobody's id.
      this.#byKey.set(placeholder, { name: stringOf(name), bot: botOpenId !== undefined && openId === botOpenId });
    }
  }

  /** In one pass, so that nobody's name can form another placeholder. Longer keys first: `@_user_1` begins `@_user_12`. */
  replace(text: string): string {
    return text.replace(/@_(?:user_\d+|all)(?:[ \t]|(?=\W|$))?/g, (match) => {
      const key = match.trimEnd();
      if (key === '@_all') return match.replace('@_all', '@all');
      const known = this.#byKey.get(key);
      if (!known) return match;
      if (!known.bot) return match.replace(key, `@${label(known.name)}`);
      this.found = true;
      return '';
    });
  }

  at(key: string, name: string): string {
    const known = this.#byKey.get(key);
    if (known?.bot) {
      this.found = true;
      return '';
    }
    return key === 'all' || key === '@_all' ? '@all' : `@${label(known?.name || name)}`;
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

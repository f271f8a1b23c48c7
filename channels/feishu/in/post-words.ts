/** Rich text -> words: lines of pieces, as posts, to-dos and cards have them. */
import { type JsonObject, list, obj } from '../../kit/json.ts';
import { stringOf } from '../wire/fields.ts';
import type { MentionNames } from './mention-names.ts';

/** Told of each picture and each video among the pieces. */
export type OnFile = (kind: 'photo' | 'video', piece: JsonObject) => void;

/** Bare, under a locale (`{zh_cn: {…}}`), or as it is sent by webhooks (`{post: {zh_cn: {…}}}`). */
export function postWords(content: JsonObject, names: MentionNames, onFile: OnFile): string {
  const post = bodyOf(content);
  const title = names.replace(stringOf(post['title']));
  return [...(title === '' ? [] : [title]), ...linesOf(post['content'], names, onFile)].join('\n').trim();
}

export function linesOf(lines: unknown, names: MentionNames, onFile: OnFile): readonly string[] {
  return list(lines).map((line) =>
    list(line)
      .map((piece) => pieceWords(obj(piece), names, onFile))
      .join(''),
  );
}

/** The first object with lines of its own, at most two levels down; one without lines may have a title. */
function bodyOf(content: JsonObject): JsonObject {
  const inner = Object.values(content).map(obj);
  const bodies = [content, ...inner, ...inner.flatMap((value) => Object.values(value).map(obj))];
  return bodies.find((body) => Array.isArray(body['content'])) ?? bodies.find((body) => 'title' in body) ?? {};
}

export function pieceWords(piece: JsonObject, names: MentionNames, onFile: OnFile): string {
  const text = stringOf(piece['text']);
  switch (stringOf(piece['tag'])) {
    case 'text':
    case 'md':
      return names.replace(text);
    case 'a': {
      const href = stringOf(piece['href']);
      return href === '' || href === text ? text : `${text} (${href})`.trimStart();
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
      onFile('photo', piece);
      return '';
    case 'media':
      onFile('video', piece);
      return '';
    default:
      return text;
  }
}

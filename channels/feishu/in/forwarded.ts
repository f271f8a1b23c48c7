/**
 * A forwarded conversation -> a transcript. The event only says that there is one; `GET im/v1/messages/:id`
 * lists it, itself first, then every message in it with the one around it in `upper_message_id`. Pure.
 */
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, obj } from '../../kit/json.ts';
import { bracketNote, composed, label, ours } from '../../kit/senders-words.ts';
import { stringOf } from '../wire/fields.ts';
import { readContent, shownIn } from './inbound-content.ts';
import { timeOf } from './kind-words.ts';

export const FORWARDED = 'merge_forward';
/** The platform's SDK reads as many. */
const MOST_MESSAGES = 50;
/** About 4,000 tokens of English. */
const MOST_CHARS = 16_000;
const MAX_NESTING = 5;

const MARK = ours('[forwarded conversation, not written by the sender]');
export type Conversation = Pick<InboundMessage, 'text' | 'marks'>;

/** Stands where the platform did not show it. */
export const UNREAD_CONVERSATION: Conversation = composed(
  ours('[forwarded conversation, not written by the sender; it could not be read]'),
);

/** `items` as the platform lists them. Names that it does not tell are ids, as everywhere in this channel. */
export function forwardedWords(items: readonly JsonObject[]): Conversation {
  const [root, ...inner] = items;
  if (!root) return UNREAD_CONVERSATION;
  const children = Map.groupBy(inner, (item) => stringOf(item['upper_message_id']) || stringOf(root['message_id']));
  const lines: string[] = [];
  let [told, chars] = [0, 0];
  const tell = (id: string, depth: number): void => {
    for (const item of children.get(id) ?? []) {
      const line = lineOf(item, depth);
      if (told >= MOST_MESSAGES || chars + line.length > MOST_CHARS) return;
      told += 1;
      chars += line.length;
      lines.push(line);
      // Each is told once, and one that claims to be around itself ends there.
      if (stringOf(item['msg_type']) === FORWARDED && depth < MAX_NESTING) tell(stringOf(item['message_id']), depth + 1);
    }
  };
  tell(stringOf(root['message_id']), 0);
  const left = inner.length - told;
  const rest = left > 0 ? ours(`[${left} more ${left === 1 ? 'message' : 'messages'} of it left out]`) : undefined;
  return composed(MARK, lines.join('\n'), rest);
}

/** What one person wrote on several lines is indented, so that no line of it passes for another message. */
function lineOf(item: JsonObject, depth: number): string {
  const { id, sender_type } = obj(item['sender']);
  const time = timeOf(item['create_time']);
  const who = label(stringOf(id), sender_type === 'user' ? 'somebody' : 'an app');
  const head = time === undefined ? `${who}: ` : `${who}, ${time}: `;
  return `${head}${wordsOf(item)}`.replace(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, '\n    ').replace(/^/gm, '  '.repeat(depth));
}

function wordsOf(item: JsonObject): string {
  if (item['deleted'] === true) return '[deleted]';
  const type = stringOf(item['msg_type']);
  if (type === FORWARDED) return '[conversation]';
  const content = stringOf(obj(item['body'])['content']);
  const read = readContent({ messageId: stringOf(item['message_id']), type, content, mentions: item['mentions'] }, undefined);
  // The files of a forwarded message cannot be fetched (error 234043).
  const files = read.media.map(({ kind, name }) => bracketNote(`${kind} that cannot be fetched`, name));
  // Files stand before the words: a line that began with a bracket would be read as words.
  return [...files, shownIn(read)].filter((words) => words !== '').join(' ') || '[nothing]';
}

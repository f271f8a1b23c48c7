/**
 * Messages that are neither text nor a file -> a mark that names the kind, and words below it: everything of
 * it that people see. FS "message content"
 * (https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content).
 */
import { type JsonObject, list, obj } from '../../kit/json.ts';
import { bracketNote } from '../../kit/senders-words.ts';
import { stringOf } from '../wire/fields.ts';
import { cardWords } from './card-words.ts';
import type { MentionNames } from './mention-names.ts';
import { linesOf } from './post-words.ts';

export interface KindWords {
  /** The mark. */
  readonly note: string;
  /** What people wrote below it. */
  readonly text: string;
}

/** Never empty, but for a type without a name. */
export function kindWords(type: string, content: JsonObject, names: MentionNames): KindWords {
  switch (type) {
    case 'todo':
      return todoWords(content, names);
    case 'interactive': {
      const { text, isCut } = cardWords(content, names);
      return { note: isCut ? '[card, of which only the beginning is shown]' : text === '' ? '[card]' : '', text };
    }
    default:
      return { note: noteOf(type, content, names), text: '' };
  }
}

function noteOf(type: string, content: JsonObject, names: MentionNames): string {
  const of = (key: string): string => stringOf(content[key]);
  switch (type) {
    case 'sticker':
      return '[sticker]';
    case 'folder':
      return bracketNote('folder', of('file_name'));
    case 'location':
      return bracketNote('location', of('name'), `(${of('latitude')}, ${of('longitude')})`);
    case 'share_chat':
      return bracketNote('shared group', of('chat_id'));
    case 'share_user':
      return bracketNote('shared contact', of('user_id'));
    case 'hongbao':
      return bracketNote('red packet', of('text').replace(/^\[(.*)\]$/s, '$1'));
    case 'share_calendar_event':
    case 'calendar':
    case 'general_calendar':
      return bracketNote('calendar event', of('summary'), from(content['start_time']), until(content['end_time']));
    case 'video_chat':
      return bracketNote('video meeting', of('topic'), from(content['start_time']));
    case 'vote':
      return bracketNote('poll', of('topic'), ...list(content['options']).map((option) => `| ${stringOf(option)}`));
    case 'system':
      return systemWords(content);
    case 'merge_forward':
      return '[forwarded conversation]';
    case '':
      return '';
    default:
      return bracketNote(type, cardWords(content, names).text);
  }
}

function todoWords(content: JsonObject, names: MentionNames): KindWords {
  const { title, content: lines } = obj(content['summary']);
  const due = timeOf(content['due_time']);
  const note = bracketNote('task', stringOf(title), due === undefined ? undefined : `due ${due}`);
  return {
    note,
    text: linesOf(lines, names, () => undefined)
      .join('\n')
      .trim(),
  };
}

/**
 * `{from_user} invited {to_chatters} to this chat.`, each name in braces being a member with the names of
 * people.
 */
function systemWords(content: JsonObject): string {
  const template = stringOf(content['template']);
  const filled = template.replace(/\{(\w{1,40})\}/g, (match, key: string) => {
    const value = content[key];
    const names = Array.isArray(value)
      ? value.map(stringOf).filter((name) => name !== '')
      : [stringOf(obj(value)['text']) || stringOf(value)];
    return names.join(', ') || (key in content ? '' : match);
  });
  return bracketNote('notice of the platform', filled);
}

const from = (time: unknown): string | undefined => prefixed('from', time);
const until = (time: unknown): string | undefined => prefixed('to', time);

function prefixed(word: string, time: unknown): string | undefined {
  const text = timeOf(time);
  return text === undefined ? undefined : `${word} ${text}`;
}

/** `2026-01-02 03:04 UTC` of milliseconds, as a number or a string; undefined for none (also 0). */
export function timeOf(ms: unknown): string | undefined {
  const at = Number(stringOf(ms));
  if (!(at > 0 && at < 8.64e15)) return undefined;
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

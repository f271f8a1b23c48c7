/** What a message says, without the bot's own name in it. */
import type { Message, MessageEntity } from 'grammy/types';
import { richWords, type Words } from './rich-words.ts';

/** Our own identity, as `getMe` gives it. */
export interface BotIdentity {
  readonly id: number;
  readonly username: string;
}

/** Text or caption as the sender typed it, with the targets of hidden links written out. */
export function plainText(message: Message): string {
  return readMention(message, undefined).text;
}

/** The words of a message wherever they stand, and the entities in them. */
function wordsOf(message: Message): Words {
  if (message.text !== undefined) return { text: message.text, entities: message.entities ?? [] };
  if (message.caption !== undefined) return { text: message.caption, entities: message.caption_entities ?? [] };
  return message.rich_message ? richWords(message.rich_message) : { text: '', entities: [] };
}

/**
 * The text without mentions of `me`, and whether there was one: `@username` as an entity (never a substring:
 * `@bot` is not `@bot2`), a mention by id, `/command@username`, or a bare `/command` at the start. Without
 * `me` nothing is removed. In a private chat, where everything addresses the bot, only the name behind a
 * command is: people tap it in a text from a group.
 */
export function readMention(
  message: Message,
  me: BotIdentity | undefined,
  isGroup = true,
): { readonly text: string; readonly found: boolean } {
  const { text: source, entities } = wordsOf(message);
  let found = false;
  let out = '';
  let at = 0;
  // Offsets count UTF-16 code units, as strings here do. Entities may nest; only those that change the text
  // count.
  for (const entity of [...entities].sort((a, b) => a.offset - b.offset)) {
    const end = entity.offset + entity.length;
    const words = source.slice(entity.offset, end);
    const replacement = me && (isGroup || isNamedCommand(entity, words)) ? addressOf(entity, words, me) : undefined;
    if (replacement !== undefined) {
      found = true;
      if (entity.offset < at) continue;
      out += source.slice(at, entity.offset) + replacement;
      at = end;
      // "hey @bot do" reads "hey do"; "@bot: do" and "@bot, do" read "do".
      if (replacement === '' && out === '') at += /^[\s,:]*/.exec(source.slice(at))?.[0].length ?? 0;
      else if (replacement === '' && source[at] === ' ' && out.endsWith(' ')) at += 1;
    } else if (entity.type === 'text_link' && entity.url !== words && end > at) {
      out += `${source.slice(at, end)} (${entity.url})`;
      at = end;
    }
  }
  out += source.slice(at);
  return { text: found ? out.trim() : out, found };
}

function isNamedCommand({ type }: MessageEntity, words: string): boolean {
  return type === 'bot_command' && words.includes('@');
}

/** What stays of an entity that addresses the bot; undefined for one that does not. */
function addressOf(entity: MessageEntity, words: string, me: BotIdentity): string | undefined {
  const name = `@${me.username}`.toLowerCase();
  switch (entity.type) {
    case 'mention':
      return words.toLowerCase() === name ? '' : undefined;
    case 'text_mention':
      return entity.user.id === me.id ? '' : undefined;
    case 'bot_command': {
      const [command = '', target] = words.split('@');
      if (target !== undefined) return `@${target}`.toLowerCase() === name ? command : undefined;
      return entity.offset === 0 ? command : undefined;
    }
    default:
      return undefined;
  }
}

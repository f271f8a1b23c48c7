/** What a message says, without the bot's own name in it. */
import type { Message, MessageEntity } from 'grammy/types';

/** Our own identity, as `getMe` gives it. */
export interface BotIdentity {
  readonly id: number;
  readonly username: string;
}

/** Text or caption as the sender typed it, with the targets of hidden links written out. */
export function plainText(message: Message): string {
  return readMention(message, undefined).text;
}

/**
 * The text without mentions of `me`, and whether there was one: `@username` as an entity (never a substring: `@bot` is not
 * `@bot2`), a mention by id, `/command@username`, or a bare `/command` at the start. Without `me` nothing is removed.
 */
export function readMention(message: Message, me: BotIdentity | undefined): { readonly text: string; readonly found: boolean } {
  const source = message.text ?? message.caption ?? '';
  const entities = message.entities ?? message.caption_entities ?? [];
  let found = false;
  let out = '';
  let at = 0;
  // Offsets count UTF-16 code units, as strings here do. Entities may nest; only those that change the text are looked at.
  for (const entity of [...entities].sort((a, b) => a.offset - b.offset)) {
    const end = entity.offset + entity.length;
    const words = source.slice(entity.offset, end);
    const replacement = me && addressOf(entity, words, me);
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

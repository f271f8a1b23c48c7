/**
 * A rich message (https://core.telegram.org/bots/api#richmessage) as words, with the entities that may
 * address the bot.
 */
import type { MessageEntity, RichBlock, RichMessage, RichText } from 'grammy/types';

export interface Words {
  readonly text: string;
  readonly entities: readonly MessageEntity[];
}

/** A message holds 16 levels at most (Bot API, rich messages); what is nested deeper is left out. */
const MAX_DEPTH = 40;

/** The words of all blocks in order, a line each. Files among them are read by `mediaOf`. */
export function richWords({ blocks }: RichMessage): Words {
  const writer = new Writer();
  writer.blocks(blocks, 0);
  return { text: writer.text.trimEnd(), entities: writer.entities };
}

/** The blocks of a message with those that lie in others. */
export function allBlocks(blocks: readonly RichBlock[], depth = 0): readonly RichBlock[] {
  if (depth > MAX_DEPTH) return [];
  return blocks.flatMap((block) => [block, ...innerBlocks(block).flatMap((inner) => allBlocks(inner, depth + 1))]);
}

function innerBlocks(block: RichBlock): readonly (readonly RichBlock[])[] {
  if (block.type === 'list') return block.items.map((item) => item.blocks);
  return 'blocks' in block ? [block.blocks] : [];
}

class Writer {
  text = '';
  readonly entities: MessageEntity[] = [];

  blocks(blocks: readonly RichBlock[], depth: number): void {
    if (depth > MAX_DEPTH) return;
    for (const block of blocks) this.#block(block, depth);
  }

  #block(block: RichBlock, depth: number): void {
    switch (block.type) {
      case 'divider':
        this.#line('———', depth);
        break;
      case 'mathematical_expression':
        this.#line(block.expression, depth);
        break;
      case 'map':
        this.#line(`(map: ${block.location.latitude}, ${block.location.longitude})`, depth);
        break;
      case 'buttons':
        this.#line(['(buttons:', ...block.buttons.map(({ text }) => [' | ', text]), ')'].flat(), depth);
        break;
      case 'list':
        for (const item of block.items) {
          const box = item.has_checkbox ? (item.is_checked ? '☑ ' : '☐ ') : '';
          this.text += `${item.label} ${box}`;
          this.blocks(item.blocks, depth + 1);
          this.#endLine();
        }
        break;
      case 'table':
        for (const row of block.cells) {
          this.#line(
            row.flatMap(({ text }, place) => [place === 0 ? '' : ' | ', text ?? '']),
            depth,
          );
        }
        break;
      case 'details':
        this.#line(block.summary, depth);
        break;
      default:
        if ('text' in block) this.#line(block.text, depth);
    }
    if ('blocks' in block) this.blocks(block.blocks, depth + 1);
    if ('credit' in block && block.credit !== undefined) this.#line(['— ', block.credit], depth);
    if ('caption' in block && block.caption !== undefined) this.#caption(block.caption, depth);
  }

  #caption(caption: RichText | { readonly text: RichText; readonly credit?: RichText }, depth: number): void {
    const isText = typeof caption === 'string' || Array.isArray(caption) || 'type' in caption;
    if (isText) this.#line(caption, depth);
    else this.#line(caption.credit === undefined ? caption.text : [caption.text, ' — ', caption.credit], depth);
  }

  #line(text: RichText, depth: number): void {
    this.#write(text, depth);
    this.#endLine();
  }

  #endLine(): void {
    if (this.text !== '' && !this.text.endsWith('\n')) this.text += '\n';
  }

  #write(part: RichText, depth: number): void {
    if (depth > MAX_DEPTH) return;
    if (typeof part === 'string') {
      this.text += part;
      return;
    }
    if (Array.isArray(part)) {
      for (const inner of part) this.#write(inner, depth + 1);
      return;
    }
    const offset = this.text.length;
    if ('alternative_text' in part) this.text += part.alternative_text;
    else if ('expression' in part) this.text += part.expression;
    else if ('button' in part) this.#write(part.button.text, depth + 1);
    else if ('text' in part) this.#write(part.text, depth + 1);
    const place = { offset, length: this.text.length - offset };
    if (part.type === 'mention' || part.type === 'bot_command') this.entities.push({ type: part.type, ...place });
    if (part.type === 'text_mention') this.entities.push({ type: 'text_mention', user: part.user, ...place });
    if (part.type === 'url') this.entities.push({ type: 'text_link', url: part.url, ...place });
  }
}

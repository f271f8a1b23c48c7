import type { OutboundPart } from '../../src/core/message.ts';
import { type TerminalStyle, toTerminal } from './format.ts';

/**
 * One part as printed. Control characters of an answer must not drive the terminal (attack A46). With a style
 * its Markdown is shown as what it means; a pipe gets it as it is written.
 */
export function partToText(part: OutboundPart, style?: TerminalStyle): string {
  const words = part.text.replace(/\r\n?/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, '\ufffd');
  // Markdown can spell a carriage return (`&#13;`). Escape it cannot: in the result that is part of a colour.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is one of what stays.
  const rendered = style ? toTerminal(words, style).replace(/(?![\n\t\u001b])\p{Cc}/gu, '\ufffd') : '';
  // Text that renders to nothing is printed as it was written.
  const text = rendered.trim() === '' ? words : rendered;
  const file = part.file ? `[file: ${part.file.path}]` : '';
  return `${[text, file].filter((block) => block !== '').join('\n')}\n`;
}

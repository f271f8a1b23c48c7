import type { OutboundPart } from '../../src/core/message.ts';

/** One part as printed. Control characters of an answer must not drive the terminal (attack A46). */
export function partToText(part: OutboundPart): string {
  const text = part.text.replace(/\r\n?/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, '\ufffd');
  const file = part.file ? `[file: ${part.file.path}]` : '';
  return `${[text, file].filter((block) => block !== '').join('\n')}\n`;
}

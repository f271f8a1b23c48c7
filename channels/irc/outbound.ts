/** `OutboundPart` -> lines. Pure. */
import type { OutboundPart } from '../../src/core/message.ts';

/**
 * One command per line of the text. A control character would end a command, or begin one that people do
 * not see, so each becomes a space. In a channel the first part names the person whom it answers.
 */
export function toLines({ text, chatId, ordinal, replyContext }: OutboundPart): readonly string[] {
  const [target = ''] = chatId.split('!');
  const nick = replyContext?.['nick'];
  const namesPerson = /^[#&]/.test(target) && nick !== undefined && ordinal === 0;
  const lines = (namesPerson ? `${nick}: ${text}` : text).split(/\r\n?|\n/);
  return lines
    .map((line) => line.replace(/\p{Cc}/gu, ' '))
    .filter((line) => line.trim() !== '')
    .map((line) => `PRIVMSG ${target} :${line}`);
}

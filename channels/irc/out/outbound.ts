/** `OutboundPart` -> lines. Pure. */
import type { OutboundPart } from '../../../src/core/message.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { isChannel } from '../wire/line.ts';
import { toIrc } from './format.ts';

export interface LineOptions {
  /** Of the bot: the server puts it in front of what others see. */
  readonly nick: string;
  readonly maxLines: number;
  /** The text as it stands. */
  readonly plain: boolean;
}

/** With the CR LF at its end. What is longer is cut off by the server. */
const LINE_BYTES = PLATFORM_LIMITS.line.value;
/** A host name is at most this long, and the server may show another one than is known here. */
const HOST_BYTES = PLATFORM_LIMITS.host.value;

/** What an answer is addressed to: `Ada!ada` is the nickname Ada; the name of a channel may hold a `!`. */
export function targetOf(chatId: string): string {
  return isChannel(chatId) ? chatId : (chatId.split('!')[0] ?? '');
}

/**
 * One command per line of the text, and more where one is too long. A control character would end a command,
 * or begin one that people do not see, so each becomes a space. In a channel the first line names the person
 * whom the answer is for. Beyond `maxLines` the lines are counted.
 */
export function toLines(part: OutboundPart, { nick, maxLines, plain }: LineOptions): readonly string[] {
  const { ordinal, replyContext } = part;
  const target = targetOf(part.chatId);
  const person = replyContext?.['nick'];
  const namesPerson = isChannel(target) && person !== undefined && ordinal === 0;
  const rendered = plain ? '' : toIrc(part.text);
  // Text that renders to nothing goes out as it was written (spec D4).
  const text = rendered.trim() === '' ? part.text : rendered;
  const room = LINE_BYTES - 2 - Buffer.byteLength(`:${nick}!~${nick}@ PRIVMSG ${target} :`) - HOST_BYTES;
  const lines = (namesPerson ? `${person}: ${text}` : text)
    .split(/\r\n?|\n/)
    .map((line) => line.replace(/\p{Cc}/gu, ' ').trimEnd())
    .filter((line) => line !== '')
    .flatMap((line) => wrap(line, room));
  const left = lines.length - maxLines;
  const shown = left > 0 ? [...lines.slice(0, maxLines), `[${left} more ${left === 1 ? 'line' : 'lines'} left out]`] : lines;
  return shown.map((line) => `PRIVMSG ${target} :${line}`);
}

/** Cut at a blank in the second half, else between two characters. */
function wrap(line: string, room: number): readonly string[] {
  const lines: string[] = [];
  let rest = line;
  while (Buffer.byteLength(rest) > room) {
    const most = fitting(rest, room);
    const blank = rest.lastIndexOf(' ', most);
    const at = blank > most / 2 ? blank : most;
    lines.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return rest === '' ? lines : [...lines, rest];
}

const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Where the last character ends that fits, of a text that is too long. Of one that alone is too long, the
 * last code point.
 */
function fitting(text: string, room: number): number {
  let bytes = 0;
  for (const { segment, index } of CHARACTERS.segment(text)) {
    if (bytes + Buffer.byteLength(segment) <= room) bytes += Buffer.byteLength(segment);
    else if (index > 0) return index;
    else break;
  }
  bytes = 0;
  let at = 0;
  for (const point of text) {
    bytes += Buffer.byteLength(point);
    if (bytes > room) break;
    at += point.length;
  }
  return at;
}

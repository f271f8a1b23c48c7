import type { ChannelLimits } from '../core/channel.ts';
import { laneKey, partKey } from '../core/ids.ts';
import type { AnswerTarget, Choice, OutboundFile, OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { measure, measureSent } from './measure.ts';
import { sizeOf, splitText } from './split.ts';

export interface Answer {
  /** What is answered: a message, or the place where a run answers. */
  readonly message: AnswerTarget;
  /** Markdown of any length. */
  readonly text: string;
  readonly files: readonly { readonly file: OutboundFile; readonly caption?: string }[];
  /** Answers to press, under the last piece of the text. */
  readonly choices?: readonly Choice[];
  /** `Channel.buttons`. Without them the text lists the choices, and people type a number. */
  readonly buttons?: boolean;
  readonly limits: ChannelLimits;
  /** Epoch ms. */
  readonly now: number;
  readonly expiresInMs: number;
}

/**
 * An answer as outbox parts: its text in chunks, then its files in order. A caption that does not fit goes
 * before its file as text; a file the platform cannot carry becomes a line that says so. The same answer
 * always gives the same keys, so a turn that is committed again changes nothing. Empty when there is nothing
 * to show.
 */
export function planParts(answer: Answer): NewPart[] {
  const { message, limits } = answer;
  const { parts: maxChunks } = limits;
  const split = (text: string) => splitText(text, { ...sizeOf(limits), ...(maxChunks !== undefined && { maxChunks }) });
  const { choices = [] } = answer;
  const plain = split(answer.text);
  const pressed = choices.length > 0 && carriesButtons(answer, plain.at(-1) ?? '');
  if (pressed) plain.push(...withRoom(plain.pop() ?? '', choices, limits));
  const texts = pressed || choices.length === 0 ? plain : withList(answer.text, listed(choices, answer.text), limits);
  const pieces: Pick<OutboundPart, 'text' | 'file' | 'choices'>[] = texts.map((text, n) => ({
    text,
    ...(pressed && n === texts.length - 1 ? { choices } : {}),
  }));
  for (const { file, caption = '' } of answer.files) {
    if (file.bytes > limits.uploadBytes) {
      const note = `(${file.name}: ${megabytes(file.bytes)} is more than this channel carries, ${megabytes(limits.uploadBytes)})`;
      pieces.push(...split(caption === '' ? note : `${caption}\n${note}`).map((text) => ({ text })));
    } else if (measureSent(caption, limits) <= limits.caption) pieces.push({ text: caption, file });
    else pieces.push(...split(caption).map((text) => ({ text })), { text: '', file });
  }
  const lane = laneKey(message);
  return pieces.map((piece, ordinal) => {
    const part: OutboundPart = {
      key: partKey(message.id, ordinal),
      messageId: message.id,
      channel: message.channel,
      account: message.account,
      chatId: message.chatId,
      ...(message.threadId !== undefined && { threadId: message.threadId }),
      ...(message.isGroup && { isGroup: true }),
      ordinal,
      count: pieces.length,
      ...piece,
      ...(message.replyContext !== undefined && { replyContext: message.replyContext }),
    };
    return { part, lane, expiresAt: answer.now + answer.expiresInMs };
  });
}

/** Whether the message that ends the text can have the choices as buttons. */
function carriesButtons({ choices = [], buttons = false, limits }: Answer, text: string): boolean {
  if (!buttons || text === '') return false;
  return !limits.buttons || (choices.length <= limits.buttons.choices && text.length <= limits.buttons.text);
}

/**
 * The last piece, cut once more where it would leave no room to list the choices below it: a platform may
 * refuse its buttons, or have none for so many.
 */
function withRoom(text: string, choices: readonly Choice[], limits: ChannelLimits): readonly string[] {
  const { text: max, unit } = limits;
  const room = choices.reduce((sum, { label, value }) => sum + measure(`- ${value}: ${label}\n`, unit), 2);
  // So many choices that there is no room in any case are the adapter's to refuse.
  if (room > max / 2 || measureSent(text, limits) + room <= max) return [text];
  return splitText(text, { ...sizeOf(limits), max: max - room });
}

/** The list below the text; as a message of its own where the text takes all that one answer may. */
function withList(text: string, list: string, limits: ChannelLimits): readonly string[] {
  const { parts } = limits;
  const size = sizeOf(limits);
  const whole = splitText(`${text}\n\n${list}`, size);
  if (parts === undefined || whole.length <= parts) return whole;
  return [...splitText(text, { ...size, maxChunks: Math.max(1, parts - 1) }), ...splitText(list, size)];
}

/** A line each, as Markdown numbers a list: read back by number, label or value. */
function listed(choices: readonly Choice[], above: string): string {
  // Two lists of one kind are one list to Markdown, and the numbers would go on counting.
  const sign = /^[^\S\n\r\u2028\u2029]*\d+\.\s/m.test(above) ? ')' : '.';
  return choices.map(({ label }, n) => `${n + 1}${sign} ${label}`).join('\n');
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The pictures and files of an album are separate updates; people sent one message. */
import type { Message, Update } from 'grammy/types';
import type { InboundMessage } from '../../../src/core/message.ts';

interface Read {
  readonly update: Update;
  readonly message: InboundMessage;
}

function groupOf({ message }: Update): string | undefined {
  return message?.media_group_id === undefined ? undefined : `${message.chat.id}:${message.media_group_id}`;
}

/** Most updates of one poll (Bot API, getUpdates); what lies behind them comes with the next. */
const POLL_LIMIT = 100;

/**
 * Place of the first album whose rest may still be on its way: nothing of its chat follows it yet. The
 * platform hands out its first picture as soon as it has it. Undefined when all are whole.
 */
export function firstOpenAlbum(updates: readonly Update[]): number | undefined {
  const open = new Map<number, { readonly group: string; readonly place: number }>();
  for (const [place, update] of updates.entries()) {
    // Not read yet: it may break the schema, which is found out, and counted, later.
    const chat = (update.message as Partial<Message> | null | undefined)?.chat?.id;
    if (chat === undefined) continue;
    const group = groupOf(update);
    if (group === undefined) open.delete(chat);
    else if (open.get(chat)?.group !== group) open.set(chat, { group, place });
  }
  const places = [...open.values()].map(({ place }) => place);
  return places.length === 0 ? undefined : Math.min(...places);
}

/** What can be taken now. An album at the end of a full poll is left for the next: its rest lies behind. */
export function untilOpenAlbum(updates: readonly Update[]): readonly Update[] {
  const open = updates.length < POLL_LIMIT ? undefined : firstOpenAlbum(updates);
  return open ? updates.slice(0, open) : updates;
}

/** Each album as one message, in the place and under the key of its first one, with all files and words. */
export function joinAlbums(read: readonly Read[]): readonly InboundMessage[] {
  const joined: InboundMessage[] = [];
  const places = new Map<string, number>();
  for (const { update, message } of read) {
    const group = groupOf(update);
    const place = group === undefined ? undefined : places.get(group);
    const first = place === undefined ? undefined : joined[place];
    if (place === undefined || !first) {
      if (group !== undefined) places.set(group, joined.length);
      joined.push(message);
      continue;
    }
    const text = [first.text, message.text].filter((words) => words !== '').join('\n');
    const at = first.text === '' ? 0 : first.text.length + 1;
    const marks = [...(first.marks ?? []), ...(message.marks ?? []).map(([from, to]) => [from + at, to + at] as const)];
    joined[place] = {
      ...first,
      ...(marks.length > 0 && { marks }),
      text,
      media: [...first.media, ...message.media],
      mentionsBot: first.mentionsBot || message.mentionsBot,
    };
  }
  return joined;
}

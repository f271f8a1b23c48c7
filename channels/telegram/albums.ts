/** The pictures and files of an album are separate updates; people sent one message. */
import type { Update } from 'grammy/types';
import type { InboundMessage } from '../../src/core/message.ts';

interface Read {
  readonly update: Update;
  readonly message: InboundMessage;
}

function groupOf({ message }: Update): string | undefined {
  return message?.media_group_id === undefined ? undefined : `${message.chat.id}:${message.media_group_id}`;
}

/** True while the rest of an album may still be on its way: the platform hands out its first picture as soon as it has it. */
export function endsInAlbum(updates: readonly Update[]): boolean {
  const last = updates.at(-1);
  return last !== undefined && groupOf(last) !== undefined;
}

/** Albums as one message each, in the place and under the key of their first one, with all their files and words. */
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
    joined[place] = {
      ...first,
      text,
      media: [...first.media, ...message.media],
      mentionsBot: first.mentionsBot || message.mentionsBot,
    };
  }
  return joined;
}

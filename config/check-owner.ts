import { describeChoice, valueAt } from './check-value.ts';
import type { Finding } from './problem.ts';

const OWNER = ['gateway', 'owner'] as const;

/** What is known of a configured channel, by its name. */
export interface OwnersChannel {
  readonly type: string;
  /** As written, defaults included; absent where they are wrong. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** See `ChannelDescriptor.groupId`. */
  readonly groupId?: RegExp | undefined;
}

/**
 * Checks that the owner's chats are on channels there are, that in a group of many the owner is named, and
 * warns of chats in which another person can write under the owner's id.
 */
export function checkOwner(value: unknown, original: unknown, channels: ReadonlyMap<string, OwnersChannel>): Finding[] {
  const list = valueAt(value, OWNER);
  const chats: readonly unknown[] = Array.isArray(list) ? list : [];
  const named = new Set(chats.filter(hasSenders).map((chat) => valueAt(chat, ['channel'])));
  return chats.flatMap((chat, index): Finding[] => {
    const name = valueAt(chat, ['channel']);
    const path = [...OWNER, index];
    if (typeof name !== 'string' || name === '') return [];
    const channel = channels.get(name);
    const at = [...path, 'channel'];
    if (!channel) return [{ severity: 'error', path: at, ...describeChoice([...channels.keys()], valueAt(original, at)) }];
    const forged = forgeable(channel);
    const warning = { severity: 'warning', path: at, message: `${forged}, and whoever does that answers for you` } as const;
    const hint = 'name a chat of a channel that proves who writes';
    const findings: Finding[] = forged === undefined ? [] : [{ ...warning, hint }];
    const chatId = valueAt(chat, ['chat_id']);
    findings.push(...mailInCapitals(channel.type, chatId, [...path, 'chat_id']));
    findings.push(...listInCapitals(channel.type, valueAt(chat, ['sender_ids']), [...path, 'sender_ids']));
    const isGroup = typeof chatId === 'string' && channel.groupId?.test(chatId) === true;
    return isGroup && !named.has(name) ? [...findings, groupWithoutOwner(path)] : findings;
  });
}

/** The author of a mail is known by the address in small letters: another spelling is no person's. */
function mailInCapitals(type: string, id: unknown, path: readonly PropertyKey[]): Finding[] {
  if (type !== 'email' || typeof id !== 'string' || id === id.toLowerCase()) return [];
  const message = 'is no person: addresses of mail are compared in small letters';
  return [{ severity: 'warning', path, message, hint: `write "${id.toLowerCase()}"` }];
}

/** The same of each entry. */
export function listInCapitals(type: string, ids: unknown, path: readonly PropertyKey[]): Finding[] {
  return Array.isArray(ids) ? ids.flatMap((id: unknown, index) => mailInCapitals(type, id, [...path, index])) : [];
}

function hasSenders(chat: unknown): boolean {
  const senders = valueAt(chat, ['sender_ids']);
  return Array.isArray(senders) && senders.length > 0;
}

function groupWithoutOwner(path: readonly PropertyKey[]): Finding {
  return {
    severity: 'error',
    path: [...path, 'chat_id'],
    message: 'is a group, and nothing says which of its members is you',
    hint: 'add "sender_ids" with your own id on that channel, or name a private chat',
  };
}

/** How a stranger writes there under the id of another person; undefined where that cannot be done. */
function forgeable({ type, settings }: OwnersChannel): string | undefined {
  if (type === 'twilio') return 'the number of a text message can be forged';
  return settings?.['trust_from'] === true ? 'with "trust_from" the sender of a mail can be forged' : undefined;
}

// channels that are linked to the operator's own account -> who may write there, and who is not asked to pair
import type { Channel } from '../../core/channel.ts';
import type { PairingStore } from '../../core/pairing.ts';
import type { ChannelSet } from '../channels.ts';

type Channels = ReadonlyMap<string, Pick<Channel, 'account' | 'ownersAccount'>>;

/** The sender who is the operator: the account itself. Undefined where the account is the agent's. */
export function ownersAccount(channels: Channels, name: string): string | undefined {
  const channel = channels.get(name);
  return channel?.ownersAccount ? channel.account : undefined;
}

/** Immutable ids let in on a channel: those of its list, and the operator's where the account is theirs. */
export function allowedSenders(set: Pick<ChannelSet, 'channels' | 'rules'>, name: string): readonly string[] {
  const listed = set.rules(name)?.allowed_senders ?? [];
  const own = ownersAccount(set.channels, name);
  return own === undefined ? listed : [...listed, own];
}

/** The chats of operators with themselves. */
export function ownersChats(channels: Channels): readonly { readonly channel: string; readonly chatId: string }[] {
  return [...channels].flatMap(([channel, { account, ownersAccount: isOwn }]) => (isOwn ? [{ channel, chatId: account }] : []));
}

/**
 * The pairings, but for channels on the operator's own account: there a stranger is a friend who writes to
 * the operator, and gets no answer.
 */
export function closedToFriends(pairing: PairingStore, channels: () => Channels): PairingStore {
  return {
    decided: (who) => pairing.decided(who),
    isBlocked: (who) => pairing.isBlocked(who),
    request: async (who, now) =>
      ownersAccount(channels(), who.channel) === undefined ? await pairing.request(who, now) : { state: 'full' },
    approve: (which, now, deciding) => pairing.approve(which, now, deciding),
    deny: (which, now, deciding) => pairing.deny(which, now, deciding),
    list: (now) => pairing.list(now),
    expect: (now) => pairing.expect(now),
    expectsUntil: (now) => pairing.expectsUntil(now),
  };
}

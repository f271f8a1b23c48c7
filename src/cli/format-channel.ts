import type { ChannelStatus } from '../core/turn.ts';
import { printable } from '../lib/printable.ts';
import { formatDuration, formatRelative, isoOrNull, isoTime } from './format-time.ts';
import type { Mark } from './output.ts';

/** No colour carries meaning alone: the word stands beside it. */
export const CHANNEL_MARKS: Readonly<Record<ChannelStatus['state'], Mark>> = {
  starting: 'none',
  healthy: 'ok',
  degraded: 'warn',
  down: 'bad',
  stopped: 'none',
};

/** Cells of a table: name, state and for how long, last message in and out, guarantee, its own word. */
export function channelCells(channel: ChannelStatus, now: number): string[] {
  const { name, state, since, lastMessageAt, lastSentAt } = channel;
  const times = [`last in ${relative(lastMessageAt, now)}`, `last out ${relative(lastSentAt, now)}`];
  return [name, state, `for ${formatDuration(now - since)}`, ...times, guarantee(channel), detailText(channel)].map(printable);
}

/** What the channel says of itself, and what mends it where it does not say so. */
export function detailText(channel: Pick<ChannelStatus, 'name' | 'state' | 'detail'>): string {
  const mend = wayOut(channel);
  return mend === undefined ? (channel.detail ?? '') : `${channel.detail} → ${mend}`;
}

/** For a refused login. Undefined where the channel names the command, as one linked by a device does. */
export function wayOut({ name, state, detail = '' }: Pick<ChannelStatus, 'name' | 'state' | 'detail'>): string | undefined {
  if (state !== 'down' || !/\bGH1501\b/.test(detail) || detail.includes('`gatehouse ')) return undefined;
  return `set its token or password anew with \`gatehouse auth set-key ${name}\`, restart the daemon if it runs, then run \`gatehouse channels test ${name}\``;
}

/** Inbound and send class, as channels/README.md explains them. */
export function guarantee({ inboundClass, sendClass }: Pick<ChannelStatus, 'inboundClass' | 'sendClass'>): string {
  return `in ${inboundClass}, out ${sendClass}`;
}

/** For programs: times in ISO 8601, null where there is none. */
export function channelDocument({ since, lastMessageAt, lastSentAt, ...channel }: ChannelStatus): Record<string, unknown> {
  return { ...channel, since: isoTime(since), lastMessageAt: isoOrNull(lastMessageAt), lastSentAt: isoOrNull(lastSentAt) };
}

function relative(at: number | undefined, now: number): string {
  return at === undefined ? '-' : formatRelative(at, now);
}

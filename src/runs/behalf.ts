/** What the readers of another chat are told of who writes to them, and what is said of them in turn. */
import type { ChannelLimits } from '../core/channel-limits.ts';
import { LOCAL_OPERATOR } from '../core/job.ts';
import type { NewPart } from '../core/outbox.ts';
import { RELAYED } from '../core/relayed.ts';
import { measureSent } from '../delivery/measure.ts';
import { type Answer, planParts } from '../delivery/plan.ts';
import { nameInMark } from '../lib/marks.ts';

/** Of a channel that does not work now: what every one of them takes. */
const SMALLEST: ChannelLimits = { text: 300, unit: 'byte', caption: 0, uploadBytes: 0, downloadBytes: 0 };
/** Signs of Markdown, and those with which a name could look like the rest of the line. */
const SIGNS = /[*_`~#|\\()<>:@]/g;

/**
 * The line above every message. Names are chosen by people, so the id stands beside it, by which access is
 * decided: `On behalf of Ada (telegram:42):`. A name can neither end the line nor look like an id.
 */
export function headOf(name: string | undefined, principal: string): string {
  if (principal === LOCAL_OPERATOR) return `${RELAYED.person} the operator:`;
  const id = principal.replace(/[^\w@.:+=/-]/gu, (char) => `%${char.codePointAt(0)?.toString(16)}`);
  const shown = name === undefined ? '' : plainName(name);
  return shown === '' ? `${RELAYED.person} ${id}:` : `${RELAYED.person} ${shown} (${id}):`;
}

export function receiverTitle(chat: {
  readonly channel: string;
  readonly chatId: string;
  readonly name: string | undefined;
  readonly isGroup: boolean;
}): string {
  const { channel, chatId, name, isGroup } = chat;
  const id = nameInMark(chatId, { otherwise: '?' });
  if (isGroup) return `the group ${id} (${channel})`;
  const shown = name === undefined ? '' : plainName(name);
  return shown === '' ? `${id} (${channel})` : `${shown} (${channel}, ${id})`;
}

/**
 * As `planParts`, with this line above every piece, so that each shows alone whose words it has; '' = none.
 * Absent limits: those of a channel that does not work now.
 */
export function planBelow(
  head: string,
  { limits, ...answer }: Omit<Answer, 'limits'> & { readonly limits: ChannelLimits | undefined },
): NewPart[] {
  const planned = planParts({ ...answer, limits: below(head, limits) });
  if (head === '') return planned;
  return planned.map((row) => ({ ...row, part: { ...row.part, text: `${head}\n\n${row.part.text}` } }));
}

/** Limits for a text that stands below this line in each of its pieces. */
export function below(head: string, limits: ChannelLimits = SMALLEST): ChannelLimits {
  if (head === '') return limits;
  const { buttons } = limits;
  const room = measureSent(`${head}\n\n`, limits);
  return {
    ...{ ...limits, text: Math.max(1, limits.text - room) },
    ...(buttons ? { buttons: { ...buttons, text: Math.max(0, buttons.text - room) } } : {}),
  };
}

function plainName(name: string): string {
  return nameInMark(name.replace(SIGNS, ' '), { otherwise: '' }).replace(/ {2,}/g, ' ');
}

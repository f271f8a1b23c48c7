/** Parts that have a line above each piece: whose words they are. */
import type { ChannelLimits } from '../core/channel-limits.ts';
import type { NewPart } from '../core/outbox.ts';
import { measureSent } from './measure.ts';
import { type Answer, planParts } from './plan.ts';

/** Of a channel that does not work now: what every one of them takes. */
const SMALLEST: ChannelLimits = { text: 300, unit: 'byte', caption: 0, uploadBytes: 0, downloadBytes: 0 };

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

import type { ModelCallContext } from '../../core/model.ts';

export type LimitName = 'day' | 'session' | 'sender' | 'job';

const SENDER = 'sender:';

/** What a call counts for, by limit. */
export function keysOf({ session, sender, job }: ModelCallContext): Partial<Record<LimitName, string>> {
  const keys = { day: 'day', session: `session:${session}`, sender: `${SENDER}${sender}` };
  return job === undefined ? keys : { ...keys, job: `job:${job}` };
}

/** Keys that one limit counts together, in a fixed order: those of senders who are one person. */
export function linkedKeys(linked: (sender: string) => readonly string[]): (key: string) => readonly string[] {
  return (key) => (key.startsWith(SENDER) ? linked(key.slice(SENDER.length)).map((one) => SENDER + one) : [key]);
}

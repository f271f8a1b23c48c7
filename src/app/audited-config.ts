/**
 * Which config came into use, in the record of decisions: names of keys and a digest, never a value. The
 * config is in no commit: one that cannot be noted is in use all the same, and the log says so.
 */
import { hash } from 'node:crypto';
import type { Commits } from '../core/commit.ts';
import { errorText } from '../core/errors.ts';
import type { Json } from '../core/message.ts';
import type { People } from '../core/people.ts';
import type { Logger } from '../core/ports.ts';
import { changesByCost } from '../core/reload.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Reloader } from './reload.ts';

type Reload<Config extends object> = Reloader<Config>['reload'];

interface Record {
  readonly journal: Commits;
  readonly logger: Logger;
}

/** Reloads, and notes which keys came into use. */
export function auditedReload<Config extends object>(reloader: Reloader<Config>, record: Record): Reload<Config> {
  return async (candidate, signal) => {
    const changes = await reloader.reload(candidate, signal);
    const { live, restarted, waiting } = changesByCost(changes);
    const keys = [...live, ...restarted].map(({ key }) => key).toSorted();
    // What waits for a start is noted by that start, which finds another digest than the last one noted.
    const whole = waiting.length === 0 ? { digest: digestOf(candidate) } : {};
    if (keys.length > 0) await note({ keys, ...whole }, record);
    return changes;
  };
}

/** At a start: notes the config unless it is the one that was noted last. */
export async function auditStart(
  config: object,
  { people, ...record }: Record & { readonly people: Pick<People, 'audit'> },
): Promise<void> {
  const digest = digestOf(config);
  const last = (await people.audit({ subject: SUBJECT })).at(-1);
  if (last?.data['digest'] !== digest) await note({ digest }, record);
}

const SUBJECT = 'config';

async function note(data: { readonly keys?: readonly string[]; readonly digest?: string }, { journal, logger }: Record) {
  try {
    const entry = { kind: 'config.applied', subject: SUBJECT, by: 'file', data: data as { readonly [key: string]: Json } };
    await journal.commit([{ kind: 'audit', entry }]);
  } catch (error) {
    logger.warn('config.not-audited', { ...data, detail: errorText(error) });
  }
}

/** SHA-256, hexadecimal, of the config with its defaults, keys in order. */
function digestOf(config: object): string {
  return hash('sha256', canonicalJson(config));
}

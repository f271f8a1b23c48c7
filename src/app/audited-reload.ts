import type { Commits } from '../core/commit.ts';
import { errorText } from '../core/errors.ts';
import type { Logger } from '../core/ports.ts';
import { changesByCost, type KeyChange } from '../core/reload.ts';
import type { Reloader } from './reload.ts';

type Reload<Config extends object> = Reloader<Config>['reload'];

/**
 * Reloads, and notes in the record of decisions which keys came into use, without their values. The config is
 * in no commit: one that cannot be noted is in use all the same, and the log says so.
 */
export function auditedReload<Config extends object>(
  reloader: Reloader<Config>,
  { journal, logger }: { readonly journal: Commits; readonly logger: Logger },
): Reload<Config> {
  return async (candidate, signal) => {
    const changes = await reloader.reload(candidate, signal);
    const keys = keysInUse(changes);
    const entry = { kind: 'config.applied', subject: 'config', by: 'file', data: { keys } };
    try {
      if (keys.length > 0) await journal.commit([{ kind: 'audit', entry }]);
    } catch (error) {
      logger.warn('config.not-audited', { keys, detail: errorText(error) });
    }
    return changes;
  };
}

function keysInUse(changes: readonly KeyChange[]): readonly string[] {
  const { live, restarted } = changesByCost(changes);
  return [...live, ...restarted].map(({ key }) => key).toSorted();
}

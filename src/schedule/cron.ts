import { GatehouseError } from '../core/errors.ts';
import { loadOnce } from '../lib/load-once.ts';

const load = loadOnce(() => import('croner'));

/**
 * The first time after `after` that an expression of five to seven fields names in a time zone; undefined =
 * there is none any more. Rejects with croner's sentence where it cannot read the expression, and with GH1703
 * where croner itself cannot be loaded just now, which says nothing of the expression. The package is loaded
 * with the first expression, so that a daemon without one does not pay for it.
 */
export async function nextOf(expr: string, timezone: string, after: number): Promise<number | undefined> {
  const { Cron } = await load().catch((cause: unknown) => {
    const hint = 'try again; if this stays, install Gatehouse again';
    throw new GatehouseError('GH1703', 'the package croner, which reads schedules, could not be loaded', { hint, cause });
  });
  const cron = new Cron(expr, { timezone, paused: true });
  return cron.nextRun(new Date(after))?.getTime();
}

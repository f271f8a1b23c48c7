import { Plugins } from '../../tools/plugins/plugins.ts';
import { type DaemonOptions, redactOf } from './options.ts';
import type { Stores } from './store.ts';

/** The plugins of the data directory, looked at once, and again when a command has decided on one. */
export async function composePlugins(
  options: DaemonOptions,
  { opened, journal }: Pick<Stores, 'opened' | 'journal'>,
): Promise<Plugins> {
  const { dataDir, clock, logger, secret } = options;
  const plugins = new Plugins({ dataDir, pins: opened.pins, secret, redact: redactOf(options), clock, logger });
  await plugins.look();
  journal.onOutsideChange(() => void plugins.look());
  return plugins;
}

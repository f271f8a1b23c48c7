import { printableBlock } from '../../lib/printable.ts';
import { type Command, dataDirOf, envOf, readConfig, sayWarnings } from '../context.ts';
import { EXIT } from '../exit-codes.ts';

/** Forgets the login that `channels login` stored. Having none is no failure. Rejects as the channel does. */
export const channelsLogout: Command<{ readonly name: string }> = async (context, { name }) => {
  const { deps, out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const left = await deps.logoutChannel({
    config: loaded.config,
    dataDir: dataDirOf(context),
    env: await envOf(context),
    name,
    signal: new AbortController().signal,
  });
  out.say(left === undefined ? 'no login was stored' : `the login was removed. ${printableBlock(left)}`);
  out.document({ channel: name, removed: left !== undefined, todo: left ?? null });
  return EXIT.ok;
};

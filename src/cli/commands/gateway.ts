import { printable } from '../../lib/printable.ts';
import { type Command, dataDirOf, lastConfig, readConfig, sayWarnings } from '../context.ts';
import { PROVIDER_NAMES } from './config.ts';

export interface GatewayOptions {
  readonly requireModel?: boolean;
  readonly log?: 'pretty' | 'json';
}

export const gateway: Command<GatewayOptions> = async (context, options) => {
  const { deps, globals, out } = context;
  const config = await readConfig(context, { providers: PROVIDER_NAMES });
  sayWarnings(context, config);
  const { file } = config;
  const last = await lastConfig(context);
  // Where there is none, the warning above says so.
  if (last !== undefined && file !== undefined && file !== last)
    out.say(`${out.mark('warn', 'stderr')} this data directory was last used with ${printable(last)}, and is now with ${file}`);
  return deps.runGateway({
    config,
    // The same file again, also when another place of the lookup order has one by now.
    ...(file === undefined
      ? {}
      : {
          reload: (bytes) =>
            readConfig({ ...context, globals: { ...globals, config: file } }, { providers: PROVIDER_NAMES, bytes }),
        }),
    dataDir: dataDirOf(context),
    stdio: deps.stdio,
    nameCommands: out.nameCommands,
    env: deps.env,
    requireModel: options.requireModel === true || config.config.require_model || deps.env['GATEHOUSE_REQUIRE_MODEL'] === '1',
    verbose: globals.verbose === true,
    ...(options.log === undefined ? {} : { logFormat: options.log }),
  });
};

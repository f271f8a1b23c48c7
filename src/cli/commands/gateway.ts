import { type Command, dataDirOf, readConfig, sayWarnings } from '../context.ts';

export const gateway: Command<{ readonly requireModel?: boolean }> = async (context, options) => {
  const { deps, globals } = context;
  const config = await readConfig(context);
  sayWarnings(context, config);
  const { file } = config;
  return deps.runGateway({
    config,
    // The same file again, also when another place of the lookup order has one by now.
    ...(file === undefined ? {} : { reload: () => readConfig({ ...context, globals: { ...globals, config: file } }) }),
    dataDir: dataDirOf(context),
    stdio: deps.stdio,
    env: deps.env,
    requireModel: options.requireModel === true || config.config.require_model || deps.env['GATEHOUSE_REQUIRE_MODEL'] === '1',
    verbose: globals.verbose === true,
  });
};

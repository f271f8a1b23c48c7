import { GatehouseError } from '../../core/errors.ts';
import { type Command, dataDirOf, readConfig, sayWarnings } from '../context.ts';
import { PROVIDER_NAMES } from './config.ts';

export const chat: Command<{ readonly message?: string }> = async (context, options) => {
  const { deps, globals } = context;
  if (options.message?.trim() === '')
    throw new GatehouseError('GH1001', 'the message is empty', { hint: 'write `gatehouse chat -m "hello"`' });
  const config = await readConfig(context, { providers: PROVIDER_NAMES });
  sayWarnings(context, config);
  return deps.runChat({
    config,
    dataDir: dataDirOf(context),
    stdio: deps.stdio,
    env: deps.env,
    requireModel: config.config.require_model || deps.env['GATEHOUSE_REQUIRE_MODEL'] === '1',
    verbose: globals.verbose === true,
    ...(options.message === undefined ? {} : { message: options.message }),
  });
};

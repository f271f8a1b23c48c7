import { GatehouseError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, dataDirOf, readConfig } from '../context.ts';

export interface DemoFlags {
  readonly name: string;
  /** The daemon that the demo starts: the same command in a process of its own. */
  readonly daemon?: boolean;
}

/** Plays something on this terminal, without a key and without leaving anything behind. */
export const demo: Command<DemoFlags> = async (context, { name, daemon = false }) => {
  const { deps, out } = context;
  if (name !== 'tasks')
    throw new GatehouseError('GH1001', `there is no demo "${printable(name.slice(0, 40))}"`, { hint: 'there is: tasks' });
  const player = await deps.demo();
  if (!daemon) return await player.play((line) => out.data(line));
  return await deps.runGateway({
    config: await readConfig(context),
    ...{ dataDir: dataDirOf(context), stdio: deps.stdio, env: deps.env, requireModel: false, verbose: false },
    extraTools: player.tools,
  });
};

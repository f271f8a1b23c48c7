import { GatehouseError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import type { Command } from '../context.ts';

/** Plays something on this terminal, without a key and without leaving anything behind. */
export const demo: Command<{ readonly name: string }> = async ({ deps, out }, { name }) => {
  if (name !== 'tasks')
    throw new GatehouseError('GH1001', `there is no demo "${printable(name.slice(0, 40))}"`, { hint: 'there is: tasks' });
  return await deps.demo((line) => out.data(line));
};

import type { CommandEntry } from '../../src/core/command-entry.ts';

/**
 * Whether the gateway answers this text as a command whose answer is of use to its sender alone. For adapters
 * of platforms that can show a message to one person in a group.
 */
export function isPrivateCommand(text: string, commands: readonly CommandEntry[]): boolean {
  const [word = '', ...args] = text.trim().split(/\s+/);
  return args.length === 0 && commands.some(({ name, isPrivate }) => isPrivate === true && word === `/${name}`);
}

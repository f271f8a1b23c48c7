/** The one table of commands: help, reserved words and the menus of platforms are made of it. */
import type { CommandEntry } from '../../core/command-entry.ts';
import type { ChatRow } from '../../core/run.ts';
import { abortAnswer } from './abort-words.ts';
import { choose, modelCommand, thinkCommand } from './choice.ts';
import type { Command, CommandPorts, CommandSpec, TurnCommand } from './command.ts';
import { newCommand, resetCommand, startAfresh } from './new.ts';
import { whyCommand } from './why.ts';

const stopCommand: CommandSpec = {
  name: 'stop',
  summary: 'stop the answer being worked on, and what waits behind it (or say “stop”)',
  // `/stop` is one of the abort words, which are read first.
  read: () => undefined,
};

const helpCommand: CommandSpec = {
  name: 'help',
  summary: 'this list',
  isPrivate: true,
  read: (words) => (words.length === 0 ? { kind: 'help', answer: HELP } : undefined),
};

const COMMANDS: readonly CommandSpec[] = [
  newCommand,
  resetCommand,
  modelCommand,
  thinkCommand,
  whyCommand,
  stopCommand,
  helpCommand,
];
/** What a platform's own menu shows. */
export const COMMAND_MENU: readonly CommandEntry[] = COMMANDS.map(({ name, args, summary, isPrivate }) => ({
  ...{ name, summary },
  ...(args === undefined ? {} : { args }),
  ...(isPrivate && { isPrivate }),
}));

const BY_NAME = new Map(COMMANDS.map((command) => [`/${command.name}`, command]));
const HELP = COMMANDS.map(({ name, args, summary }) => `/${name}${args ? ` ${args}` : ''} – ${summary}`).join('\n');

/** Reads a command (spec A5, A6). An unknown `/word` is text for the agent. */
export function parseCommand(text: string): Command | undefined {
  const stop = abortAnswer(text);
  if (stop !== undefined) return { kind: 'stop', ...stop };
  const [word = '', ...words] = text.trim().split(/\s+/);
  return BY_NAME.get(word)?.read(words);
}

/** Words that a person cannot be offered to say: they are a command, or look like one. */
export function isCommandWord(words: string): boolean {
  return words.startsWith('/') || parseCommand(words) !== undefined;
}

/** See `RunCommand`. Rejects as the session store does. */
export function runCommand(command: TurnCommand, row: ChatRow, ports: CommandPorts): Promise<string | undefined> {
  return command.kind === 'new' ? startAfresh(command, row, ports) : choose(command, row, ports);
}

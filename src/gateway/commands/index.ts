/** The one table of commands: help, reserved words and the menus of platforms are made of it. */
import type { CommandEntry } from '../../core/command-entry.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { ChatRow } from '../../core/run.ts';
import { abortAnswer } from './abort-words.ts';
import { adaptiveCommand, answerAdaptive } from './adaptive.ts';
import { choose, modelCommand, thinkCommand } from './choice.ts';
import type {
  Command,
  CommandPorts,
  CommandSpec,
  PlaceOfMessage,
  PromptCommand,
  Prompted,
  PromptPorts,
  TurnCommand,
} from './command.ts';
import { compact, compactCommand } from './compact.ts';
import { answerConfig, configCommand } from './config.ts';
import { conversationOf } from './conversation.ts';
import { newCommand, resetCommand, startAfresh, startAfreshInLane } from './new.ts';
import { forgetCommand, linkCommand, unlinkCommand } from './personal.ts';
import { isPick, topicPicked } from './picker.ts';
import { answerQueue, queueCommand } from './queue.ts';
import { answerStatus, statusCommand } from './status.ts';
import { answerTask } from './task-answers.ts';
import { taskCommand, tasksCommand } from './tasks.ts';
import { answerThinking, thinkingCommand } from './thinking.ts';
import { answerTopic, backCommand, deleteCommand, sessionsCommand, switchCommand } from './topics.ts';
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
  switchCommand,
  sessionsCommand,
  backCommand,
  deleteCommand,
  compactCommand,
  modelCommand,
  thinkCommand,
  thinkingCommand,
  statusCommand,
  adaptiveCommand,
  configCommand,
  queueCommand,
  whyCommand,
  taskCommand,
  tasksCommand,
  linkCommand,
  unlinkCommand,
  forgetCommand,
  stopCommand,
  helpCommand,
];
/** All of them, in the order of help. */
export const COMMAND_LIST: readonly Omit<CommandSpec, 'read'>[] = COMMANDS;

/** What a platform's own menu shows. */
export const COMMAND_MENU: readonly CommandEntry[] = COMMANDS.map(({ name, args, summary, isPrivate }) => ({
  ...{ name, summary },
  ...(args === undefined ? {} : { args }),
  ...(isPrivate && { isPrivate }),
}));

const BY_NAME: ReadonlyMap<string, CommandSpec> = new Map(
  COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => [`/${name}`, command] as const)),
);
/**
 * Longer ones are in docs/commands.md, and the command itself names them: the list has to fit into one
 * message.
 */
const ARGS_CHARS = 30;
const HELP = COMMANDS.map(({ name, args = '', summary }) => {
  const shown = args.length > ARGS_CHARS ? '[…]' : args;
  return `/${name}${shown ? ` ${shown}` : ''} – ${summary}`;
}).join('\n');

/** What the mail channel puts above the words of a mail, as one mark of its own. */
const ABOVE_MAIL = /^\[Subject: .*\](\n\[about another mail: .*\])?$/;

/** What mail programs put below: the line of RFC 3676 4.3, and what phones add. */
const SIGNATURE = /(?:^|\n)[^\S\n]*(?:-- ?(?:\n|$)|Sent from my )/;

/**
 * Reads the command that a message is. Of a mail that is all that it says under its subject, but for a
 * signature: what stands below a command is not for the agent, so that it would be lost. `/stop` counts
 * whatever follows. In a mail about another one, as a reply to a mail of one's own is, the first words may be
 * quoted, so that they do no more than stop a turn. Behind any other mark stand words of others, which are no
 * command.
 */
export function commandOf({ text, marks = [] }: Pick<InboundMessage, 'text' | 'marks'>): Command | undefined {
  const [first, second] = marks;
  const above = first?.[0] === 0 ? ABOVE_MAIL.exec(text.slice(...first).trim()) : null;
  if (!first || !above) return parseCommand(text);
  const said = text.slice(first[1], second?.[0]).trim();
  if (/^\/stop\s*(?:\n|$)/.test(said)) return parseCommand('/stop');
  const command = parseCommand(said.split(SIGNATURE, 1)[0]?.trim() ?? '');
  if (command?.kind === 'stop') return command;
  const takesLines = command?.kind === 'task' || !/\n\s*\n/.test(said.split(SIGNATURE, 1)[0]?.trim() ?? '');
  return above[1] === undefined && takesLines ? command : undefined;
}

/** Reads a command (spec A5, A6). An unknown `/word` is text for the agent. */
export function parseCommand(text: string): Command | undefined {
  const stop = abortAnswer(text);
  if (stop !== undefined) return { kind: 'stop', ...stop };
  if (isPick(text)) return { kind: 'pick', value: text };
  const said = text.trim();
  // Most messages are no command, and may be long.
  if (!said.startsWith('/')) return undefined;
  const [word = '', ...words] = said.split(/\s+/);
  return BY_NAME.get(word)?.read(words, said.slice(word.length).trim());
}

/** Whether what comes behind it, in the same batch, is judged by what it changed. */
export function changesWhatFollows(command: Command | undefined): boolean {
  if (command?.kind === 'tasks') return command.act === 'resume';
  return command !== undefined && CHANGING_KINDS.has(command.kind);
}

/** A task counts towards those that its person may have, and so does one that is resumed. */
const CHANGING_KINDS: ReadonlySet<Command['kind']> = new Set(['new', 'topic', 'switch', 'pick', 'back', 'delete', 'task']);

/** Undefined = it takes its turn in the lane, or is none that this answers. */
export function isPrompt(command: Command | undefined): command is PromptCommand {
  return command !== undefined && !['stop', 'help', 'why', 'model', 'think', 'compact', 'personal'].includes(command.kind);
}

/** Rejects as the ports do. Changes nothing: what it says is true once the commit of the answer is. */
export async function answerPrompt(
  command: PromptCommand,
  message: InboundMessage,
  place: PlaceOfMessage,
  ports: PromptPorts,
): Promise<Prompted | undefined> {
  const at = await conversationOf(message, place, ports);
  switch (command.kind) {
    case 'new':
      return await startAfresh(command, at, ports);
    case 'task':
    case 'tasks':
      return await answerTask(command, at, ports);
    case 'status':
      return await answerStatus(command, at, ports);
    case 'thinking':
      return await answerThinking(command, at, ports);
    case 'adaptive':
      return await answerAdaptive(command, at, ports);
    case 'queue':
      return await answerQueue(command, at, ports);
    case 'config':
      return await answerConfig(command, at, ports);
    default:
  }
  // Words that only look like a button, where no such button was ever shown.
  if (command.kind === 'pick' && topicPicked(command.value, at.topics) === undefined && at.settings.picker === undefined)
    return undefined;
  return await answerTopic(command, at, ports);
}

/** Whether a message is no conversation; a button may be one, or words that look like it. */
export function isCommandText(text: string): boolean {
  const command = parseCommand(text);
  return command !== undefined && command.kind !== 'pick';
}

/** Words that a person cannot be offered to say: they are a command, or look like one. */
export function isCommandWord(words: string): boolean {
  return words.startsWith('/') || parseCommand(words) !== undefined;
}

/** See `RunCommand`. Rejects as the session store does. */
export function runCommand(
  command: TurnCommand,
  row: ChatRow,
  ports: CommandPorts,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (command.kind === 'new') return startAfreshInLane(command, row, ports, signal);
  return command.kind === 'compact' ? compact(command, row, ports, signal) : choose(command, row, ports, signal);
}

import { ConfigError } from '../../config/problem.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import { deniedError } from '../lib/denied.ts';
import { printable } from '../lib/printable.ts';
import { configFailure, problemsDocument, sayProblems } from './config-problems.ts';
import type { CommandContext, GlobalOptions } from './context.ts';
import type { CliDeps } from './deps.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { addAuthCommands } from './groups/auth.ts';
import { addChannelsCommands } from './groups/channels.ts';
import { addCompletionCommands } from './groups/completion.ts';
import { addConfigCommands } from './groups/config.ts';
import { addCronCommands } from './groups/cron.ts';
import { addDeadCommands } from './groups/dead.ts';
import { Commander, CommanderError, Option, type Run } from './groups/group.ts';
import { addMainCommands } from './groups/main.ts';
import { addMcpCommands } from './groups/mcp.ts';
import { addModelsCommands } from './groups/models.ts';
import { addPairCommands } from './groups/pair.ts';
import { addPeopleCommands } from './groups/people.ts';
import { addPluginsCommands } from './groups/plugins.ts';
import { addQuestionsCommands } from './groups/questions.ts';
import { addRecordCommands } from './groups/record.ts';
import { addServiceCommands } from './groups/service.ts';
import { addSessionsCommands } from './groups/sessions.ts';
import { addTasksCommands } from './groups/tasks.ts';
import { addToolsCommands } from './groups/tools.ts';
import { nameCommands } from './named-commands.ts';
import { type ColorChoice, type Failure, Output } from './output.ts';

const EXAMPLES = `Examples:
  gatehouse gateway                 start the daemon with every configured channel
  gatehouse chat -m "hello"         ask once on this terminal
  gatehouse setup                   ask for a model, a bot and its owner, and try them
  gatehouse status --json           how the running daemon is, for programs
`;

/**
 * Runs one command line (without node and script) and resolves with the exit code. Never rejects. Imports an
 * implementation when its command runs, so that help and completion stay fast.
 */
export async function runCli(argv: readonly string[], deps: CliDeps): Promise<number> {
  let code: number = EXIT.ok;
  const program = buildProgram(deps, async (load, options, command) => {
    const globals = command.optsWithGlobals<GlobalOptions & { json?: boolean; color: ColorChoice }>();
    const out = outputFor(program, deps, { json: globals.json === true, color: globals.color });
    const context: CommandContext = { deps, globals, out };
    code = await (await load())(context, options);
  });
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    const out = outputFor(program, deps, { json: argv.includes('--json'), color: colorIn(argv) });
    if (error instanceof CommanderError) return usageError(error, program, argv, out);
    if (error instanceof ConfigError) sayProblems(out, error.problems);
    out.fail(failureOf(error), error instanceof ConfigError ? problemsDocument(error) : {});
    if (argv.some((arg) => arg === '-v' || arg === '--verbose') && error instanceof Error) out.say(error.stack ?? '');
    return exitCodeOf(error);
  }
}

/** Every command with its options. `run` is called with the one that a line names. */
export function buildProgram(deps: Pick<CliDeps, 'version' | 'stdio' | 'channelTypes'>, run: Run): Commander {
  const program = new Commander('gatehouse')
    .description('Puts an AI agent behind every messaging channel you use.')
    .version(deps.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .option(
      '--config <file>',
      'use this config file (default: ./.gatehouse/config.json, else ~/.config/gatehouse/config.json, else that of the last start)',
    )
    .option('--data-dir <dir>', 'keep data here (default: $GATEHOUSE_HOME, $STATE_DIRECTORY, ~/.gatehouse)')
    .option('-v, --verbose', 'log more')
    .addOption(new Option('--color <when>', 'colour the output').choices(['auto', 'always', 'never']).default('auto'))
    .addHelpText('before', EXAMPLES)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // Usage errors are printed by `runCli`, once and in our form.
    .configureOutput({ writeOut: (text) => void deps.stdio.stdout.write(text), writeErr: () => {} });
  addMainCommands(program, run);
  addQuestionsCommands(program, run);
  addRecordCommands(program, run);
  addSessionsCommands(program, run);
  addDeadCommands(program, run);
  addTasksCommands(program, run);
  addCronCommands(program, run);
  addPeopleCommands(program, run);
  addPairCommands(program, run);
  addToolsCommands(program, run);
  addMcpCommands(program, run);
  addPluginsCommands(program, run);
  addChannelsCommands(program, run);
  addModelsCommands(program, run);
  addConfigCommands(program, run);
  addAuthCommands(program, run);
  addServiceCommands(program, run);
  addCompletionCommands(program, run);
  addHelpCommand(program);
  return program;
}

/** `help WORD...` is `WORD... --help`: commander's own, which the groups keep, reads one word only. */
function addHelpCommand(program: Commander): void {
  program
    .helpCommand(false)
    .command('help [command...]')
    .description('show help for a command')
    .action((words: readonly string[]) => {
      const { path, stray } = named(program, words);
      if (stray !== undefined) program.error(unknownCommand(stray));
      path.at(-1)?.outputHelp();
    });
}

/**
 * The commands that a line names, the program first. `stray` is the first word that names none where a
 * command, or an argument, is expected. Options are passed over with their values, wherever they stand, and
 * so is the word `help`.
 */
function named(program: Commander, argv: readonly string[]): { readonly path: readonly Commander[]; readonly stray?: string } {
  const path = [program];
  const words = argv[Symbol.iterator]();
  for (const word of words) {
    if (word.startsWith('-')) {
      const option = path.flatMap(({ options }) => options).find(({ short, long }) => word === short || word === long);
      if (option?.required) words.next();
      continue;
    }
    if (word === 'help') continue;
    const next = path.at(-1)?.commands.find((command) => command.name() === word);
    if (!next) return { path, stray: word };
    path.push(next);
  }
  return { path };
}

function unknownCommand(word: string): string {
  return `unknown command '${printable(word.slice(0, 80))}'`;
}

function outputFor(program: Commander, deps: CliDeps, options: { readonly json: boolean; readonly color: ColorChoice }): Output {
  const names = program.commands.map((command) => command.name());
  return new Output({
    ...{ stdio: deps.stdio, env: deps.env, ...options },
    nameCommands: nameCommands(names, program.opts<GlobalOptions>(), deps),
  });
}

/** For errors that come before or instead of parsing. */
function colorIn(argv: readonly string[]): ColorChoice {
  const value = argv.find((arg) => arg.startsWith('--color='))?.slice(8) ?? argv[argv.indexOf('--color') + 1];
  return value === 'always' || value === 'never' ? value : 'auto';
}

/** A group, or the program, without a command shows its help; what else commander rejects is a wrong call. */
function usageError(error: CommanderError, program: Commander, argv: readonly string[], out: Output): number {
  const { path, stray } = named(program, argv);
  if (error.code === 'commander.help' && stray === undefined) {
    path.at(-1)?.outputHelp();
    return EXIT.ok;
  }
  // What commander throws for `GROUP help WORD` says nothing.
  const reason = error.code === 'commander.help' ? unknownCommand(stray ?? '') : error.message;
  // Values are not repeated: one of them may be a key that does not belong on a command line.
  const said = reason
    .replace(/^error: /, '')
    .replace(/( but got \d+): .*$/s, '$1')
    .replace(/'(--[^=']+)=.*'/s, "'$1'");
  const [message = '', suggestion = ''] = said.split('\n');
  const meant = /^\(Did you mean (.+)\?\)$/.exec(suggestion)?.[1];
  const command = path.map((each) => each.name()).join(' ');
  const hint = meant === undefined ? `run \`${command} --help\`` : `did you mean ${meant}?`;
  out.fail({ code: 'GH1001', message, hint });
  return EXIT.usage;
}

function failureOf(error: unknown): Failure {
  if (error instanceof ConfigError) return configFailure(error);
  if (isGatehouseError(error)) return { code: error.code, message: error.message, hint: error.hint };
  const kept = deniedError(error);
  if (kept) return { code: kept.code, message: kept.message, hint: kept.hint };
  return { code: 'GH1004', message: errorText(error), hint: 'run again with `-v` and report what it prints' };
}

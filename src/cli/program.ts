import { Command as Commander, CommanderError, Option } from 'commander';
import { ConfigError } from '../../config/problem.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import { printable } from '../lib/printable.ts';
import type { AuthLoginOptions } from './commands/auth.ts';
import type { LogsOptions } from './commands/logs.ts';
import type { SimulateFlags } from './commands/simulate.ts';
import type { UsageOptions } from './commands/usage.ts';
import { configFailure, sayProblems } from './config-problems.ts';
import type { Command, CommandContext, GlobalOptions } from './context.ts';
import type { CliDeps } from './deps.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { type ColorChoice, type Failure, Output } from './output.ts';

const EXAMPLES = `Examples:
  gatehouse gateway                 start the daemon with every configured channel
  gatehouse chat -m "hello"         ask once on this terminal
  gatehouse init                    write ./.gatehouse/config.json
  gatehouse status --json           how the running daemon is, for programs
`;

/**
 * Runs one command line (without node and script) and resolves with the exit code. Never rejects. Implementations are imported
 * when their command runs, so that help and completion stay fast.
 */
export async function runCli(argv: readonly string[], deps: CliDeps): Promise<number> {
  let code: number = EXIT.ok;
  const program = buildProgram(deps, (exit) => {
    code = exit;
  });
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    const out = outputFor(deps, { json: argv.includes('--json'), color: colorIn(argv) });
    if (error instanceof CommanderError) return usageError(error, program, argv, out);
    if (error instanceof ConfigError) sayProblems(out, error.problems);
    out.fail(failureOf(error));
    if (argv.some((arg) => arg === '-v' || arg === '--verbose') && error instanceof Error) out.say(error.stack ?? '');
    return exitCodeOf(error);
  }
}

type Run = <Options>(load: () => Promise<Command<Options>>, options: Options, command: Commander) => Promise<void>;

function buildProgram(deps: CliDeps, setExit: (code: number) => void): Commander {
  const program = new Commander('gatehouse')
    .description('Puts an AI agent behind every messaging channel you use.')
    .version(deps.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .option('--config <file>', 'use this config file')
    .option('--data-dir <dir>', 'keep data here (default: $GATEHOUSE_HOME, $STATE_DIRECTORY, ~/.gatehouse)')
    .option('-v, --verbose', 'log more')
    .addOption(new Option('--color <when>', 'colour the output').choices(['auto', 'always', 'never']).default('auto'))
    .addHelpText('before', EXAMPLES)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // Usage errors are printed by `runCli`, once and in our form.
    .configureOutput({ writeOut: (text) => void deps.stdio.stdout.write(text), writeErr: () => {} });
  const run: Run = async (load, options, command) => {
    const globals = command.optsWithGlobals<GlobalOptions & { json?: boolean; color: ColorChoice }>();
    const context: CommandContext = {
      deps,
      globals,
      out: outputFor(deps, { json: globals.json === true, color: globals.color }),
    };
    setExit(await (await load())(context, options));
  };
  addMainCommands(program, run);
  addDeadCommands(program, run);
  addPairCommands(program, run);
  addChannelsCommands(program, run);
  addModelsCommands(program, run);
  addConfigCommands(program, run);
  addAuthCommands(program, run);
  return program;
}

function addMainCommands(program: Commander, run: Run): void {
  program
    .command('gateway')
    .description('start the daemon: all channels, until it is stopped')
    .option('--require-model', 'refuse to start without a real model (exit code 78)')
    .addHelpText(
      'before',
      examples(
        'gatehouse gateway',
        'gatehouse gateway --config bot.json --data-dir /var/lib/bot',
        'gatehouse gateway --require-model -v',
      ),
    )
    .action((options: { requireModel?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/gateway.ts')).gateway, options, command),
    );
  program
    .command('chat')
    .description('talk to the agent on this terminal, without a daemon')
    .option('-m, --message <text>', 'send one message, print the answer, end')
    .addHelpText('before', examples('gatehouse chat', 'gatehouse chat -m "what is in this directory?"'))
    .action((options: { message?: string }, command: Commander) =>
      run(async () => (await import('./commands/chat.ts')).chat, options, command),
    );
  reporting(program, 'init', 'write ./.gatehouse/config.json and its schema', [
    'gatehouse init',
    'gatehouse init --defaults',
    'gatehouse init --dry-run',
  ])
    .option('--defaults', 'ask nothing')
    .option('--dry-run', 'print what would be written')
    .option('--force', 'replace an existing config')
    .action((options: { defaults?: boolean; dryRun?: boolean; force?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/init.ts')).init, options, command),
    );
  reporting(program, 'status', 'show how the daemon is', ['gatehouse status', 'gatehouse status --json']).action(
    (options: unknown, command: Commander) => run(async () => (await import('./commands/status.ts')).status, options, command),
  );
  addUsageCommand(program, run);
  addRecordCommands(program, run);
  addSimulateCommand(program, run);
  reporting(program, 'explain', 'explain an error code', ['gatehouse explain GH1101', 'gatehouse explain'])
    .argument('[code]', 'such as GH1101; all codes when left out')
    .action((code: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/explain.ts')).explain, code === undefined ? {} : { code }, command),
    );
}

function addRecordCommands(program: Commander, run: Run): void {
  const which = 'message id, in-NUMBER, id of a chat (its newest message), or last';
  reporting(program, 'why', 'say why a message was answered, or was not', ['gatehouse why last', 'gatehouse why 4711 --json'])
    .argument('<id>', which)
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/why.ts')).why, { id }, command),
    );
  reporting(program, 'trace', 'draw what took how long for a message', ['gatehouse trace last', 'gatehouse trace in-42'])
    .argument('<id>', which)
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/trace.ts')).trace, { id }, command),
    );
  reporting(program, 'logs', 'print what happened, from the record', [
    'gatehouse logs -f',
    'gatehouse logs --level warn --since 7d',
    'gatehouse logs --chat telegram --grep GH2104 --json',
  ])
    .option('-f, --follow', 'go on with what comes')
    .option('--chat <id>', 'of one session, channel or chat')
    .addOption(new Option('--level <level>', 'info: everything, warn: trouble').choices(['info', 'warn']).default('info'))
    .option('--since <when>', 'first day: a date (2026-01-31) or a number of days (7d)', '1d')
    .option('--grep <text>', 'only events that contain this')
    .action((options: LogsOptions, command: Commander) =>
      run(async () => (await import('./commands/logs.ts')).logs, options, command),
    );
}

function addUsageCommand(program: Commander, run: Run): void {
  reporting(program, 'usage', 'show what the models were used for and what they cost', [
    'gatehouse usage',
    'gatehouse usage --by model --since 7d',
    'gatehouse usage --by sender --since 2026-01-01 --until 2026-01-31 --json',
  ])
    .addOption(
      new Option('--by <what>', 'add up by')
        .choices(['day', 'provider', 'model', 'channel', 'session', 'sender', 'purpose', 'job'])
        .default('day'),
    )
    .option('--since <when>', 'first day: a date (2026-01-31) or a number of days (7d)', '30d')
    .option('--until <date>', 'last day (default: today)')
    .action((options: UsageOptions, command: Commander) =>
      run(async () => (await import('./commands/usage.ts')).usage, options, command),
    );
}

function addSimulateCommand(program: Commander, run: Run): void {
  reporting(
    program,
    'simulate',
    'play the platform of a channel on this machine, to chat with the bot and to make things go wrong',
    ['gatehouse simulate telegram --run', 'gatehouse simulate telegram --port 7790 --fault limit:3 --fault lose-reply'],
  )
    .argument('<channel>', 'its type, such as telegram')
    .option('--port <number>', 'of the page and its API on 127.0.0.1; 0 takes a free one', '0')
    .option(
      '--fault <kind[:times]>',
      'go wrong from the beginning: limit, lose-reply, duplicate, reorder, slow, disconnect; repeatable',
      (one: string, all: readonly string[] = []) => [...all, one],
    )
    .option('--run', 'also start a daemon on it, with a data directory that is removed at the end and no key: the demo answers')
    .action((channel: string, options: Omit<SimulateFlags, 'channel' | 'fault'>, command: Commander) =>
      run(async () => (await import('./commands/simulate.ts')).simulate, { fault: [], ...options, channel }, command),
    );
}

function addDeadCommands(program: Commander, run: Run): void {
  const group = program.command('dead').description('messages and answers that were given up');
  group.addHelpText('before', examples('gatehouse dead list', 'gatehouse dead show in-12', 'gatehouse dead replay in-12'));
  reporting(group, 'list', 'list them', ['gatehouse dead list']).action((options: unknown, command: Commander) =>
    run(async () => (await import('./commands/dead.ts')).deadList, options, command),
  );
  reporting(group, 'show', 'show one with its content', ['gatehouse dead show in-12'])
    .argument('<id>', 'as listed')
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/dead.ts')).deadShow, { id }, command),
    );
  reporting(group, 'replay', 'try them again', ['gatehouse dead replay in-12 out-7'])
    .argument('<ids...>', 'as listed')
    .option('--dry-run', 'change nothing, say what would be done')
    .action((ids: string[], options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/dead.ts')).deadReplay, { ids, ...options }, command),
    );
  reporting(group, 'drop', 'remove them for good', ['gatehouse dead drop in-12 --dry-run'])
    .argument('<ids...>', 'as listed')
    .option('--dry-run', 'change nothing, say what would be done')
    .action((ids: string[], options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/dead.ts')).deadDrop, { ids, ...options }, command),
    );
}

function addPairCommands(program: Commander, run: Run): void {
  const group = program.command('pair').description('people who asked to be let in');
  group.addHelpText('before', examples('gatehouse pair list', 'gatehouse pair approve 7GQ2MX4K'));
  reporting(group, 'list', 'list requests', ['gatehouse pair list']).action((options: unknown, command: Commander) =>
    run(async () => (await import('./commands/pair.ts')).pairList, options, command),
  );
  reporting(group, 'approve', 'let a person in', ['gatehouse pair approve 7GQ2MX4K'])
    .argument('<code>', 'the code the person was sent')
    .action((code: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/pair.ts')).pairApprove, { code }, command),
    );
  reporting(group, 'deny', 'turn a person away', ['gatehouse pair deny 7GQ2MX4K'])
    .argument('<code>', 'the code the person was sent')
    .action((code: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/pair.ts')).pairDeny, { code }, command),
    );
}

function addChannelsCommands(program: Commander, run: Run): void {
  const group = program.command('channels').description('the channels of the config, and whether they work');
  group.addHelpText(
    'before',
    examples('gatehouse channels status', 'gatehouse channels test telegram', 'gatehouse channels login whatsapp'),
  );
  reporting(group, 'status', 'show the channels of the running daemon', ['gatehouse channels status --json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('./commands/channels.ts')).channelsStatus, options, command),
  );
  reporting(group, 'test', 'connect each channel once, taking no message; exit code 1 when one does not work', [
    'gatehouse channels test',
    'gatehouse channels test telegram',
  ])
    .argument('[name]', 'as in the config; all when left out')
    .action((name: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/channels.ts')).channelsTest, name === undefined ? {} : { name }, command),
    );
  reporting(group, 'login', 'link the account of a channel with a phone', ['gatehouse channels login whatsapp'])
    .argument('<name>', 'as in the config')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/channels-login.ts')).channelsLogin, { name }, command),
    );
  reporting(group, 'logout', 'forget the login that was linked', ['gatehouse channels logout whatsapp'])
    .argument('<name>', 'as in the config')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/channels-logout.ts')).channelsLogout, { name }, command),
    );
}

function addModelsCommands(program: Commander, run: Run): void {
  const group = program.command('models').description('the models of the config, and what is known of models');
  group.addHelpText('before', examples('gatehouse models list', 'gatehouse models test', 'gatehouse models catalog'));
  reporting(group, 'list', 'list the models of the config, with window, price and where the key comes from', [
    'gatehouse models list',
    'gatehouse models list --json',
  ]).action((options: unknown, command: Commander) =>
    run(async () => (await import('./commands/models-list.ts')).modelsList, options, command),
  );
  reporting(group, 'test', 'make one small real call per model, embedding and transcription too; exit code 1 when one fails', [
    'gatehouse models test',
    'gatehouse models test fallback-1',
  ])
    .argument('[name]', 'as listed, or provider/model, embedding, transcription; all when left out')
    .action((name: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('./commands/models-test.ts')).modelsTest, name === undefined ? {} : { name }, command),
    );
  reporting(group, 'catalog', 'show providers, models and prices this version knows', [
    'gatehouse models catalog',
    'gatehouse models catalog --provider anthropic --json',
    'gatehouse models catalog --updates',
  ])
    .option('--provider <name>', 'only this one')
    .option('--updates', 'what changed since the catalog before')
    .action((options: { provider?: string; updates?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/models-catalog.ts')).modelsCatalog, options, command),
    );
  reporting(group, 'add-local', 'install a small English embedding model that needs no key (35 MB, runs on this machine)', [
    'gatehouse models add-local',
    'gatehouse models add-local --dry-run',
  ])
    .option('--dry-run', 'change nothing, say what would be installed')
    .action((options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/models-add-local.ts')).modelsAddLocal, options, command),
    );
}

function addConfigCommands(program: Commander, run: Run): void {
  const group = program.command('config').description('check the config, print its schema');
  group.addHelpText('before', examples('gatehouse config check', 'gatehouse config schema > config.schema.json'));
  reporting(group, 'check', 'name every problem of the config', ['gatehouse config check --config bot.json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('./commands/config.ts')).configCheck, options, command),
  );
  reporting(group, 'schema', 'print the JSON Schema for editors', ['gatehouse config schema > config.schema.json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('./commands/config.ts')).configSchema, options, command),
  );
}

function addAuthCommands(program: Commander, run: Run): void {
  const group = program.command('auth').description('logins and keys of model providers');
  const dryRun = ['--dry-run', 'change nothing, say what would be done'] as const;
  group.addHelpText('before', examples('gatehouse auth set-key openai', 'gatehouse auth status', 'gatehouse auth logout openai'));
  reporting(group, 'login', 'log in at a provider', [
    'gatehouse auth login anthropic --paste',
    'gatehouse auth login openai-compatible --issuer https://login.example.com --client-id ID',
    'gatehouse auth login openai-compatible --issuer https://login.example.com --client-id ID --device',
  ])
    .argument('[provider]', 'default: openai')
    .option('--device', 'enter a code on any device instead of using a browser here')
    .option('--paste', 'paste a key or token')
    .option('--issuer <url>', 'OpenID issuer to log in at (default for openai: https://auth.openai.com)')
    .option('--client-id <id>', 'the client id the issuer gave to this installation')
    .option('--port <number>', 'where the browser comes back to on this machine (default: 1455)')
    .option('--no-browser', 'print the address only')
    .option(...dryRun)
    .action((provider: string | undefined, options: AuthLoginOptions, command: Commander) =>
      run(
        async () => (await import('./commands/auth.ts')).authLogin,
        { ...options, ...(provider === undefined ? {} : { provider }) },
        command,
      ),
    );
  reporting(group, 'set-key', 'store a key, typed unseen or piped in', [
    'gatehouse auth set-key openai',
    'gatehouse auth set-key groq < key.txt',
  ])
    .argument('<provider>', 'such as openai')
    .option(...dryRun)
    .action((provider: string, options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/auth.ts')).authSetKey, { provider, ...options }, command),
    );
  reporting(group, 'status', 'list them, without secrets', ['gatehouse auth status --json']).action(
    (options: unknown, command: Commander) => run(async () => (await import('./commands/auth.ts')).authStatus, options, command),
  );
  reporting(group, 'logout', 'forget one', ['gatehouse auth logout openai --dry-run'])
    .argument('<provider>', 'as listed')
    .option(...dryRun)
    .action((provider: string, options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('./commands/auth.ts')).authLogout, { provider, ...options }, command),
    );
}

/** A command that reports: examples before its help, and `--json`. */
function reporting(parent: Commander, name: string, description: string, lines: readonly string[]): Commander {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'print one JSON document')
    .addHelpText('before', examples(...lines));
}

function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function outputFor(deps: CliDeps, options: { readonly json: boolean; readonly color: ColorChoice }): Output {
  return new Output({ stdio: deps.stdio, env: deps.env, ...options });
}

/** For errors that come before or instead of parsing. */
function colorIn(argv: readonly string[]): ColorChoice {
  const value = argv.find((arg) => arg.startsWith('--color='))?.slice(8) ?? argv[argv.indexOf('--color') + 1];
  return value === 'always' || value === 'never' ? value : 'auto';
}

/** A group without a subcommand shows its help; anything else commander rejects is a wrong call. */
function usageError(error: CommanderError, program: Commander, argv: readonly string[], out: Output): number {
  const group = program.commands.find((command) => command.name() === argv[0]);
  if (error.code === 'commander.help' && group) {
    group.outputHelp();
    return EXIT.ok;
  }
  // What commander throws for `help WORD` says nothing.
  const reason = error.code === 'commander.help' ? `unknown command '${printable((argv[1] ?? '').slice(0, 80))}'` : error.message;
  // Values are not repeated: one of them may be a key that does not belong on a command line.
  const said = reason
    .replace(/^error: /, '')
    .replace(/( but got \d+): .*$/s, '$1')
    .replace(/'(--[^=']+)=.*'/s, "'$1'");
  const [message = '', suggestion = ''] = said.split('\n');
  const meant = /^\(Did you mean (.+)\?\)$/.exec(suggestion)?.[1];
  const member = group?.commands.find((command) => command.name() === argv[1]);
  const help = ['gatehouse', group?.name(), member?.name(), '--help'].filter((word) => word !== undefined).join(' ');
  const hint = meant === undefined ? `run \`${help}\`` : `did you mean ${meant}?`;
  out.fail({ code: 'GH1001', message, hint });
  return EXIT.usage;
}

function failureOf(error: unknown): Failure {
  if (error instanceof ConfigError) return configFailure(error);
  if (isGatehouseError(error)) return { code: error.code, message: error.message, hint: error.hint };
  return { code: 'GH1004', message: errorText(error), hint: 'run again with `-v` and report what it prints' };
}

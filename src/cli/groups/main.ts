import type { ChatOptions } from '../commands/chat.ts';
import type { CleanOptions } from '../commands/clean.ts';
import type { DoctorOptions } from '../commands/doctor.ts';
import type { GatewayOptions } from '../commands/gateway.ts';
import type { SetupOptions } from '../commands/setup-answers.ts';
import type { SimulateFlags } from '../commands/simulate.ts';
import type { StatusOptions } from '../commands/status.ts';
import type { UsageOptions } from '../commands/usage.ts';
import { type Commander, examples, FIRST_DAY, logFormat, Option, type Run, reporting } from './group.ts';

export function addMainCommands(program: Commander, run: Run): void {
  program
    .command('gateway')
    .description('start the daemon: all channels, until it is stopped')
    .option('--require-model', 'refuse to start without a real model (exit code 78)')
    .addOption(logFormat())
    .addHelpText(
      'before',
      examples(
        'gatehouse gateway',
        'gatehouse gateway --config bot.json --data-dir /var/lib/bot',
        'gatehouse gateway --require-model -v',
      ),
    )
    .action((options: GatewayOptions, command: Commander) =>
      run(async () => (await import('../commands/gateway.ts')).gateway, options, command),
    );
  addChatCommand(program, run);
  addFirstCommands(program, run);
  reporting(program, 'status', 'show how the daemon is', [
    'gatehouse status',
    'gatehouse status --json',
    'gatehouse status --check || page-me',
  ])
    .option('--check', 'one line for monitors: exit code 0 all well, 1 trouble with its cause and repair, 3 not running')
    .action((options: StatusOptions, command: Commander) =>
      run(async () => (await import('../commands/status.ts')).status, options, command),
    );
  addDoctorCommands(program, run);
  addCleanCommand(program, run);
  addBackupCommand(program, run);
  addUsageCommand(program, run);
  addSimulateCommand(program, run);
  program
    .command('demo')
    .description('play something on this terminal, without a key')
    .argument('<name>', 'tasks: a task with three sub-agents and a question, whose daemon is killed in the middle')
    .addHelpText('before', examples('gatehouse demo tasks'))
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/demo.ts')).demo, { name }, command),
    );
  reporting(program, 'explain', 'explain an error code', ['gatehouse explain GH1101', 'gatehouse explain'])
    .argument('[code]', 'such as GH1101; all codes when left out')
    .action((code: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/explain.ts')).explain, code === undefined ? {} : { code }, command),
    );
}

function addChatCommand(program: Commander, run: Run): void {
  program
    .command('chat')
    .description('talk to the agent on this terminal, by itself: conversation and record are in chat/ of the data directory')
    .option('-m, --message <text>', 'send one message, print the answer, end')
    .option('-c, --cwd <path>', 'where the config is looked for (default: here)')
    .option('--provider <name>', 'in place of that of the config')
    .option('--model <name>', 'in place of that of the config')
    .option('--base-url <url>', 'of a compatible server, in place of that of the config')
    .option('--max-iterations <count>', 'calls of a model that one message may cause (default: 20)')
    .option('--no-retry', 'do not make a call again that fails')
    .addOption(logFormat())
    .addHelpText(
      'before',
      examples(
        'gatehouse chat',
        'gatehouse chat -m "what is in this directory?"',
        'gatehouse chat --provider ollama --model llama3.2 -m "hello"',
      ),
    )
    .action((options: ChatOptions, command: Commander) =>
      run(async () => (await import('../commands/chat.ts')).chat, options, command),
    );
}

/** What writes the first config. */
function addFirstCommands(program: Commander, run: Run): void {
  program
    .command('setup')
    .description('ask for a model, a bot and its owner, try each for real, and write a config that works')
    .option('--provider <name>', 'of the key (default: by what it begins with; openai-compatible at a --base-url of others)')
    .option('--model <name>', "default: the provider's own choice")
    .option('--base-url <url>', 'of a compatible server')
    .option('--api-root <url>', 'of Telegram, where it is a server of your own')
    .option('--key-file <path>', 'a file with the key, which is then not asked')
    .option('--token-file <path>', 'a file with the token of the bot, which is then not asked')
    .option('--owner <id>', 'who of the platform is to send the code, which is then not asked')
    .option('--drop-waiting', 'leave unanswered what waits for the bot before the code')
    .option('--service', 'start it as a service of this user')
    .option('--force', 'replace ./.gatehouse/config.json')
    .addHelpText(
      'before',
      examples(
        'gatehouse setup',
        'gatehouse setup --base-url http://127.0.0.1:8000/v1 --model qwen3',
        'gatehouse setup --key-file key.txt --token-file token.txt --owner 123456789 --service',
      ),
    )
    .action((options: SetupOptions, command: Commander) =>
      run(async () => (await import('../commands/setup.ts')).setup, options, command),
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
      run(async () => (await import('../commands/init.ts')).init, options, command),
    );
}

function addBackupCommand(program: Commander, run: Run): void {
  reporting(program, 'backup', 'copy the data directory, also while the daemon works, so that it can be restored', [
    'gatehouse backup ~/backups/gatehouse-monday',
    'gatehouse backup "/mnt/backups/$(date +%F)" --json',
  ])
    .argument('<directory>', 'where the copy is made; it must not be there yet')
    .action((target: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/backup.ts')).backup, { target }, command),
    );
}

function addCleanCommand(program: Commander, run: Run): void {
  reporting(program, 'clean', 'remove what the stopped daemon does not miss: cut-off writes, copies of before an upgrade', [
    'gatehouse clean --dry-run',
    'gatehouse clean --all --yes',
  ])
    .option('--all', 'also every conversation, file and record; config, logins and packages stay')
    .option('--dry-run', 'remove nothing, say what would be')
    .option('--yes', 'do not ask')
    .action((options: CleanOptions, command: Commander) =>
      run(async () => (await import('../commands/clean.ts')).clean, options, command),
    );
}

function addDoctorCommands(program: Commander, run: Run): void {
  const group = reporting(program, 'doctor', 'look at everything that keeps a daemon from its work, and mend what can be', [
    'gatehouse doctor',
    'gatehouse doctor --fix',
    'gatehouse doctor --offline --json',
    'gatehouse doctor security',
  ])
    .option('--fix', 'mend what can be mended, asking for each change')
    .option('--yes', 'with --fix: do not ask')
    .option('--offline', 'call no provider and connect no channel')
    .action((options: DoctorOptions, command: Commander) =>
      run(async () => (await import('../commands/doctor.ts')).doctor, options, command),
    );
  reporting(group, 'security', 'name the dangers in the config, with line and repair', ['gatehouse doctor security']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/doctor.ts')).doctorSecurity, options, command),
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
    .option('--since <when>', `${FIRST_DAY} (default: 30d)`)
    .option('--until <date>', 'last day (default: today)')
    .action((options: UsageOptions, command: Commander) =>
      run(async () => (await import('../commands/usage.ts')).usage, options, command),
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
    .option('--strangers', 'let no person in before you do: one who writes is given a code, as on a real channel')
    .option('--run', 'also start a daemon on it, with a data directory that is removed at the end and no key: the demo answers')
    .action((channel: string, options: Omit<SimulateFlags, 'channel' | 'fault'>, command: Commander) =>
      run(async () => (await import('../commands/simulate.ts')).simulate, { fault: [], ...options, channel }, command),
    );
}

import type { CronAddOptions } from '../commands/cron.ts';
import { type Commander, examples, Option, type Run, reporting } from './group.ts';

export function addCronCommands(program: Commander, run: Run): void {
  const group = program.command('cron').description('jobs: what the agent does at set times');
  group.addHelpText(
    'before',
    examples(
      'gatehouse cron add --cron "0 8 * * 1-5" --tz Europe/Berlin --message "What is on today?"',
      'gatehouse cron list',
      'gatehouse cron remove "on today"',
    ),
  );
  reporting(group, 'list', 'list them', ['gatehouse cron list --all'])
    .option('-a, --all', 'also those that are disabled')
    .action((options: { all?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/cron.ts')).cronList, options, command),
    );
  addAdd(group, run);
  addChanges(group, run);
  addFiles(group, run);
}

function addAdd(group: Commander, run: Run): void {
  reporting(group, 'add', 'add one', [
    'gatehouse cron add --at 2026-12-24T18:00 --tz Europe/Berlin --message "Wish a merry Christmas"',
    'gatehouse cron add --every 2h --message "Is the backup disk full?" --channel telegram --to 4711',
    'gatehouse cron add --cron "0 8 * * 1-5" --missed skip --message "What is on today?"',
  ])
    .requiredOption('--message <text>', 'what the agent is to do then')
    .option('--name <name>', 'default: the beginning of the message')
    .option('--at <time>', 'once, at a time of ISO 8601')
    .option('--every <length>', 'again and again: 90s, 10m, 1h30m, 1d, 2w; 60 s or more')
    .option('--cron <expression>', 'minute, hour, day, month, weekday')
    .option('--tz <zone>', 'time zone of --at and --cron (default: UTC)')
    .option('--channel <name>', "where its answer goes (default: the owner's chat)")
    .option('--to <chat>', 'id of the chat on that channel')
    .option('--task', 'each run is a task: more steps, its own history, kept as `gatehouse tasks` shows')
    .addOption(
      new Option('--missed <what>', 'times that passed without a daemon: one run for all, or none')
        .choices(['once', 'skip'])
        .default('once'),
    )
    .action((options: CronAddOptions, command: Commander) =>
      run(async () => (await import('../commands/cron.ts')).cronAdd, options, command),
    );
}

function addChanges(group: Commander, run: Run): void {
  const which = 'id as listed, or a part of its name or message that fits no other';
  reporting(group, 'remove', 'remove one', ['gatehouse cron remove 1f2e3d4c'])
    .argument('<job>', which)
    .action((job: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/cron.ts')).cronRemove, { job }, command),
    );
  reporting(group, 'enable', 'let one fire again, or not', ['gatehouse cron enable 1f2e3d4c --disable'])
    .argument('<job>', which)
    .option('--disable', 'it stays, and does not fire')
    .action((job: string, options: { disable?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/cron.ts')).cronEnable, { job, ...options }, command),
    );
  reporting(group, 'run', 'run a job now in the running daemon; its due times stay', ['gatehouse cron run 1f2e3d4c'])
    .argument('<job>', 'id as listed')
    .action((job: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/cron.ts')).cronRun, { job }, command),
    );
}

function addFiles(group: Commander, run: Run): void {
  const file = 'the same: a file for `import` is JSON anyway';
  reporting(group, 'export', 'print all of them as one JSON file', ['gatehouse cron export > cron.json'], file).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/cron-file.ts')).cronExport, options, command),
  );
  reporting(group, 'import', 'add the jobs of a file', ['gatehouse cron import cron.json', 'gatehouse cron import - < cron.json'])
    .argument('<file>', 'as `export` prints it, or - for the input')
    .option('--dry-run', 'change nothing, say what would be done')
    .action((file: string, options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/cron-file.ts')).cronImport, { file, ...options }, command),
    );
}

import type { ForkOptions, ListOptions, ShowOptions } from '../commands/sessions.ts';
import type { DeleteOptions, PruneOptions } from '../commands/sessions-delete.ts';
import type { ExportOptions } from '../commands/sessions-export.ts';
import type { SearchOptions } from '../commands/sessions-search.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

const WHICH = 'key as listed, or a part of it that fits no other';

export function addSessionsCommands(program: Commander, run: Run): void {
  const group = program.command('sessions').description('conversations: what was said and is kept');
  group.addHelpText(
    'before',
    examples(
      'gatehouse sessions list --channel telegram',
      'gatehouse sessions search invoice march',
      'gatehouse sessions show 4711 --last 50',
    ),
  );
  addReaders(group, run);
  addExport(group, run);
  addChanges(group, run);
}

function addReaders(group: Commander, run: Run): void {
  reporting(group, 'list', 'list them, the newest first', [
    'gatehouse sessions list',
    'gatehouse sessions list --newer-than 7d --json',
  ])
    .option('--channel <name>', 'of one channel')
    .option('--newer-than <days>', 'in which something was said within so many days, such as 7d')
    .option('--older-than <days>', 'in which nothing was said for so many days')
    .action((options: ListOptions, command: Commander) =>
      run(async () => (await import('../commands/sessions.ts')).sessionsList, options, command),
    );
  reporting(group, 'show', 'print what was said in one', ['gatehouse sessions show 4711', 'gatehouse sessions show 4711 --all'])
    .argument('<session>', WHICH)
    .option('--last <number>', 'so many of the newest messages (default: 20; with --all, everything)')
    .option('--all', 'with the archive: what became a summary or was left behind by /new')
    .action((session: string, options: Omit<ShowOptions, 'session'>, command: Commander) =>
      run(async () => (await import('../commands/sessions.ts')).sessionsShow, { session, ...options }, command),
    );
  reporting(group, 'search', 'look for words in all of them, archives too', ['gatehouse sessions search invoice march --limit 5'])
    .argument('<words...>', 'a message must have all of them, in upper or lower case')
    .option('--channel <name>', 'of one channel')
    .option('--limit <number>', 'so many of the newest messages that fit (default: 20)')
    .action((words: string[], options: Omit<SearchOptions, 'words'>, command: Commander) =>
      run(async () => (await import('../commands/sessions-search.ts')).sessionsSearch, { words, ...options }, command),
    );
}

function addExport(group: Commander, run: Run): void {
  reporting(
    group,
    'export',
    'print one as a document',
    ['gatehouse sessions export 4711 --md > talk.md', 'gatehouse sessions export 4711 --html --all --out talk.html'],
    'as JSON',
  )
    .argument('<session>', WHICH)
    .option('--md', 'as Markdown (the default)')
    .option('--html', 'as a page that loads and runs nothing')
    .option('--all', 'with the archive')
    .option('--out <file>', 'into this file, which only you can read')
    .option('--force', 'replace the file')
    .action((session: string, options: Omit<ExportOptions, 'session'>, command: Commander) =>
      run(async () => (await import('../commands/sessions-export.ts')).sessionsExport, { session, ...options }, command),
    );
}

function addChanges(group: Commander, run: Run): void {
  reporting(group, 'fork', 'begin a new one with the newest messages of another', [
    'gatehouse sessions fork _main:cli:chat _main:cli:chat#plan --keep 20',
  ])
    .argument('<session>', WHICH)
    .argument('<new>', 'key of the new one; KEY#TOPIC is a topic of the same chat')
    .option('--keep <number>', 'messages to copy (default: 10)')
    .action((session: string, to: string, options: Pick<ForkOptions, 'keep'>, command: Commander) =>
      run(async () => (await import('../commands/sessions.ts')).sessionsFork, { session, to, ...options }, command),
    );
  reporting(group, 'delete', 'remove one with its archive, for good', [
    'gatehouse sessions delete 4711',
    'gatehouse sessions delete 4711 --yes',
  ])
    .argument('<session>', WHICH)
    .option('--yes', 'do not ask')
    .action((session: string, options: Omit<DeleteOptions, 'session'>, command: Commander) =>
      run(async () => (await import('../commands/sessions-delete.ts')).sessionsDelete, { session, ...options }, command),
    );
  reporting(group, 'prune', 'remove old ones in which nothing waits', [
    'gatehouse sessions prune --older-than 365d --dry-run',
    'gatehouse sessions prune --older-than 365d --channel irc --yes',
  ])
    .requiredOption('--older-than <days>', 'in which nothing was said for so many days')
    .option('--channel <name>', 'of one channel')
    .option('--dry-run', 'change nothing, say what would be done')
    .option('--yes', 'do not ask')
    .action((options: PruneOptions, command: Commander) =>
      run(async () => (await import('../commands/sessions-delete.ts')).sessionsPrune, options, command),
    );
}

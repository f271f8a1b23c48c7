import { type Commander, examples, type Run, reporting } from './group.ts';

export function addDeadCommands(program: Commander, run: Run): void {
  const group = program.command('dead').description('messages and answers that were given up');
  group.addHelpText('before', examples('gatehouse dead list', 'gatehouse dead show in-12', 'gatehouse dead replay in-12'));
  reporting(group, 'list', 'list them', ['gatehouse dead list']).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/dead.ts')).deadList, options, command),
  );
  reporting(group, 'show', 'show one with its content', ['gatehouse dead show in-12'])
    .argument('<id>', 'as listed')
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/dead.ts')).deadShow, { id }, command),
    );
  reporting(group, 'replay', 'try them again', ['gatehouse dead replay in-12 out-7'])
    .argument('<ids...>', 'as listed')
    .option('--dry-run', 'change nothing, say what would be done')
    .action((ids: string[], options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/dead.ts')).deadReplay, { ids, ...options }, command),
    );
  reporting(group, 'drop', 'remove them for good', ['gatehouse dead drop in-12 --dry-run'])
    .argument('<ids...>', 'as listed')
    .option('--dry-run', 'change nothing, say what would be done')
    .action((ids: string[], options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/dead.ts')).deadDrop, { ids, ...options }, command),
    );
}

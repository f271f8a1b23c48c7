import { SHELLS, type Shell } from '../completion-scripts.ts';
import { type Commander, examples, type Run } from './group.ts';

export function addCompletionCommands(program: Commander, run: Run): void {
  const completion = program
    .command('completion')
    .description('print what a shell needs to complete commands, channels and ids at Tab')
    .addHelpText('before', examples('eval "$(gatehouse completion bash)"', 'gatehouse completion fish'));
  completion.addArgument(completion.createArgument('<shell>', SHELLS.join(', ')).choices(SHELLS));
  completion.action((shell: Shell, _options: unknown, command: Commander) =>
    run(async () => (await import('../commands/completion.ts')).completion, { shell }, command),
  );
  program
    .command('complete', { hidden: true })
    .description('what fits at the end of a line, for the scripts of `completion`')
    .requiredOption('--line <line>', 'up to the cursor')
    .action(({ line }: { line: string }, command: Commander) =>
      run(async () => (await import('../commands/completion.ts')).complete, { line, program }, command),
    );
}

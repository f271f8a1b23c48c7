import type { ToolsOptions } from '../commands/tools.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

export function addToolsCommands(program: Commander, run: Run): void {
  const group = program.command('tools').description('what the agent may use, for whom, and why');
  group.addHelpText('before', examples('gatehouse tools list', 'gatehouse tools list --as telegram:42'));
  reporting(group, 'list', 'list the tools, with what the config comes to for a person', [
    'gatehouse tools list',
    'gatehouse tools list --as telegram:42',
    'gatehouse tools list --json',
  ])
    .option('--as <person>', 'CHANNEL:ID, as `people list` shows it (default: you, at this terminal)')
    .action((options: ToolsOptions, command: Commander) =>
      run(async () => (await import('../commands/tools.ts')).toolsList, options, command),
    );
}

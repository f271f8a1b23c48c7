import type { ToolsOptions } from '../commands/tools.ts';
import type { WorkerFlags } from '../commands/tools-worker.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';
import { addPackages } from './packages.ts';

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
  group
    .command('worker', { hidden: true })
    .description('run programs for the daemon; started by it, or by gatehouse-tools.socket')
    .option('--fd <number>', 'serve the connection at this descriptor, then end')
    .option('--socket <file>', 'listen here; its owner alone can connect')
    .addHelpText('before', examples('gatehouse tools worker --socket /run/gatehouse-tools/socket'))
    .action((options: WorkerFlags, command: Commander) =>
      run(async () => (await import('../commands/tools-worker.ts')).toolsWorker, options, command),
    );
  addPackages(group, run, 'tools', 'add', ['gatehouse tools add web', 'gatehouse tools add mcp --dry-run']);
}

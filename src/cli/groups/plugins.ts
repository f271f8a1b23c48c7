import type { DisableOptions, EnableOptions } from '../commands/plugins.ts';
import type { AddOptions } from '../commands/plugins-add.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

const PART = {
  server: ['--server <name>', 'this MCP server of it alone, as its manifest names it'],
  hook: ['--hook <number>', 'this hook of it alone, as `plugins list` numbers it'],
} as const;

export function addPluginsCommands(program: Commander, run: Run): void {
  const group = program.command('plugins').description('programs that give the agent more tools, and what of them is approved');
  group.addHelpText(
    'before',
    examples('gatehouse plugins list', 'gatehouse plugins add ./greet', 'gatehouse plugins enable greet'),
  );
  reporting(group, 'list', 'list the plugins, with what each has and may do', [
    'gatehouse plugins list',
    'gatehouse plugins list --json',
  ]).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/plugins.ts')).pluginsList, options, command),
  );
  reporting(group, 'add', 'show all that a plugin would get, and take it in; nothing of it is run', [
    'gatehouse plugins add ./greet',
    'gatehouse plugins add greet-1.0.0.tar.gz',
    'gatehouse plugins add ./greet --network --yes',
  ])
    .argument('<path>', 'a directory, or a .tar.gz; never an address')
    .option('--network', 'let it have the network, where it wants that')
    .option('--trust-effects', 'believe what it says its tools change, while it is shut in')
    .option('--yes', 'do not ask')
    .action((path: string, options: Omit<AddOptions, 'path'>, command: Commander) =>
      run(async () => (await import('../commands/plugins-add.ts')).pluginsAdd, { path, ...options }, command),
    );
  addDecisions(group, run);
}

function addDecisions(group: Commander, run: Run): void {
  reporting(group, 'enable', 'show what is new or changed of a plugin, and let the agent have it', [
    'gatehouse plugins enable greet',
    'gatehouse plugins enable greet --network',
    'gatehouse plugins enable greet --server files',
    'gatehouse plugins enable greet --hook 0',
  ])
    .argument('<name>', 'as listed')
    .option(...PART.server)
    .option(...PART.hook)
    .option('--network', 'let it have the network, where it wants that')
    .option('--trust-effects', 'believe what it says its tools change, while it is shut in')
    .option('--yes', 'do not ask')
    .action((name: string, options: Omit<EnableOptions, 'name'>, command: Commander) =>
      run(async () => (await import('../commands/plugins.ts')).pluginsEnable, { name, ...options }, command),
    );
  reporting(group, 'disable', 'turn a plugin off, or one server or hook of it', [
    'gatehouse plugins disable greet',
    'gatehouse plugins disable greet --hook 0',
  ])
    .argument('<name>', 'as listed')
    .option(...PART.server)
    .option(...PART.hook)
    .action((name: string, options: Omit<DisableOptions, 'name'>, command: Commander) =>
      run(async () => (await import('../commands/plugins.ts')).pluginsDisable, { name, ...options }, command),
    );
  reporting(group, 'remove', 'take back all that was approved of a plugin, and delete it', ['gatehouse plugins remove greet'])
    .argument('<name>', 'as listed')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/plugins.ts')).pluginsRemove, { name }, command),
    );
}

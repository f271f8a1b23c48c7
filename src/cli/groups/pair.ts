import { type Commander, examples, type Run, reporting } from './group.ts';

export function addPairCommands(program: Commander, run: Run): void {
  const group = program.command('pair').description('people who asked to be let in');
  group.addHelpText('before', examples('gatehouse pair list', 'gatehouse pair approve 7GQ2MX4K'));
  reporting(group, 'list', 'list requests', ['gatehouse pair list']).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/pair.ts')).pairList, options, command),
  );
  reporting(group, 'approve', 'let a person in', ['gatehouse pair approve 7GQ2MX4K'])
    .argument('<code>', 'the code the person was sent')
    .action((code: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/pair.ts')).pairApprove, { code }, command),
    );
  reporting(group, 'deny', 'turn a person away', ['gatehouse pair deny 7GQ2MX4K'])
    .argument('<code>', 'the code the person was sent')
    .action((code: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/pair.ts')).pairDeny, { code }, command),
    );
}

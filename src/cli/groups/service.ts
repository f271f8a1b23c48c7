import { type Commander, examples, type Run, reporting } from './group.ts';

export function addServiceCommands(program: Commander, run: Run): void {
  const group = program.command('service').description('the daemon as a service of your user (systemd)');
  group.addHelpText('before', examples('gatehouse service install', 'gatehouse service status'));
  const dryRun = ['--dry-run', 'change nothing, say what would be done'] as const;
  reporting(group, 'install', 'write the unit, enable it and start it', ['gatehouse service install --dry-run'])
    .option(...dryRun)
    .option('--force', 'replace a unit that was changed, keep it as .bak, and restart the service')
    .action((options: { dryRun?: boolean; force?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/service.ts')).serviceInstall, options, command),
    );
  reporting(group, 'uninstall', 'stop it and remove the unit; your data stays', ['gatehouse service uninstall'])
    .option(...dryRun)
    .action((options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/service.ts')).serviceUninstall, options, command),
    );
  reporting(group, 'status', 'whether it is installed and runs; exit code 3 when not', [
    'gatehouse service status --json',
  ]).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/service.ts')).serviceStatus, options, command),
  );
}

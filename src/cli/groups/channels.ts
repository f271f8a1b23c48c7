import { type Commander, examples, type Run, reporting } from './group.ts';
import { addPackages } from './packages.ts';

export function addChannelsCommands(program: Commander, run: Run): void {
  const group = program.command('channels').description('the channels of the config, and whether they work');
  group.addHelpText(
    'before',
    examples('gatehouse channels status', 'gatehouse channels test telegram', 'gatehouse channels login whatsapp'),
  );
  reporting(group, 'status', 'show the channels of the running daemon', ['gatehouse channels status --json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/channels.ts')).channelsStatus, options, command),
  );
  reporting(group, 'test', 'connect each channel once, taking no message; exit code 1 when one does not work', [
    'gatehouse channels test',
    'gatehouse channels test telegram',
  ])
    .argument('[name]', 'as in the config; all when left out')
    .action((name: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/channels.ts')).channelsTest, name === undefined ? {} : { name }, command),
    );
  reporting(group, 'login', 'log in to the account of a channel: with a phone, or by a code', [
    'gatehouse channels login whatsapp',
    'gatehouse channels login email',
  ])
    .argument('<name>', 'as in the config')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/channels-login.ts')).channelsLogin, { name }, command),
    );
  reporting(group, 'logout', 'forget the login that was stored', ['gatehouse channels logout whatsapp'])
    .argument('<name>', 'as in the config')
    .action((name: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/channels-logout.ts')).channelsLogout, { name }, command),
    );
  addPackages(group, run, 'channels', 'add', [
    'gatehouse channels add whatsapp',
    'gatehouse channels add discord --offline ./tarballs',
  ]);
}

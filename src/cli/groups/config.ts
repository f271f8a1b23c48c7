import { type Commander, examples, type Run, reporting } from './group.ts';

const CHECK = 'name every problem of the file; whether keys and tokens are set: `channels test`, `models test`';

export function addConfigCommands(program: Commander, run: Run): void {
  const group = program.command('config').description('check the config, print its schema');
  group.addHelpText('before', examples('gatehouse config check', 'gatehouse config schema > config.schema.json'));
  reporting(group, 'check', CHECK, ['gatehouse config check --config bot.json', 'gatehouse config check --strict'])
    .option('--strict', 'let warnings fail it too, such as a key that is not known')
    .action((options: { strict?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/config.ts')).configCheck, options, command),
    );
  reporting(group, 'schema', 'print the JSON Schema for editors', ['gatehouse config schema > config.schema.json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/config.ts')).configSchema, options, command),
  );
}

import { type Commander, examples, type Run, reporting } from './group.ts';
import { addPackages } from './packages.ts';

export function addModelsCommands(program: Commander, run: Run): void {
  const group = program.command('models').description('the models of the config, and what is known of models');
  group.addHelpText('before', examples('gatehouse models list', 'gatehouse models test', 'gatehouse models catalog'));
  reporting(group, 'list', 'list the models of the config, with window, price and where the key comes from', [
    'gatehouse models list',
    'gatehouse models list --json',
  ]).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/models-list.ts')).modelsList, options, command),
  );
  reporting(group, 'test', 'make one small real call per model, embedding and transcription too; exit code 1 when one fails', [
    'gatehouse models test',
    'gatehouse models test fallback-1',
  ])
    .argument('[name]', 'as listed, or provider/model, embedding, transcription; all when left out')
    .action((name: string | undefined, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/models-test.ts')).modelsTest, name === undefined ? {} : { name }, command),
    );
  reporting(group, 'catalog', 'show providers, models and prices this version knows', [
    'gatehouse models catalog',
    'gatehouse models catalog --provider anthropic --json',
    'gatehouse models catalog --updates',
  ])
    .option('--provider <name>', 'only this one')
    .option('--updates', 'what changed since the catalog before')
    .action((options: { provider?: string; updates?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/models-catalog.ts')).modelsCatalog, options, command),
    );
  reporting(group, 'add-local', 'install a small English embedding model that needs no key (35 MB, runs on this machine)', [
    'gatehouse models add-local',
    'gatehouse models add-local --dry-run',
  ])
    .option('--dry-run', 'change nothing, say what would be installed')
    .action((options: { dryRun?: boolean }, command: Commander) =>
      run(async () => (await import('../commands/models-add-local.ts')).modelsAddLocal, options, command),
    );
  addPackages(group, run, 'models', 'add-provider', ['gatehouse models add-provider gemini']);
}

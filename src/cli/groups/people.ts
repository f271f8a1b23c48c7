import type { BlockOptions } from '../commands/people.ts';
import type { AuditOptions } from '../commands/people-audit.ts';
import type { EraseOptions } from '../commands/people-erase.ts';
import type { ExportOptions } from '../commands/people-export.ts';
import { type Commander, examples, FIRST_DAY, type Run, reporting } from './group.ts';
import { addPairCommands } from './pair.ts';

const PERSON = 'CHANNEL:ID, as `people list` shows it';

export function addPeopleCommands(program: Commander, run: Run): void {
  const group = program.command('people').description('who is let in, who is kept out, and who decided it');
  group.addHelpText(
    'before',
    examples('gatehouse people list', 'gatehouse people pair approve 7GQ2MX4K', 'gatehouse people block telegram:42'),
  );
  reporting(group, 'list', 'list who is known', ['gatehouse people list', 'gatehouse people list --json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/people.ts')).peopleList, options, command),
  );
  addRecords(group, run);
  addPairCommands(group, run, 'gatehouse people pair');
  addDecisions(group, run);
  reporting(group, 'audit', 'print who decided what about whom', [
    'gatehouse people audit --since 7d',
    'gatehouse people audit --verify',
  ])
    .option('--since <when>', `${FIRST_DAY}. Times are printed in UTC (default: 30d)`)
    .option('--verify', 'check that no entry was changed or removed (exit code 1)')
    .action((options: AuditOptions, command: Commander) =>
      run(async () => (await import('../commands/people-audit.ts')).peopleAudit, options, command),
    );
}

function addDecisions(group: Commander, run: Run): void {
  reporting(group, 'revoke', 'take back that a person was paired, and end all that they have going', [
    'gatehouse people revoke telegram:42',
  ])
    .argument('<person>', PERSON)
    .action((person: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/people.ts')).peopleRevoke, { person }, command),
    );
  reporting(group, 'block', 'refuse a person whatever the config says, and end all that they have going', [
    'gatehouse people block telegram:42',
    'gatehouse people block email:eve@example.org --reason spam',
  ])
    .argument('<person>', PERSON)
    .option('--reason <text>', 'kept with the block')
    .action((person: string, options: Omit<BlockOptions, 'person'>, command: Commander) =>
      run(async () => (await import('../commands/people.ts')).peopleBlock, { ...options, person }, command),
    );
  reporting(group, 'unblock', 'lift a block', ['gatehouse people unblock telegram:42'])
    .argument('<person>', PERSON)
    .action((person: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/people.ts')).peopleUnblock, { person }, command),
    );
}

/** What is one person, and what is stored of them. */
function addRecords(group: Commander, run: Run): void {
  reporting(group, 'link', 'say that two ids are one person', ['gatehouse people link telegram:42 email:ada@example.org'])
    .argument('<person>', PERSON)
    .argument('<other>', PERSON)
    .action((person: string, other: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/people-link.ts')).peopleLink, { person, other }, command),
    );
  reporting(group, 'unlink', 'say that an id is a person of its own', ['gatehouse people unlink telegram:42'])
    .argument('<person>', PERSON)
    .action((person: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/people-link.ts')).peopleUnlink, { person }, command),
    );
  reporting(group, 'export', 'write down all that is stored of a person', [
    'gatehouse people export telegram:42 --out ./ada',
    'gatehouse people export telegram:42 > ada.json',
  ])
    .argument('<person>', PERSON)
    .option('--out <directory>', 'also copy their files there; `-` prints the document alone (default: -)')
    .action((person: string, options: Omit<ExportOptions, 'person'>, command: Commander) =>
      run(async () => (await import('../commands/people-export.ts')).peopleExport, { ...options, person }, command),
    );
  reporting(group, 'erase', 'remove all that is stored of a person, for good', [
    'gatehouse people erase telegram:42 --dry-run',
    'gatehouse people erase telegram:42 --yes',
  ])
    .argument('<person>', PERSON)
    .option('--dry-run', 'only count what there is')
    .option('--yes', 'do not ask')
    .action((person: string, options: Omit<EraseOptions, 'person'>, command: Commander) =>
      run(async () => (await import('../commands/people-erase.ts')).peopleErase, { ...options, person }, command),
    );
}

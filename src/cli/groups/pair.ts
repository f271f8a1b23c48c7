import type { DecideOptions } from '../commands/pair.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

/** `words`: what the commands are called by, for the examples. They stand on top and below `people`. */
export function addPairCommands(parent: Commander, run: Run, words = 'gatehouse pair'): void {
  const group = parent.command('pair').description('people who asked to be let in');
  group.addHelpText('before', examples(`${words} list`, `${words} approve 7GQ2MX4K`));
  reporting(group, 'list', 'list requests', [`${words} list`]).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/pair.ts')).pairList, options, command),
  );
  reporting(group, 'expect', 'make a word with which a person you expect gets a code, however many strangers ask', [
    `${words} expect`,
  ]).action((options: unknown, command: Commander) =>
    run(async () => (await import('../commands/pair.ts')).pairExpect, options, command),
  );
  reporting(group, 'approve', 'let a person in', [`${words} approve 7GQ2MX4K`, `${words} approve --sender telegram:42`])
    .argument('[code]', 'the code the person was sent')
    .option('--sender <person>', 'CHANNEL:ID of a person who asked, in place of the code')
    .action((code: string | undefined, options: DecideOptions, command: Commander) =>
      run(async () => (await import('../commands/pair.ts')).pairApprove, withCode(options, code), command),
    );
  reporting(group, 'deny', 'turn a person away', [`${words} deny 7GQ2MX4K`, `${words} deny --sender telegram:42`])
    .argument('[code]', 'the code the person was sent')
    .option('--sender <person>', 'CHANNEL:ID of a person who asked, in place of the code')
    .action((code: string | undefined, options: DecideOptions, command: Commander) =>
      run(async () => (await import('../commands/pair.ts')).pairDeny, withCode(options, code), command),
    );
}

function withCode(options: DecideOptions, code: string | undefined): DecideOptions {
  return code === undefined ? options : { ...options, code };
}

import { resolve } from 'node:path';
import { resolveDataDir } from '../../config/paths.ts';
import type { GlobalOptions } from './context.ts';
import type { CliDeps } from './deps.ts';
import { shellWord } from './shell-word.ts';

/** A pipe, as of `--config <(…)`, is gone once it was read. */
const PIPE = /^\/(?:dev\/(?:fd|stdin)|proc)\b/;

/** A command in a text, up to the next one. */
const END = /^gatehouse(?:(?!gatehouse)[^`\n])*/;

/**
 * Texts name commands as `gatehouse COMMAND`. A person copies them, so they become the way in which this
 * program is called here, with the `--config` and `--data-dir` of this command line: without them the copied
 * line would act on another directory. Paths are absolute, for a terminal that is elsewhere.
 * A text in which that was done is left as it is. `names` are those of the commands; other words after
 * "gatehouse" are prose.
 */
export function nameCommands(
  names: readonly string[],
  { config, dataDir }: GlobalOptions,
  deps: Pick<CliDeps, 'commandHere' | 'cwd' | 'home' | 'env'>,
): (text: string) => string {
  const flags = [
    ...(config && !PIPE.test(config) ? [` --config ${shellWord(resolve(deps.cwd, config))}`] : []),
    ...(dataDir ? [` --data-dir ${shellWord(resolveDataDir(dataDir, deps))}`] : []),
  ];
  if (deps.commandHere === 'gatehouse' && flags.length === 0) return (text) => text;
  const named = new RegExp(
    String.raw`(?<![\w./-])gatehouse(?=( (?:[a-z][a-z-]* )*--help)| (?:${names.join('|')})(?![\w-]))`,
    'g',
  );
  return (text) =>
    text.replace(named, (_, help: string | undefined, at: number) => {
      const [command = ''] = END.exec(text.slice(at)) ?? [];
      // Help is the same for every directory, and a text may name another config itself.
      const own = help === undefined ? flags.filter((flag) => !command.includes(flag.slice(0, flag.indexOf(' ', 1) + 1))) : [];
      return deps.commandHere + own.join('');
    });
}

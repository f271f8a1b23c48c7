import { channelNamesIn } from '../../../config/channel-names.ts';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { PLACES, SCRIPTS, type Shell } from '../completion-scripts.ts';
import { type Command, type CommandContext, lastConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import type { Commander } from '../groups/group.ts';
import { withJournal } from '../read-journal.ts';

/** A person has pressed Tab and waits: on a busy machine rather longer than for nothing. ms. */
const LIMIT_MS = 1_000;
const MOST = 200;
/**
 * What any shell takes for one word without quotes. Ids that others made may be anything else: those are left
 * out.
 */
const SAFE = /^[A-Za-z0-9_@+=:.,/#-]+$/;

/** Prints the script of a shell, which asks `complete`. */
export const completion: Command<{ readonly shell: Shell }> = async ({ out }, { shell }) => {
  out.raw(SCRIPTS[shell]);
  out.say(`# ${PLACES[shell]}`);
  return EXIT.ok;
};

export interface CompleteOptions {
  /** The line up to the cursor, the name of the program included. */
  readonly line: string;
  readonly program: Commander;
}

/**
 * A candidate a line, those that begin with the last word. Says nothing and ends with 0 where it knows none.
 */
export const complete: Command<CompleteOptions> = async (context, { line, program }) => {
  const words = line.split(/\s+/).slice(1);
  const current = words.pop() ?? '';
  const found = await candidates(context, program, words, current).catch(() => []);
  const fitting = [...new Set(found)].filter((one) => one.startsWith(current) && SAFE.test(one));
  for (const one of fitting.sort().slice(0, MOST)) context.out.raw(`${one}\n`);
  return EXIT.ok;
};

async function candidates(
  context: CommandContext,
  program: Commander,
  words: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const { command, path, previous } = walk(program, words);
  const options = [...program.options, ...command.options];
  const asking = options.find(({ long, short, required }) => required && (previous === long || previous === short));
  if (asking) return asking.argChoices ?? [];
  if (current.startsWith('-')) return options.filter(({ hidden }) => !hidden).flatMap(({ long }) => (long ? [long] : []));
  const below = command.commands.map((one) => one.name()).filter((name) => name !== 'complete');
  if (below.length > 0) return below;
  const fixed = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return [...fixed, ...(await valuesOf(context, path.join(' ')))];
}

/** The command that the words name; options and their values are passed over. */
function walk(program: Commander, words: readonly string[]) {
  let command = program;
  const path: string[] = [];
  let previous = '';
  for (const word of words) {
    previous = word;
    const next = word.startsWith('-') ? undefined : command.commands.find((one) => one.name() === word);
    if (!next) continue;
    command = next;
    path.push(word);
  }
  return { command, path, previous };
}

/** What there is now, for the arguments of these commands. Nothing where it takes too long. */
async function valuesOf(context: CommandContext, path: string): Promise<readonly string[]> {
  const values = VALUES.find(([commands]) => commands.test(path))?.[1];
  if (!values) return [];
  const { clock } = context.deps;
  const over = new AbortController();
  const late = clock.sleep(LIMIT_MS, over.signal).then(
    () => [],
    () => [],
  );
  return await Promise.race([values(context), late]).finally(() => over.abort());
}

type Values = (context: CommandContext) => Promise<readonly string[]>;

const channels: Values = async (context) => {
  const { cwd, home } = context.deps;
  const { config } = context.globals;
  return await channelNamesIn({ cwd, home, ...(config === undefined ? { last: await lastConfig(context) } : { file: config }) });
};
const providers: Values = async () => (await import('../../llm/providers/index.ts')).PROVIDERS.map(({ name }) => name);

const VALUES: readonly (readonly [commands: RegExp, Values])[] = [
  [/^channels (?:test|login|logout)$/, channels],
  [/^explain$/, async () => Object.keys(ERROR_CODES)],
  [/^auth (?:set-key|login|logout)$/, async (context) => [...(await providers(context)), ...context.deps.channelTypes]],
  [/^simulate$/, async (context) => context.deps.channelTypes],
  [/^(?:why|trace)$/, async () => ['last']],
  [/^dead (?:show|replay|drop)$/, (context) => fromJournal(context, async ({ dead }) => (await dead.list()).map(({ id }) => id))],
  [
    /^cron (?:remove|enable|run)$/,
    (context) => fromJournal(context, async ({ jobs }) => (await jobs.list()).map(({ id }) => id)),
  ],
  [
    /^tasks (?:show|cancel|resume|logs)$/,
    (context) =>
      fromJournal(context, async ({ tasks }) => (await tasks.list({ limit: MOST })).map(({ number }) => String(number))),
  ],
  [
    /^questions (?:show|answer|decline)$/,
    (context) =>
      fromJournal(context, async ({ waits }) =>
        (await waits.questions()).flatMap(({ code }) => (code === undefined ? [] : [code])),
      ),
  ],
];

type OpenedJournal = Parameters<Parameters<typeof withJournal>[1]>[0]['journal'];

async function fromJournal(
  context: CommandContext,
  read: (journal: OpenedJournal) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return (await withJournal(context, async ({ journal }) => await read(journal))) ?? [];
}

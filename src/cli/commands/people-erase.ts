// a person -> what is stored of them is counted -> a yes -> begun in one commit -> finished here, or by the
//   daemon that works on the data directory
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { remainsFor } from '../../app/compose/store.ts';
import { eraseAlone } from '../../app/erase-alone.ts';
import { GatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import type { Json } from '../../core/message.ts';
import type { PersonRef } from '../../core/people.ts';
import { STOPPED_MARK } from '../../delivery/answer-place.ts';
import { printable } from '../../lib/printable.ts';
import { isStillThere, type LeftFiles } from '../../runs/erasure.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import type { OpenJournal } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { gatewayOf, knownPeople, nearHint, personOf } from '../known-people.ts';
import { storedOf, terminalChat } from '../person-store.ts';
import { withQuestions } from '../questions.ts';
import { withJournal } from '../read-journal.ts';
import { searchShown } from '../search-shown.ts';
import { isYes, mustAsk } from './plugins-add.ts';

export interface EraseOptions {
  readonly person: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** How long a daemon may take before the command says that it is still at it. */
const DAEMON_MS = 120_000;
const LOOK_MS = 200;
const MOST_NAMED = 50;

export const peopleErase: Command<EraseOptions> = async (context, { person, yes = false, dryRun = false }) => {
  const { deps } = context;
  const who = personOf(person);
  const code = await withJournal(context, (opened) => erase(context, opened, who, { yes, dryRun }), {
    remains: remainsFor(deps),
  });
  if (code === undefined) throw unknown(who, []);
  return code;
};

function unknown(who: PersonRef, known: readonly PersonRef[]): GatehouseError {
  return new GatehouseError('GH1003', `nothing is stored of ${printable(principalOf(who))}`, { hint: nearHint(who, known) });
}

async function erase(
  context: CommandContext,
  opened: OpenJournal,
  who: PersonRef,
  { yes, dryRun }: { readonly yes: boolean; readonly dryRun: boolean },
): Promise<number> {
  const { deps, out } = context;
  const { people, journal } = opened;
  const [begun] = (await people.erasures.open()).filter(({ ids }) => ids.some((one) => principalOf(one) === principalOf(who)));
  const ids = begun?.ids ?? (await people.idsOf(who));
  const names = ids.map((one) => printable(principalOf(one))).join(', ');
  const stored = await storedOf(dataDirOf(context), people, ids, searchShown(context.out, context.deps.clock));
  const counts = { ...Object.fromEntries(Object.entries(stored.rows).map(([table, rows]) => [table, rows.length])) };
  const sum = { sessions: stored.sessions.length, lines: stored.lines, files: stored.files.length, rows: stored.count };
  if (stored.count + stored.sessions.length + stored.lines === 0 && !begun) {
    throw unknown(who, await knownPeople(await gatewayOf(context), opened, deps.clock.now()));
  }
  const left: LeftFiles = {
    left: [...new Set([...stored.left, ...(begun?.left ?? [])])],
    unsearched: [...new Set([...stored.unsearched, ...(begun?.unsearched ?? [])])],
  };
  const told = `${names}: ${sum.rows} rows of the journal, ${sum.sessions} conversations of their own, ${sum.lines} lines in those of several, ${sum.files} files`;
  if (dryRun) {
    out.document({
      person: principalOf(who),
      ids: ids.map(principalOf),
      erased: false,
      ...sum,
      counts,
      ...left,
      jobs: stored.jobs,
    });
    out.data(told);
    tellJobs(context, stored.jobs);
    await tellLeft(context, ids, left);
    return EXIT.ok;
  }
  // What they wrote since is not known to it.
  const isOlder = (stored.rows['run'] ?? []).some((row) => (row as { readonly seq: number }).seq > (begun?.until ?? 0));
  if (begun && !isOlder) out.say(`${out.mark('warn', 'stderr')} an earlier erasure of ${names} came to no end: it is done again`);
  else {
    out.say(`${told}. What they have going ends, and nothing of it comes back.`);
    if (!yes && !(await asked(context))) return EXIT.failed;
    await journal.commit([{ kind: 'erase', who, by: 'cli', stoppedMark: STOPPED_MARK }]);
  }
  const more = { left: new Set(left.left), unsearched: new Set(left.unsearched) };
  const isDone = await finish(context, opened, (files) => {
    for (const file of files.left) more.left.add(file);
    for (const file of files.unsearched) more.unsearched.add(file);
  });
  const wasBlocked = await isBlocked(opened, ids);
  return await tell(context, opened, {
    who,
    ids,
    sum,
    left: { left: [...more.left].sort(), unsearched: [...more.unsearched].sort() },
    isDone,
    wasBlocked,
    jobs: stored.jobs,
  });
}

async function asked({ deps, out }: CommandContext): Promise<boolean> {
  mustAsk(deps.stdio.stdin.isTTY);
  const isWanted = await withQuestions(deps.stdio, async (question) => isYes(await question('erase all of it? [y/N] ')));
  if (!isWanted) out.say('nothing was erased');
  return isWanted;
}

/** False = the daemon is still at it. */
async function finish(
  context: CommandContext,
  { people: { erasures } }: OpenJournal,
  onLeft: (files: LeftFiles) => void,
): Promise<boolean> {
  const { clock } = context.deps;
  const { signal } = new AbortController();
  const until = clock.monotonic() + DAEMON_MS;
  const onSearch = searchShown(context.out, context.deps.clock);
  while (clock.monotonic() < until) {
    // Again each time: a daemon may have ended meanwhile.
    if (await eraseAlone(dataDirOf(context), { erasures, clock, signal, onLeft, onSearch })) return true;
    if ((await erasures.open()).length === 0) return true;
    await clock.sleep(LOOK_MS, signal);
  }
  return false;
}

interface Told {
  readonly who: PersonRef;
  readonly ids: readonly PersonRef[];
  readonly sum: Readonly<Record<string, number>>;
  readonly left: LeftFiles;
  readonly isDone: boolean;
  readonly wasBlocked: boolean;
  readonly jobs: readonly string[];
}

async function tell(
  context: CommandContext,
  { people }: OpenJournal,
  { who, ids, sum, left: before, isDone, wasBlocked, jobs }: Told,
): Promise<number> {
  const { out } = context;
  const copies = await copiesIn(dataDirOf(context));
  const isThere = (file: string): boolean => isStillThere(dataDirOf(context), file);
  const left = { left: before.left.filter(isThere), unsearched: before.unsearched.filter(isThere) };
  const entry = (await people.audit({})).findLast(({ kind }) => kind === 'person.erased');
  const erased: Json = isDone ? (entry?.data ?? {}) : null;
  out.document({
    person: principalOf(who),
    ids: ids.map(principalOf),
    erased: isDone,
    ...sum,
    counts: erased,
    copies,
    ...left,
    jobs,
  });
  const names = ids.map((one) => printable(principalOf(one))).join(', ');
  if (isDone) out.data(`${out.mark('ok')} ${names}: erased. Their next message is a stranger's.`);
  else out.data(`${out.mark('warn')} ${names}: the daemon is still erasing; run this again to see when it is done`);
  if (wasBlocked) out.say('→ the block stays, with the id in it: `gatehouse people unblock` takes it away');
  for (const path of copies) out.say(`→ ${path} may hold words of theirs: it is a copy that you made`);
  tellJobs(context, jobs);
  await tellLeft(context, ids, left);
  out.say('→ backups in other places, what the platforms keep, and the config hold what they held');
  return isDone ? EXIT.ok : EXIT.failed;
}

/** Files in which others may have a part, and what another data directory holds. */
async function tellLeft(context: CommandContext, ids: readonly PersonRef[], files: LeftFiles): Promise<void> {
  const { out } = context;
  const chat = await terminalChat(dataDirOf(context), ids);
  if (chat) out.say(`→ what was said in \`gatehouse chat\` stays in ${chat}: erase it with \`--data-dir ${chat}\``);
  tellFiles(context, files.left, leftWhy);
  tellFiles(context, files.unsearched, () => UNSEARCHED);
}

function tellJobs({ out }: CommandContext, jobs: readonly string[]): void {
  for (const id of jobs)
    out.say(`→ job ${id} of another writes to them and stays, with their id: \`gatehouse cron remove ${id}\` removes it`);
}

function tellFiles(context: CommandContext, files: readonly string[], why: (file: string) => string): void {
  const { out } = context;
  for (const file of files.slice(0, MOST_NAMED)) out.say(`→ ${printable(join(dataDirOf(context), file))} ${why(file)}`);
  if (files.length > MOST_NAMED) out.say(`→ and ${files.length - MOST_NAMED} more such files: --json names all of them`);
}

const UNSEARCHED =
  'could not be searched (packed, closed or too large) and stays: look into it, and delete it where it holds words of theirs';

/** A workspace with too many files ends with `/`. */
function leftWhy(file: string): string {
  if (file.endsWith('/')) return 'has more files than are searched (20,000): the others may hold words of theirs';
  return file.startsWith('workspaces/')
    ? 'holds words of theirs and stays: others may have a part in it; delete it, or take the words out, where they need none'
    : 'names or quotes them and stays: you, a channel or a server keep it, so look into it yourself';
}

async function isBlocked({ people }: OpenJournal, ids: readonly PersonRef[]): Promise<boolean> {
  const blocks = await people.blocks();
  return ids.some((who) => blocks.some((one) => principalOf(one) === principalOf(who)));
}

/** Copies of the journal that lie in the data directory and are none of ours. */
async function copiesIn(dataDir: string): Promise<readonly string[]> {
  const names = await readdir(dataDir);
  const isCopy = (name: string): boolean =>
    !/^(?:journal|lock)\.db(?:-wal|-shm|-journal)?$/.test(name) &&
    /(?:\.db|\.bak|\.backup|\.sqlite|\.tar|\.gz|\.zip)$/.test(name);
  return names.filter(isCopy).map((name) => `${dataDir}/${name}`);
}

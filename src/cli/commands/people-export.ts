import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import { counted } from '../../lib/counted.ts';
import { isErrno } from '../../lib/errno.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isoTime } from '../format-time.ts';
import { gatewayOf, knownPeople, nearHint, personOf } from '../known-people.ts';
import { type Stored, storedOf, terminalChat } from '../person-store.ts';
import { withJournal } from '../read-journal.ts';

export interface ExportOptions {
  readonly person: string;
  /** A directory that is made, or is empty; absent or `-` = the document goes to standard output. */
  readonly out?: string;
}

/** The document in a directory of an export; the files lie below `files/`, as in the data directory. */
const DOCUMENT = 'person.json';

export const peopleExport: Command<ExportOptions> = async (context, { person, out: target = '-' }) => {
  const { deps, out } = context;
  const who = personOf(person);
  const dataDir = dataDirOf(context);
  const found = await withJournal(context, async (opened) => {
    const ids = await opened.people.idsOf(who);
    const stored = await storedOf(dataDir, opened.people, ids);
    const known = await knownPeople(await gatewayOf(context), opened, deps.clock.now());
    return { ids, stored, known };
  });
  if (!found || isEmpty(found.stored))
    throw new GatehouseError('GH1003', `nothing is stored of ${printable(principalOf(who))}`, {
      hint: nearHint(who, found?.known ?? []),
    });
  const { ids, stored } = found;
  const body = {
    person: principalOf(who),
    ids: ids.map(principalOf),
    exportedAt: isoTime(deps.clock.now()),
    journal: stored.rows,
    sessions: stored.sessions,
    sharedSessions: stored.shared,
    files: stored.files,
  };
  if (target === '-') {
    const text = JSON.stringify({ schemaVersion: 1, ok: true, ...body }, null, 2);
    out.raw(`${text}\n`);
  } else {
    const dir = await writeExport(context, target, body, stored.files);
    out.document({ person: principalOf(who), ids: ids.map(principalOf), out: dir, files: stored.files.length });
    out.data(`${out.mark('ok')} ${dir}: ${DOCUMENT}, and ${counted(stored.files.length, 'file')} below files/`);
  }
  const chat = await terminalChat(dataDir, ids);
  if (chat) out.say(`→ what was said in \`gatehouse chat\` is not in it: export that with \`--data-dir ${chat}\``);
  out.say(`→ it holds words of ${printable(principalOf(who))} in clear: keep it as you keep the data directory`);
  return EXIT.ok;
};

function isEmpty({ count, sessions, lines }: Stored): boolean {
  return count + sessions.length + lines === 0;
}

async function writeExport(context: CommandContext, target: string, body: object, files: readonly string[]): Promise<string> {
  const dir = resolve(context.deps.cwd, target);
  await makeEmpty(dir);
  const text = JSON.stringify({ schemaVersion: 1, ...body }, null, 2);
  await writeFile(join(dir, DOCUMENT), `${text}\n`, { mode: 0o600 });
  for (const file of files) {
    const path = join(dir, 'files', file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // One may be gone since it was found: a tool of the agent works there.
    await copyFile(join(dataDirOf(context), file), path).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
  }
  return dir;
}

async function makeEmpty(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new GatehouseError('GH1001', `${dir} cannot be made`, { hint: 'name a directory that is new or empty', cause: error });
  });
  if ((await readdir(dir)).length > 0)
    throw new GatehouseError('GH1001', `${dir} is not empty`, { hint: 'name a directory that is new or empty' });
}

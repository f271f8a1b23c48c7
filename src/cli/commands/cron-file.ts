import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import type { Job } from '../../core/job.ts';
import { readFailureText } from '../../lib/errno.ts';
import { printable } from '../../lib/printable.ts';
import { readAtMost } from '../../lib/read-at-most.ts';
import { metJob, readJobs, writeJobs } from '../../schedule/file.ts';
import { auditedJobs } from '../audited-jobs.ts';
import type { Command, CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { openOrMake, withJournal } from '../read-journal.ts';
import { newJobId, ownerChat } from './cron.ts';

/** Ten thousand jobs of usual length take about 5 MB. */
const MOST_BYTES = 32 * 1024 * 1024;

/** All jobs as one file that `import` reads, here and elsewhere. */
export const cronExport: Command<unknown> = async (context) => {
  const jobs = (await withJournal(context, ({ journal }) => journal.jobs.list())) ?? [];
  context.out.raw(`${JSON.stringify(writeJobs(jobs), null, 2)}\n`);
  return EXIT.ok;
};

/**
 * Adds the jobs of a file. One that is there already is left as it is, so that the same file may be imported
 * again; one that cannot be is named with its reason, and the exit code is 1.
 */
export const cronImport: Command<{ readonly file: string; readonly dryRun?: boolean }> = async (context, options) => {
  const { deps, out } = context;
  const { dryRun = false } = options;
  const text = await readInput(context, options.file);
  const { chat: fallback, channels } = await ownerChat(context);
  const jobs = (await withJournal(context, ({ journal }) => journal.jobs.list())) ?? [];
  const there = new Map(jobs.map(({ id, payload }) => [id, payload.text]));
  const found = await readJobs(text, { now: deps.clock.now(), newId: newJobId, fallback, there });
  await using opened = dryRun ? undefined : await openOrMake(context);
  const results: Result[] = [];
  const add = opened ? addTo(auditedJobs(opened.journal)) : pretend(there);
  for (const one of found) results.push(one.kind === 'job' ? await add(one.job) : one);
  const of = (kind: Result['kind']): readonly Result[] => results.filter((each) => each.kind === kind);
  const [added, known, refused] = [of('added'), of('known'), of('refused')];
  for (const { name, reason } of refused) out.say(`${out.mark('bad', 'stderr')} ${printable(name)}: ${printable(reason ?? '')}`);
  const warn = out.mark('warn', 'stderr');
  for (const one of found) {
    if (one.kind !== 'job') continue;
    for (const note of one.notes) out.say(`${warn} ${printable(one.job.name)}: ${printable(note)}`);
  }
  for (const one of found)
    if (one.kind === 'job' && one.job.payload.deliver && !channels.includes(one.job.payload.deliver.channel))
      out.say(
        `${out.mark('warn', 'stderr')} ${printable(one.job.id)}: there is no channel ${printable(one.job.payload.deliver.channel)}`,
      );
  const said = `${added.length} ${dryRun ? 'would be ' : ''}added, ${known.length} known, ${refused.length} refused`;
  if (refused.length > 0) {
    const hint =
      added.length > 0 && !dryRun
        ? 'the others were added: import a file with only the mended ones'
        : 'mend what is named above and import the file again';
    out.fail({ code: 'GH1701', message: said, hint }, { added: added.map(({ name }) => name), refused });
    return EXIT.failed;
  }
  out.document({ dryRun, added: added.map(({ name }) => name), known: known.map(({ name }) => name) });
  out.data(`${out.mark('ok')} ${said}`);
  return EXIT.ok;
};

interface Result {
  readonly kind: 'added' | 'known' | 'refused';
  /** Of a job its id. */
  readonly name: string;
  readonly reason?: string;
}

type Add = (job: Job) => Promise<Result>;

function addTo(journal: ReturnType<typeof auditedJobs>): Add {
  return async (job) => {
    if (await journal.commit([{ kind: 'job', job }])) return { kind: 'added', name: job.id };
    return metJob(job.id, (await journal.jobs.get(job.id))?.payload.text, job.payload.text);
  };
}

/** As `addTo`, and nothing is written. */
function pretend(there: ReadonlyMap<string, string>): Add {
  const texts = new Map(there);
  return async (job) => {
    if (texts.has(job.id)) return metJob(job.id, texts.get(job.id), job.payload.text);
    texts.set(job.id, job.payload.text);
    return { kind: 'added', name: job.id };
  };
}

/** Some shells write what they redirect as UTF-16, with its mark in front. */
function textOf(bytes: Buffer): string {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? bytes.toString('utf16le') : bytes.toString('utf8');
}

/** `-` is the standard input. */
async function readInput({ deps }: CommandContext, file: string): Promise<string> {
  try {
    await using handle = file === '-' ? undefined : await open(resolve(deps.cwd, file), 'r');
    const input = handle?.createReadStream({ autoClose: false }) ?? deps.stdio.stdin;
    const { bytes, complete } = await readAtMost(input as AsyncIterable<Buffer>, MOST_BYTES);
    if (complete) return textOf(bytes);
  } catch (error) {
    throw new GatehouseError('GH1003', `${file} cannot be read: ${readFailureText(error)}`, {
      hint: 'name a file, or - for the input',
      cause: error,
    });
  }
  throw new GatehouseError('GH1701', `${file} has more than ${MOST_BYTES / 1024 / 1024} MB`, { hint: 'import it in parts' });
}

// npm run soak: messages over 1,000 sessions with tools, tasks, sub-agents and jobs, through the real daemon:
// 100,000 to warm up, and 100,000 that are measured. Does it hold more and more, or grow slower?
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { Child } from '../../../bench/child.ts';
import { commandLine, DAEMON_READY, makeWorkDir, ROOT, SECRETS } from '../../../bench/subjects.ts';
import { OWNER_ID, People } from './people.ts';
import { judge, type Point, type Verdict } from './trend.ts';

const HELP = `People write to a bot on a Telegram server of this machine, and a model answers at once. Every tenth message takes a
tool call; for each hundred messages the owner gives a task of several steps, every second with a sub-agent; jobs fire
each minute. 50 samples are taken at rest, and a line is fitted to those of the second half: a process keeps the most
memory that it ever needed, so in the first half it grows wherever it leads.

  --messages N  (default 200000)
  --sessions N  (default 1000)
  --jobs N      (default 20)
  --json        one JSON document instead of the table
  --help        this text

Exit code 1 when an answer was wrong or came twice, when no task or job ran, when a conversation was not compacted,
when it is not sure by 95 % that resident memory grows by less than 5 % over 100,000 messages, or when it is sure that
something else grows by more than its limit: 5 % of the heap and of the processor time of a message, as a multiple of
what the model server takes for it, 5 file descriptors. In a shorter run nothing is sure.
`;
const SAMPLES = 50;
/** What is claimed: over so many messages, which are half of a run of the usual length. */
const OVER = 100_000;
const SHARE = 0.05;
const DESCRIPTORS = 5;
/** Connections that nobody uses are closed, and session files written. ms. */
const REST_MS = 1_000;
const READY_MS = 60_000;
/**
 * Longer conversations were not compacted: they grow for the whole run, to 400 lines and more, and memory
 * too. While messages wait, a summary is begun at 46 lines, and more come until it is there. Lines.
 */
const LONGEST = 200;

const { values: flags } = parseArgs({
  options: {
    messages: { type: 'string', default: '200000' },
    sessions: { type: 'string', default: '1000' },
    jobs: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

interface Sample {
  readonly messages: number;
  readonly rss: number;
  /** After a collection. bytes. */
  readonly heapUsed: number;
  readonly descriptors: number;
  /** Of the daemon's processor time, for each message since the last sample. ms. */
  readonly cpuMs: number;
  /** The same of the model server, whose work for a message never changes. ms. */
  readonly modelCpuMs: number;
  readonly journalBytes: number;
}

function numberOf(name: 'messages' | 'sessions' | 'jobs'): number {
  const value = Number(flags[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} needs a whole number from 1 on\n`);
  process.exit(2);
}

/** As an operator would write it; the owner is the one who gives tasks. */
function configOf(people: People, modelUrl: string): object {
  const settings = { token_env: 'BENCH_BOT_TOKEN', api_root: people.server.url, rate_limits: false };
  return {
    version: 1,
    provider: 'openai',
    model: 'soak',
    base_url: `${modelUrl}/v1`,
    api_key_env: 'BENCH_MODEL_KEY',
    gateway: {
      channels: [{ type: 'telegram', allowed_senders: ['*'], settings }],
      owner: [{ channel: 'telegram', chat_id: String(OWNER_ID), sender_ids: [String(OWNER_ID)] }],
      http: { port: 0 },
    },
  };
}

async function addJobs(files: readonly string[], count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const args = [join(ROOT, 'dist/src/cli/main.js'), 'cron', 'add', '--every', '60s', '--message', `tick ${n}`];
    await promisify(execFile)(process.execPath, [...args, ...files], { env: { ...process.env, ...SECRETS } });
  }
}

interface Played {
  readonly people: People;
  readonly daemon: Child;
  readonly model: Child;
  readonly journal: string;
}

async function look(daemon: Child): Promise<Pick<Sample, 'rss' | 'heapUsed' | 'descriptors'> & { readonly cpuMs: number }> {
  // Resident memory before the collection: one that is forced would make it prettier.
  const { rss, cpuMs } = await daemon.ask<Sample>('as-is', READY_MS);
  const { heapUsed, descriptors } = await daemon.ask<Sample>('after-gc', READY_MS);
  return { rss, heapUsed, descriptors, cpuMs };
}

async function cpuOf(model: Child): Promise<number> {
  return (await model.ask<{ readonly cpuMs: number }>('as-is', READY_MS)).cpuMs;
}

async function play({ people, daemon, model, journal }: Played): Promise<readonly Sample[]> {
  const [messages, samples] = [numberOf('messages'), [] as Sample[]];
  const began = performance.now();
  let [cpuBefore, modelBefore] = [(await look(daemon)).cpuMs, await cpuOf(model)];
  for (let n = 1; n <= SAMPLES; n += 1) {
    const target = Math.round((messages * n) / SAMPLES);
    const before = people.told.answered;
    await people.writeUntil(target);
    await sleep(REST_MS);
    const { cpuMs, ...seen } = await look(daemon);
    const [modelCpu, count] = [await cpuOf(model), target - before];
    const cpu = { cpuMs: (cpuMs - cpuBefore) / count, modelCpuMs: (modelCpu - modelBefore) / count };
    samples.push({ ...seen, ...cpu, messages: target, journalBytes: roomOf(journal) });
    [cpuBefore, modelBefore] = [(await look(daemon)).cpuMs, modelCpu];
    const { answered, tasks, jobs } = people.told;
    const seconds = Math.round((performance.now() - began) / 1_000);
    process.stderr.write(
      `${seconds} s: ${answered} of ${messages} answered, ${tasks} tasks, ${jobs} jobs, ${(seen.rss / 1e6).toFixed(0)} MB …\n`,
    );
  }
  return samples;
}

function roomOf(journal: string): number {
  const db = new DatabaseSync(journal, { readOnly: true });
  try {
    const pragma = (name: string): number => Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  } finally {
    db.close();
  }
}

/** Lines of the longest conversation, of which the oldest were not yet replaced by a summary. */
async function longestConversation(dataDir: string): Promise<number> {
  const names = await readdir(dataDir, { recursive: true });
  let longest = 0;
  for (const name of names) {
    if (!/\/sessions\/[^./]+\.jsonl$/.test(name)) continue;
    longest = Math.max(longest, (await readFile(join(dataDir, name), 'utf8')).split('\n').length);
  }
  return longest;
}

function verdicts(samples: readonly Sample[]): readonly Verdict[] {
  const settled = samples.slice(samples.length / 2);
  const of = (name: string, unit: string, y: (sample: Sample) => number) => ({
    ...{ name, unit },
    points: settled.map((sample): Point => ({ x: sample.messages, y: y(sample) })),
  });
  const share = { over: OVER, atMost: (mean: number) => SHARE * mean };
  const noisy = { ...share, isProved: false };
  return [
    judge(
      of('resident memory', 'MB', ({ rss }) => rss / 1e6),
      { ...share, isProved: true },
    ),
    // Conversations that are kept in memory, up to 64 MiB, come and go with it.
    judge(
      of('heap after a collection', 'MB', ({ heapUsed }) => heapUsed / 1e6),
      noisy,
    ),
    // Machines slow down and speed up: what both processes share is no growth.
    judge(
      of("processor time of a message, in the model server's", '', ({ cpuMs, modelCpuMs }) => cpuMs / modelCpuMs),
      noisy,
    ),
    judge(
      of('file descriptors', '', ({ descriptors }) => descriptors),
      { ...noisy, atMost: () => DESCRIPTORS },
    ),
  ];
}

/** How many runs of each kind ended how, and how many steps they took, from the journal itself. */
function recorded(journal: string): Readonly<Record<string, number>> {
  const db = new DatabaseSync(journal, { readOnly: true });
  try {
    const sql = `SELECT source || ' ' || coalesce(outcome, state) AS name, count(*) AS n FROM run GROUP BY 1
      UNION ALL SELECT 'steps of ' || coalesce(tool, kind), count(*) FROM step GROUP BY 1`;
    return Object.fromEntries(
      db
        .prepare(sql)
        .all()
        .map(({ name, n }) => [String(name), Number(n)]),
    );
  } finally {
    db.close();
  }
}

function table(all: readonly Verdict[]): string {
  const short = (value: number): string => value.toFixed(Math.abs(value) < 10 ? 3 : 1);
  const rows = all.map(
    ({ name, unit, mean, growth, low, high, limit, isFlat }) =>
      `${isFlat ? 'flat  ' : 'GROWS '} ${name}: ${short(mean)} ${unit}, growth over ${OVER} messages ${short(growth)} ${unit}` +
      ` (95 %: ${short(low)} to ${short(high)}), limit ${short(limit)}`,
  );
  return `${rows.join('\n')}\n`;
}

async function main(): Promise<number> {
  await using resources = new AsyncDisposableStack();
  const work = resources.use(await makeWorkDir());
  const people = resources.use(new People({ messages: numberOf('messages'), sessions: numberOf('sessions') }));
  await people.server.listen();
  const cpuProbe = ['--import', join(ROOT, 'bench/resource-probe.mjs')];
  const model = resources.use(new Child({ args: [...cpuProbe, join(import.meta.dirname, 'model.ts')] }));
  const [, modelUrl = ''] = await model.waitFor(/(http:\S+)\n/);
  const dataDir = join(work.path, 'data');
  await mkdir(dataDir);
  await writeFile(join(work.path, 'config.json'), JSON.stringify(configOf(people, modelUrl)));
  const files = ['--config', join(work.path, 'config.json'), '--data-dir', dataDir];
  await addJobs(files, numberOf('jobs'));
  const journal = join(dataDir, 'journal.db');
  let samples: readonly Sample[];
  {
    await using daemon = new Child({
      args: ['--expose-gc', ...cpuProbe, ...(await commandLine('dist')), ...files],
      ...{ cwd: ROOT, env: { ...SECRETS, BENCH_BOT_TOKEN: people.server.token } },
    });
    await daemon.waitFor(DAEMON_READY, READY_MS);
    samples = await play({ people, daemon, model, journal });
  }
  const [judged, told, runs] = [verdicts(samples), people.told, recorded(journal)];
  const longest = await longestConversation(dataDir);
  const bytes = Math.round((samples.at(-1)?.journalBytes ?? 0) / told.answered);
  const faults = [
    ...told.wrong,
    ...(told.tasks > 0 ? [] : ['no task ran']),
    ...(told.jobs > 0 ? [] : ['no job ran']),
    ...(longest > 0 && longest <= LONGEST ? [] : [`the longest conversation has ${longest} lines`]),
    ...judged.filter(({ isFlat }) => !isFlat).map(({ name }) => `${name} is not shown to be flat`),
  ];
  const figures = { ...told, journalBytesPerMessage: bytes, longestConversation: longest, runs, samples: samples.length };
  if (flags.json) process.stdout.write(`${JSON.stringify({ figures, judged, samples, faults })}\n`);
  else process.stdout.write(`${JSON.stringify(figures)}\n${table(judged)}`);
  process.stderr.write(`soak ${faults.length === 0 ? 'passed' : `FAILED: ${faults.join('; ')}`}\n`);
  return faults.length === 0 ? 0 : 1;
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = await main();

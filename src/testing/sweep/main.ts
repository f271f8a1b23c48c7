// npm run sweep: kills the real daemon wherever a kill could matter, and judges by what the platforms saw.
//
//   --scenario NAME  repeatable (default: all): plain = messages, tools and long answers; waits = a run
//                    that parks on three children, a person and a timer; subagents = runs that park on three
//                    sub-agents, with one in the background, with one that fails, and stopped; hands = a run
//                    with five tools that change something, on those of ALLOWED also one of them after a
//                    yes; the last three on the channels of WAITING and HANDS
//   --channel NAME   repeatable (default: all of src/simulator/platforms)
//   --every N        only every Nth point (default 1: all); of further modes every 3Nth where all are swept
//   --from DIR       what a checkout of an earlier version left when it was killed is recovered by this one;
//                    without controls and without runs that wait or begin sub-agents
//   --single         without the second kill during recovery
//   --fault KIND     repeatable: the platform plays it in each run too (a kind of FAULT_KINDS in platform.ts)
//   --random N       seeded random kills under load after the sweep (default 20; 0 = none)
//   --seed N         of the random kills (default 1)
//   --no-controls    without the known-bad designs, which must fail
//   --jobs N         runs at once (default: one more than there are processors: each waits at times)
//   --keep FILE      a scenario that passed stays in FILE, and a later sweep of the same program and
//                    flags goes on from there: the whole of it takes hours
//   --write          also puts the table into channels/README.md; only for a whole sweep
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '../../simulator/free-port.ts';
import { MODES, OUTAGES, PLATFORMS } from '../../simulator/platforms/index.ts';
import { FAULT_KINDS, type Platform } from '../../simulator/platforms/platform.ts';
import { seeded } from '../load/traffic.ts';
import { ALLOWED, CONTROL_EVERY, CONTROL_EVERY_OF_SAMPLE, CONTROL_OF, CONTROLS, HANDS, WAITING } from './controls.ts';
import { startEmailByToken } from './email-oauth.ts';
import { ALLOWED_QUESTION, checkSandbox, HANDS_QUESTION, handsOf } from './hands.ts';
import { add, emptyVerdict, failed, hasLostOrRepeated, judge, type Verdict } from './judge.ts';
import { keptRows, programOf } from './kept.ts';
import { killsAt, spread } from './kills.ts';
import { SweepModel } from './model.ts';
import { QUESTIONS, questionsOf } from './questions.ts';
import { type RunRecord, type RunSpec, runOnce } from './run.ts';
import { TABLE_HEAD, tableRow, writeTable } from './table.ts';
import { ENDED_QUESTIONS, SUBAGENTS_QUESTION, WAITING_QUESTION, waitsOf } from './waiting.ts';

/** The token server of `email-oauth` is for tests alone. */
const STARTS: typeof PLATFORMS = { ...PLATFORMS, ...MODES, 'email-oauth': startEmailByToken, ...OUTAGES };
const CHANNELS = Object.keys(STARTS);
/** A sample of all takes fewer points of these: most of their way is that of their channel. */
const SAMPLED_LESS = new Set([...Object.keys(MODES), 'email-oauth']);
const LESS = 3;

const SCENARIOS = ['plain', 'waits', 'subagents', 'hands'];

const { values: flags } = parseArgs({
  options: {
    channel: { type: 'string', multiple: true, default: [...CHANNELS] },
    scenario: { type: 'string', multiple: true, default: [...SCENARIOS] },
    every: { type: 'string', default: '1' },
    fault: { type: 'string', multiple: true, default: [] },
    from: { type: 'string' },
    single: { type: 'boolean', default: false },
    random: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    'no-controls': { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism() + 1) },
    keep: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

const FROM = flags.from === undefined ? {} : { from: resolve(flags.from) };
const FAULTS = FAULT_KINDS.filter((kind) => flags.fault.includes(kind));

interface Baseline {
  readonly answers: readonly (readonly string[])[];
  readonly modelCalls: number;
  readonly points: number;
}

interface Bench {
  readonly platform: Platform;
  readonly webhookPort: number;
  readonly model: SweepModel;
  readonly modelUrl: string;
  readonly resolved: string;
}

/** A platform holds one run at a time; `jobs` of them work side by side. */
async function startBenches(name: string, jobs: number): Promise<Bench[]> {
  const start = STARTS[name];
  if (!start) throw new Error(`no platform is called ${name}; there are ${CHANNELS.join(', ')}`);
  return await Promise.all(
    Array.from({ length: jobs }, async () => {
      const webhookPort = await freePort();
      const platform = await start({ webhookPort });
      const model = new SweepModel({ isSlow: platform.grown !== undefined });
      const resolved = join(await mkdtemp(join(tmpdir(), 'gatehouse-resolved-')), 'resolved.json');
      return { platform, webhookPort, model, modelUrl: await model.start(), resolved };
    }),
  );
}

async function stopBenches(benches: readonly Bench[]): Promise<void> {
  for (const { platform, model, resolved } of benches) {
    await platform[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await rm(dirname(resolved), { recursive: true });
  }
}

async function baseline(bench: Bench, questions: readonly string[]): Promise<Baseline> {
  const record = await runOnce({
    ...bench,
    ...FROM,
    questions,
    ...waitsOf(questions),
    ...handsOf(questions),
    variant: 'none',
    kills: [],
  });
  if (!record.finished || record.answers.some((parts) => parts.length === 0)) {
    throw new Error(`the undisturbed run failed: ${JSON.stringify(record.answers).slice(0, 300)}\n${record.log}`);
  }
  const { hands } = handsOf(questions);
  if (hands && record.toolRuns.size !== hands.effects)
    throw new Error(`of ${hands.effects} effects these are there: ${[...record.toolRuns.keys()].join(', ')}\n${record.log}`);
  if (bench.platform.grown?.() === 0) throw new Error('no answer was seen growing: this sweep would prove nothing');
  return { answers: record.answers, modelCalls: record.modelCalls, points: record.points };
}

async function sweep(
  benches: readonly Bench[],
  base: Baseline,
  variant: string,
  kills: readonly RunSpec['kills'][],
  questions: readonly string[] = QUESTIONS,
): Promise<{ verdict: Verdict; faults: string[] }> {
  const verdict = emptyVerdict();
  const faults: string[] = [];
  let done = 0;
  await spread(benches, kills, async (bench, kill) => {
    const record: RunRecord = await runOnce({
      ...{ ...bench, ...FROM, questions, ...waitsOf(questions), ...handsOf(questions), variant, faults: FAULTS },
      kills: kill,
    });
    const wrong = judge(record, base.answers, base.modelCalls, verdict);
    faults.push(...wrong.map((fault) => `${JSON.stringify(kill)}: ${fault}`));
    if (wrong.length > 0 && variant === 'none')
      process.stderr.write(`  ${JSON.stringify(kill)}: ${wrong.join('; ')}\n${record.log}\n`);
    done += 1;
    if (done % 25 === 0) process.stderr.write(`  ${done}/${kills.length} runs, ${faults.length} faults\n`);
  });
  return { verdict, faults };
}

/**
 * What the judge sees of a known-bad design. It shows at a few points only, and at fewer where the machine is
 * busy, so that the points between follow until it has shown.
 */
async function caught(
  benches: readonly Bench[],
  base: Baseline,
  variant: string,
  questions: readonly string[] = QUESTIONS,
): Promise<Verdict> {
  const bad = emptyVerdict();
  const every = Number(flags.every) > 1 ? CONTROL_EVERY_OF_SAMPLE : CONTROL_EVERY;
  for (let from = 1; from <= every && !hasLostOrRepeated(bad); from += 1)
    add(bad, (await sweep(benches, base, variant, killsAt(base.points, every, false, from), questions)).verdict);
  return bad;
}

function everyOf(name: string): number {
  const every = Number(flags.every);
  const isSample = every > 1 && CHANNELS.every((one) => flags.channel.includes(one));
  return isSample && SAMPLED_LESS.has(name) ? every * LESS : every;
}

async function channelRows(name: string): Promise<{ rows: string[]; ok: boolean }> {
  const benches = await startBenches(name, Number(flags.jobs));
  const rows: string[] = [];
  let ok = true;
  try {
    const questions = questionsOf((benches[0] as Bench).platform);
    const bases = await Promise.all(benches.map((bench) => baseline(bench, questions)));
    const base = bases[0] as Baseline;
    process.stderr.write(`${name}: ${base.points} points in one run\n`);
    const { verdict } = await sweep(benches, base, 'none', killsAt(base.points, everyOf(name), !flags.single), questions);
    rows.push(tableRow(`${name}`, base.points, verdict));
    ok &&= !failed(verdict);

    if (Number(flags.random) > 0) {
      const questions = Array.from({ length: 20 }, (_, index) => `${['plain', 'tool', 'long'][index % 3]} ${index}`);
      const loaded = await baseline(benches[0] as Bench, questions);
      const random = seeded(Number(flags.seed));
      const load = emptyVerdict();
      const spanMs = benches[0]?.platform.grown ? 4_000 : 1_000;
      // A kill may come after a run was over and not count, so groups of five follow until enough have hit.
      for (let group = 0; load.kills < Number(flags.random) && group < 3 * Number(flags.random); group += 1) {
        const kills = Array.from({ length: 5 }, () => ({ afterMs: 250 + Math.floor(random() * spanMs) }));
        const { verdict: more } = await sweep(benches.slice(0, 1), loaded, 'none', [kills], questions);
        add(load, more);
      }
      rows.push(tableRow(`${name}, random kills under load`, loaded.points, load));
      ok &&= !failed(load);
    }
    const controls = CONTROLS[name] ?? [];
    if (!flags['no-controls'] && flags.from === undefined && controls.length > 0) {
      for (const variant of controls) {
        const bad = await caught(benches, base, variant);
        rows.push(tableRow(`${name}, control: ${variant}`, base.points, bad));
        if (!hasLostOrRepeated(bad)) {
          process.stderr.write(`the control ${variant} was not caught: this sweep proves nothing\n`);
          ok = false;
        }
      }
    }
  } finally {
    await stopBenches(benches);
  }
  return { rows, ok };
}

/** Requests with points of their own, and the known-bad design that it must catch, where there is one. */
async function scenarioRows(
  name: string,
  title: string,
  questions: readonly string[],
  control?: string,
): Promise<{ rows: string[]; ok: boolean }> {
  const benches = await startBenches(name, Number(flags.jobs));
  try {
    const bases = await Promise.all(benches.map((bench) => baseline(bench, questions)));
    const base = bases[0] as Baseline;
    process.stderr.write(`${name}, ${title}: ${base.points} points in one run\n`);
    const kills = killsAt(base.points, Number(flags.every), !flags.single);
    const { verdict } = await sweep(benches, base, 'none', kills, questions);
    const rows = [tableRow(`${name}, ${title}`, base.points, verdict)];
    if (control === undefined || flags['no-controls']) return { rows, ok: !failed(verdict) };
    const bad = await caught(benches, base, control, questions);
    rows.push(tableRow(`${name}, control: ${control}`, base.points, bad));
    if (!hasLostOrRepeated(bad)) process.stderr.write(`the control ${control} was not caught: this sweep proves nothing\n`);
    return { rows, ok: !failed(verdict) && hasLostOrRepeated(bad) };
  } finally {
    await stopBenches(benches);
  }
}

/** Each run that waits goes on exactly once, no call is paid twice, no question is asked twice. */
const waitingRows = (name: string) => scenarioRows(name, 'runs that wait', [WAITING_QUESTION], CONTROL_OF.waits[name]);
/** The same of sub-agents; the result of one in the background is told once. */
const subagentRows = (name: string) => scenarioRows(name, 'sub-agents', [SUBAGENTS_QUESTION]);
/** One of them fails; and all of another request end with it. */
const endedRows = (name: string) => scenarioRows(name, 'sub-agents that fail or are stopped', ENDED_QUESTIONS);
/** Five tools that change something: each effect is there at most once, and nothing runs on. */
const handsRows = (name: string) => scenarioRows(name, 'five tools', [HANDS_QUESTION], CONTROL_OF.hands[name]);
/** The same where one of them needs a yes, which is used at most once. */
const allowedRows = (name: string) => scenarioRows(name, 'five tools, one with a yes', [ALLOWED_QUESTION]);

const whole =
  flags.every === '1' &&
  flags.from === undefined &&
  flags.scenario.length === SCENARIOS.length &&
  !flags.single &&
  !flags['no-controls'] &&
  CHANNELS.every((name) => flags.channel.includes(name));
if (flags.write && !whole)
  throw new Error('--write needs a whole sweep: without --channel, --every, --from, --single and --no-controls');
if (flags.scenario.includes('hands') && flags.from === undefined && flags.channel.some((name) => HANDS.includes(name)))
  checkSandbox();
/** Without channels and scenarios, which each row tells of itself, and `--jobs`, on which no row depends. */
const subject = async () => {
  const { every, fault, from = '', single, random, seed, 'no-controls': noControls } = flags;
  const program = await programOf(join(import.meta.dirname, '../../..'));
  return JSON.stringify({ program, every, fault, from, single, random, seed, noControls });
};
const kept = flags.keep === undefined ? undefined : await keptRows(resolve(flags.keep), await subject());
const started = performance.now();
const all: string[] = [...TABLE_HEAD];
let ok = true;
for (const name of flags.channel) {
  const plays = (scenario: string, channels: readonly string[]) =>
    flags.scenario.includes(scenario) && flags.from === undefined && channels.includes(name);
  const scenarios = [
    ...(flags.scenario.includes('plain') ? [channelRows] : []),
    ...(plays('waits', WAITING) ? [waitingRows] : []),
    ...(plays('subagents', WAITING) ? [subagentRows, endedRows] : []),
    ...(plays('hands', HANDS) ? [handsRows] : []),
    ...(plays('hands', ALLOWED) ? [allowedRows] : []),
  ];
  for (const scenario of scenarios) {
    const result = await (kept ? kept.once(`${name} ${scenario.name} ${everyOf(name)}`, () => scenario(name)) : scenario(name));
    all.push(...result.rows);
    ok &&= result.ok;
  }
}
const seconds = Math.round((performance.now() - started) / 1_000);
process.stdout.write(`${all.join('\n')}\n${seconds} s\n${ok ? 'sweep passed' : 'sweep FAILED'}\n`);
if (flags.write) await writeTable(`${all.join('\n')}\n`);
process.exitCode = ok ? 0 : 1;

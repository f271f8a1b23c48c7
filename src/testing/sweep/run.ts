import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import type { FaultKind, Platform } from '../../simulator/platforms/platform.ts';
import { builtDaemon } from '../built-daemon.ts';
import { toAnswers } from './answers.ts';
import { NO_REAP } from './controls.ts';
import { effectsIn, type Hands, handsConfig, handsSections, leftAfterASecond, outlived, startsIn } from './hands.ts';
import type { SweepModel } from './model.ts';
import { isReady, statusIn } from './status.ts';
import { Answering, recordedCalls, type Waiting } from './waiting.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BUILT = await builtDaemon();
/** The daemon of this checkout. */
const PROGRAM = BUILT === undefined ? join(import.meta.dirname, 'daemon.ts') : join(BUILT, 'sweep-daemon.mjs');
/** A run that is not done by then fails the sweep, and what is missing of it counts as lost. */
const DONE_WITHIN_MS = 25_000;
/** More for each question where answers are shown while they grow: the model takes some seconds for each. */
const GROWING_MS = 3_000;

export interface RunSpec {
  readonly platform: Platform;
  /** Where the daemon serves webhooks. */
  readonly webhookPort: number;
  readonly model: SweepModel;
  readonly modelUrl: string;
  readonly questions: readonly string[];
  readonly variant: string;
  /**
   * A checkout of an earlier version, whose daemon is started until a kill hit: this one recovers what it
   * left.
   */
  readonly from?: string;
  /** Where the daemon's imports lead: a file that the first undisturbed run makes; see `resolved.ts`. */
  readonly resolved: string;
  /** The request waits, for a person or for sub-agents. */
  readonly waits?: Waiting;
  /** Five tools change something: see `hands.ts`. */
  readonly hands?: Hands;
  /** What the platform plays from the first question on, twice each; those it cannot play are left out. */
  readonly faults?: readonly FaultKind[];
  /** Points at which the first, second, … start dies; the last runs to the end. `afterMs`: by the clock. */
  readonly kills: readonly ({ readonly point: number } | { readonly afterMs: number })[];
}

export interface RunRecord {
  readonly answers: readonly (readonly string[])[];
  /** Questions, by place, that the platform handed over for the last time; see `Platform.notOffered`. */
  readonly notOffered: readonly number[];
  /** Questions that the journal has. */
  readonly stored: number;
  /** Runs of the counting tool, per argument. */
  readonly toolRuns: ReadonlyMap<string, number>;
  /**
   * Processes that are still there a second after the last start was ready, though they ran before it, or a
   * second after all is over.
   */
  readonly leftRunning: readonly string[];
  readonly unknownParts: number;
  readonly unknownTools: number;
  readonly deadLetters: number;
  readonly modelCalls: number;
  /** Calls that were on disk when the daemon was killed, and were made again. Only where runs wait. */
  readonly paidTwice?: readonly string[];
  /** Points passed in the first start: only meaningful when it was not killed. */
  readonly points: number;
  /** Kills that hit before the start was over by itself. */
  readonly killed: number;
  readonly finished: boolean;
  /** Of the last start, for a look at what went wrong. */
  readonly log: string;
}

/** One run: start, be killed, start again …, and a last start that must bring everything to its end. */
export async function runOnce(spec: RunSpec): Promise<RunRecord> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-sweep-'));
  try {
    const { platform, questions } = spec;
    await platform.begin(join(dir, 'data'));
    await writeConfig(dir, spec);
    const greetings = platform.greetings ?? 0;
    const expected = greetings + (spec.waits?.rows ?? questions.length);
    if (platform.needsFirstStart) await settle(dir, { ...spec, root: spec.from }, { expected: greetings });
    const callsBefore = spec.model.calls;
    for (const kind of spec.faults ?? []) if (platform.faults.includes(kind)) platform.fault(kind, 2);
    for (const [index, text] of questions.entries())
      await platform.write(Math.min(index, (platform.people ?? Infinity) - 1), text);
    let killed = 0;
    const earlier = (): string | undefined => (killed === 0 ? spec.from : undefined);
    const answering = spec.waits && new Answering(platform, spec.waits);
    const paidTwice: string[] = [];
    let [recorded, from]: [ReadonlySet<string>, number] = [new Set(), spec.model.log.length];
    const judgeCalls = () => paidTwice.push(...spec.model.log.slice(from).filter((call) => recorded.has(call)));
    for (const kill of spec.kills) {
      if (await runUntilKilled(dir, { ...spec, root: earlier() }, kill, { expected, answering })) killed += 1;
      judgeCalls();
      if (spec.waits) [recorded, from] = [await recordedCalls(join(dir, 'data')), spec.model.log.length];
    }
    const last = await settle(dir, { ...spec, root: earlier() }, { expected, answering });
    judgeCalls();
    const seen = await platform.seen();
    const notOffered = (await platform.notOffered?.()) ?? [];
    return {
      answers: toAnswers(spec.waits?.known(seen) ?? seen, questions, platform.people),
      notOffered: notOffered.map((text) => questions.indexOf(text)),
      toolRuns: await toolRuns(dir, spec.hands),
      leftRunning: spec.hands ? [...last.outlived, ...(await leftAfterASecond(dir))] : [],
      ...(await journalRecord(dir, greetings)),
      modelCalls: spec.model.calls - callsBefore,
      paidTwice,
      points: last.points,
      killed,
      finished: last.finished,
      log: last.log,
    };
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function writeConfig(dir: string, { platform, webhookPort, modelUrl, hands, variant }: RunSpec): Promise<void> {
  const owner = hands ? handsConfig(platform.channel.type) : {};
  const config = {
    provider: 'openai',
    model: 'sweep',
    base_url: modelUrl,
    api_key_env: 'SWEEP_KEY',
    gateway: { channels: [platform.channel], max_attempts: 10, http: { port: 0 }, webhooks: { port: webhookPort }, ...owner },
    log: { level: 'warn' },
    ...(hands ? handsSections(hands, variant) : {}),
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  await writeFile(join(dir, 'count'), '');
}

/** `root`: the checkout whose daemon is started; absent = this one. */
type Start = RunSpec & { readonly root?: string | undefined };

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly log: () => string;
}

function startDaemon(dir: string, spec: Start, killAt?: number): Started {
  const sources = join(spec.root ?? ROOT, 'src');
  const sweep = join(sources, 'testing/sweep');
  const child = spawn(
    process.execPath,
    [
      ...['--import', join(sources, 'cli/node-guard.mjs')],
      ...(spec.root === undefined ? ['--import', join(sweep, 'resolved.ts')] : []),
      ...['--import', join(sweep, 'kill-points.ts')],
      spec.root === undefined ? PROGRAM : join(sweep, 'daemon.ts'),
      ...[join(dir, 'config.json'), join(dir, 'data'), spec.variant, join(dir, 'count')],
    ],
    {
      // A child gets only what it needs; the rest of this environment is none of its business.
      env: {
        PATH: process.env['PATH'],
        HOME: dir,
        TMPDIR: tmpdir(),
        SWEEP_KEY: 'sk-sweep',
        SWEEP_COUNT: join(dir, 'points'),
        SWEEP_RESOLVED: spec.resolved,
        ...(killAt === undefined ? {} : { SWEEP_KILL_AT: String(killAt) }),
        // The worker ends what it runs where it outlives the daemon.
        ...(spec.variant === NO_REAP ? { SWEEP_KILL_CHILDREN: '1' } : {}),
        ...spec.platform.env,
      },
      stdio: spec.platform.attach ? ['pipe', 'pipe', 'pipe'] : ['ignore', 'ignore', 'pipe'],
    },
  );
  spec.platform.attach?.(child);
  let log = '';
  child.stderr?.on('data', (chunk) => {
    log = (log + String(chunk)).slice(-4_000);
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return { child, ended, log: () => log };
}

/** True when the kill hit; false when the daemon was done (or stuck) before it. */
async function runUntilKilled(dir: string, spec: Start, kill: RunSpec['kills'][number], aims: Aims): Promise<boolean> {
  const started = startDaemon(dir, spec, 'point' in kill ? kill.point : undefined);
  const timer = 'afterMs' in kill ? setTimeout(() => started.child.kill('SIGKILL'), kill.afterMs) : undefined;
  await Promise.race([started.ended, whenDone(dir, started, { platform: spec.platform, ...aims })]);
  clearTimeout(timer);
  if (started.child.exitCode === null && started.child.signalCode === null) started.child.kill('SIGTERM');
  await started.ended;
  return started.child.signalCode === 'SIGKILL';
}

interface Settled extends Pick<RunRecord, 'finished' | 'points' | 'log'> {
  readonly outlived: readonly string[];
}

async function settle(dir: string, spec: Start, aims: Aims): Promise<Settled> {
  const before = spec.hands ? await startsIn(dir) : new Map<string, string>();
  const started = startDaemon(dir, spec);
  const remaining = outlived(dir, before, () => isReady(dir, started.child));
  const finished = await Promise.race([
    started.ended.then(() => false),
    whenDone(dir, started, { platform: spec.platform, ...aims }),
  ]);
  const old = await remaining;
  started.child.kill('SIGTERM');
  await started.ended;
  const points = Number((await readFile(join(dir, 'points'), 'utf8')).trim().split(/\s+/)[0]);
  return { finished, points, log: started.log(), outlived: old };
}

interface Aims {
  /** Rows that are to end. */
  readonly expected: number;
  /** Who answers what runs ask. */
  readonly answering?: Answering | undefined;
}

interface Goal extends Aims {
  readonly platform: Platform;
}

/**
 * Between two looks at the status, and where answers take seconds: each look is a wire call with kill points
 * of its own.
 */
const LOOK_MS = 40;
const SLOW_LOOK_MS = 250;

/** How often in a row nothing may be open while messages are missing: the last may be on its way in. */
const STILL = 8;

/** Polls the daemon's status until every message has its outcome and nothing is left to send. */
async function whenDone(dir: string, started: Started, goal: Goal): Promise<boolean> {
  const more = goal.platform.grown ? goal.expected * GROWING_MS : 0;
  const end = performance.now() + DONE_WITHIN_MS + more;
  const lookMs = goal.platform.grown ? SLOW_LOOK_MS : LOOK_MS;
  let still = 0;
  while (performance.now() < end && started.child.exitCode === null && started.child.signalCode === null) {
    await goal.answering?.look(join(dir, 'data'));
    const left = await leftToDo(dir, goal).catch(() => 'work');
    still = left === 'work' ? 0 : still + 1;
    if (left === 'nothing' || still >= STILL) return true;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  return false;
}

/** `nothing-offered`: nothing of what came, and what did not come will not come any more. */
async function leftToDo(dir: string, { platform, expected }: Goal): Promise<'work' | 'nothing' | 'nothing-offered'> {
  // Before the journal is looked at: whatever is acknowledged by now is in it.
  const [gone, waiting] = [(await platform.notOffered?.()) ?? [], await platform.waiting()];
  const { pid, status } = await statusIn(dir);
  const { inbox, outbox } = status.journal;
  const settled = (inbox['DONE'] ?? 0) + (inbox['DEAD'] ?? 0);
  const open =
    (inbox['NEW'] ?? 0) + (inbox['RUNNING'] ?? 0) + (inbox['PARKED'] ?? 0) + (outbox['PENDING'] ?? 0) + (outbox['SENDING'] ?? 0);
  if (status.pid !== pid || open > 0 || !status.channels.every(({ state }) => state === 'healthy')) return 'work';
  if (settled >= expected) return 'nothing';
  return waiting === 0 && settled + gone.length >= expected ? 'nothing-offered' : 'work';
}

async function journalRecord(
  dir: string,
  greetings: number,
): Promise<Pick<RunRecord, 'stored' | 'unknownParts' | 'unknownTools' | 'deadLetters'>> {
  await using opened = await openJournal({ dir: join(dir, 'data'), clock: systemClock });
  const { inbox, outbox } = await opened.journal.counts();
  let unknownTools = 0;
  for (let seq = 1; seq <= 20; seq += 1) {
    const steps = await opened.journal.steps(seq);
    unknownTools += steps.filter(
      (step) => step.kind === 'tool' && JSON.stringify(step.value ?? '').includes('outcome unknown'),
    ).length;
  }
  const stored = inbox.NEW + inbox.RUNNING + inbox.PARKED + inbox.DONE + inbox.DEAD - greetings;
  return { stored, unknownParts: outbox.UNKNOWN, unknownTools, deadLetters: inbox.DEAD + outbox.DEAD + outbox.EXPIRED };
}

/** Each effect of a tool with how often it is there. */
async function toolRuns(dir: string, hands: Hands | undefined): Promise<ReadonlyMap<string, number>> {
  const counted = (await readFile(join(dir, 'count'), 'utf8')).split('\n').filter(Boolean);
  const effects = hands ? await effectsIn(join(dir, 'data')) : [];
  const runs = new Map<string, number>();
  for (const effect of [...counted, ...effects]) runs.set(effect, (runs.get(effect) ?? 0) + 1);
  return runs;
}

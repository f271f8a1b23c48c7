/**
 * Sub-agents on a real journal, lanes and runner, in this process, which "dies" after a number of commits:
 * from then on nothing it calls on the journal comes back, and the next life opens the same file.
 */

import { InboundBus } from '../../bus/inbound-bus.ts';
import { TurnPermits } from '../../bus/turn-permits.ts';
import type { Journal } from '../../core/journal.ts';
import type { Model } from '../../core/model.ts';
import type { RunRow } from '../../core/run.ts';
import type { SessionMessage } from '../../core/session.ts';
import { AnswerPlace } from '../../delivery/answer-place.ts';
import { planParts } from '../../delivery/plan.ts';
import { Lanes } from '../../gateway/lanes.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Choices } from '../../runs/choices.ts';
import { profiles } from '../../runs/profile.ts';
import { remainsOf } from '../../runs/remains.ts';
import { Runner } from '../../runs/runner.ts';
import { RunSubAgents } from '../../runs/sub-agents.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { builtInTools } from '../../tools/index.ts';
import { anyAccess } from '../agent-run.ts';

const clock = systemClock;
const BOUNDS = { maxAttempts: 1_000, maxAgeMs: 86_400_000 };
const WRITES = ['accept', 'claim', 'release', 'step', 'finish', 'commit', 'enqueue', 'spend'] as const;
const LIMITS = { text: 4_000, unit: 'codepoint', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;
const NEVER = new Promise<never>(() => undefined);
/** Tools that the runs have beside those that begin sub-agents. */
const TOOLS = ['spawn', 'dispatch_subagent', 'list_dir'];

export interface LifeOptions {
  readonly dir: string;
  readonly model: Model;
  /** Commits until the process dies. Absent = it lives. */
  readonly commits?: number;
  /** Writes of one round of the event loop share a commit, as they do in the daemon; else each is one. */
  readonly inRounds?: boolean;
  /** What is done in this life beside the runs. */
  readonly also?: (journal: Journal, lanes: Lanes) => Promise<void>;
}

export interface LifeEnd {
  readonly died: boolean;
  /** Commits that it made. */
  readonly commits: number;
}

/** One life of the process: to the end of all work, or to its death. */
export async function live(options: LifeOptions): Promise<LifeEnd> {
  const opened = await openJournal({ dir: options.dir, clock, remains: remainsOf({ clock, isCommand: () => false }) });
  const mortal = new Mortal(opened.journal, options);
  const { journal } = mortal;
  const lanes = lanesOf(journal, options);
  opened.journal.wakeup.listen((what, lane) => what === 'run' && lanes.fetch([lane]));
  const recovery = await opened.journal.recover(BOUNDS, () => []);
  lanes.fetch(recovery.lanes);
  const work = async (): Promise<void> => {
    await options.also?.(journal, lanes);
    await allDone(opened.journal, lanes, () => mortal.isDead);
  };
  await Promise.race([work(), mortal.death]);
  await closed(opened);
  return { died: mortal.isDead, commits: mortal.commits };
}

/** What is in its queue is written: a process dies between commits, and not within one. */
async function closed(opened: OpenedJournal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await opened[Symbol.asyncDispose]();
}

async function allDone(journal: Journal, lanes: Lanes, isDead: () => boolean): Promise<void> {
  while (!isDead()) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (isDead()) return;
    const { NEW, RUNNING, PARKED } = (await journal.counts()).inbox;
    if (NEW + RUNNING + PARKED === 0 && lanes.isAtRest) return;
  }
}

class Mortal {
  readonly journal: Journal;
  readonly death: Promise<void>;
  readonly #left: number;
  readonly #inRounds: boolean;
  #die: () => void = () => undefined;
  #round = false;
  commits = 0;
  isDead = false;

  constructor(real: Journal, { commits = Number.POSITIVE_INFINITY, inRounds = false }: LifeOptions) {
    this.#left = commits;
    this.#inRounds = inRounds;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.journal = new Proxy(real, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return this.#mortalPart(value);
        const isWrite = WRITES.some((write) => write === name);
        return (...args: readonly unknown[]) => (this.#passes(isWrite) ? value.apply(target, args) : NEVER);
      },
    });
  }

  /** `waits`, `prompted` and the like. */
  #mortalPart(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    return new Proxy(value, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: readonly unknown[]) => (this.#passes(false) ? method.apply(target, args) : NEVER);
      },
    });
  }

  #passes(isWrite: boolean): boolean {
    if (this.isDead || !isWrite || (this.#inRounds && this.#round)) return !this.isDead;
    if (this.commits >= this.#left) {
      this.isDead = true;
      this.#die();
      return false;
    }
    this.commits += 1;
    if (!this.#inRounds) return true;
    this.#round = true;
    setImmediate(() => {
      this.#round = false;
    });
    return true;
  }
}

function lanesOf(journal: Journal, { model, dir }: LifeOptions): Lanes {
  const runner = runnerOn(journal, model, dir);
  return new Lanes({
    ...{ journal, clock, emit: () => undefined },
    bus: new InboundBus(),
    permits: new TurnPermits({ clock, total: 100, channels: 1, ofPerson: 100 }),
    turn: (row, signal, durable) => runner.run(row, signal, durable),
    onTurnError: (_row, error) => {
      throw error;
    },
  });
}

function runnerOn(journal: Journal, model: Model, dataDir: string): Runner {
  const choices: Pick<Choices, 'of' | 'inForce'> = {
    of: async () => ({ model }),
    inForce: async () => ({ entry: undefined, from: '', thinking: undefined, thinkingFrom: '', gone: undefined }),
  };
  const { policy } = anyAccess();
  return new Runner({
    ...{ journal, clock, dataDir, choices, policy, transcripts: transcriptsOn(journal) },
    emit: () => undefined,
    onParts: () => undefined,
    answers: { answer: (row) => placeOf(row, journal) },
    earlier: { of: async () => '' },
    about: { news: async () => '' },
    compaction: { after: () => undefined, idle: async () => undefined },
    elsewhere: () => undefined,
    isThere: () => true,
    models: () => ({ window: async () => 100_000, ask: async () => Promise.reject(new Error('no summaries here')) }),
    extras: { annotates: () => false, showsThoughts: async () => false, attach: async () => undefined },
    instead: async () => undefined,
    tools: (row, taint) => builtInTools(scopeOf(row, journal, choices, taint)).filter(({ name }) => TOOLS.includes(name)),
    mayApprove: () => false,
    hooks: { has: () => false, ask: async () => ({ kind: 'allow' }), tell: () => undefined },
    questions: { place: async () => undefined },
    channel: async () => undefined,
    edits: () => true,
    limits: profiles(),
    maxHistory: () => 50,
    system: () => 'You are an agent.',
    remains: remainsOf({ clock, isCommand: () => false }),
    typing: () => ({ [Symbol.dispose]: () => undefined }),
    tellsDelays: () => false,
    parts: (message, text, files) =>
      planParts({ ...{ message, text, files, limits: LIMITS, now: clock.now() }, expiresInMs: 3_600_000 }),
  });
}

function scopeOf(row: RunRow, journal: Journal, choices: Pick<Choices, 'inForce'>, taint: number) {
  const options = {
    ...{ journal, choices, findModel: () => undefined, ownMcp: () => false, maxTokens: () => 0 },
    limits: () => ({ atOnce: 10, ofTree: 20, tokensOfTree: 0 }),
  };
  const { session, authority } = row;
  return { session, authority, taint, channel: 'test', subAgents: new RunSubAgents(row, options) };
}

function placeOf(row: RunRow, journal: Journal): AnswerPlace {
  const nothing = { words: false, status: false };
  return new AnswerPlace(row, {
    ...{ journal, clock, draft: () => undefined, shows: () => nothing, edits: () => true, sign: undefined },
    view: async () => ({ isSeen: true }),
    ...{ poke: () => undefined, ended: () => undefined, emit: () => undefined },
  });
}

/** Lines stay in the journal. */
function transcriptsOn(journal: Journal): Transcripts {
  const all = async (session: string): Promise<readonly SessionMessage[]> => {
    const found = (await journal.unflushed(1_000_000)).filter((one) => one.session === session);
    return found.flatMap(({ lines }) => lines.map(({ line }) => line));
  };
  const stub: Pick<Transcripts, 'load' | 'committed' | 'choices'> = {
    load: all,
    committed: () => undefined,
    choices: async () => ({}),
  };
  // The runner calls no more of it than this.
  return stub as Transcripts;
}

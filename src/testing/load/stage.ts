/** One gateway with many channels: its platforms, its model, and the daemon as a process of its own. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalCounts } from '../../core/journal.ts';
import { freePort } from '../../simulator/free-port.ts';
import { CALLING, PLATFORMS } from '../../simulator/platforms/index.ts';
import type { Platform } from '../../simulator/platforms/platform.ts';
import { type ChildDaemon, startChild } from '../child-daemon.ts';
import { until } from '../fakes.ts';
import { type FloodRecord, recordedFlood } from './flood.ts';
import { type ChannelRecord, judgeChannel, placesIn, type Written } from './judge.ts';
import { LoadModel } from './load-model.ts';
import { peakMb } from './resident.ts';
import { type Question, questionText } from './traffic.ts';
import { sendUnsigned, type UnsignedOptions, type UnsignedRecord } from './unsigned.ts';

const LOOK_MS = 100;
/** A channel whose connections kept breaking waits for up to a minute before its next try (`reconnect`). */
const HEALTHY_MS = 90_000;
const FLAP_EVERY_MS = 2_000;
const STORM_LOOK_MS = 250;
/** So many sends are refused before the next one passes, and then again. */
const STORM_BURST = 3;
const SLOW_MODEL_MS = 30_000;

/** Who suffers in a phase. Absent = nobody by that. */
export interface Victims {
  /** Its connections break every two seconds. */
  readonly flap?: string;
  /** Its platform refuses sends with "too many requests". */
  readonly storm?: string;
  /** The model takes 30 s for its people. */
  readonly slow?: string;
}

export interface PhaseRecord {
  readonly channels: readonly ChannelRecord[];
  /** Answers that the daemon itself declared UNKNOWN, and rows it gave up. */
  readonly unknown: number;
  readonly dead: number;
  readonly tookMs: number;
  /** What the daemon held at its highest, in MB of 1,048,576 bytes. */
  readonly peakMb: number;
  /** Everything had its outcome in time. */
  readonly finished: boolean;
  /** Of a phase with a flood. */
  readonly flood?: FloodRecord;
  /** Of a phase with requests without a signature. */
  readonly unsigned?: UnsignedRecord;
}

/** What comes beside the traffic that is measured. */
export interface Attack {
  /** What one person writes on one channel. */
  readonly flood?: readonly Question[];
  readonly unsigned?: UnsignedOptions;
}

export interface StageOptions {
  readonly channels: readonly string[];
  /** Platforms that can call the daemon do; requests without a signature need one of them. */
  readonly isCalled?: boolean;
  /** Of every call of the model, before its first byte. */
  readonly modelMs: number;
  /** Added to the section `gateway`. */
  readonly gateway?: Readonly<Record<string, unknown>>;
  /** Section `limits`. */
  readonly limits?: Readonly<Record<string, unknown>>;
}

export class Stage implements AsyncDisposable {
  readonly #owned = new AsyncDisposableStack();
  readonly #platforms = new Map<string, Platform>();
  #model!: LoadModel;
  #daemon!: ChildDaemon;
  #webhookPort = 0;

  /** Starts everything, or ends what it started. Rejects for a platform that is not there or cannot run. */
  static async start(options: StageOptions): Promise<Stage> {
    const stage = new Stage();
    try {
      await stage.#start(options);
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  get platforms(): ReadonlyMap<string, Platform> {
    return this.#platforms;
  }

  /** The daemon's log, for a look at what went wrong. */
  get log(): string {
    return this.#daemon.stderr();
  }

  /**
   * Writes every question when it is due and waits until everything is answered or refused, or `patienceMs`
   * after the last was written.
   */
  async run(
    questions: readonly Question[],
    victims: Victims,
    patienceMs: number,
    { flood = [], unsigned }: Attack = {},
  ): Promise<PhaseRecord> {
    // The trouble of the phase before costs this one nothing.
    await this.#healthy();
    const before = await this.#daemon.status();
    const [started, since] = [performance.now(), Date.now()];
    const [trouble, over] = [new AbortController(), new AbortController()];
    const pid = this.#daemon.process.pid ?? 0;
    const peak = peakMb(pid, over.signal);
    const troubles = this.#trouble(victims, questions, trouble.signal);
    const sent = unsigned && sendUnsigned(this.#webhooks(), unsigned);
    const [written, flooded] = await Promise.all([this.#write(questions), this.#write(flood)]);
    if (victims.slow !== undefined) await this.#othersAsked(questions, victims.slow, patienceMs);
    trouble.abort(new Error('the phase is over'));
    await troubles;
    const finished = await this.#settled(outcomes(before.journal) + written.length + flooded.length, patienceMs);
    const tookMs = performance.now() - started;
    over.abort();
    const { journal } = await this.#daemon.status();
    const dead = (counts: JournalCounts) => counts.inbox.DEAD + counts.outbox.DEAD + counts.outbox.EXPIRED;
    return {
      ...(await this.#judged(written, flooded, since)),
      ...{ tookMs, finished, peakMb: await peak },
      ...(sent && { unsigned: await sent }),
      unknown: journal.outbox.UNKNOWN - before.journal.outbox.UNKNOWN,
      dead: dead(journal) - dead(before.journal),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  async #start({ channels, isCalled = false, modelMs, gateway = {}, limits = {} }: StageOptions): Promise<void> {
    const dir = await mkdtemp(join(tmpdir(), 'gatehouse-load-'));
    this.#owned.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
    this.#webhookPort = await freePort();
    for (const name of channels) {
      const start = (isCalled ? CALLING[name] : undefined) ?? PLATFORMS[name];
      if (!start) throw new Error(`no platform is called ${name}; there are ${Object.keys(PLATFORMS).join(', ')}`);
      const platform = this.#owned.use(await start({ webhookPort: this.#webhookPort }));
      this.#platforms.set(name, platform);
      await platform.begin(join(dir, 'data'));
    }
    this.#model = this.#owned.use(await LoadModel.start(modelMs));
    const platforms = [...this.#platforms.values()];
    const terminal = platforms.find(({ attach }) => attach);
    this.#daemon = this.#owned.use(
      await startChild({
        dir,
        config: {
          ...{
            provider: 'openai',
            model: 'load',
            base_url: this.#model.baseUrl,
            api_key_env: 'LOAD_KEY',
            log: { level: 'warn' },
          },
          gateway: {
            ...{ channels: platforms.map(({ channel }) => channel), http: { port: 0 }, webhooks: { port: this.#webhookPort } },
            ...gateway,
          },
          limits,
        },
        env: Object.assign({ LOAD_KEY: 'sk-load' }, ...platforms.map(({ env }) => env)),
        stdin: terminal ? 'pipe' : 'ignore',
      }),
    );
    terminal?.attach?.(this.#daemon.process);
    await this.#healthy();
  }

  async #judged(
    written: readonly Written[],
    flooded: readonly Written[],
    since: number,
  ): Promise<Pick<PhaseRecord, 'channels' | 'flood'>> {
    using database = this.#journal();
    const places = placesIn(database);
    const judged = async (name: string, own: readonly Written[]): Promise<ChannelRecord> => {
      const place = (number: number): number => places.get(questionText({ channel: name, number })) ?? -1;
      return judgeChannel(name, own, (await this.#platforms.get(name)?.seen()) ?? [], place);
    };
    const channels: ChannelRecord[] = [];
    for (const name of this.#platforms.keys()) {
      const own = written.filter(({ channel }) => channel === name);
      channels.push(await judged(name, own));
    }
    const channel = flooded[0]?.channel;
    if (channel === undefined) return { channels };
    const record = await judged(channel, flooded);
    return { channels, flood: { written: flooded.length, record, ...recordedFlood(database, channel, since) } };
  }

  /** Addresses at which platforms call the daemon. */
  #webhooks(): readonly string[] {
    const called = [...this.#platforms.keys()].filter((name) => CALLING[name]);
    return called.map((name) => `http://127.0.0.1:${this.#webhookPort}/hooks/${name}`);
  }

  async #healthy(): Promise<void> {
    const healthy = async () => (await this.#daemon.status()).channels.every(({ state }) => state === 'healthy');
    await until('every channel is healthy', healthy, HEALTHY_MS);
  }

  async #write(questions: readonly Question[]): Promise<readonly Written[]> {
    const started = performance.now();
    const writing: Promise<Written>[] = [];
    for (const question of questions) {
      const waitMs = started + question.dueMs - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      writing.push(this.#writeOne(question));
    }
    return await Promise.all(writing);
  }

  async #writeOne(question: Question): Promise<Written> {
    const writtenAt = Date.now();
    const { channel, person, sender } = question;
    const platform = this.#platforms.get(channel);
    if (sender === undefined) await platform?.write(person, questionText(question));
    else await platform?.writeInGroup?.(sender, person, questionText(question));
    return { ...question, writtenAt };
  }

  /** Keeps the victims' troubles going until the signal. */
  async #trouble({ flap, storm, slow }: Victims, questions: readonly Question[], signal: AbortSignal): Promise<void> {
    if (slow !== undefined) this.#model.slow(slow, SLOW_MODEL_MS);
    await Promise.all([
      every(flap === undefined ? undefined : FLAP_EVERY_MS, signal, async () => this.#fault(flap, 'disconnect')),
      every(storm === undefined ? undefined : STORM_LOOK_MS, signal, this.#storm(storm, questions)),
    ]);
    // Whoever has no flap and no storm to keep going waits for the end all the same.
    if (!signal.aborted) await once(signal, 'abort');
    if (slow !== undefined) this.#model.slow(slow, undefined);
  }

  /** Once a send got through the next ones are refused, so that little of the storm outlasts the phase. */
  #storm(name: string | undefined, questions: readonly Question[]): () => Promise<void> {
    const people = new Set(questions.filter(({ channel }) => channel === name).map(({ person }) => person));
    let passed = -1;
    return async () => {
      const seen = (await this.#platforms.get(name ?? '')?.seen()) ?? [];
      const now = seen.filter(({ person }) => people.has(person)).length;
      if (now === passed) return;
      passed = now;
      this.#fault(name, 'limit', STORM_BURST);
    };
  }

  #fault(name: string | undefined, kind: 'disconnect' | 'limit', times = 1): void {
    this.#platforms.get(name ?? '')?.fault(kind, times);
  }

  /** The slow model stays slow until the others have asked all: it must not help them by being over early. */
  async #othersAsked(questions: readonly Question[], slow: string, patienceMs: number): Promise<void> {
    const others = questions.filter(({ channel }) => channel !== slow).map(questionText);
    const end = performance.now() + patienceMs;
    while (performance.now() < end && !others.every((question) => this.#model.wasAsked(question))) await sleep(LOOK_MS);
  }

  #journal(): DatabaseSync {
    return new DatabaseSync(join(this.#daemon.dataDir, 'journal.db'), { readOnly: true });
  }

  /** True when so many messages have their outcome and nothing is left to send. */
  async #settled(messages: number, patienceMs: number): Promise<boolean> {
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      const { journal } = await this.#daemon.status();
      const { inbox, outbox } = journal;
      const open = inbox.NEW + inbox.RUNNING + outbox.PENDING + outbox.SENDING;
      if (outcomes(journal) >= messages && open === 0) return true;
      await sleep(LOOK_MS);
    }
    return false;
  }
}

/** Messages that were dealt with, or refused in a flood. */
function outcomes({ inbox, refused }: JournalCounts): number {
  return refused.reduce((sum, { reason, count }) => sum + (reason.startsWith('flood:') ? count : 0), inbox.DONE + inbox.DEAD);
}

async function every(ms: number | undefined, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (ms !== undefined && !signal.aborted) {
    await work();
    await sleep(ms, undefined, { signal }).catch(() => undefined);
  }
}

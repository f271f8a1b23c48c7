/** The command line's collaborators as fakes: streams that remember, a journal in memory. Never shipped. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import type { RunOptions } from '../app/run-options.ts';
import type { CliDeps, OpenJournal } from '../cli/deps.ts';
import { runCli } from '../cli/program.ts';
import type { DeadLetter } from '../core/dead-letters.ts';
import type { JournalCounts } from '../core/journal.ts';
import type { SpendingGroup, SpendingQuery, UsageEntry } from '../core/ledger.ts';
import type { Model } from '../core/model.ts';
import type { PairingRequest } from '../core/pairing.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { packageRoot } from '../lib/package-info.ts';
import { FakeClock } from './fakes.ts';

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const EMPTY_COUNTS: JournalCounts = {
  inbox: { NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0 },
  outbox: { PENDING: 0, SENDING: 0, SENT: 0, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 },
  refused: [],
  unsent: [],
};

const NO_WAITS: OpenJournal['journal']['waits'] = {
  granted: async () => undefined,
  ...{ of: async () => [], find: async () => undefined, byCode: async () => undefined, questions: async () => [] },
  ...{
    waiting: async () => 0,
    heldHistory: async () => [],
    isBesideUnderWay: async () => false,
    unfinished: async () => ({ NEW: 0, RUNNING: 0, PARKED: 0 }),
    parked: async () => [],
  },
  ...{ earliest: async () => undefined, due: async () => [] },
};

/** One invocation after another in one directory; set the public fields before `run`. */
export class FakeCli {
  readonly clock = new FakeClock();
  readonly runs: RunOptions[] = [];
  readonly opened: string[] = [];
  env: Record<string, string | undefined> = {};
  letters: DeadLetter[] = [];
  replayed: string[] = [];
  expectsUntil: number | undefined;
  requests: PairingRequest[] = [];
  counts: JournalCounts = EMPTY_COUNTS;
  /** What the ledger answers. */
  spending: (query: SpendingQuery) => readonly SpendingGroup[] | Promise<readonly SpendingGroup[]> = () => [];
  /** What commands added to the ledger. */
  spent: UsageEntry[] = [];
  /** What the pairing store knows under a code. */
  codes = new Map<string, PairingRequest>();
  /** Typed on the terminal; undefined = there is no terminal. */
  answers: string[] | undefined;
  /** Close the input once the answers are used up, instead of leaving the rest empty. */
  endsInput = false;
  /** Models by `provider/model`; one that is missing here cannot be built. */
  models = new Map<string, Model>();
  /** Keys with which models were built. */
  apiKeys: (string | undefined)[] = [];
  /** Stored logins by provider. */
  logins = new Map<string, string>();
  /** Piped in where there is no terminal; undefined = the input stays open. */
  input: string | undefined;
  /** See `CliDeps.groupIds`. */
  groupIds: NonNullable<CliDeps['groupIds']> = async () => undefined;
  awaitCode: CliDeps['awaitCode'] = async () => ({ kind: 'late', waiting: 0, taken: 0 });
  /** Pages the browser was sent to. */
  readonly openedUrls: string[] = [];
  /** Hears each piece of talk as it comes: for commands that wait for somebody. */
  onTalk: (text: string) => void = () => undefined;
  /** What trying the channels comes to. */
  tried: ChannelStatus[] = [];
  /** What linking a channel does. */
  login: CliDeps['loginChannel'] = async () => undefined;
  /** What forgetting a channel's login comes to. */
  logout: CliDeps['logoutChannel'] = async () => undefined;
  /** What simulating comes to. */
  simulate: CliDeps['simulate'] = async () => 0;
  /** Opens a real journal in place of the one that is made of these fields. */
  openJournal: CliDeps['openJournal'] | undefined;
  /** The channels there are, with their settings. */
  channels: Readonly<Record<string, () => Promise<z.ZodType | undefined>>> = {
    cli: async () => z.strictObject({}),
    telegram: async () => z.strictObject({ token_env: z.string().default('TELEGRAM_BOT_TOKEN').describe('Token.') }),
  };
  /** Rejection of the next journal or run. */
  failure: Error | undefined;
  closed = 0;
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  get dataDir(): string {
    return join(this.dir, 'data');
  }

  /** Writes a file below the directory; returns its path. */
  async write(path: string, text: string | Buffer): Promise<string> {
    const file = join(this.dir, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  /** Makes the data directory one that has a journal. */
  async haveJournal(): Promise<void> {
    await this.write('data/journal.db', '');
  }

  async run(...argv: string[]): Promise<CliResult> {
    const tty = this.answers !== undefined;
    const stdout = record(tty);
    const stderr = record(tty);
    const stdin = Object.assign(new PassThrough(), { isTTY: tty });
    // A terminal hands out one line per question; all at once would be lost between two readers.
    const answers = [...(this.answers ?? [])];
    stderr.stream.on('data', (chunk: Buffer) => {
      if (!/[?:\]] $/.test(String(chunk))) return;
      if (answers.length === 0 && this.endsInput) stdin.end();
      else stdin.write(`${answers.shift() ?? ''}\n`);
    });
    if (this.input !== undefined) stdin.end(this.input);
    stderr.stream.on('data', (chunk: Buffer) => this.onTalk(String(chunk)));
    const code = await runCli(argv, this.#deps({ stdin, stdout: stdout.stream, stderr: stderr.stream }));
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  }

  #deps(stdio: CliDeps['stdio']): CliDeps {
    const start = async (options: RunOptions) => {
      if (this.failure) throw this.failure;
      this.runs.push(options);
      return 0;
    };
    return {
      stdio,
      env: { GATEHOUSE_HOME: this.dataDir, ...this.env },
      cwd: this.dir,
      home: join(this.dir, 'home'),
      clock: this.clock,
      version: '1.2.3',
      command: 'gatehouse',
      commandHere: 'gatehouse',
      packageRoot: packageRoot(),
      channelTypes: Object.keys(this.channels),
      groupIds: this.groupIds,
      channelSettings: async (type) => await this.channels[type]?.(),
      demo: async () => 0,
      runGateway: start,
      runChat: start,
      createModel: async ({ provider, model }, { apiKey }) => {
        const found = this.models.get(`${provider.name}/${model}`);
        if (!found) throw new Error(`no model ${provider.name}/${model} in this test`);
        this.apiKeys.push(apiKey);
        return found;
      },
      storedKey: async (_dataDir, provider) => this.logins.get(provider),
      openUrl: (url) => void this.openedUrls.push(url),
      tryChannels: async ({ name }) => this.tried.filter((channel) => name === undefined || channel.name === name),
      awaitCode: (options) => this.awaitCode(options),
      loginChannel: (options) => this.login(options),
      logoutChannel: (options) => this.logout(options),
      simulate: (options, onReady) => this.simulate(options, onReady),
      openJournal: async (options) => {
        if (this.failure) throw this.failure;
        this.opened.push(options.dir);
        if (this.openJournal) return await this.openJournal(options);
        return this.#journal();
      },
    };
  }

  #journal(): OpenJournal {
    const take = (id: string): boolean => {
      const before = this.letters.length;
      this.letters = this.letters.filter((letter) => letter.id !== id);
      return this.letters.length < before;
    };
    return {
      backup: async (path) => await writeFile(path, 'as it was'),
      journal: {
        dead: {
          list: async () => this.letters,
          show: async (id) => this.letters.find((letter) => letter.id === id),
          replay: async (id) => take(id) && this.replayed.push(id) > 0,
          drop: async (id) => take(id),
        },
        counts: async () => this.counts,
        spending: async (query) => this.spending(query),
        record: {
          effects: async () => [],
          note: () => undefined,
          of: async () => [],
          after: async () => [],
          before: async () => [],
          latestAt: async () => undefined,
          about: async () => undefined,
          asked: async () => undefined,
        },
        spend: async (entry) => void this.spent.push(entry),
        commit: async () => true,
        prompted: { of: async () => undefined },
        accept: async () => [],
        unflushed: async () => [],
        flushed: async () => undefined,
        waits: NO_WAITS,
        chats: { of: async () => undefined, firstAccount: async () => undefined, find: async () => [], named: async () => [] },
        tasks: {
          ...{ list: async () => [], get: async () => undefined, children: async () => [] },
          ...{ countOpen: async () => 0, taintTold: async () => 0 },
        },
        room: () => 1_000,
        jobs: {
          ...{ list: async () => [], due: async () => [], get: async () => undefined, earliest: async () => undefined },
          ...{ fired: async () => false, counts: async () => ({ enabled: 0, disabled: 0, failing: 0 }) },
        },
        [Symbol.asyncDispose]: async () => {
          this.closed += 1;
        },
      },
      pairing: {
        list: async () => this.requests,
        expect: async (now) => {
          this.expectsUntil = now + 7 * 86_400_000;
          return { word: 'PAIR-7GQ2MX4K', expiresAt: this.expectsUntil };
        },
        expectsUntil: async () => this.expectsUntil,
        approve: async (which) => this.codes.get(String(which)),
        deny: async (which) => this.codes.get(String(which)),
      },
      pins: { of: async () => [] },
      people: {
        ...{ blocks: async () => [], seen: async () => new Map(), audit: async () => [] },
        verifyAudit: async () => ({ kind: 'whole', entries: 0, head: '' }),
        ...{ links: async () => [], idsOf: async (who) => [who], mayTryLink: async () => true, rows: async () => ({}) },
        erasures: {
          ...{ open: async () => [], isTelling: async () => false, busy: async () => [], waiting: async () => [] },
          outgoing: async () => new Set(),
          ...{
            eraseRows: async (erasure) => erasure,
            hashHistory: async () => undefined,
            hashIds: async () => undefined,
            clean: async () => true,
          },
        },
      },
    };
  }
}

function record(isTTY: boolean): { stream: PassThrough & { isTTY: boolean }; text: () => string } {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const chunks: string[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
  return { stream, text: () => chunks.join('') };
}

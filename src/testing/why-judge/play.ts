/** Plays messages of every fate on the real daemon, kills it now and then, and asks why of each. */
import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Journal } from '../../core/journal.ts';
import type { EventRecord, PartSummary, RunAbout } from '../../core/record.ts';
import { Database } from '../../journal/database.ts';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { whyOf } from '../../runs/why.ts';
import { startTelegramServer } from '../../simulator/telegram/server.ts';
import { type ChildDaemon, programLine, startChild } from '../child-daemon.ts';
import { tempDir, until } from '../fakes.ts';
import { ALLOWED_GROUP, allowedIds, type Expected, flood, grownOld, jobRun, KINDS, type Scene, waiting } from './kinds.ts';
import { JudgeModel } from './model.ts';

export interface Played {
  readonly judged: number;
  /** A sentence each. */
  readonly wrong: readonly string[];
  readonly kinds: Readonly<Record<string, number>>;
}

export interface PlayOptions {
  readonly messages: number;
  readonly kills: number;
  /** Which commands are asked as processes of their own; others cost too long for a test. */
  readonly commands: readonly (readonly string[])[];
}

const CHUNK = 60;
/** Answers that the platform may be owed while more is said. */
const MOST_WAITING = 200;
const PATIENCE_MS = 600_000;
/** A busy daemon writes down so late that a send succeeded. */
const JUST_MS = 5_000;
/** Of the last act. */
const MOST_ATTEMPTS = 3;
/** Chats of what happens once. */
const ONCE = 2;
/** Of a send whose reply a kill may have lost. */
const MAYBE_LOST = /sent, without a word from the platform/;

/** With other settings of `gateway`, and a clock that is so many hours ahead. */
type Start = (gateway?: object, hoursAhead?: number) => Promise<ChildDaemon>;

export async function play({ messages, kills, commands }: PlayOptions): Promise<Played> {
  await using resources = new AsyncDisposableStack();
  const canary = `canary${process.pid}x${Date.now().toString(36)}`;
  const dir = resources.use(await tempDir());
  const platform = resources.use(await startTelegramServer());
  const model = resources.use(new JudgeModel(canary));
  const config = configOf(await model.start(), platform.url, messages);
  const env = { TEST_KEY: 'sk-test', TELEGRAM_BOT_TOKEN: platform.token };
  const start: Start = async (gateway = {}, hoursAhead = 0) => {
    const changed = { ...config, gateway: { ...config.gateway, ...gateway } };
    const daemon = resources.use(
      await startChild({ dir: dir.path, config: changed, env: { ...env, ...clockAhead(hoursAhead) } }),
    );
    await daemon.ready();
    return daemon;
  };
  const scene: Scene = { platform, canary };
  const expected: Expected[] = [];
  const lost = new Set<string>();
  let daemon = await start();
  const { dataDir } = daemon;
  expected.push(...(await playOnce(dataDir, scene, model, messages)));
  for (let killed = 0, n = 0; expected.length < messages; ) {
    for (const end = expected.length + CHUNK; expected.length < Math.min(end, messages); n += 1)
      expected.push(...(KINDS[n % KINDS.length]?.(scene, n) ?? []));
    if (expected.length > (messages * (killed + 1)) / (kills + 1) && killed < kills) {
      killed += 1;
      // The platform shows what became of these, so a kill must lose no word of it.
      const shown = expected.filter(({ says }) => typeof says === 'function');
      await allOver(dataDir, shown);
      for (const key of onTheirWay(scene, expected)) lost.add(key);
      await daemon.stop('SIGKILL');
      daemon = await start();
    }
    await until('the platform is heard', () => platform.unconfirmed === 0, PATIENCE_MS);
    // Kills then meet messages of every age.
    const owed = expected.filter(({ chat, kind }) => chat !== undefined && kind !== 'send is refused').length;
    for (let gate = n - CHUNK; gate < n; gate += 1) for (const name of ['edit', 'stop', 'held']) model.open(`${name}${gate}`);
    await until('most are answered', () => platform.sends.length >= owed - MOST_WAITING, PATIENCE_MS);
  }
  await allOver(dataDir, expected);
  const dropped = expected.filter(({ afterwards }) => afterwards);
  for (const { afterwards } of dropped) afterwards?.();
  await allOver(dataDir, dropped, isSettled);
  const waits = waiting(scene);
  expected.push(...waits);
  await until('the last one is worked on', () => model.reached.has('never') && platform.unconfirmed === 0, PATIENCE_MS);
  await withRecord(dataDir, (record) =>
    until('an answer is put off', async () => (await record.about(waits.at(-1)?.key ?? ''))?.parts[0]?.reason, PATIENCE_MS),
  );
  const wrong = [...(await judge(dataDir, expected, lost, 'up'))];
  await daemon.stop('SIGKILL');
  wrong.push(...(await judge(dataDir, expected, lost, 'down')));
  const old = grownOld(waits, MOST_ATTEMPTS);
  wrong.push(...(await growOld({ dataDir, start, model }, old)), ...(await leaks(dataDir, canary, commands)));
  expected.push(...old);
  const kinds = Object.fromEntries([...Map.groupBy(expected, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]));
  return { judged: expected.length, wrong, kinds };
}

/** Keys of messages whose answer may be on its way: the platform has not seen it, or has just seen it. */
function onTheirWay({ platform }: Scene, expected: readonly Expected[]): readonly string[] {
  const sends = Map.groupBy(platform.sends, ({ chatId }) => chatId);
  const isOnItsWay = ({ chat }: Expected): boolean => {
    const seen = sends.get(String(chat)) ?? [];
    const owed = expected.filter((one) => one.chat === chat).length;
    return chat !== undefined && (seen.length < owed || (seen.at(-1)?.at ?? 0) > Date.now() - JUST_MS);
  };
  return expected.filter(isOnItsWay).map(({ key }) => key);
}

/** A job and a flood, to their end. */
async function playOnce(dataDir: string, scene: Scene, model: JudgeModel, messages: number): Promise<readonly Expected[]> {
  const { job, expected } = jobRun(messages, 'ab12cd34', Date.now());
  await withJournal(dataDir, (journal) => journal.commit([{ kind: 'job', job }]));
  const all = [expected, ...flood(scene, messages + 1)];
  await until('the flood is heard', () => scene.platform.unconfirmed === 0, PATIENCE_MS);
  model.open('flood');
  await allOver(dataDir, all);
  return all;
}

/** Where the clock of the process is to be ahead. Timers are none of its business. */
function clockAhead(hours: number): Readonly<Record<string, string>> {
  if (hours === 0) return {};
  const program = `const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` };
}

/**
 * Starts of the daemon, half a day apart and each ended by a kill, until the last one gives up what is too
 * old and what was begun too often. One gap between two starts counts for half a day at most. In the end the
 * operator drops what was given up, and the same has to be said from the record alone.
 */
async function growOld(
  { dataDir, start, model }: { readonly dataDir: string; readonly start: Start; readonly model: JudgeModel },
  old: readonly Expected[],
): Promise<readonly string[]> {
  for (const hours of [12, 24]) {
    model.reached.delete('never');
    const daemon = await start({ max_attempts: MOST_ATTEMPTS }, hours);
    await until('it is worked on again', () => model.reached.has('never'), PATIENCE_MS);
    // A kill in the middle of its send would leave it UNKNOWN.
    const isPutOff = async (record: EventRecord): Promise<boolean> => {
      const [part] = (await record.about(old.at(-1)?.key ?? ''))?.parts ?? [];
      return part?.state === 'EXPIRED' || (part?.state === 'PENDING' && part.notBefore > Date.now() + hours * 3_600_000);
    };
    await withRecord(dataDir, (record) => until('the answer is put off again', () => isPutOff(record), PATIENCE_MS));
    await daemon.stop('SIGKILL');
  }
  const daemon = await start({ max_attempts: MOST_ATTEMPTS }, 36);
  await allOver(dataDir, old);
  const wrong = await judge(dataDir, old, new Set(), 'up');
  await daemon.stop('SIGKILL');
  await withJournal(dataDir, async ({ dead }) => {
    for (const { id } of await dead.list()) await dead.drop(id);
  });
  return [...wrong, ...(await judge(dataDir, old, new Set(), 'down'))];
}

function configOf(baseUrl: string, apiRoot: string, messages: number) {
  const entry = {
    ...{ type: 'telegram', allowed_senders: allowedIds(messages + ONCE), allowed_groups: [ALLOWED_GROUP], streaming: 'off' },
    settings: { api_root: apiRoot, poll_timeout_secs: 1, rate_limits: false },
  };
  return {
    ...{ provider: 'openai', model: 'm', base_url: baseUrl, api_key_env: 'TEST_KEY' },
    // The base of a prompt fits, a long message does not.
    model_hints: { price: { in: 100, out: 0 } },
    budget: { session_usd: 0.2, steps: ['ask', 'stop'] },
    max_iterations: 6,
    gateway: {
      // Twenty messages of one chat may wait.
      high_water: 400,
      ...{ channels: [entry], http: { port: 0 }, max_attempts: 20, max_concurrent_sessions: 40 },
      owner: [{ channel: 'telegram', chat_id: '500' }],
    },
  };
}

async function withJournal<T>(dataDir: string, use: (journal: Journal) => Promise<T>): Promise<T> {
  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  return await use(opened.journal);
}

function withRecord<T>(dataDir: string, use: (record: EventRecord) => Promise<T>): Promise<T> {
  return withJournal(dataDir, ({ record }) => use(record));
}

/** Everything has its end but what waits for the owner, and what is held for a topic. */
function allOver(dataDir: string, expected: readonly Expected[], isEnd = isOver): Promise<void> {
  return withRecord(dataDir, async (record) => {
    for (const { kind, key } of expected)
      await until(`the end of ${kind} ${key}`, async () => isEnd(await record.about(key)), PATIENCE_MS);
  });
}

function isOver(about: RunAbout | undefined): boolean {
  if (!about) return false;
  if (about.run?.state === 'PARKED') return true;
  if (about.parts.some((part) => isUnderWay(part) && !part.reason?.startsWith('held until'))) return false;
  return about.run ? about.run.state === 'DONE' || about.run.state === 'DEAD' : about.events.length > 0;
}

function isSettled(about: RunAbout | undefined): boolean {
  return isOver(about) && about?.parts.some(isUnderWay) === false;
}

function isUnderWay({ state }: PartSummary): boolean {
  return state === 'PENDING' || state === 'SENDING';
}

function judge(
  dataDir: string,
  expected: readonly Expected[],
  lost: ReadonlySet<string>,
  daemon: 'up' | 'down',
): Promise<readonly string[]> {
  return withRecord(dataDir, async (record) => {
    const wrong: string[] = [];
    for (const { key, kind, says, saysLater, configKey } of expected) {
      const about = await record.about(key);
      const why = about && whyOf(about, { now: Date.now(), daemon });
      const now = typeof says === 'function' ? says() : says;
      const right = daemon === 'down' ? (saysLater ?? now) : now;
      const isAsSaid = why !== undefined && right.test(why.verdict) && (why.configKey ?? null) === configKey;
      // No key of the config could have kept a kill from it.
      const isLost = why !== undefined && lost.has(key) && MAYBE_LOST.test(why.verdict) && why.configKey === undefined;
      if (!isAsSaid && !isLost)
        wrong.push(`${kind} ${key}, daemon ${daemon}: ${why?.verdict ?? 'unknown'} (${why?.configKey ?? 'no key'})`);
    }
    return wrong;
  });
}

/** Words of messages, files, tool calls and errors in the record, and in what the commands print. */
async function leaks(dataDir: string, canary: string, commands: PlayOptions['commands']): Promise<readonly string[]> {
  const found: string[] = [];
  if ((await recordAlone(dataDir)).includes(canary)) found.push('the record holds words of messages');
  for (const words of commands) {
    const { command, args, env } = programLine(dataDir, ...words, '--data-dir', dataDir);
    const { stdout, stderr } = await promisify(execFile)(command, args, { env, maxBuffer: 1e9 });
    if (stdout === '') found.push(`${words.join(' ')} prints nothing`);
    if (`${stdout}${stderr}`.includes(canary)) found.push(`${words.join(' ')} prints words of messages`);
  }
  return found;
}

/** The bytes of a journal in which only the record is left. */
async function recordAlone(dataDir: string): Promise<Buffer> {
  const [from, to] = [join(dataDir, 'journal.db'), join(dataDir, 'record-alone.db')];
  // The last connection copies the log into the file.
  await withRecord(dataDir, async () => undefined);
  await copyFile(from, to);
  {
    using db = new Database(to, { busyMs: 1_000 });
    const tables = db.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('event')");
    for (const { name } of tables) if (!name.startsWith('sqlite_')) db.exec(`DELETE FROM "${name}"`);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    if ((db.get<{ n: number }>('SELECT count(*) AS n FROM event')?.n ?? 0) === 0) throw new Error('the record is empty');
  }
  return await readFile(to);
}

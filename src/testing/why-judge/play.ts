/** Plays messages of every fate on the real daemon, kills it now and then, and asks why of each. */
import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EventRecord, RunAbout } from '../../core/record.ts';
import { Database } from '../../journal/database.ts';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { whyOf } from '../../runs/why.ts';
import { startTelegramServer } from '../../simulator/telegram/server.ts';
import { type ChildDaemon, startChild } from '../child-daemon.ts';
import { tempDir, until } from '../fakes.ts';
import { ALLOWED_GROUP, allowedIds, type Expected, KINDS, type Scene, waiting } from './kinds.ts';
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
/** Of a send whose reply a kill may have lost. */
const MAYBE_LOST = /sent, without a word from the platform/;

export async function play({ messages, kills, commands }: PlayOptions): Promise<Played> {
  await using resources = new AsyncDisposableStack();
  const canary = `canary${process.pid}x${Date.now().toString(36)}`;
  const dir = resources.use(await tempDir());
  const platform = resources.use(await startTelegramServer());
  const model = resources.use(new JudgeModel(canary));
  const config = configOf(await model.start(), platform.url, messages);
  const env = { TEST_KEY: 'sk-test', TELEGRAM_BOT_TOKEN: platform.token };
  const start = async (): Promise<ChildDaemon> => {
    const daemon = resources.use(await startChild({ dir: dir.path, config, env }));
    await daemon.ready();
    return daemon;
  };
  const scene: Scene = { platform, canary };
  const expected: Expected[] = [];
  const lost = new Set<string>();
  let daemon = await start();
  for (let killed = 0, n = 0; expected.length < messages; ) {
    for (const end = expected.length + CHUNK; expected.length < Math.min(end, messages); n += 1)
      expected.push(...(KINDS[n % KINDS.length]?.(scene, n) ?? []));
    if (expected.length > (messages * (killed + 1)) / (kills + 1) && killed < kills) {
      killed += 1;
      // What the platform has not seen, or has just seen, may be on its way at this moment.
      const sends = Map.groupBy(platform.sends, ({ chatId }) => chatId);
      for (const { key, chat } of expected) {
        const seen = sends.get(String(chat)) ?? [];
        const owed = expected.filter((one) => one.chat === chat).length;
        if (chat !== undefined && (seen.length < owed || (seen.at(-1)?.at ?? 0) > Date.now() - JUST_MS)) lost.add(key);
      }
      await daemon.stop('SIGKILL');
      daemon = await start();
    }
    await until('the platform is heard', () => platform.unconfirmed === 0, PATIENCE_MS);
    // Kills then meet messages of every age.
    const owed = expected.filter(({ chat, kind }) => chat !== undefined && kind !== 'send is refused').length;
    for (let gate = n - CHUNK; gate < n; gate += 1) for (const name of ['edit', 'stop']) model.open(`${name}${gate}`);
    await until('most are answered', () => platform.sends.length >= owed - MOST_WAITING, PATIENCE_MS);
  }
  const { dataDir } = daemon;
  await allOver(dataDir, expected);
  expected.push(...waiting(scene));
  await until('the last one is worked on', () => model.reached.has('never') && platform.unconfirmed === 0, PATIENCE_MS);
  const wrong = [...(await judge(dataDir, expected, lost, 'up'))];
  await daemon.stop('SIGKILL');
  wrong.push(...(await judge(dataDir, expected, lost, 'down')), ...(await leaks(dataDir, canary, commands)));
  const kinds = Object.fromEntries([...Map.groupBy(expected, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]));
  return { judged: expected.length, wrong, kinds };
}

function configOf(baseUrl: string, apiRoot: string, messages: number): object {
  const entry = {
    ...{ type: 'telegram', allowed_senders: allowedIds(messages), allowed_groups: [ALLOWED_GROUP], streaming: 'off' },
    settings: { api_root: apiRoot, poll_timeout_secs: 1, rate_limits: false },
  };
  return {
    ...{ provider: 'openai', model: 'm', base_url: baseUrl, api_key_env: 'TEST_KEY' },
    // The base of a prompt fits, a long message does not.
    model_hints: { price: { in: 100, out: 0 } },
    budget: { session_usd: 0.2, steps: ['ask', 'stop'] },
    gateway: {
      ...{ channels: [entry], http: { port: 0 }, max_attempts: 20, max_concurrent_sessions: 40 },
      owner: [{ channel: 'telegram', chat_id: '500' }],
    },
  };
}

async function withRecord<T>(dataDir: string, use: (record: EventRecord) => Promise<T>): Promise<T> {
  await using opened = await openJournal({ dir: dataDir, clock: systemClock, checks: false, sync: 'in-commit' });
  return await use(opened.journal.record);
}

/** Everything has its end but what waits for the owner. */
function allOver(dataDir: string, expected: readonly Expected[]): Promise<void> {
  return withRecord(dataDir, async (record) => {
    for (const { kind, key } of expected)
      await until(`the end of ${kind} ${key}`, async () => isOver(await record.about(key)), PATIENCE_MS);
  });
}

function isOver(about: RunAbout | undefined): boolean {
  if (!about) return false;
  if (about.events.some(({ event }) => event.type === 'budget')) return true;
  if (about.parts.some(({ state }) => state === 'PENDING' || state === 'SENDING')) return false;
  return about.run ? about.run.state === 'DONE' || about.run.state === 'DEAD' : about.events.length > 0;
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
      const right = daemon === 'down' ? (saysLater ?? says) : says;
      const isRight = why !== undefined && (right.test(why.verdict) || (lost.has(key) && MAYBE_LOST.test(why.verdict)));
      if (!isRight || (why.configKey ?? null) !== configKey)
        wrong.push(`${kind} ${key}, daemon ${daemon}: ${why?.verdict ?? 'unknown'} (${why?.configKey ?? 'no key'})`);
    }
    return wrong;
  });
}

/** Words of messages, files, tool calls and errors in the record, and in what the commands print. */
async function leaks(dataDir: string, canary: string, commands: PlayOptions['commands']): Promise<readonly string[]> {
  const found: string[] = [];
  if ((await recordAlone(dataDir)).includes(canary)) found.push('the record holds words of messages');
  const main = join(import.meta.dirname, '../../cli/main.ts');
  for (const command of commands) {
    const argv = [main, ...command, '--data-dir', dataDir];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 1e9 });
    if (stdout === '') found.push(`${command.join(' ')} prints nothing`);
    if (`${stdout}${stderr}`.includes(canary)) found.push(`${command.join(' ')} prints words of messages`);
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

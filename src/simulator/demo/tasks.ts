/**
 * `gatehouse demo tasks`: a task with three sub-agents and a question to a person, whose daemon is killed in
 * the middle. The daemon is the real one in a process of its own; its platform and its model are played here.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { Task } from '../../core/task.ts';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { freePort } from '../free-port.ts';
import { PLATFORMS } from '../platforms/index.ts';
import type { Platform } from '../platforms/platform.ts';
import { FIRST_CHAT } from '../platforms/telegram.ts';
import { until } from '../until.ts';
import { type DemoModel, startDemoModel } from './model.ts';

export interface DemoOptions {
  /** Takes a line. */
  readonly say: (line: string) => void;
  readonly path: string | undefined;
}

/** Longest that one scene may take: a machine that is busy with other things is slow. ms. */
const PATIENCE_MS = 120_000;
const ANSWER = '18 o’clock';

/** Resolves with the exit code. */
export async function playTasksDemo({ say, path }: DemoOptions): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'));
  const webhookPort = await freePort();
  await using model = await startDemoModel();
  const start = PLATFORMS['telegram'];
  if (!start) throw new Error('there is no simulator for telegram');
  await using platform = await start({ webhookPort });
  const daemons: ChildProcess[] = [];
  try {
    const files = await prepare(dir, platform, model, webhookPort);
    const begin = (): ChildProcess => {
      const daemon = startDaemon(files, { ...platform.env, DEMO_KEY: 'none', PATH: path ?? '', HOME: dir });
      daemons.push(daemon);
      return daemon;
    };
    await play({ say, platform, model, dataDir: files.dataDir, begin });
    return 0;
  } finally {
    for (const daemon of daemons) await end(daemon, 'SIGTERM');
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface Scene {
  readonly say: (line: string) => void;
  readonly platform: Platform;
  readonly model: DemoModel;
  readonly dataDir: string;
  readonly begin: () => ChildProcess;
}

async function play({ say, platform, model, dataDir, begin }: Scene): Promise<void> {
  const chat = new Chat(platform, say);
  say('1. A daemon starts. Its chat platform and its model are played on this machine; nothing leaves it, and no key is needed.');
  let daemon = begin();
  say('2. A person asks for a task.');
  await chat.write('/task Plan a garden party for twelve people');
  await chat.sees('is on its way');
  say('3. The task hands three parts to sub-agents, and waits for them without holding anything in memory.');
  await until('sub-agents', async () => (await childrenIn(dataDir)).length === 3, PATIENCE_MS);
  await until(
    'the first result',
    async () => (await childrenIn(dataDir)).some(({ status }) => status === 'completed'),
    PATIENCE_MS,
  );
  await tell(say, dataDir);
  say(`4. Now the daemon (process ${daemon.pid}) is killed: SIGKILL, without a warning.`);
  await end(daemon, 'SIGKILL');
  const paid = new Map(model.answered);
  daemon = begin();
  say(`5. Another one starts (process ${daemon.pid}). What was recorded is not done again; what was cut off is.`);
  await chat.sees('15 or at 18');
  await tell(say, dataDir);
  say('6. The question may wait for days, over restarts: it is a row on disk. The person answers.');
  await chat.write(ANSWER);
  await chat.sees('is done');
  await tell(say, dataDir);
  say('7. What the model was asked, and what of it before the kill:');
  for (const [who, count] of model.answered)
    say(`     ${who.padEnd(18)} ${count} answered, ${paid.get(who) ?? 0} of them before the kill`);
  say('   Each answer was paid for once: nothing that was on disk was asked for again.');
}

/** One person's chat, which is printed as it goes on. */
class Chat {
  readonly #platform: Platform;
  readonly #say: (line: string) => void;
  #seen = 0;

  constructor(platform: Platform, say: (line: string) => void) {
    this.#platform = platform;
    this.#say = say;
  }

  async write(text: string): Promise<void> {
    this.#say(`     person: ${text}`);
    await this.#platform.write(0, text);
  }

  /** Waits until the bot has said something with these words. */
  async sees(words: string): Promise<void> {
    await until(
      `“${words}” in the chat`,
      async () => {
        const all = (await this.#platform.seen()).filter(({ person }) => person === 0);
        for (const { text } of all.slice(this.#seen)) this.#say(indented('bot: ', text));
        this.#seen = Math.max(this.#seen, all.length);
        return all.some(({ text }) => text.includes(words));
      },
      PATIENCE_MS,
    );
  }
}

function indented(head: string, text: string): string {
  return text
    .split('\n')
    .map((line, n) => `     ${n === 0 ? head : ' '.repeat(head.length)}${line}`)
    .join('\n');
}

async function tell(say: (line: string) => void, dataDir: string): Promise<void> {
  const line = ({ number, status, progress, title }: Task, at: string): string =>
    `     ${at}${number}  ${status.padEnd(18)} ${String(progress).padStart(3)} %  ${title}`;
  const [task] = await tasksIn(dataDir);
  if (task) say(line(task, ''));
  for (const child of await childrenIn(dataDir)) say(line(child, '  '));
}

async function tasksIn(dir: string): Promise<readonly Task[]> {
  await using opened = await openJournal({ dir, clock: systemClock, checks: false });
  return await opened.journal.tasks.list({ limit: 1 });
}

async function childrenIn(dir: string): Promise<readonly Task[]> {
  await using opened = await openJournal({ dir, clock: systemClock, checks: false });
  const [task] = await opened.journal.tasks.list({ limit: 1 });
  return task ? await opened.journal.tasks.children(task.number) : [];
}

interface Files {
  readonly configFile: string;
  readonly dataDir: string;
}

async function prepare(dir: string, platform: Platform, model: DemoModel, webhookPort: number): Promise<Files> {
  const [configFile, dataDir] = [join(dir, 'config.json'), join(dir, 'data')];
  await mkdir(dataDir, { mode: 0o700 });
  await platform.begin(dataDir);
  const person = String(FIRST_CHAT);
  const config = {
    ...{ provider: 'openai', model: 'demo', base_url: model.url, api_key_env: 'DEMO_KEY' },
    gateway: {
      channels: [platform.channel],
      owner: [{ channel: platform.type, chat_id: person, sender_ids: [person] }],
      ...{ http: { port: 0 }, webhooks: { port: webhookPort } },
    },
  };
  await writeFile(configFile, JSON.stringify(config));
  return { configFile, dataDir };
}

/** The program as users start it. */
function startDaemon({ configFile, dataDir }: Files, env: NodeJS.ProcessEnv): ChildProcess {
  const main = join(import.meta.dirname, `../../cli/main${extname(import.meta.filename)}`);
  const args = [main, 'gateway', '--config', configFile, '--data-dir', dataDir];
  return spawn(process.execPath, args, { env, stdio: 'ignore', detached: true });
}

async function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  daemon.kill(signal);
  await once(daemon, 'exit');
}

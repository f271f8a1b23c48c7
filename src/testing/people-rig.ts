/** A daemon with three channels in memory, a person who is known on each, and the command line beside it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';
import type { InboundMessage } from '../core/message.ts';
import type { ToolKit } from '../core/tool.ts';
import { Database } from '../journal/database.ts';
import { lockDataDir } from '../journal/lock.ts';
import { systemClock } from '../lib/clock.ts';
import { until } from './fakes.ts';
import { type Script, scriptedModel } from './scripted-model.ts';
import { TestChannel, testChannelEntry } from './test-channel.ts';
import { type TestDaemon, testDaemon } from './test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from './waiting-tools.ts';

const TYPES = ['test', 'chat', 'mail'] as const;
type Type = (typeof TYPES)[number];

export interface PeopleRigOptions {
  /** A directory that the caller removes. */
  readonly dir: string;
  readonly script?: Script;
  /** Laid over the entry of each channel. */
  readonly entry?: Record<string, unknown>;
  readonly gateway?: Record<string, unknown>;
  readonly policy?: Record<string, unknown>;
  readonly tools?: readonly ToolKit[];
}

export interface PeopleRig extends AsyncDisposable {
  readonly dataDir: string;
  readonly rig: TestDaemon;
  readonly channels: Readonly<Record<Type, TestChannel>>;
  readonly model: ReturnType<typeof scriptedModel>;
  readonly cli: PeopleCli;
  rows<Row>(sql: string): readonly Row[];
  /** Delivers, and waits until one more message has left to its chat. */
  ask(type: Type, message: Partial<InboundMessage>): Promise<string>;
  /** Ends the daemon in order. */
  stop(): Promise<void>;
  /** Resolves once nothing is on its way: no turn, no part, no line. */
  settled(): Promise<void>;
}

type PeopleCli = (...argv: string[]) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;

export async function peopleRig(options: PeopleRigOptions): Promise<PeopleRig> {
  const { dir, script = () => 'echo', entry = { allowed_senders: ['*'], allowed_groups: ['*'] }, tools = [] } = options;
  const dataDir = join(dir, 'data');
  const channels = { test: new TestChannel('test'), chat: new TestChannel('chat'), mail: new TestChannel('mail') };
  const entries = TYPES.map((type) => ({ type, ...entry }));
  const registry = Object.fromEntries(TYPES.map((type) => [type, testChannelEntry(() => channels[type])]));
  const model = scriptedModel(script);
  const gateway = { channels: entries, ...options.gateway };
  await mkdir(dir, { recursive: true });
  // As the program holds it around the daemon: commands must see that one works here.
  const lock = await lockDataDir(dataDir, systemClock);
  const rig = await testDaemon({
    ...{ dataDir, model, gateway, policy: options.policy ?? OPEN_TO_ALL, channel: channels.test },
    daemon: { registry, extraTools: [waitingTools, ...tools] },
  });
  await writeFile(join(dir, 'config.json'), JSON.stringify({ gateway }));
  const rows = <Row>(sql: string): readonly Row[] => {
    using db = new Database(join(dataDir, 'journal.db'), { busyMs: 5_000 });
    return db.all<Row>(sql);
  };
  return {
    ...{ dataDir, rig, channels, model, rows, cli: peopleCli(dir) },
    async ask(type, message) {
      const channel = channels[type];
      const before = channel.texts(message.chatId).length;
      await channel.deliver(message);
      await until('it is answered', () => channel.texts(message.chatId).length > before);
      return channel.texts(message.chatId).at(-1) ?? '';
    },
    async settled() {
      await rig.daemon.gateway.idle();
      await until('the lines are in their files', () => rows('SELECT 1 FROM session_line').length === 0);
    },
    async stop() {
      await rig.daemon.close();
      await lock[Symbol.asyncDispose]();
    },
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await lock[Symbol.asyncDispose]();
    },
  };
}

/** Commands on the data directory below this one, as another process. */
export function peopleCli(dir: string): PeopleCli {
  return async (...argv) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const code = await runCli([...argv, '--data-dir', join(dir, 'data'), '--config', join(dir, 'config.json')], {
      ...processDeps(),
      stdio: { stdin: new PassThrough(), stdout, stderr },
      env: { HOME: dir },
      cwd: dir,
      channelTypes: [...TYPES, 'cli'],
      channelSettings: async () => z.strictObject({}),
    });
    return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
  };
}

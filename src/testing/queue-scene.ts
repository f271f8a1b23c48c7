/**
 * A daemon with two channels, in whose chats a model, a tool or a question is held back until the test says
 * so.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { channel as telegram } from '../../channels/telegram/index.ts';
import type { ModelRequest } from '../core/model.ts';
import type { QueueMode } from '../core/queueing.ts';
import type { ToolKit } from '../core/tool.ts';
import { startTelegramServer, type TelegramServer } from '../simulator/telegram/server.ts';
import { defineTool } from '../tools/define.ts';
import { gate, inbound, until } from './fakes.ts';
import { type ScriptedModel, type ScriptStep, scriptedModel } from './scripted-model.ts';
import { SteadyClock } from './steady-clock.ts';
import { TestChannel, testChannelEntry } from './test-channel.ts';
import { type TestDaemon, testDaemon } from './test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from './waiting-tools.ts';

/**
 * What the chat is at when the messages come. `all`: a turn runs, and those of the messages do not end
 * either.
 */
export type Work = 'idle' | 'running' | 'tools' | 'parked' | 'all';

/** A chat of its own, named in every message. */
export interface Cell {
  readonly channel: 'test' | 'telegram';
  readonly chatId: string;
  readonly mode: QueueMode;
  readonly work: Work;
}

export interface QueueScene extends AsyncDisposable {
  readonly model: ScriptedModel;
  /** What is held goes on, and nothing more is held. */
  open(): void;
  /** How many model calls and tool calls are held now. */
  holding(): number;
  readonly rig: () => TestDaemon;
  start(): Promise<void>;
  /** As a crash that the journal survives: what runs is given up in the middle. */
  stop(): Promise<void>;
  /** At once, as one batch. */
  say(cell: Pick<Cell, 'channel' | 'chatId'>, ...words: readonly string[]): Promise<void>;
  texts(cell: Pick<Cell, 'channel' | 'chatId'>): readonly string[];
  /** What became of each message, by its words, in the order they were accepted. */
  outcomes(cell: Pick<Cell, 'channel' | 'chatId'>): readonly string[];
}

/** The number of each message in the words that a run was given, in order: `m1+m2`. */
function numbersIn(words: readonly string[]): string {
  return words.flatMap((text) => text.match(/\bm\d+\b/g) ?? []).join('+');
}

export async function queueScene(
  dataDir: string,
  options: {
    readonly workOf: (chat: string) => Work;
    readonly gateway?: Record<string, unknown>;
    readonly entry?: Record<string, unknown>;
  },
): Promise<QueueScene> {
  const platform = await startTelegramServer();

  const clock = new SteadyClock();
  const held = gate();
  let holding = 0;
  let isOpen = false;
  const hold = async (signal: AbortSignal): Promise<void> => {
    if (isOpen) return;
    holding += 1;
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([held.opened, aborted]);
    holding -= 1;
  };
  const work: ToolKit = () => [
    defineTool({
      ...{ name: 'work', description: 'Works.', schema: z.strictObject({}), tags: [], effect: 'workspace', outputBytes: 1_000 },
      async run(_args, { signal }) {
        await hold(signal);
        return { output: 'worked' };
      },
    }),
  ];
  const model = scriptedModel(async (request, signal) => await answer(request, signal, options.workOf, hold));
  let rig: TestDaemon | undefined;
  let channel = new TestChannel('test');
  const sent: (typeof channel.sent)[number][] = [];
  const current = (): TestDaemon => {
    if (!rig) throw new Error('not started');
    return rig;
  };
  let count = 0;
  return {
    model,
    open() {
      isOpen = true;
      held.open();
    },
    holding: () => holding,
    rig: current,
    async start() {
      channel = new TestChannel('test');
      rig = await testDaemon({
        ...{ dataDir, model, channel, policy: OPEN_TO_ALL },
        limits: { person_turns_at_once: 200 },
        gateway: { max_concurrent_sessions: 200, ...options.gateway, channels: channelsOf(platform, options.entry) },
        daemon: {
          registry: {
            test: testChannelEntry(() => channel),
            telegram: async () => telegram,
          },
          secret: () => platform.token,
          extraTools: [waitingTools, work],
          clock,
        },
      });
      await until('the channel is there', () => channel.host);
    },
    async stop() {
      await rig?.[Symbol.asyncDispose]();
      rig = undefined;
      sent.push(...channel.sent);
    },
    async say({ channel: name, chatId }, ...words) {
      if (name === 'telegram') {
        for (const text of words) platform.inject({ chat_id: Number(chatId), from: { id: Number(chatId) }, text });
        return;
      }
      const batch = words.map((text) => {
        count += 1;
        return inbound({ chatId, senderId: chatId, platformId: `p${count}`, text });
      });
      await channel.host?.receive(batch);
    },
    texts({ channel: name, chatId }) {
      if (name === 'test') return [...sent, ...channel.sent].filter((part) => part.chatId === chatId).map(({ text }) => text);
      return platform.sends.filter((send) => send.chatId === chatId).map(({ text }) => text);
    },
    outcomes: (cell) => outcomesIn(dataDir, cell),
    async [Symbol.asyncDispose]() {
      await rig?.[Symbol.asyncDispose]();
      await platform.close();
    },
  };
}

function channelsOf(platform: TelegramServer, entry: Record<string, unknown> = {}): readonly unknown[] {
  const settings = telegram.settings.parse({ api_root: platform.url, poll_timeout_secs: 1, rate_limits: false });
  return [
    { type: 'test', allowed_senders: ['*'], ...entry },
    { type: 'telegram', allowed_senders: ['*'], settings, ...entry },
  ];
}

async function answer(
  request: ModelRequest,
  signal: AbortSignal,
  workOf: (chat: string) => Work,
  hold: (signal: AbortSignal) => Promise<void>,
): Promise<ScriptStep> {
  const { messages } = request;
  const from = messages.findLastIndex(({ role, id }) => role === 'user' && id.endsWith(':in'));
  const given = messages.slice(from);
  const words = given
    .filter(({ role, content }) => role === 'user' && !content.startsWith('[System note]'))
    .map(({ content }) => content);
  const [, chat = ''] = /^(\S+) m\d+/m.exec(words[0] ?? '') ?? [];
  const done = `did ${numbersIn(words)}`;
  const state = workOf(chat);
  if (state !== 'all' && !/\bm0\b/.test(words[0] ?? '')) return done;
  if (state === 'running' || state === 'all') await hold(signal);
  if (signal.aborted) return { hang: true };
  if (state !== 'tools' && state !== 'parked') return done;
  const result = given.find(({ role }) => role === 'tool');
  if (result) return `${done}: ${result.content}`;
  const call = state === 'tools' ? { name: 'work' } : { name: 'ask_person', arguments: { question: 'May I?' } };
  return { text: '', toolCalls: [call] };
}

/** From the file: what a person sees in `why`, of all rows at once. */
function outcomesIn(dataDir: string, { channel, chatId }: Pick<Cell, 'channel' | 'chatId'>): readonly string[] {
  using db = new DatabaseSync(join(dataDir, 'journal.db'), { readOnly: true });
  const rows = db
    .prepare(
      `SELECT state, outcome, input ->> '$.text' AS text FROM run
       WHERE input ->> '$.channel' = ? AND input ->> '$.chatId' = ? AND source = 'chat' ORDER BY seq`,
    )
    .all(channel, chatId);
  return rows.flatMap(({ state, outcome, text }) => {
    const [number] = String(text).match(/m\d+/) ?? [];
    const what = String(outcome ?? state).replace(/:.*/, '');
    return number === undefined ? [] : [`${number} ${what}`];
  });
}

/** Telegram, a scripted model and a directory in which the real daemon can be started again and again. */

import { startTelegramServer, type TelegramServer } from '../../simulator/telegram/server.ts';
import { type ChildDaemon, type ChildOptions, startChild } from '../child-daemon.ts';
import { tempDir } from '../fakes.ts';
import { type InlineOptions, startInline } from '../inline-daemon.ts';
import { type ModelServer, type ModelServerOptions, startModelServer } from '../model-server.ts';
import type { RunningDaemon } from '../running-daemon.ts';

export interface TelegramScene extends AsyncDisposable {
  readonly platform: TelegramServer;
  readonly model: ModelServer;
  readonly dir: string;
  /** What the daemon is started with unless `start` is given another. */
  readonly config: Readonly<Record<string, unknown>>;
  start(options?: Partial<InlineOptions>): Promise<RunningDaemon>;
  /** As a process of its own, which can be killed. */
  spawn(options?: Partial<ChildOptions>): Promise<ChildDaemon>;
  /** What people read, oldest first; of one chat when given. */
  texts(chatId?: number): readonly string[];
}

export interface TelegramSceneOptions {
  readonly script?: ModelServerOptions['script'];
  /** Laid over the config, which has `gateway` from below. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Laid over section `gateway` of the config. */
  readonly gateway?: Readonly<Record<string, unknown>>;
  /** Laid over the channel's entry. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** Channels beside Telegram. */
  readonly channels?: readonly unknown[];
  /** Default: that of `startTelegramServer`. */
  readonly token?: string;
  /** Behind the address of the model. */
  readonly baseUrlSuffix?: string;
}

export async function telegramScene(options: TelegramSceneOptions = {}): Promise<TelegramScene> {
  const platform = await startTelegramServer(options.token === undefined ? {} : { token: options.token });
  const model = await startModelServer(options.script ? { script: options.script } : {});
  const dir = await tempDir();
  const settings = { api_root: platform.url, poll_timeout_secs: 1, rate_limits: false };
  const telegram = { type: 'telegram', allowed_senders: ['*'], settings, ...options.entry };
  const config = {
    provider: 'openai',
    model: 'm',
    base_url: `${model.url}/v1${options.baseUrlSuffix ?? ''}`,
    api_key_env: 'TEST_KEY',
    // People of a test may be anyone, and cost nothing.
    security: { accept: ['open-without-budget'] },
    ...options.config,
    gateway: { channels: [telegram, ...(options.channels ?? [])], http: { port: 0 }, ...options.gateway },
  };
  const env = { TEST_KEY: 'sk-test', TELEGRAM_BOT_TOKEN: platform.token };
  return {
    platform,
    model,
    dir: dir.path,
    config,
    start: (more = {}) => startInline({ dir: dir.path, config, ...more, env: { ...env, ...more.env } }),
    spawn: (more = {}) => startChild({ dir: dir.path, config, ...more, env: { ...env, ...more.env } }),
    texts: (chatId) =>
      platform.sends.filter((send) => chatId === undefined || send.chatId === String(chatId)).map(({ text }) => text),
    async [Symbol.asyncDispose]() {
      await platform.close();
      await model[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

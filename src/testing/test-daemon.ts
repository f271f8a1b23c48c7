import { configSchema } from '../../config/schema.ts';
import { type Daemon, type DaemonOptions, startDaemon } from '../app/daemon.ts';
import type { Model } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { MemoryLogger } from './fakes.ts';
import { TestChannel, testChannelEntry } from './test-channel.ts';

export interface TestDaemon extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly channel: TestChannel;
  readonly logger: MemoryLogger;
}

/** The daemon, all real but platform and model. `entry` is laid over the config entry of the one channel. */
export async function testDaemon(options: {
  readonly dataDir: string;
  readonly model: Model;
  readonly entry?: Record<string, unknown>;
  readonly gateway?: Record<string, unknown>;
  readonly limits?: Record<string, unknown>;
  /** Section `tool_policy`. Absent: tools beside the built-in ones are the owner's alone. */
  readonly policy?: Record<string, unknown>;
  /** Section `mcp_servers`. */
  readonly mcp?: Record<string, unknown>;
  /** Other sections. */
  readonly sections?: Record<string, unknown>;
  readonly channel?: TestChannel;
  readonly local?: boolean;
  readonly daemon?: Partial<DaemonOptions>;
}): Promise<TestDaemon> {
  const channel = options.channel ?? new TestChannel('test');
  const logger = new MemoryLogger();
  const config = configSchema.parse({
    gateway: { channels: [{ type: 'test', allowed_senders: ['user-1', '*'], ...options.entry }], ...options.gateway },
    limits: options.limits,
    tool_policy: options.policy,
    mcp_servers: options.mcp,
    ...options.sections,
  });
  const daemon = await startDaemon({
    config,
    dataDir: options.dataDir,
    registry: { test: testChannelEntry(() => channel, options.local) },
    model: async () => ({ model: options.model, [Symbol.asyncDispose]: async () => undefined }),
    secret: (name) => name,
    clock: systemClock,
    logger,
    onFatal: (error) => logger.error('fatal', { code: error.code }),
    onAllEnded: () => undefined,
    ...options.daemon,
  });
  return { daemon, channel, logger, [Symbol.asyncDispose]: () => daemon.close({ turnsMs: 0, deliveryMs: 1_000 }) };
}

/**
 * A person is revoked and blocked on every channel: one daemon as a process of its own, and the command line
 * beside it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { isGatehouseError } from '../core/errors.ts';
import { freePort } from '../simulator/free-port.ts';
import { FORGETFUL, PLATFORMS } from '../simulator/platforms/index.ts';
import type { Platform } from '../simulator/platforms/platform.ts';
import { type ChildDaemon, startChild } from '../testing/child-daemon.ts';
import { cliJson } from '../testing/cli-json.ts';
import { until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { type ModelServer, messagesOf, startModelServer } from '../testing/model-server.ts';
import { missing } from '../testing/needs.ts';
import { nth, testSample } from '../testing/sample.ts';

const STARTS = { ...PLATFORMS, ...FORGETFUL };
/** For the start of all platforms, and for each to hand a message over, on a busy machine. */
const PATIENCE_MS = 120_000;

const TYPES = Object.keys(CHANNELS).filter((type) => type !== 'cli');
const isPlayed = nth(3);

const owned = new AsyncDisposableStack();
const platforms = new Map<string, Platform>();
/** Why the platform of a channel cannot run here. */
const absent = new Map<string, string>();
let dir: string;
let model: ModelServer;
let daemon: ChildDaemon;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gatehouse-shut-out-'));
  owned.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const webhookPort = await freePort();
  model = owned.use(await startModelServer());
  for (const type of ['cli', ...TYPES.filter((type, n) => isFullLoad() || isPlayed(type, n))]) await begin(type, webhookPort);
  const running = [...platforms.values()];
  const entry = ({ channel, type }: Platform) => ({ ...channel, ...(type === 'cli' ? {} : { allowed_senders: [] }) });
  daemon = owned.use(
    await startChild({
      dir,
      config: {
        ...{ provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
        gateway: { channels: running.map(entry), http: { port: 0 }, webhooks: { port: webhookPort } },
      },
      env: Object.assign({ TEST_KEY: 'sk-test' }, ...running.map(({ env }) => env)),
      stdin: 'pipe',
    }),
  );
  platforms.get('cli')?.attach?.(daemon.process);
  const isHealthy = async () => (await daemon.status()).channels.every(({ state }) => state === 'healthy');
  await until('every channel is healthy', isHealthy, PATIENCE_MS);
}, PATIENCE_MS * 2);

afterAll(() => owned.disposeAsync(), PATIENCE_MS);

async function begin(type: string, webhookPort: number): Promise<void> {
  try {
    const platform = await STARTS[type]?.({ webhookPort });
    if (!platform) throw new Error(`there is no platform for ${type}`);
    platforms.set(type, owned.use(platform));
    await platform.begin(join(dir, 'data'));
  } catch (error) {
    // So says a platform whose program is not installed.
    if (!isGatehouseError(error) || error.code !== 'GH1004') throw error;
    absent.set(type, error.message);
  }
}

/** How many messages of the channel were refused for this reason. */
async function refused(type: string, reason: string): Promise<number> {
  const { journal } = await daemon.status();
  return journal.refused.find((one) => one.channel === type && one.reason === reason)?.count ?? 0;
}

/** Whether the model was asked these words. */
function isAsked(words: string): boolean {
  return model.requests.some((request) => messagesOf(request).some(({ content }) => content.includes(words)));
}

async function personOf(type: string): Promise<string> {
  const { people } = (await cliJson(dir, ['people', 'list'])) as { people: readonly { person: string; channel: string }[] };
  return people.find(({ channel }) => channel === type)?.person ?? expect.fail(`no person is known on ${type}`);
}

// At once: each waits for its own platform most of the time.
testSample(TYPES, isPlayed, test.concurrent)(
  'S3 on %s the first message after a revoke is refused, and so is the first after a block',
  async (type, context) => {
    const reason = absent.get(type);
    if (reason !== undefined) missing(context, reason);
    const platform = platforms.get(type) ?? expect.fail(`${type} does not run`);
    const write = (what: string) => platform.write(0, `${type} ${what}`);
    const isAnswered = async (what: string) => {
      await write(what);
      const answer = async () => (await platform.seen()).some(({ text }) => text.includes(`${type} ${what}`));
      await until(`"${type} ${what}" is answered`, answer, PATIENCE_MS);
    };
    const isRefused = async (what: string, as: string) => {
      const before = await refused(type, as);
      await write(what);
      await until(`"${type} ${what}" is refused`, async () => (await refused(type, as)) > before, PATIENCE_MS);
    };
    await write('knocks');
    const person = await until('they are known', () => personOf(type).catch(() => undefined), PATIENCE_MS);
    await cliJson(dir, ['people', 'pair', 'approve', '--sender', person]);
    await isAnswered('one');
    expect(await cliJson(dir, ['people', 'revoke', person])).toMatchObject({ state: 'revoked' });
    await isRefused('two', 'denied');
    await cliJson(dir, ['people', 'pair', 'approve', '--sender', person]);
    await isAnswered('three');
    expect(await cliJson(dir, ['people', 'block', person])).toMatchObject({ state: 'blocked' });
    await isRefused('four', 'blocked');
    await until('nothing is left to do', async () => {
      const { inbox } = (await daemon.status()).journal;
      return inbox.NEW + inbox.RUNNING === 0;
    });
    expect(['knocks', 'two', 'four'].filter((what) => isAsked(`${type} ${what}`))).toEqual([]);
  },
  PATIENCE_MS * 2,
);

test('the terminal cannot be closed to a person: both commands say so and change nothing', { timeout: PATIENCE_MS }, async () => {
  const platform = platforms.get('cli') ?? expect.fail('there is no terminal');
  for (const command of ['revoke', 'block'])
    await expect(cliJson(dir, ['people', command, 'cli:local'])).rejects.toThrow(/the terminal of this machine cannot be closed/);
  await platform.write(0, 'still here');
  await until('it is answered', async () => (await platform.seen()).some(({ text }) => text.includes('still here')), PATIENCE_MS);
});

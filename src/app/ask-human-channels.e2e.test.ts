/**
 * Questions to people on real platforms: one daemon as a process of its own, killed three times while they
 * think (once in the sample of `npm test`). Those on Telegram and Slack and by mail are asked what their own
 * messages are about; by SMS the owner asks, who sits at the terminal, because a number can be forged and so
 * gets no tools.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isGatehouseError } from '../core/errors.ts';
import { freePort } from '../simulator/free-port.ts';
import { PLATFORMS } from '../simulator/platforms/index.ts';
import type { Platform } from '../simulator/platforms/platform.ts';
import { type ChildDaemon, startChild } from '../testing/child-daemon.ts';
import { cliJson } from '../testing/cli-json.ts';
import { until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import {
  callPieces,
  type ModelServer,
  messagesOf,
  type ReceivedRequest,
  type Reply,
  startModelServer,
  stream,
  textPieces,
} from '../testing/model-server.ts';
import { missing } from '../testing/needs.ts';

const TYPES = ['telegram', 'slack', 'email', 'twilio', 'cli'];
/** For the start of all platforms, and for each to hand a message over, on a busy machine. */
const PATIENCE_MS = 120_000;

const owned = new AsyncDisposableStack();
const platforms = new Map<string, Platform>();
/** Why the platform of a channel cannot run here. */
const absent = new Map<string, string>();
/** Ids of people by their channel. */
const ids = new Map<string, string>();
let dir: string;
let model: ModelServer;
let daemon: ChildDaemon;
let ports: { readonly webhooks: number };

const CHOICES = ['Red', 'Blue'];

/** `ask KIND of PERSON` makes the call; what it came to is the answer, and so are the words of all others. */
function script(request: ReceivedRequest): Reply {
  const messages = messagesOf(request);
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && !content.startsWith('[System note]'));
  const words = messages[asked]?.content ?? '';
  const [, kind = '', to] = /ask (text|choice|late) of (\S+)/.exec(words) ?? [];
  if (to === undefined) return stream(textPieces(`heard ${words}`));
  const results = messages.slice(asked).filter(({ role }) => role === 'tool');
  if (results.length > 0) return stream(textPieces(`${kind} came: ${results.map(({ content }) => content).join(' | ')}`));
  const more =
    kind === 'choice' ? { answer: 'choice', choices: CHOICES } : kind === 'late' ? { expires_in: '5s', default: 'beige' } : {};
  return stream(callPieces({ name: 'ask_human', arguments: { question: `Which ${kind} colour?`, to, ...more } }));
}

async function start(): Promise<void> {
  const running = [...platforms.values()];
  const entry = ({ channel, type }: Platform) => {
    const id = ids.get(type);
    return { ...channel, ...(type === 'cli' ? {} : { allowed_senders: ['*', ...(id === undefined ? [] : [id])] }) };
  };
  daemon = await startChild({
    dir,
    config: {
      ...{ provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
      gateway: { channels: running.map(entry), http: { port: 0 }, webhooks: { port: ports.webhooks } },
      tool_policy: { mode: 'full', members: ['ask_human'] },
    },
    env: Object.assign({ TEST_KEY: 'sk-test' }, ...running.map(({ env }) => env)),
    stdin: 'pipe',
  });
  platforms.get('cli')?.attach?.(daemon.process);
  const isHealthy = async () => (await daemon.status()).channels.every(({ state }) => state === 'healthy');
  await until('every channel is healthy', isHealthy, PATIENCE_MS);
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gatehouse-asked-'));
  owned.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  ports = { webhooks: await freePort() };
  model = owned.use(await startModelServer({ script }));
  for (const type of TYPES) await begin(type);
  owned.defer(async () => void (await daemon?.stop()));
  await start();
}, PATIENCE_MS * 2);

afterAll(() => owned.disposeAsync(), PATIENCE_MS);

async function begin(type: string): Promise<void> {
  try {
    const platform = await PLATFORMS[type]?.({ webhookPort: ports.webhooks });
    if (!platform) throw new Error(`there is no platform for ${type}`);
    platforms.set(type, owned.use(platform));
    await platform.begin(join(dir, 'data'));
  } catch (error) {
    // So says a platform whose program is not installed.
    if (!isGatehouseError(error) || error.code !== 'GH1004') throw error;
    absent.set(type, error.message);
  }
}

const of = (type: string): Platform => platforms.get(type) ?? expect.fail(`${type} does not run`);

async function sees(type: string, words: string, person = 0): Promise<string> {
  const seen = async () => (await of(type).seen()).find((one) => one.person === person && one.text.includes(words))?.text;
  return await until(`person ${person} sees “${words}” on ${type}`, seen, PATIENCE_MS);
}

async function says(type: string, text: string, answer: string, person = 0): Promise<void> {
  await of(type).write(person, text);
  await sees(type, answer, person);
}

/** At the terminal, without a look at what it prints: it prints nothing when another person is asked. */
function types(line: string): void {
  daemon.process.stdin?.write(`${line}\n`);
}

interface Open {
  readonly code: string;
  readonly text: string;
  readonly who: string;
}

async function open(): Promise<readonly Open[]> {
  const { questions } = (await cliJson(dir, ['questions', 'list'])) as { questions: readonly Open[] };
  return questions;
}

const codeOf = (questions: readonly Open[], type: string, kind: string): string =>
  questions.find(({ who, text }) => who.includes(`(${type}, `) && text.includes(kind))?.code ?? expect.fail(`${type} ${kind}`);

test(
  'P18 text, a choice and a time limit on Telegram, Slack, by mail, by SMS and at the terminal, also after kills',
  async (context) => {
    for (const type of TYPES) if (absent.has(type)) missing(context, absent.get(type) ?? '');
    const remote = TYPES.filter((type) => type !== 'cli');
    await Promise.all(remote.map((type) => says(type, 'hello', 'heard')));
    const { people } = (await cliJson(dir, ['people', 'list'])) as { people: readonly { person: string; channel: string }[] };
    for (const { person, channel } of people) ids.set(channel, person.slice(channel.length + 1));
    await daemon.stop('SIGKILL');
    await start();

    const asked = ['late', 'choice', 'text'];
    const own = remote.filter((type) => type !== 'twilio');
    for (const kind of asked) {
      await Promise.all([...own.map((type) => of(type).write(0, `ask ${kind} of requester`))]);
      types(`ask ${kind} of twilio:${ids.get('twilio')}`);
      await Promise.all(remote.map((type) => sees(type, `Which ${kind} colour?`)));
      if (kind === 'late') await Promise.all([...own, 'cli'].map((type) => sees(type, 'late came: beige')));
      else
        await until(
          'all wait',
          async () => (await daemon.status()).journal.inbox.PARKED === remote.length * (kind === 'text' ? 2 : 1),
        );
    }
    for (let n = 0; n < (isFullLoad() ? 3 : 1); n += 1) {
      await daemon.stop('SIGKILL');
      await start();
    }
    const questions = await open();
    expect(questions).toHaveLength(2 * remote.length);

    // The wrong person, a code that there is not, and another chat of the right one.
    await Promise.all([
      ...['telegram', 'slack', 'twilio'].map((type) =>
        says(type, `/answer ${codeOf(questions, type, 'choice')} 1`, 'No question that you may answer here has this code.', 1),
      ),
      ...remote.map((type) => says(type, '/answer QQQQQQ 1', 'No question that you may answer here has this code.')),
    ]);
    await of('telegram').writeInGroup?.(0, 0, `/answer ${codeOf(questions, 'telegram', 'choice')} 1`);
    await sees('telegram', 'This question stands in another chat: answer it there.');

    await Promise.all(
      remote.map(async (type) => {
        await says(type, 'green as grass', '✅ Noted.');
        await says(type, `/answer ${codeOf(questions, type, 'choice')} 2`, '✅ Noted.');
        await says(type, `/answer ${codeOf(questions, type, 'choice')} 1`, 'This question was answered already.');
      }),
    );
    for (const type of own) {
      await sees(type, 'text came: green as grass');
      await sees(type, 'choice came: Blue');
    }
    await sees('cli', 'text came: green as grass');
    await sees('cli', 'choice came: Blue');

    types('ask late of requester');
    await sees('cli', 'Which late colour?');
    await until('it is late', async () => (await open()).length === 0);
    types('ask text of requester');
    await sees('cli', 'Which text colour?');
    types('dark blue');
    await sees('cli', 'text came: dark blue');
    types('ask choice of requester');
    await sees('cli', 'Which choice colour?');
    types(`/answer ${codeOf(await open(), 'cli', 'choice')} red`);
    await sees('cli', 'choice came: Red');
    expect(await open()).toEqual([]);
  },
  PATIENCE_MS * 3,
);

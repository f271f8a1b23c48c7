// Hooks of the config in the daemon: programs asked and told about messages, model calls and tool calls.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { shellProgram } from '../testing/hook-program.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';
import type { DaemonOptions } from './daemon.ts';

/** `hooks`: scripts of `/bin/sh` by event. */
async function scene(
  hooks: Readonly<Record<string, string>>,
  script: Script,
  sections: Readonly<Record<string, unknown>> = {},
  daemon: Partial<DaemonOptions> = {},
) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const entries = await Promise.all(
    Object.entries(hooks).map(async ([event, text]) => ({ event, command: [await shellProgram(dir.path, event, text)] })),
  );
  const model = scriptedModel(script);
  const rig = await testDaemon({ dataDir: join(dir.path, 'data'), model, sections: { ...sections, hooks: entries }, daemon });
  return { ...rig, model, dir: dir.path, entries, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

const OGG = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead')]);

/** Files of people in any workspace. */
async function uploadsIn(dir: string): Promise<readonly string[]> {
  const all = await readdir(join(dir, 'data'), { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile() && one.parentPath.endsWith('/uploads')).map(({ name }) => name);
}

const NO_SECRETS = 'grep -q secret && { echo "no secrets here"; exit 1; }; exit 0';
const REFUSED = '⚠️ A rule of the operator keeps me from answering this: no secrets here';

test('a message that a hook refuses does not reach the model, and its author reads the reason', async () => {
  await using at = await scene({ message_in: NO_SECRETS }, ['hello']);
  await at.channel.deliver({ platformId: 'm1', text: 'a secret' });
  await at.channel.deliver({ platformId: 'm2', text: 'good morning' });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual([REFUSED, 'hello']);
  expect(at.model.requests).toHaveLength(1);
});

test('a voice note is asked about with its words, and one that is refused leaves nothing with the agent', async () => {
  const words = ['my secret plan', 'good morning'];
  const model = scriptedModel(['hello']);
  const transcriber = () => ({ id: 'test/speech', transcribe: async () => words.shift() ?? '' });
  const stack = { model, transcriber, [Symbol.asyncDispose]: async () => undefined };
  await using at = await scene({ message_in: `tee -a asked | ${NO_SECRETS}` }, [], {}, { model: async () => stack });
  const media = [{ kind: 'voice', ref: 'v', mime: 'audio/ogg' }] as const;
  at.channel.files.set('v', OGG);
  await at.channel.deliver({ platformId: 'm1', text: '', media });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual([REFUSED]);
  expect(model.requests).toEqual([]);
  expect(await uploadsIn(at.dir)).toEqual([]);
  await at.channel.deliver({ platformId: 'm2', text: 'listen', media });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual([REFUSED, 'hello']);
  const asked = (await readFile(join(at.dir, 'data/asked'), 'utf8')).trim().split('\n');
  const facts = asked.map((line) => JSON.parse(line));
  expect(facts.map(({ text, media_count: count }) => [text, count])).toEqual([
    ['', 1],
    ['my secret plan', 1],
    ['listen', 1],
    ['listen\ngood morning', 1],
  ]);
});

test('what is written beside a voice note is asked about before the note is fetched and listened to', async () => {
  const model = scriptedModel(['hello']);
  let heard = 0;
  const transcribe = async (): Promise<string> => {
    heard += 1;
    return 'good morning';
  };
  const transcriber = () => ({ id: 'test/speech', transcribe });
  const stack = { model, transcriber, [Symbol.asyncDispose]: async () => undefined };
  await using at = await scene({ message_in: NO_SECRETS }, [], {}, { model: async () => stack });
  const fetched = vi.spyOn(at.channel, 'download');
  at.channel.files.set('v', OGG);
  const media = [{ kind: 'voice', ref: 'v', mime: 'audio/ogg' }] as const;
  await at.channel.deliver({ platformId: 'm1', text: 'my secret', media });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual([REFUSED]);
  expect(fetched).not.toHaveBeenCalled();
  expect(heard).toBe(0);
});

test('a message that would steer the turn under way is asked about, and waits for a turn of its own', async () => {
  const held = gate();
  const channels = [{ type: 'test', allowed_senders: ['user-1'], queue_mode: 'steer' }];
  const script: Script = async (request) => {
    await held.opened;
    return `did ${request.messages.at(-1)?.content}`;
  };
  await using at = await scene({ message_in: NO_SECRETS }, script, { gateway: { channels } });
  await at.channel.deliver({ platformId: 'm1', text: 'begin' });
  await until('it is at work', () => at.model.requests.length === 1);
  await at.channel.deliver({ platformId: 'm2', text: 'a secret' });
  await at.channel.deliver({ platformId: 'm3', text: '/queue' });
  await until('the mode is told', () => at.channel.sent.length === 1);
  held.open();
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^Queue mode: followup, while a hook .*; then steer, set for this channel in the config\.\n/),
    'did begin',
    REFUSED,
  ]);
  expect(at.model.requests).toHaveLength(1);
});

test('a task that a hook refuses does not begin, and the chat reads why', async () => {
  await using at = await scene({ message_in: NO_SECRETS }, []);
  await at.channel.deliver({ platformId: 'm1', text: '/task a secret' });
  await until('it is refused', () => at.channel.sent.length === 2);
  expect(at.channel.sent[1]?.text).toMatch(/^⚠️ Task \d+ “a secret” was not begun\.\n\n/);
  expect(at.channel.sent[1]?.text.endsWith(REFUSED)).toBe(true);
  expect((await at.daemon.journal.tasks.list({ limit: 1 }))[0]?.result?.ok).toBe(false);
  expect(at.model.requests).toEqual([]);
});

test('a message that the agent has read is not asked about again when its run goes on', async () => {
  const once = '[ -e asked ] && { echo "not a second time"; exit 1; }; touch asked; exit 0';
  const waits = { text: 'on it', toolCalls: [{ name: 'await_signal', arguments: { name: 'go' } }] };
  const policy = { tool_policy: OPEN_TO_ALL };
  await using at = await scene({ message_in: once }, [waits, 'went'], policy, { extraTools: [waitingTools] });
  await at.channel.deliver({ platformId: 'm1', text: 'wait for it' });
  await until('it waits', async () => (await at.daemon.journal.counts()).inbox.PARKED === 1);
  await at.daemon.journal.commit([{ kind: 'settle', settled: { wait: 'go', value: { ok: true, output: 'gone' }, by: 'test' } }]);
  await until('it goes on', async () => (await at.daemon.journal.counts()).inbox.DONE === 1);
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual(['went']);
});

test('a hook is told what the chat is told, and one that refuses a model call ends the turn', async () => {
  await using at = await scene({ before_llm_call: 'echo enough; exit 1', message_out: 'cat > out' }, []);
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  const text = 'A rule of the operator keeps me from asking the AI model. (GH2121)';
  expect(at.channel.sent.map((part) => part.text)).toEqual([text]);
  const out = await until('the hook is told', () => readFile(join(at.dir, 'data', 'out'), 'utf8').catch(() => undefined));
  expect(JSON.parse(out)).toMatchObject({ event: 'message_out', outcome: 'failed:GH2121', text, principal: 'test:user-1' });
});

test('a hook runs beside the daemon also where the tools of the agent have a worker of their own', async () => {
  // That worker has no network and not all files: here none listens.
  const sandbox = { worker_socket: '/nonexistent/worker' };
  await using at = await scene({ message_in: 'echo not today; exit 1' }, ['hello'], { sandbox });
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual(['⚠️ A rule of the operator keeps me from answering this: not today']);
});

test('a change of the hooks in the config holds at once', async () => {
  await using at = await scene({ message_in: 'exit 1' }, ['hello']);
  const channels = [{ type: 'test', allowed_senders: ['user-1', '*'] }];
  const changes = await at.daemon.reload(configSchema.parse({ gateway: { channels } }), new AbortController().signal);
  expect(changes).toEqual([expect.objectContaining({ key: 'hooks', cost: 'live' })]);
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.channel.sent.map(({ text }) => text)).toEqual(['hello']);
});

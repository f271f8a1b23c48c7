// Questions to the person at the terminal, whose daemon is killed while they think (three times; once in the
// sample of `npm test`).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTerminalPlatform } from '../simulator/platforms/cli.ts';
import { type ChildDaemon, startChild } from '../testing/child-daemon.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { callPieces, messagesOf, type ReceivedRequest, startModelServer, stream, textPieces } from '../testing/model-server.ts';

/** For a start on a busy machine. */
const PATIENCE_MS = 60_000;

/** `ask KIND` makes the call; what it came to is the answer. */
function script(request: ReceivedRequest) {
  const messages = messagesOf(request);
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && !content.startsWith('[System note]'));
  const kind = /ask (text|choice)/.exec(messages[asked]?.content ?? '')?.[1];
  if (kind === undefined) return stream(textPieces('heard it'));
  const results = messages.slice(asked).filter(({ role }) => role === 'tool');
  if (results.length > 0) return stream(textPieces(`${kind} came: ${results.map(({ content }) => content).join(' | ')}`));
  const more = kind === 'choice' ? { answer: 'choice', choices: ['Red', 'Blue'] } : {};
  return stream(callPieces({ name: 'ask_human', arguments: { question: `Which ${kind} colour?`, to: 'requester', ...more } }));
}

test('P18 a text and a choice in two topics are answered at the terminal after kills, each once, and no call is made again', async () => {
  await using dir = await tempDir();
  await using model = await startModelServer({ script });
  await using terminal = await startTerminalPlatform();
  await terminal.begin(join(dir.path, 'data'));
  let daemon: ChildDaemon | undefined;
  const start = async (): Promise<void> => {
    await daemon?.stop('SIGKILL');
    const provider = { provider: 'openai', model: 'test', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' };
    const config = { ...provider, gateway: { channels: [terminal.channel], http: { port: 0 } }, tool_policy: { mode: 'full' } };
    const started = await startChild({ dir: dir.path, config, env: { TEST_KEY: 'sk-test' }, stdin: 'pipe' });
    daemon = started;
    terminal.attach?.(started.process);
    await until('it runs', async () => (await started.status()).channels.every(({ state }) => state === 'healthy'), PATIENCE_MS);
  };
  await using owned = new AsyncDisposableStack();
  owned.defer(async () => void (await daemon?.stop()));
  const types = (line: string): void => void daemon?.process.stdin?.write(`${line}\n`);
  const screen = async (words: string) => (await terminal.seen()).filter(({ text }) => text.includes(words));
  const sees = (words: string) => until(`“${words}”`, async () => (await screen(words)).length > 0, PATIENCE_MS);
  const open = async () => {
    const { questions } = (await cliJson(dir.path, ['questions', 'list'])) as { questions: { code: string; text: string }[] };
    return questions;
  };

  await start();
  types('ask choice');
  await sees('Which choice colour?');
  types('/new other');
  await sees('begins here');
  types('ask text');
  await sees('Which text colour?');
  for (let n = 0; n < (isFullLoad() ? 3 : 1); n += 1) await start();
  const questions = await open();
  expect(questions).toHaveLength(2);
  const code = questions.find(({ text }) => text.includes('choice'))?.code;
  types('green as grass');
  await sees('text came: green as grass');
  types(`/answer ${code} 2`);
  types('/s');
  await sees('choice came: Blue');
  types(`/answer ${code} 1`);
  await sees('This question was answered already.');
  types('/answer QQQQQQ 1');
  await sees('No question that you may answer here has this code.');
  expect(await open()).toEqual([]);
  expect(model.requests).toHaveLength(4);
  for (const words of ['text came', 'choice came']) expect(await screen(words)).toHaveLength(1);
}, 300_000);

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { tempDir } from '../testing/fakes.ts';
import { callPieces, messagesOf, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { Ending } from './ending.ts';
import { runChat } from './run-chat.ts';

test.each([
  ['makes 20 model calls where the config sets none', {}, 20],
  ['makes as many model calls as the config says', { max_iterations: 2 }, 2],
] as const)('a message of `gatehouse chat` that never comes to an end %s', async (_words, set, calls) => {
  await using dir = await tempDir();
  // A new call each time, so that the loop detection stays quiet.
  const script = (_request: unknown, n: number) => stream(callPieces({ name: 'list_dir', arguments: { path: `${n}` } }));
  await using server = await startModelServer({ script });
  const stdout = new PassThrough();
  let answer = '';
  stdout.on('data', (text) => {
    answer += String(text);
  });
  const model = { provider: 'openai', model: 'test', base_url: `${server.url}/v1`, api_key_env: 'TEST_KEY' };
  const code = await runChat({
    config: { config: configSchema.parse({ ...model, ...set }), warnings: [] },
    dataDir: dir.path,
    stdio: { stdin: Readable.from([]), stdout, stderr: new PassThrough().resume() },
    env: { TEST_KEY: 'sk-test' },
    ...{ requireModel: true, verbose: false, message: 'Look around.', ending: new Ending() },
  });
  expect(code).toBe(0);
  const ofTurn = server.requests.filter(({ body }) => body['tools'] !== undefined);
  expect(ofTurn).toHaveLength(calls);
  expect(answer).toContain(`its limit of ${calls} model calls`);
});

test('an answer after which the history is summarised ends `gatehouse chat` when the summary is kept', async () => {
  await using dir = await tempDir();
  const script = ({ body }: { readonly body: Record<string, unknown> }, n: number) =>
    body['tools'] === undefined
      ? stream(textPieces('They looked around.'))
      : stream(callPieces({ name: 'list_dir', arguments: { path: `${n}` } }));
  await using server = await startModelServer({ script });
  const model = { provider: 'openai', model: 'test', base_url: `${server.url}/v1`, api_key_env: 'TEST_KEY' };
  await runChat({
    config: { config: configSchema.parse(model), warnings: [] },
    dataDir: dir.path,
    stdio: { stdin: Readable.from([]), stdout: new PassThrough().resume(), stderr: new PassThrough().resume() },
    env: { TEST_KEY: 'sk-test' },
    ...{ requireModel: true, verbose: false, message: 'Look around.', ending: new Ending() },
  });
  expect(server.requests.filter(({ body }) => body['tools'] === undefined)).toHaveLength(1);
  const files = (await readdir(dir.path, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
  const kept = await Promise.all(files.map((name) => readFile(join(dir.path, name), 'utf8')));
  expect(kept.filter((text) => text.includes('They looked around.'))).toHaveLength(1);
});

test('a program of `gatehouse chat` sees nothing of the data directory of the daemon', async (context) => {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  // What lies in /dev is shown to no program.
  await using dir = await tempDir('/var/tmp');
  const dataDir = join(dir.path, '.gatehouse');
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(join(dataDir, 'canary.txt'), 'CANARY');
  await writeFile(join(dir.path, 'notes'), 'to be seen');
  const told: string[] = [];
  await using server = await startModelServer({
    script: (request) => {
      const results = messagesOf(request).filter(({ role }) => role === 'tool');
      told.push(...results.map(({ content }) => content));
      const command = `cat ${dir.path}/notes ${dataDir}/canary.txt`;
      return stream(results.length > 0 ? textPieces('done') : callPieces({ name: 'shell', arguments: { command } }));
    },
  });
  const model = { provider: 'openai', model: 'test', base_url: `${server.url}/v1`, api_key_env: 'TEST_KEY' };
  const sections = { sandbox: { read_allow_paths: [dir.path] }, tool_policy: { mode: 'full' } };
  await runChat({
    config: { config: configSchema.parse({ ...model, ...sections }), warnings: [] },
    dataDir,
    stdio: { stdin: Readable.from([]), stdout: new PassThrough().resume(), stderr: new PassThrough().resume() },
    env: { TEST_KEY: 'sk-test' },
    ...{ requireModel: true, verbose: false, message: 'Look.', ending: new Ending() },
  });
  expect(told.join('\n')).toContain('to be seen');
  expect(told.join('\n')).toContain('No such file');
  expect(told.join('\n')).not.toContain('CANARY');
});

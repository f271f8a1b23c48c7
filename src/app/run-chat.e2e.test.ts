import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { tempDir } from '../testing/fakes.ts';
import { callPieces, startModelServer, stream } from '../testing/model-server.ts';
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
  expect(server.requests).toHaveLength(calls);
  expect(answer).toContain(`its limit of ${calls} model calls`);
});

/** What `models test` says of `embedding` and `transcription`: servers answer, refuse, or are not there. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAimock } from '../../testing/aimock.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { errorReply, jsonReply, startModelServer } from '../../testing/model-server.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';

async function run(dir: string, config: object, options: { env?: Record<string, string>; args?: string[] } = {}) {
  const cli = new FakeCli(dir);
  await cli.write('.gatehouse/config.json', JSON.stringify(config));
  cli.env = options.env ?? {};
  return await cli.run('models', 'test', ...(options.args ?? []));
}

test('one word is embedded and one second of silence transcribed, by servers of a second author', async () => {
  await using dir = await tempDir();
  await using aimock = await startAimock({
    fixtures: [
      { match: { inputText: 'hello' }, response: { embedding: Array.from({ length: 1_536 }, () => 0.5) } },
      { match: { endpoint: 'transcription' }, response: { transcription: { text: '', duration: 1 } } },
    ],
  });
  const config = {
    embedding: { provider: 'openai', base_url: `${aimock.url}/v1`, api_key_env: 'K' },
    transcription: { kind: 'openai', base_url: `${aimock.url}/v1`, model: 'whisper-1' },
  };
  const shown = await run(dir.path, config, { env: { K: KEY } });
  expect([shown.code, shown.stderr]).toEqual([0, '']);
  expect(shown.stdout).toMatch(/^✓ embedding +openai\/text-embedding-3-small +\d+ ms +1536 dimensions$/m);
  expect(shown.stdout).toMatch(/^✓ transcription +127\.0\.0\.1\/whisper-1 +\d+ ms +a second of silence was taken$/m);
  const json: unknown = JSON.parse((await run(dir.path, config, { env: { K: KEY }, args: ['--json'] })).stdout);
  expect(json).toMatchObject({
    ok: true,
    models: [
      { name: 'embedding', provider: 'openai', model: 'text-embedding-3-small', ok: true, dimensions: 1_536 },
      { name: 'transcription', model: 'whisper-1', ok: true, dimensions: null, error: null },
    ],
  });
  const one = await run(dir.path, config, { env: { K: KEY }, args: ['embedding'] });
  expect(one.stdout).not.toContain('transcription');
});

test('A29 a whole second is sent, with the key that the config names', async () => {
  await using dir = await tempDir();
  let form = '';
  await using server = await startModelServer({
    script: ({ headers }) => {
      form = String(headers['content-length']);
      return jsonReply({ text: '' });
    },
  });
  const config = { transcription: { kind: 'openai', base_url: `${server.url}/v1`, api_key_env: 'K' } };
  expect((await run(dir.path, config, { env: { K: KEY } })).code).toBe(0);
  expect(Number(form)).toBeGreaterThan(32_044);
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`]);
});

test('a refused key, a key that is not set, and packages that are not there: each with code and hint, exit code 1, no key shown', async () => {
  await using dir = await tempDir();
  await using server = await startModelServer({ script: () => errorReply(401, { message: `no such key ${KEY}` }) });
  const embedding = { provider: 'openai', base_url: `${server.url}/v1`, api_key_env: 'K' };
  const refused = await run(dir.path, { embedding, transcription: { kind: 'openai' } }, { env: { K: KEY } });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(
    /^✗ embedding +openai\/text-embedding-3-small +- +GH2115 .*GH2101.* → set the right one with `gatehouse auth set-key openai`/m,
  );
  expect(refused.stdout).toMatch(/^✗ transcription +\? +- +GH1103 GROQ_API_KEY is not set.* → export GROQ_API_KEY=…$/m);
  expect(refused.stderr).toContain('2 of 2 models failed');
  expect(refused.stdout + refused.stderr).not.toContain('canary');
  const local = await run(dir.path, { embedding: { provider: 'local' } });
  expect(local.stdout).toMatch(/GH2115 the local embedding model is not installed {2}→ .*models add-local/);
});

test.each([
  [
    'absent',
    ['whisper-nowhere', '{wav}'],
    /✗ transcription +command\/whisper-nowhere .*GH2114 the program whisper-nowhere is not there/,
  ],
  ['there, without ffmpeg to make the WAV', ['recognizer', '{wav}'], /GH2114 the program ffmpeg is not there/],
  ['there', ['recognizer', '{file}'], /✓ transcription +command\/recognizer +- +the program is there/],
  ['not to be run', ['readable', '{file}'], /GH2114 the program readable is not there/],
  ['given by a relative path', ['./recognizer', '{file}'], /GH2114 .* → write its whole path/],
  ['asked for nothing', ['recognizer', 'x'], /GH2114 .*neither \{wav\} nor \{file\}/],
])('a program that is %s', async (_name, command, expected) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await chmod(await cli.write('bin/recognizer', '#!/bin/sh\n'), 0o700);
  await chmod(await cli.write('bin/readable', ''), 0o600);
  const { stdout } = await run(
    dir.path,
    { transcription: { kind: 'command', command } },
    { env: { PATH: join(dir.path, 'bin') } },
  );
  expect(stdout).toMatch(expected);
});

test('a key that was stored for its variable is sent', async () => {
  await using dir = await tempDir();
  await using server = await startModelServer({ script: () => jsonReply({ text: '' }) });
  const config = { transcription: { kind: 'openai', base_url: `${server.url}/v1`, api_key_env: 'SPEECH_KEY' } };
  const cli = new FakeCli(dir.path);
  cli.input = KEY;
  await cli.run('auth', 'set-key', 'SPEECH_KEY');
  expect((await run(dir.path, config)).code).toBe(0);
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`]);
});

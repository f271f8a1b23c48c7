// Changes of the config file while the daemon runs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { loadConfig } from '../../config/load.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { messagesOf, startModelServer } from '../testing/model-server.ts';
import { Ending } from './ending.ts';
import { runGateway } from './run-gateway.ts';

/** The daemon in this process, with a terminal to type into and a config file that is often looked at. */
async function scene(config: object) {
  const dir = await tempDir();
  const model = await startModelServer();
  const file = join(dir.path, 'config.json');
  const base = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY', ...config };
  // As one step, so that each content is seen whole. What a slow editor leaves is written below on purpose.
  const write = (value: unknown) =>
    writeFileAtomic(file, typeof value === 'string' ? value : JSON.stringify(value, null, 2), { mode: 0o600 });
  await write(base);
  const env = { TEST_KEY: 'sk-test', OTHER_KEY: 'sk-other' };
  const reload = (bytes?: Uint8Array) =>
    loadConfig({
      file,
      ...(bytes ? { bytes } : {}),
      cwd: dir.path,
      home: dir.path,
      env,
      channelTypes: Object.keys(CHANNELS),
      channelSettings: async (type) => (await CHANNELS[type]?.())?.settings,
    });
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const text = { out: '', log: '' };
  stdout.on('data', (chunk) => {
    text.out += String(chunk);
  });
  stderr.on('data', (chunk) => {
    text.log += String(chunk);
  });
  const options = { dataDir: join(dir.path, 'data'), stdio: { stdin, stdout, stderr }, env, requireModel: true, verbose: false };
  const exit = runGateway({ ...options, config: await reload(), reload, reloadEveryMs: 20, ending: new Ending() });
  let asked = 0;
  return {
    ...{ base, write, model, dataDir: options.dataDir },
    type: (line: string) => void stdin.write(`${line}\n`),
    file,
    log: () => text.log,
    /** Types a line; resolves with what the model was sent for it. */
    async ask(line: string) {
      stdin.write(`${line}\n`);
      await until('it is answered', () => text.out.includes(`echo: ${line}`));
      asked += 1;
      const request = model.requests[asked - 1];
      return request ? messagesOf(request) : [];
    },
    logged: (event: string) => text.log.split('\n').filter((line) => line.includes(`"event":"${event}"`)),
    async end() {
      stdin.end();
      const code = await exit;
      await model[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
      return code;
    },
  };
}

test('F40 a changed file applies what can change at once, names the rest once, and one with a problem keeps the old config', async () => {
  const at = await scene({ gateway: { system_prompt: 'OLD PROMPT', max_history: 50, http: { port: 0 } } });
  expect((await at.ask('first'))[0]?.content).toContain('OLD PROMPT');

  // Half of a file, as a slow editor leaves it.
  const whole = JSON.stringify(
    { ...at.base, gateway: { system_prompt: 'NEW PROMPT', max_history: 1, http: { port: 1 } } },
    null,
    2,
  );
  await at.write(whole.slice(0, whole.indexOf('max_history')));
  const [invalid = ''] = await until('the problem is reported', () =>
    at.logged('config.invalid').length > 0 ? at.logged('config.invalid') : undefined,
  );
  expect(JSON.parse(invalid)).toMatchObject({ level: 'error', code: 'GH1101', hint: expect.any(String) });
  expect(JSON.parse(invalid).detail).toMatch(/config\.json:\d+:\d+: .*; the config in use stays$/);
  expect((await at.ask('second'))[0]?.content).toContain('OLD PROMPT');

  await at.write(whole);
  await until('it is applied', () => at.logged('config.applied').length === 1);
  expect(JSON.parse(at.logged('config.applied')[0] ?? '').keys).toEqual(['gateway.max_history', 'gateway.system_prompt']);
  expect(at.logged('config.needs-restart').map((line) => JSON.parse(line).keys)).toEqual([['gateway.http.port']]);
  const prompt = await at.ask('third');
  expect(prompt[0]?.content).toContain('NEW PROMPT');
  // One message of history, then the question.
  expect(prompt.slice(1).map(({ content }) => content)).toEqual([expect.stringContaining('second'), 'third']);

  await at.write(whole.replace('NEW PROMPT', 'NEWER PROMPT'));
  await until('it is applied', () => at.logged('config.applied').length === 2);
  expect((await at.ask('fourth'))[0]?.content).toContain('NEWER PROMPT');
  expect(at.logged('config.needs-restart')).toHaveLength(1);
  expect(at.logged('config.invalid')).toHaveLength(1);
  expect(await at.end()).toBe(0);
});

test('another model, key and limit hold from the next message on, and a model that cannot work changes nothing', async () => {
  const at = await scene({ gateway: { http: { port: 0 } } });
  const told = (event: string, times: number) => until(event, () => at.logged(event).length === times);
  const asked = () => at.model.requests.map(({ body, headers }) => `${body['model']} ${headers.authorization}`);
  await at.ask('first');
  await at.write({ ...at.base, model: 'other', api_key_env: 'OTHER_KEY' });
  await told('config.applied', 1);
  await at.ask('second');
  expect(asked()).toEqual(['m Bearer sk-test', 'other Bearer sk-other']);

  await at.write({
    ...at.base,
    model: 'third',
    api_key_env: 'NO_SUCH_KEY',
    gateway: { system_prompt: 'NEVER', http: { port: 0 } },
  });
  await told('config.refused', 1);
  expect(JSON.parse(at.logged('config.refused')[0] ?? '').code).toBe('GH1103');
  expect((await at.ask('third'))[0]?.content).not.toContain('NEVER');
  expect(asked().at(-1)).toBe('other Bearer sk-other');

  // The call does not fit, and costs what the config says from now on.
  const hints = { model_hints: { price: { in: 1_000, out: 1_000 } } };
  await at.write({ ...at.base, ...hints, budget: { daily_usd: 0.001, steps: ['stop'] } });
  await told('config.applied', 2);
  at.type('fourth');
  await told('budget.met', 1);
  expect(asked()).toHaveLength(3);
  expect(at.log()).not.toContain('sk-other');
  expect(await at.end()).toBe(0);
});

test('the data directory keeps which config it was run with', async () => {
  const at = await scene({ gateway: { http: { port: 0 } } });
  await at.ask('first');
  const kept = () => readFile(join(at.dataDir, 'config-path'), 'utf8').catch(() => '');
  await until('it is kept', async () => (await kept()) === `${at.file}\n`);
  expect(await at.end()).toBe(0);
});

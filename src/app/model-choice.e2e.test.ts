// Which model answers: what a conversation, its sender, its channel and the config say, through the real
// program.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionStem } from '../../sessions/file-name.ts';
import { sessionKey } from '../core/ids.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { startChild } from '../testing/child-daemon.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import {
  chunk,
  errorReply,
  type ModelServer,
  type ModelServerOptions,
  sse,
  startModelServer,
  stream,
  textPieces,
} from '../testing/model-server.ts';
import type { RunningDaemon } from '../testing/running-daemon.ts';
import { byLoad } from '../testing/sample.ts';
import { type TelegramSceneOptions, telegramScene } from '../testing/telegram/scene.ts';

const AT = '2026-11-20T10:00:00.000Z';
const PRICED = { model_hints: { price: { in: 1, out: 1 } } };

/** The models `fast` and `deep` beside the main one; each says who it is. */
async function scene(options: TelegramSceneOptions = {}, script?: ModelServerOptions['script']) {
  const says = (text: string): Promise<ModelServer> => startModelServer({ script: script ?? (() => stream(textPieces(text))) });
  const [fast, deep] = [await says('I am fast'), await says('I am deep')];
  const entry = ({ url }: ModelServer, model: string) => ({ provider: 'vllm', model, base_url: `${url}/v1`, ...PRICED });
  const models = { fast: { ...entry(fast, 'f1'), description: 'short questions' }, deep: entry(deep, 'd1') };
  const main: ModelServerOptions['script'] = () => stream(textPieces('I am main'));
  const at = await telegramScene({ script: main, ...options, config: { ...PRICED, models, ...options.config } });
  return {
    ...at,
    ...{ fast, deep },
    /** What comes of one message. */
    async say(daemon: RunningDaemon, text: string, more: object = {}): Promise<string> {
      const before = at.texts().length;
      at.platform.inject({ text, ...more });
      await until(`an answer to ${text}`, () => at.texts().length > before);
      await daemon.settled(0);
      return at.texts().slice(before).join('|');
    },
    async [Symbol.asyncDispose]() {
      for (const part of [at, fast, deep]) await part[Symbol.asyncDispose]();
    },
  };
}

test('/model switches the conversation, says so, and holds over /new and a restart until /model default or /reset', async () => {
  await using at = await scene();
  {
    await using daemon = await at.start();
    expect(await at.say(daemon, '/model')).toBe(
      'Model: openai/m, the default.\n\n/model fast – vllm/f1: short questions\n/model deep – vllm/d1',
    );
    expect(await at.say(daemon, '/model FAST')).toBe(
      'From now on fast (vllm/f1) answers here. `/model default` goes back.'.replaceAll('`', ''),
    );
    expect(await at.say(daemon, 'who?')).toBe('I am fast');
    expect(await at.say(daemon, 'who?', { from: { id: 2 }, chat_id: 2 })).toBe('I am main');
    await at.say(daemon, '/new');
    await daemon.stop();
  }
  await using daemon = await at.start();
  expect(await at.say(daemon, 'and now?')).toBe('I am fast');
  expect(await at.say(daemon, '/model')).toContain('Model: fast (vllm/f1), chosen here.');
  expect(await at.say(daemon, '/model nope')).toBe(
    'There is no model “nope”. Nothing was changed. There are: fast, deep, openai/m, default.',
  );
  expect(await at.say(daemon, '/model openai/m')).toContain('openai/m answers here');
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  await at.say(daemon, '/model deep');
  expect(await at.say(daemon, 'who?')).toBe('I am deep');
  expect(await at.say(daemon, '/model default')).toBe('From now on the model is openai/m again, as the config says.');
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  await at.say(daemon, '/model deep');
  await at.say(daemon, '/reset');
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  const { groups } = (await cliJson(at.dir, ['usage', '--by', 'model'])) as { groups: { key: string; calls: number }[] };
  expect(groups.map(({ key, calls }) => [key, calls]).sort()).toEqual([
    ['openai/m', 4],
    ['vllm/d1', 1],
    ['vllm/f1', 2],
  ]);
});

test('what an earlier version stored in the session holds, over /new too, until the chat chooses again', async () => {
  await using at = await scene();
  const session = sessionKey({ channel: 'telegram', account: '', chatId: '1000' });
  const file = `${sessionStem(join(at.dir, 'data'), session)}.jsonl`;
  const header = { schema_version: 1, session_key: session, model: 'fast', thinking: 'low' };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ ...header, created_at: AT, updated_at: AT })}\n`);
  await using daemon = await at.start();
  expect(await at.say(daemon, 'who?')).toBe('I am fast');
  await at.say(daemon, '/new');
  expect(await at.say(daemon, 'who?')).toBe('I am fast');
  expect(await at.say(daemon, '/think')).toContain('Thinking: low, chosen here.');
  await at.say(daemon, '/model deep');
  expect(await at.say(daemon, 'who?')).toBe('I am deep');
  await at.say(daemon, '/reset');
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  expect(await at.say(daemon, '/think')).toContain('Thinking: auto, the default.');
});

test('a session goes before its sender, a sender before the channel, the channel before the config', async () => {
  await using at = await scene({ entry: { model: 'fast', sender_models: { 7: 'deep' } } });
  await using daemon = await at.start();
  const seven = { from: { id: 7 }, chat_id: 7 };
  expect(await at.say(daemon, 'who?')).toBe('I am fast');
  expect(await at.say(daemon, 'who?', seven)).toBe('I am deep');
  expect(await at.say(daemon, '/model', seven)).toContain('Model: deep (vllm/d1), set for you in the config.');
  expect(await at.say(daemon, '/model')).toContain(', set for this channel in the config.');
  await at.say(daemon, '/model openai/m', seven);
  expect(await at.say(daemon, 'who?', seven)).toBe('I am main');
  expect(await at.say(daemon, '/model default', seven)).toContain('the model is deep (vllm/d1) again');
});

test('the default stands by for a chosen model that fails', async () => {
  await using at = await scene({}, () => errorReply(500, { message: 'broken' }));
  await using daemon = await at.start();
  await at.say(daemon, '/model fast');
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  expect(at.fast.requests.length).toBeGreaterThan(0);
});

test('a name for the default model is that model: what it withholds is asked for and paid for once', async () => {
  const withheld = () => stream([chunk({ role: 'assistant', content: '' }, 'content_filter'), sse('[DONE]')]);
  await using at = await scene({ script: withheld });
  const { provider, model, base_url, api_key_env } = at.config;
  const same = { provider, model, base_url, api_key_env, ...PRICED };
  await using daemon = await at.start({ config: { ...at.config, models: { again: same } } });
  await at.say(daemon, '/model again');
  expect(await at.say(daemon, 'who?')).toContain('GH2111');
  expect(at.model.requests).toHaveLength(1);
});

test('a chosen model that is gone from the config is named, and the default answers', async () => {
  await using at = await scene();
  {
    await using daemon = await at.start();
    await at.say(daemon, '/model fast');
    await daemon.stop();
  }
  await using daemon = await at.start({ config: { ...at.config, models: {} } });
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  expect(await at.say(daemon, '/model')).toBe(
    'fast was chosen here and is no longer in the config.\nModel: openai/m, the default.\nThere is no other one in the config.',
  );
});

test('a chosen model that is gone from the config does not become one whose name ends alike', async () => {
  await using at = await scene();
  {
    await using daemon = await at.start();
    await at.say(daemon, '/model fast');
    await daemon.stop();
  }
  const { models } = at.config as { models: { deep: object } };
  await using daemon = await at.start({ config: { ...at.config, models: { breakfast: models.deep } } });
  expect(await at.say(daemon, 'who?')).toBe('I am main');
  expect(await at.say(daemon, '/model')).toContain('fast was chosen here and is no longer in the config.\nModel: openai/m');
});

test('in a group only the owner changes the model; everybody may ask which it is', async () => {
  const group = { chat_id: -100_5 };
  await using at = await scene({
    entry: { allowed_groups: ['*'], group_mode: 'always' },
    gateway: { owner: [{ channel: 'telegram', chat_id: '1000' }] },
  });
  await using daemon = await at.start();
  const refused = 'In a group only the owner of this assistant can change the model or its thinking. Nothing was changed.';
  expect(await at.say(daemon, '/model fast', { ...group, from: { id: 2 } })).toBe(refused);
  expect(await at.say(daemon, '/think high', { ...group, from: { id: 3 } })).toBe(refused);
  expect(await at.say(daemon, '/model', { ...group, from: { id: 2 } })).toContain('Model: openai/m');
  expect(await at.say(daemon, 'who?', { ...group, from: { id: 2 } })).toBe('I am main');
  expect(await at.say(daemon, '/model fast', group)).toContain('fast (vllm/f1) answers here');
  expect(await at.say(daemon, 'who?', { ...group, from: { id: 2 } })).toBe('I am fast');
});

test('a group that is a chat of the owner makes no owner of its members: not for /model, /think or what /why tells', async () => {
  const group = { chat_id: -100_5 };
  await using at = await scene({
    entry: { allowed_groups: ['*'], group_mode: 'always' },
    gateway: { owner: [{ channel: 'telegram', chat_id: '-1005', sender_ids: ['1000'] }] },
  });
  await using daemon = await at.start();
  const member = { ...group, from: { id: 2 } };
  const refused = 'In a group only the owner of this assistant can change the model or its thinking. Nothing was changed.';
  expect(await at.say(daemon, '/model fast', member)).toBe(refused);
  expect(await at.say(daemon, '/think high', { ...group, from: { id: 3 } })).toBe(refused);
  expect(await at.say(daemon, 'who?', member)).toBe('I am main');
  expect(await at.say(daemon, '/why', member)).not.toContain('✓');
  expect(await at.say(daemon, 'who?', group)).toBe('I am main');
  expect(await at.say(daemon, '/why', group)).toContain('✓');
  expect(await at.say(daemon, '/model fast', group)).toContain('fast (vllm/f1) answers here');
});

test('killed anywhere in the command: one answer, and the choice holds', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using main = await startModelServer({ script: () => stream(textPieces('I am main')) });
  await using fast = await startModelServer({ script: () => stream(textPieces('I am fast')) });
  await using dir = await tempDir();
  const config = {
    ...{ provider: 'vllm', model: 'm', base_url: `${main.url}/v1`, ...PRICED },
    models: { fast: { provider: 'vllm', model: 'f1', base_url: `${fast.url}/v1`, ...PRICED } },
    gateway: { channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }], max_attempts: 10, http: { port: 0 } },
  };
  const files = { dir: dir.path, config };
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: '/model fast' });
  const all = ['accept:after', 'claim:after', 'finish:before', 'finish:after', 'sending:after'];
  for (const killAt of byLoad(['claim:after', 'finish:after'], all)) {
    await using dying = await startChild({ ...files, killAt });
    expect((await dying.ended).signal, killAt).toBe('SIGKILL');
  }
  await using last = await startInline({ ...files, faultParts: true });
  await last.settled(1);
  platform.deliver({ id: 'm2', chatId: 'c', senderId: 'ada', text: 'who?' });
  await until('the answer', () => platform.posted.length === 2);
  expect(platform.posted.map(({ text }) => text)).toEqual([
    'From now on fast (vllm/f1) answers here. `/model default` goes back.',
    'I am fast',
  ]);
});

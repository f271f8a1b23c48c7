// Money, judged by what the model server counted: the real program, its real ledger, a scripted server.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countFile, programLine, startChild } from '../testing/child-daemon.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { callPieces, chunk, errorReply, messagesOf, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import type { RunningDaemon } from '../testing/running-daemon.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/** 0.01 USD a token out: ten tokens, the most an answer may have here, are 0.10 USD. */
const PRICED = { model_hints: { price: { in: 0, out: 10_000 } } };
const LIMITED = { max_output_tokens: 10, max_concurrent_sessions: 200 };

interface Usage {
  readonly total: { readonly calls: number; readonly tokensIn: number; readonly tokensOut: number; readonly costUsd: number };
}

test.concurrent('200 turns at once against a limit of 1 USD: never passed, everybody is told, and the ledger agrees with the server', async () => {
  // Five tokens each, 7 tokens in.
  const script = () => stream(textPieces('a', 'b', 'c', 'd', 'e'), { latencyMs: 20 });
  await using at = await telegramScene({ script, config: { ...PRICED, budget: { daily_usd: 1 } }, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  for (let chat = 1; chat <= 200; chat += 1) at.platform.inject({ chat_id: chat, from: { id: chat }, text: `hello ${chat}` });
  const status = await daemon.settled(200);
  await until('everybody has an answer', () => at.platform.sends.length >= 200);
  const texts = at.texts();
  const answered = texts.filter((text) => text === 'abcde').length;
  const refused = texts.filter((text) => /^The spending limit of this assistant is reached.*\(GH2112\)$/.test(text)).length;
  expect([texts.length, answered + refused]).toEqual([200, 200]);
  // 20 answers of 0.05 make the dollar; the worst case of one more, 0.10, no longer fits from 19 on.
  expect(answered).toBeGreaterThanOrEqual(18);
  expect(answered).toBe(at.model.requests.length);
  const { total } = (await cliJson(at.dir, ['usage'])) as Usage;
  expect(total).toMatchObject({ calls: answered, tokensIn: 7 * answered, tokensOut: 5 * answered });
  expect(total.costUsd).toBeCloseTo(0.05 * answered, 9);
  expect(total.costUsd).toBeLessThanOrEqual(1 + 1e-9);
  expect(status.budget).toEqual({ spentUsd: expect.closeTo(total.costUsd, 9) as number, limitUsd: 1 });
});

test.concurrent('a restart does not give out the money again', async () => {
  const script = () => stream(textPieces('a', 'b', 'c', 'd', 'e'));
  const config = { ...PRICED, budget: { daily_usd: 0.1, steps: ['stop'] } };
  await using at = await telegramScene({ script, config, gateway: LIMITED });
  const ask = async (daemon: RunningDaemon, n: number) => {
    at.platform.inject({ text: `question ${n}` });
    await daemon.settled(n);
  };
  {
    await using first = await at.spawn();
    await ask(first, 1);
    await first.stop('SIGKILL');
  }
  await using second = await at.start();
  await second.ready();
  expect(second.stderr()).toContain('budget   0.05 of 0.10 USD spent today');
  await ask(second, 2);
  expect(at.texts().at(-1)).toContain('(GH2112)');
  expect(at.model.requests).toHaveLength(1);
});

test.concurrent('`chat` and the daemon spend the same money: each begins with what the other spent, and `usage` shows both', async () => {
  const script = () => stream(textPieces('a', 'b', 'c', 'd', 'e'));
  const config = { ...PRICED, budget: { daily_usd: 0.15, steps: ['stop'] } };
  await using at = await telegramScene({ script, config, gateway: LIMITED });
  await writeFile(join(at.dir, 'config.json'), JSON.stringify(at.config));
  const places = ['--config', join(at.dir, 'config.json'), '--data-dir', join(at.dir, 'data')];
  const { command, args, env } = programLine(at.dir, 'chat', '-m', 'hello', ...places);
  const chat = () => promisify(execFile)(command, args, { cwd: at.dir, env: { ...env, TEST_KEY: 'sk-test' } });
  expect((await chat()).stdout).toContain('abcde');
  {
    await using daemon = await at.start();
    await daemon.ready();
    expect(daemon.stderr()).toContain('budget   0.05 of 0.15 USD spent today');
    at.platform.inject({ text: 'hello' });
    await daemon.settled(1);
    expect(at.texts()).toEqual(['abcde']);
  }
  // 0.10 are spent, and the next call may cost 0.10.
  await expect(chat()).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('(GH2112)') });
  const { total } = (await cliJson(at.dir, ['usage'])) as Usage;
  expect(total).toMatchObject({ calls: 2, costUsd: expect.closeTo(0.1, 9) });
});

test.concurrent('a limit that is taken out of the config while it runs does not leave a found key without one', async () => {
  const script = () => stream(textPieces('a', 'b', 'c', 'd', 'e'));
  await using at = await telegramScene({ script, gateway: LIMITED });
  const { gateway } = at.config;
  const hints = { price: { in: 0, out: 10_000 } };
  const env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${at.model.url}/v1` };
  await using daemon = await at.start({ config: { model_hints: hints, budget: { daily_usd: 50 }, gateway }, env });
  await daemon.ready();
  expect((await daemon.status()).budget?.limitUsd).toBe(50);
  await writeFile(join(at.dir, 'config.json'), JSON.stringify({ model_hints: hints, gateway }));
  await until('the config is applied', () => daemon.stderr().includes('config.applied'));
  expect((await daemon.status()).budget?.limitUsd).toBe(2);
});

test.concurrent('an unknown price under a limit fails closed and says who has to act', async () => {
  const config = { provider: 'openai', base_url: undefined, model: 'never-heard-of', budget: { daily_usd: 1 } };
  await using at = await telegramScene({ config });
  await using daemon = await at.start({ env: { OPENAI_API_KEY: 'sk' } });
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual([expect.stringContaining('its price is not known')]);
  expect(at.texts()[0]).toContain('GH2113');
});

test.concurrent('killed between a model answer and its use: it is not paid for twice, and the ledger counts it once', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  const script = (request: Parameters<typeof messagesOf>[0]) =>
    stream(
      messagesOf(request).at(-1)?.role === 'tool' ? textPieces('paid', ' once') : callPieces({ name: 'count', arguments: {} }),
    );
  await using model = await startModelServer({ script });
  await using dir = await tempDir();
  const channel = { type: 'double', allowed_senders: ['*'], settings: { url } };
  const config = {
    ...{
      provider: 'openai',
      model: 'm',
      base_url: `${model.url}/v1`,
      api_key_env: 'TEST_KEY',
      ...PRICED,
      budget: { daily_usd: 1 },
    },
    gateway: { ...LIMITED, channels: [channel], max_attempts: 10, http: { port: 0 } },
  };
  await writeFile(countFile(dir.path), '');
  const files = { dir: dir.path, config, env: { TEST_KEY: 'sk' } };
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: 'hello' });
  // The first answer is on disk and its tool has not run; then the last one, whose commit ends the turn.
  for (const killAt of ['step:after', 'finish:after']) {
    await using dying = await startChild({ ...files, killAt });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  await using last = await startInline({ ...files, faultParts: true });
  const status = await last.settled(1);
  expect(platform.posted.map(({ text }) => text)).toEqual(['paid once']);
  expect(model.requests).toHaveLength(2);
  expect(status.usageToday).toMatchObject({ calls: 2, unpriced: 0 });
  const { total } = (await cliJson(dir.path, ['usage'])) as Usage;
  expect(total).toMatchObject({ calls: 2, costUsd: status.budget?.spentUsd });
});

test.concurrent('one request is one row of the ledger, also when the wire takes text back; an attempt that broke off has its own', async () => {
  const thinking = stream(
    [...['reasoning ', '\n</think>\n', 'Hello'].map((content) => chunk({ content })), ...textPieces().slice(1)],
    { gapMs: 5 },
  );
  const cutCall = {
    ...stream([chunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'c', function: { name: 'read', arguments: '{"p' } }] })]),
  };
  const script = (_request: unknown, index: number) => (index === 0 ? cutCall : thinking);
  await using at = await telegramScene({ script, config: { ...PRICED, budget: { daily_usd: 1 } }, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['Hello']);
  const { groups } = (await cliJson(at.dir, ['usage', '--by', 'purpose'])) as { groups: { key: string; calls: number }[] };
  expect(groups.map(({ key, calls }) => [key, calls]).sort()).toEqual([
    ['turn', 1],
    ['turn:unfinished', 1],
  ]);
  expect(at.model.requests).toHaveLength(2);
});

test.concurrent('F25 a model that fails is passed over: the answer comes from the next one, each switch is in the log, and status says so', async () => {
  await using spare = await startModelServer({ script: () => stream(textPieces('from the spare')) });
  const fallback = { provider: 'vllm', model: 'spare', base_url: `${spare.url}/v1` };
  await using at = await telegramScene({
    script: () => errorReply(500, { message: 'broken' }),
    config: { fallback_models: [fallback], adaptive_routing: { mode: 'off', failure_threshold: 1 } },
    gateway: { max_concurrent_sessions: 1 },
  });
  await using daemon = await at.start({ args: ['-v'] });
  await daemon.ready();
  for (let n = 1; n <= 2; n += 1) {
    at.platform.inject({ text: `question ${n}` });
    await daemon.settled(n);
  }
  expect(at.texts()).toEqual(Array.from({ length: 2 }, () => 'from the spare'));
  expect(daemon.stderr()).toMatch(/"from":"openai\/m","to":"vllm\/spare","reason":"server".*"model\.switched"/);
  const { models, degraded } = await daemon.status();
  expect(models).toMatchObject([
    { id: 'openai/m', circuit: 'open', successes: 0, failures: 1 },
    { id: 'vllm/spare', circuit: 'closed', successes: 2, failures: 0 },
  ]);
  expect(degraded).toContain('model:openai/m');
  // Three tries for the first question, where the fourth would have kept people waiting; none for the second.
  expect(at.model.requests).toHaveLength(3);
});

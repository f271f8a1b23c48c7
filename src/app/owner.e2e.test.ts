// What the operator and a waiting chat are told, by the real program: real money, real channels, a
// scripted model server.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { freePort } from '../simulator/free-port.ts';
import { startTelegramServer } from '../simulator/telegram/server.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { errorReply, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import type { RunningDaemon } from '../testing/running-daemon.ts';
import { nth, testSample } from '../testing/sample.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram/scene.ts';

const OWNER = 500;
const OWNED = { owner: [{ channel: 'telegram', chat_id: String(OWNER) }] };
/** Ten tokens, the most an answer may have here, are 0.10 USD: no call fits 0.05. */
const TOO_DEAR = {
  model_hints: { price: { in: 0, out: 10_000 } },
  budget: { daily_usd: 0.05, steps: ['ask', 'stop'] },
};
const LIMITED = { ...OWNED, max_output_tokens: 10 };

function say(at: TelegramScene, chat: number, text: string): void {
  at.platform.inject({ chat_id: chat, from: { id: chat }, text });
}

const asked = (at: TelegramScene, chat = OWNER) =>
  until('the owner is asked', () => /\/allow ([A-Z2-9]{6})/.exec(at.texts(chat).join('\n'))?.[1]);
const has = (at: TelegramScene, chat: number, text: string | RegExp) =>
  until(`chat ${chat} reads ${text}`, () =>
    at.texts(chat).some((one) => (typeof text === 'string' ? one === text : text.test(one))),
  );

const REFUSALS = [
  [401, { message: 'Incorrect API key provided: sk-test' }, /^⚠️ The provider refused our key for openai\/m \(GH2101\)/],
  [402, { message: 'Insufficient balance' }, /^⚠️ The provider wants payment before openai\/m answers again \(GH2110\)/],
  [403, { message: 'Country, region, or territory not supported' }, /^⚠️ The provider does not permit .*\(GH2118\)/],
  [404, { message: 'Invalid URL (POST /v1/v1/chat/completions)' }, /^⚠️ What answers at the address .*\(GH2106\).*"base_url"/],
] as const;

testSample(
  REFUSALS,
  nth(4, 1),
  test.concurrent,
)(
  'F26 %i of the provider: one call per message, and the owner is told once, across chats and restarts',
  async ([status, error, notice]) => {
    await using at = await telegramScene({ script: () => errorReply(status, error), gateway: OWNED });
    for (const start of [1, 2]) {
      await using daemon = await at.start();
      await daemon.ready();
      for (const chat of [1, 2]) say(at, chat, `question ${start}`);
      await daemon.settled(2 * start);
      await daemon.stop();
    }
    expect(at.model.requests).toHaveLength(4);
    expect(at.texts(OWNER)).toEqual([expect.stringMatching(notice)]);
    expect(at.texts(OWNER).join()).not.toContain('sk-test');
  },
);

test.concurrent('F26 with a spare that answers the owner is told all the same, and nobody else notices', async () => {
  await using spare = await startModelServer({ script: () => stream(textPieces('from the spare')) });
  const fallback = { provider: 'vllm', model: 'spare', base_url: `${spare.url}/v1` };
  await using at = await telegramScene({
    script: () => errorReply(401, { message: 'no' }),
    config: { fallback_models: [fallback] },
    gateway: OWNED,
  });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, 1, 'hello');
  await daemon.settled(1);
  expect(at.texts(1)).toEqual(['from the spare']);
  expect(at.texts(OWNER)).toEqual([expect.stringContaining('refused our key for openai/m')]);
});

test.concurrent('F26 without a chat of the owner it is one warning in the log', async () => {
  await using at = await telegramScene({ script: () => errorReply(401, { message: 'no' }) });
  await using daemon = await at.start();
  await daemon.ready();
  for (const chat of [1, 2]) say(at, chat, 'hello');
  await daemon.settled(2);
  expect(daemon.stderr().match(/"event":"owner\.not-told"/g)).toHaveLength(1);
  expect(daemon.stderr()).toContain('name a chat in gateway.owner to be told there');
});

test.concurrent('F34 a revoked login: its channel is down, the other goes on, and the owner is told there', async () => {
  const token = '700002:test-token-BBBBBBBBBBBBBBBBBBBBBBBBBBB';
  const second = await startTelegramServer({ token });
  await using _second = second;
  const settings = { api_root: second.url, poll_timeout_secs: 1, rate_limits: false, token_env: 'SECOND_TOKEN' };
  const owner = [{ channel: 'work', chat_id: '500' }, ...OWNED.owner];
  await using at = await telegramScene({
    channels: [{ type: 'telegram', name: 'work', allowed_senders: ['*'], settings }],
    gateway: { owner },
  });
  await using daemon = await at.start({ env: { SECOND_TOKEN: token } });
  await daemon.ready();
  const state = async (name: string) => (await daemon.status()).channels.find((channel) => channel.name === name)?.state;
  await until('both receive', async () => (await state('work')) === 'healthy' && (await state('telegram')) === 'healthy');
  second.fault({ kind: 'error', status: 401, description: 'Unauthorized', times: 1_000 });
  await has(at, OWNER, /^⚠️ Channel work is down: .*GH1501/s);
  expect(await state('work')).toBe('down');
  say(at, 1, 'hello');
  await has(at, 1, 'echo: hello');
  expect(at.texts(OWNER)).toHaveLength(1);
  expect(at.texts(OWNER).join()).not.toContain(token.slice(7));
  expect(second.sends).toEqual([]);
});

test.concurrent('F34 a login that is refused at the start is told on the channel that came up', async () => {
  const settings = { token_env: 'SECOND_TOKEN', poll_timeout_secs: 1 };
  await using at = await telegramScene({ gateway: OWNED, channels: [{ type: 'telegram', name: 'work', settings }] });
  await using daemon = await at.start({ env: { SECOND_TOKEN: 'not a token' } });
  await daemon.ready();
  await has(at, OWNER, /^⚠️ Channel work is down: GH1101/);
});

test.concurrent('F34 what waits for a channel of the owner that cannot connect is told on the next one, once', async () => {
  const unreachable = { token_env: 'SECOND_TOKEN', api_root: `http://127.0.0.1:${await freePort()}`, poll_timeout_secs: 1 };
  const refused = { token_env: 'THIRD_TOKEN', poll_timeout_secs: 1 };
  await using at = await telegramScene({
    gateway: { owner: [{ channel: 'away', chat_id: '500' }, ...OWNED.owner] },
    channels: [
      { type: 'telegram', name: 'away', settings: unreachable },
      { type: 'telegram', name: 'work', settings: refused },
    ],
  });
  const env = { SECOND_TOKEN: '700002:test-token-BBBBBBBBBBBBBBBBBBBBBBBBBBB', THIRD_TOKEN: 'not a token' };
  for (const _start of [1, 2]) {
    await using daemon = await at.start({ env });
    await daemon.ready();
    await has(at, OWNER, /^⚠️ Channel work is down: GH1101/);
    await daemon.stop();
  }
  expect(at.texts(OWNER)).toEqual([expect.stringMatching(/^⚠️ Channel work is down: GH1101/)]);
});

test.concurrent('a limit that stops calls is told to the owner once, whoever meets it', async () => {
  const config = { ...TOO_DEAR, budget: { daily_usd: 0.05, steps: ['stop'] } };
  await using at = await telegramScene({ config, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  for (const chat of [1, 2, 3]) say(at, chat, 'hello');
  await daemon.settled(3);
  expect(at.texts(OWNER)).toEqual([expect.stringMatching(/^⚠️ Spending is stopped: there is a limit of 0\.0500 USD a day/)]);
});

test.concurrent('GH2113 an unknown price is told to the owner as that, once, and not as a limit that is used up', async () => {
  const config = { budget: { daily_usd: 1, steps: ['stop'] }, model: 'never-heard-of' };
  await using at = await telegramScene({ config, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  for (const chat of [1, 2]) say(at, chat, 'hello');
  await daemon.settled(2);
  expect(at.texts(OWNER)).toEqual([
    '⚠️ Every call of openai/never-heard-of is refused: its price is unknown, and there is a limit of 1.00 USD a day (GH2113). ' +
      'Set "price" in model_hints of the config, or "allow_unknown_price" in budget.',
  ]);
  expect(at.texts(1)).toEqual([expect.stringContaining('its price is not known')]);
  expect(daemon.stderr()).toMatch(/"model":"openai\/never-heard-of","hint":"set its price in model_hints/);
  expect(at.model.requests).toEqual([]);
});

/** A model without a price, under a limit. */
const unpriced = (): Promise<TelegramScene> =>
  telegramScene({
    script: () => stream(textPieces('a', 'b')),
    config: { budget: { daily_usd: 1 }, model: 'never-heard-of' },
    gateway: LIMITED,
  });

/** A call of it was put to the owner, and waits. */
async function waitsForPrice(at: TelegramScene, daemon: RunningDaemon): Promise<void> {
  say(at, 1, 'hello');
  await asked(at);
  await until('it waits', async () => (await daemon.status()).journal.inbox.PARKED === 1);
}

test.concurrent('GH2113 a price that is set while a call waits for the owner lets it go on, without a yes', async () => {
  await using at = await unpriced();
  await using daemon = await at.start();
  await daemon.ready();
  await waitsForPrice(at, daemon);
  const priced = { ...at.config, model_hints: { price: { in: 1, out: 1 } } };
  await writeFile(join(at.dir, 'config.json'), JSON.stringify(priced));
  await has(at, 1, 'ab');
});

test.concurrent('a call beyond the limit waits for the owner; a stranger with the right code decides nothing, a second answer changes nothing', async () => {
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, 1, 'my secret question');
  const code = await asked(at);
  expect(at.texts(OWNER)[0]).toContain('It is for telegram:1.');
  expect(at.texts(OWNER)[0]).not.toContain('secret question');
  say(at, 2, `/allow ${code}`);
  // Refused in words that do not tell whether there is such a code.
  const refusal = 'No question that you may answer here has this code.';
  await has(at, 2, refusal);
  const parked = async () => (await daemon.status()).journal.inbox.PARKED;
  await until('one waits', async () => (await parked()) === 1);
  expect([at.texts(1), at.texts(2), at.model.requests.length]).toEqual([[], [refusal], 0]);
  expect((await daemon.status()).lanes).toMatchObject({ running: 0, waiting: 0 });
  say(at, OWNER, `/allow ${code}`);
  await has(at, 1, 'ab');
  say(at, OWNER, `/deny ${code}`);
  await has(at, OWNER, 'This question was answered already: allowed.');
  expect(at.texts(OWNER).filter((text) => text.includes('/allow'))).toHaveLength(1);
  expect(at.texts(OWNER)).toContain('✅ Allowed.');
  expect(at.model.requests).toHaveLength(1);
});

test.concurrent('the owner who asks is asked in that very chat, while its turn waits, and a no ends the turn', async () => {
  await using at = await telegramScene({ config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, OWNER, 'hello');
  say(at, OWNER, `/deny ${await asked(at)}`);
  await has(at, OWNER, /\(GH2112\)$/);
  expect(at.texts(OWNER)).toContain('🛑 Denied.');
  expect(at.model.requests).toEqual([]);
});

test.concurrent('in a group that is a chat of the owner a member cannot allow their own request; an id of the owner can', async () => {
  const group = -100_5;
  const entry = { allowed_groups: ['*'], group_mode: 'always' };
  const owner = [{ channel: 'telegram', chat_id: String(group), sender_ids: [String(OWNER)] }];
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, entry, config: TOO_DEAR, gateway: { ...LIMITED, owner } });
  await using daemon = await at.start();
  await daemon.ready();
  const saySo = (from: number, text: string) => at.platform.inject({ chat_id: group, from: { id: from }, text });
  saySo(2, 'hello');
  const code = await asked(at, group);
  saySo(2, `/allow ${code}`);
  await has(at, group, 'Only the owner may answer this.');
  expect(at.model.requests).toEqual([]);
  saySo(OWNER, `/allow ${code}`);
  await has(at, group, 'ab');
});

test.concurrent('a budget question survives a restart: it is asked once, holds nothing, and its old code answers it', async () => {
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, config: TOO_DEAR, gateway: LIMITED });
  let code = '';
  for (const start of [1, 2]) {
    await using daemon = await at.start();
    await daemon.ready();
    if (start === 1) say(at, 1, 'hello');
    code = await asked(at);
    await until('it waits', async () => (await daemon.status()).journal.inbox.PARKED === 1);
    await daemon.stop();
  }
  await using daemon = await at.start();
  await daemon.ready();
  expect(at.texts(OWNER)).toHaveLength(1);
  say(at, OWNER, `/allow ${code}`);
  await has(at, 1, 'ab');
  expect([at.texts(OWNER).length, at.model.requests.length]).toEqual([2, 1]);
});

test.concurrent('a question that is answered on the command line is acted on by the daemon that runs', async () => {
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, 1, 'hello');
  const code = await asked(at);
  await using cli = await openJournal({ dir: daemon.dataDir, clock: systemClock, sync: 'in-commit' });
  const wait = await cli.journal.waits.byCode(code);
  const value = { ok: true, output: 'allow' };
  await cli.journal.commit([{ kind: 'settle', settled: { wait: wait?.id ?? '', value, by: 'cli' } }]);
  await has(at, 1, 'ab');
  say(at, OWNER, `/deny ${code}`);
  await has(at, OWNER, 'This question was answered already: allowed.');
});

test.concurrent('a question is put to the owner that a change of the config names, who may answer it', async () => {
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, 1, 'hello');
  const code = await asked(at);
  await until('it waits', async () => (await daemon.status()).journal.inbox.PARKED === 1);
  const gateway = { ...(at.config['gateway'] as object), owner: [{ channel: 'telegram', chat_id: '501' }] };
  await writeFile(join(at.dir, 'config.json'), JSON.stringify({ ...at.config, gateway }));
  expect(await asked(at, 501)).toBe(code);
  say(at, 501, `/allow ${code}`);
  await has(at, 1, 'ab');
  expect([OWNER, 501].map((chat) => at.texts(chat).filter((text) => text.includes(code)).length)).toEqual([1, 1]);
});

test.concurrent('/stop ends a turn that waits for the owner', async () => {
  await using at = await telegramScene({ config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  say(at, 1, 'hello');
  const code = await asked(at);
  say(at, 1, '/stop');
  await has(at, 1, '🛑 Cancelled.');
  await daemon.settled(2);
  // The question is about the limit, and not about this turn alone.
  say(at, OWNER, `/allow ${code}`);
  await has(at, OWNER, '✅ Allowed.');
  await daemon.settled(3);
  expect([at.texts(1), at.model.requests.length]).toEqual([['🛑 Cancelled.'], 0]);
});

test.concurrent('F26 killed between the commit of a notice and its sending: the next start sends it, once', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using model = await startModelServer({ script: () => errorReply(401, { message: 'no' }) });
  await using dir = await tempDir();
  const config = {
    ...{ provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
    gateway: {
      channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }],
      owner: [{ channel: 'double', chat_id: 'owner' }],
      http: { port: 0 },
    },
  };
  await writeFile(countFile(dir.path), '');
  const files = { dir: dir.path, config, env: { TEST_KEY: 'sk' } };
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: 'hello' });
  {
    await using dying = await startChild({ ...files, killAt: 'enqueue:after' });
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  expect(platform.posted.filter(({ chatId }) => chatId === 'owner')).toEqual([]);
  await using last = await startInline({ ...files, faultParts: true });
  await last.settled(1);
  const told = platform.posted.filter(({ chatId }) => chatId === 'owner');
  expect(told.map(({ text }) => text)).toEqual([expect.stringContaining('refused our key')]);
});

test.concurrent('the owner presses a button; a press on a question that is over is told so', async () => {
  const script = () => stream(textPieces('a', 'b'));
  await using at = await telegramScene({ script, config: TOO_DEAR, gateway: LIMITED });
  await using daemon = await at.start();
  await daemon.ready();
  const press = (label: string): void => {
    const question = at.platform.sends.find(({ chatId }) => chatId === String(OWNER));
    const markup = at.platform.markupOf(question?.messageId ?? 0);
    const button = markup.find((one) => one.text === label);
    const message = { message_id: question?.messageId, date: 1, chat: { id: OWNER, type: 'private' }, text: question?.text };
    const from = { id: OWNER, is_bot: false, first_name: 'Ada' };
    at.platform.injectUpdate({
      callback_query: { id: `press-${label}`, from, message, chat_instance: 'c', data: button?.callback_data },
    });
  };
  say(at, 1, 'hello');
  await asked(at);
  press('Allow');
  await has(at, 1, 'ab');
  press('Deny');
  await has(at, OWNER, 'This question was answered already: allowed.');
  await until('both presses are answered', () => at.platform.calls.filter((call) => call === 'answerCallbackQuery').length === 2);
});

test.concurrent('where there are no buttons the choices are listed, and a typed number answers', async () => {
  await using platform = new DoublePlatform();
  const url = await platform.start();
  await using model = await startModelServer({ script: () => stream(textPieces('a', 'b')) });
  await using dir = await tempDir();
  const config = {
    ...{ provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
    ...TOO_DEAR,
    gateway: {
      channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }],
      owner: [{ channel: 'double', chat_id: 'owner' }],
      max_output_tokens: 10,
      http: { port: 0 },
    },
  };
  await using _daemon = await startInline({ dir: dir.path, config, env: { TEST_KEY: 'sk' }, faultParts: true });
  const texts = (chat: string) => platform.posted.filter(({ chatId }) => chatId === chat).map(({ text }) => text);
  platform.deliver({ id: 'm1', chatId: 'c', senderId: 'ada', text: 'hello' });
  await until('the choices are listed', () => texts('owner').at(-1)?.endsWith('1. Allow\n2. Deny'));
  const quoted = texts('owner').at(-1) ?? '';
  platform.deliver({ id: 'm2', chatId: 'c', senderId: 'ada', text: '1', quoted });
  platform.deliver({ id: 'm3', chatId: 'owner', senderId: 'owner', text: '1', quoted });
  await until('it is allowed', () => texts('c').includes('ab'));
  await until('the owner is told', () => texts('owner').includes('✅ Allowed.'));
});

test.concurrent('GH2113 a price that is set before a restart lets a call that waits for the owner go on', async () => {
  await using at = await unpriced();
  {
    await using daemon = await at.start();
    await daemon.ready();
    await waitsForPrice(at, daemon);
    await daemon.stop();
  }
  await using daemon = await at.start({ config: { ...at.config, model_hints: { price: { in: 1, out: 1 } } } });
  await daemon.ready();
  say(at, 2, 'hello');
  await has(at, 2, 'ab');
  await has(at, 1, 'ab');
});

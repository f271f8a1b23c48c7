// What is held for a topic, and a session that begins anew, through kills of the real daemon at named
// instants.
import { writeFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { messagesOf, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';

/** Processes start slowly on a machine that does other things. */
vi.setConfig({ testTimeout: 240_000 });

const ENV = { SWEEP_KEY: 'sk' };

/** Each question whose text begins with `slow` is answered once the gate is open. */
async function scene() {
  const dir = await tempDir();
  const held = gate();
  const platform = new DoublePlatform();
  const model = await startModelServer({
    script: (request) => {
      const asked = userText(request);
      const waits = asked.startsWith('slow') ? { held: { before: 0, until: held.opened } } : {};
      return stream(textPieces(`did ${asked}`), waits);
    },
  });
  const channels = [{ type: 'double', allowed_senders: ['*'], settings: { url: await platform.start() } }];
  const gateway = { channels, max_attempts: 10, http: { port: 0 } };
  const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'SWEEP_KEY', gateway };
  await writeFile(countFile(dir.path), '');
  let count = 0;
  return {
    ...{ held, platform, model },
    say: (text: string) => platform.deliver({ id: `m${++count}`, chatId: 'c', senderId: 'ada', text }),
    texts: () => platform.posted.map(({ text }) => text),
    dying: (killAt: string) => startChild({ dir: dir.path, config, env: ENV, killAt }),
    last: () => startInline({ dir: dir.path, config, env: ENV, faultParts: true }),
    async [Symbol.asyncDispose]() {
      held.open();
      await model[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** Whatever dies meanwhile: each step waits for what the platform and the model saw. */
async function holdThree({ say, texts, held, model }: Scene): Promise<void> {
  say('/new work');
  await until('the topic is there', () => texts().length === 1);
  for (const n of [1, 2, 3]) say(`slow ${n}`);
  await until('it is asked', () => model.requests.length >= 1);
  say('/s');
  await until('it is left', () => texts().includes('Now in the chat itself.'));
  held.open();
  await until('all are asked', () => model.requests.some((request) => userText(request) === 'slow 3'));
  await until('it is told', () => texts().some((text) => text.startsWith('📥')));
  say('/s work');
}

test.concurrent.each([
  ['before the answer is held', 'finish:before'],
  ['after the answer is held', 'finish:after'],
  ['after the switch, before anything was sent', 'sending:before:4'],
  ['while the first held part is sent', 'settle:before:5'],
  ['between two held parts', 'settle:after:6'],
])('held parts come once and in order when the daemon is killed %s', async (_title, killAt) => {
  await using at = await scene();
  const done = holdThree(at);
  {
    await using dying = await at.dying(killAt);
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  {
    await using last = await at.last();
    await done;
    await last.settled(6);
    await until('all is sent', () => at.texts().at(-1) === 'did slow 3');
    expect(await last.stop()).toMatchObject({ code: 0 });
  }
  expect(at.texts()).toEqual([
    expect.stringContaining('Topic “work” begins here.'),
    'Now in the chat itself.',
    '📥 An answer in topic “work” is ready: /s work shows it.',
    expect.stringMatching(/^Now in topic “work”\./),
    ...['did slow 1', 'did slow 2', 'did slow 3'],
  ]);
});

test.concurrent.each([
  ['before its commit', 'accept:before:3'],
  ['after its commit', 'accept:after:3'],
  ['before the turn under way ends', 'finish:before:2'],
  ['once that one ended', 'finish:after:2'],
])('/new under a running turn, killed %s: each conversation has its own lines', async (_title, killAt) => {
  await using at = await scene();
  const { say, texts, model, held } = at;
  const driven = (async () => {
    say('one');
    await until('it is answered', () => texts().length === 1);
    say('slow');
    await until('it is asked', () => model.requests.some((request) => userText(request) === 'slow'));
    say('/new --keep 0');
    await until('it is answered', () => texts().length === 2);
    held.open();
    say('fresh');
  })();
  {
    await using dying = await at.dying(killAt);
    expect((await dying.ended).signal).toBe('SIGKILL');
  }
  {
    await using last = await at.last();
    await driven;
    await last.settled(4);
    say('last');
    await last.settled(5);
    expect(await last.stop()).toMatchObject({ code: 0 });
  }
  expect(texts()).toEqual([
    'did one',
    'Started afresh. Nothing was carried over.',
    ...['↩️ From before the fresh start:\n\ndid slow', 'did fresh', 'did last'],
  ]);
  const asked = messagesOf(model.requests.at(-1) ?? expect.fail('no request')).map(({ content }) => content);
  expect(asked.slice(1)).toEqual(['fresh', 'did fresh', 'last']);
});

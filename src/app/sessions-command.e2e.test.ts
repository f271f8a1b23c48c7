// `gatehouse sessions` beside the running daemon, which alone writes session files.
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';
import { sessionKey } from '../core/ids.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';

const ADA = sessionKey({ channel: 'double', account: 'bot', chatId: 'ada' });
const BOB = sessionKey({ channel: 'double', account: 'bot', chatId: 'bob' });

async function scene() {
  const dir = await tempDir();
  const held = gate();
  const model = await startModelServer({
    script: (request) => {
      const asked = userText(request);
      const wait = asked.includes('slow') ? { held: { before: 0, until: held.opened } } : {};
      return stream(textPieces(`${asked}: answered`), wait);
    },
  });
  const platform = new DoublePlatform();
  const channels = [{ type: 'double', allowed_senders: ['*'], settings: { url: await platform.start() } }];
  const gateway = { channels, http: { port: 0 } };
  const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'K', gateway };
  const daemon = await startInline({ dir: dir.path, config, env: { K: 'k' }, faultParts: true });
  let count = 0;
  let said = (): string => '';
  const run = async (...argv: string[]): Promise<{ code: number; text: string }> => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    let text = '';
    said = () => text;
    for (const stream of [stdout, stderr]) stream.on('data', (chunk) => (text += String(chunk)));
    const stdio = { stdin: Readable.from([]), stdout, stderr };
    const code = await runCli([...argv, '--data-dir', daemon.dataDir], {
      ...processDeps(),
      stdio,
      env: {},
      cwd: dir.path,
      home: dir.path,
    });
    return { code, text };
  };
  return {
    ...{ daemon, model, held, run, platform },
    /** By the command that was run last. */
    said: () => said(),
    /** Resolves once it is answered, unless it is slow. */
    async say(chatId: string, text: string) {
      const { inbox } = (await daemon.status()).journal;
      count += 1;
      platform.deliver({ id: `m${count}`, chatId, senderId: chatId, text });
      // A change of sessions is a run as well, so messages alone are not what is counted.
      if (!text.includes('slow')) await daemon.settled(inbox.DONE + inbox.DEAD + 1);
    },
    json: async <T>(...argv: string[]): Promise<T> => JSON.parse((await run(...argv, '--json')).text) as T,
    async [Symbol.asyncDispose]() {
      held.open();
      await daemon[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

interface Shown {
  readonly messages: readonly { readonly content: string }[];
}

test('what is deleted beside the daemon does not come back, and the conversation begins anew', async () => {
  await using at = await scene();
  await at.say('ada', 'apples');
  await at.say('bob', 'pears');
  const { code, text } = await at.run('sessions', 'delete', ADA, '--yes');
  expect([code, text]).toEqual([0, expect.stringContaining(`${ADA} deleted`)]);
  await at.say('ada', 'plums');
  const last = at.model.requests.at(-1);
  expect(JSON.stringify(last?.body)).not.toContain('apples');
  // Lines on their way into the file are shown as well.
  const { messages } = await at.json<Shown>('sessions', 'show', ADA);
  expect(messages.map(({ content }) => content)).toEqual(['plums', 'plums: answered']);
  expect((await at.json<{ count: number }>('sessions', 'search', 'apples')).count).toBe(0);
  expect((await at.json<Shown>('sessions', 'show', BOB)).messages).toHaveLength(2);
});

test('a session whose answer is being worked on is deleted once it is given, with what that leaves', async () => {
  await using at = await scene();
  await at.say('ada', 'apples');
  await at.say('ada', 'slow');
  await until('it is asked', () => at.model.requests.length === 2);
  const deleting = at.run('sessions', 'delete', ADA, '--yes');
  // The order stands in line behind the turn, which is not over.
  await until('the command has looked', () => at.said().includes('is being worked on'));
  at.held.open();
  const { code, text } = await deleting;
  expect([code, text]).toEqual([0, expect.stringContaining('an answer is being worked on')]);
  await at.daemon.settled(3);
  expect((await at.run('sessions', 'show', ADA)).text).toContain('no session');
});

test('a fork beside the daemon is a session of its own', async () => {
  await using at = await scene();
  await at.say('ada', 'apples');
  await at.say('ada', 'pears');
  // The lines have to be in a file to be found by name.
  await until('it is listed', async () => (await at.run('sessions', 'list')).text.includes(ADA));
  const { code, text } = await at.run('sessions', 'fork', ADA, `${ADA}#copy`, '--keep', '2');
  expect([code, text]).toEqual([0, expect.stringContaining('2 messages copied')]);
  const { messages } = await at.json<Shown>('sessions', 'show', `${ADA}#copy`);
  expect(messages.map(({ content }) => content)).toEqual(['pears', 'pears: answered']);
  expect((await at.run('sessions', 'fork', ADA, BOB)).code).toBe(0);
  expect((await at.run('sessions', 'fork', `${ADA}#copy`, BOB)).code).toBe(4);
});

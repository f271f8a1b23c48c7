// A program of the operator asks the agent through `gatehouse mcp serve`: the real bridge, the real daemon, Telegram.
import { expect, test } from 'vitest';
import { cliJson } from '../testing/cli-json.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { startMcpClient } from '../testing/mcp-client.ts';
import { callPieces, messagesOf, type Reply, stream, textPieces, userText } from '../testing/model-server.ts';
import { type TelegramScene, type TelegramSceneOptions, telegramScene } from '../testing/telegram/scene.ts';

const OWNER = 500;
const ANN = 7;
const NOTE = { name: 'write_file', arguments: { path: 'note.txt', content: 'tea' } };
const JOB = { name: 'cron', arguments: { action: 'add', message: 'water the plants', every_seconds: 3_600 } };

function scene(clients: Record<string, unknown>, script?: TelegramSceneOptions['script']): Promise<TelegramScene> {
  return telegramScene({
    ...(script ? { script } : {}),
    config: { mcp_clients: clients },
    gateway: { owner: [{ channel: 'telegram', chat_id: String(OWNER) }] },
    entry: { allowed_senders: [String(OWNER), String(ANN)] },
  });
}

const says = (...texts: readonly string[]): Reply => stream(textPieces(...texts));

test.concurrent('a client asks and is answered, in a conversation of its own that goes on', async () => {
  await using at = await scene({ coder: {} }, (request) => {
    const asked = messagesOf(request).filter(({ role }) => role === 'user');
    return says(`heard ${asked.length}: ${userText(request).split('\n').at(-1)}`);
  });
  await using daemon = await at.start();
  await daemon.ready();
  await using coder = await startMcpClient(at.dir, 'coder');
  expect(await coder.tools()).toEqual(['ask', 'result']);
  expect(await coder.call('ask', { text: 'one' })).toMatchObject({ text: 'heard 1: one', isError: false, state: 'answered' });
  const second = await coder.call('ask', { text: 'two' });
  expect(second.text).toBe('heard 2: two');
  expect(await coder.call('result', { id: second.id })).toMatchObject({ text: 'heard 2: two', id: second.id });
  expect((await coder.call('ask', { text: 'aside', session: 'a/b#c %' })).text).toBe('heard 1: aside');
  expect(userText(at.model.requests[0] ?? fail())).toBe('[Asked by the program coder, an MCP client. No person wrote this.]\n\none');
  expect(coder.stderr()).toBe('');
  expect(at.texts()).toEqual([]);
});

function fail(): never {
  throw new Error('there is none');
}

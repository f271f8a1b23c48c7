import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { TelegramClient } from './client.ts';

const SOON = () => AbortSignal.timeout(5_000);

test.each([
  ...['null', '[]', '{}', '5', '<html>busy</html>', '{"ok":true}', '{"ok":false}', '{"ok":false,"error_code":401}'],
  ...['{"ok":true,"result":null}', '{"ok":true,"result":[null]}', '{"ok":true,"result":"x"}', '{"ok":true,"result":{"id":"1"}}'],
])('of the answer %s it is said that it is none of the Bot API, and not known what came of the call', async (body) => {
  const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const apiRoot = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new TelegramClient({ token: '1:canary', apiRoot });
  onTestFinished(() => client.close());
  const odd = { failure: { kind: 'lost', detail: 'the answer is none of the Bot API' } };
  await expect(client.getMe(SOON())).rejects.toMatchObject({ ...odd, call: 'getMe' });
  await expect(client.getUpdates({ timeoutSecs: 0 }, SOON())).rejects.toMatchObject({ ...odd, call: 'getUpdates' });
  await expect(client.webhookInfo(SOON())).rejects.toMatchObject({ ...odd, call: 'getWebhookInfo' });
  await expect(client.edit({}, SOON())).rejects.toMatchObject({ ...odd, call: 'editMessageText' });
  const call = { method: 'sendMessage', payload: { chat_id: 1, text: 'x' } } as const;
  await expect(client.send(call, SOON())).rejects.toMatchObject({ ...odd, call: 'sendMessage' });
});

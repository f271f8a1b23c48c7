import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir, until } from '../../testing/fakes.ts';
import { parseTelegramHtml } from './html.ts';
import { startTelegramServer, type TelegramServer } from './server.ts';

type Answer = { ok: boolean; result?: unknown; error_code?: number; description?: string };

async function call(server: Pick<TelegramServer, 'url' | 'token'>, method: string, params: object = {}): Promise<Answer> {
  const response = await fetch(`${server.url}/bot${server.token}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(params),
  });
  return (await response.json()) as Answer;
}

test('updates stay until a poll with a higher offset, and come again before', async () => {
  await using server = await startTelegramServer();
  server.inject({ text: 'a' });
  server.inject({ text: 'b' });
  expect(await call(server, 'getUpdates')).toMatchObject({ result: [{ update_id: 1 }, { update_id: 2 }] });
  expect(await call(server, 'getUpdates', { offset: 2 })).toMatchObject({ result: [{ update_id: 2 }] });
  expect(server.unconfirmed).toBe(1);
  expect(await call(server, 'getUpdates', { offset: 3 })).toMatchObject({ result: [] });
  expect(server.unconfirmed).toBe(0);
});

test('a long poll ends with the first update, or with 409 when another one begins', async () => {
  await using server = await startTelegramServer();
  const first = call(server, 'getUpdates', { timeout: 20 });
  await until('the first waits', () => server.calls.length === 1);
  const second = call(server, 'getUpdates', { timeout: 20 });
  expect(await first).toMatchObject({ ok: false, error_code: 409 });
  server.inject({ text: 'x' });
  expect(await second).toMatchObject({ ok: true, result: [{ update_id: 1 }] });
});

test.each([
  ['<b>a</b> &lt; <a href="https://e.org">c</a>', 'a < c'],
  ['a > b & c &amp;', 'a > b & c &'],
  ['<pre><code class="language-x">1</code></pre>', '1'],
])('HTML %s is shown as %s', (html, text) => {
  expect(parseTelegramHtml(html)).toMatchObject({ text });
});

test.each([
  ['a < b', /Unclosed|Unsupported/],
  ['<b>a', /Can't find end tag corresponding to start tag "b"/],
  ['<b><i>a</b></i>', /Unmatched end tag at byte offset 7/],
  ['a</b>', /Unexpected end tag/],
  ['<p>a</p>', /Unsupported start tag "p"/],
  ['<b onclick="x">a</b>', /attribute/],
  ['<blockquote>a<blockquote>b</blockquote></blockquote>', /Nested/],
])('HTML %s is refused', async (html, problem) => {
  await using server = await startTelegramServer();
  const answer = await call(server, 'sendMessage', { chat_id: 1, text: html, parse_mode: 'HTML' });
  expect(answer).toMatchObject({ ok: false, error_code: 400 });
  expect(answer.description).toMatch(problem);
  expect(server.sends).toHaveLength(0);
});

test('an empty text is refused, also as an edit', async () => {
  await using server = await startTelegramServer();
  const empty = { chat_id: 1, text: '<pre></pre>', parse_mode: 'HTML' };
  const refusal = { ok: false, error_code: 400, description: 'Bad Request: message text is empty' };
  expect(await call(server, 'sendMessage', empty)).toEqual(refusal);
  await call(server, 'sendMessage', { chat_id: 1, text: 'a' });
  expect(await call(server, 'editMessageText', { ...empty, message_id: 1 })).toEqual(refusal);
});

test('formats behind the hundredth are ignored in silence, and too much markup is refused', async () => {
  await using server = await startTelegramServer();
  const link = (url: string) => `<a href="https://e.org/${url}">x</a> `;
  const send = (text: string) => call(server, 'sendMessage', { chat_id: 1, text, parse_mode: 'HTML' });
  expect(await send(link('1').repeat(103))).toMatchObject({ ok: true });
  expect(server.sends[0]).toMatchObject({ ignoredEntities: 3 });
  expect(await send('<pre><code class="language-x">1</code></pre>'.repeat(100))).toMatchObject({ ok: true });
  expect(server.sends[1]).not.toHaveProperty('ignoredEntities');
  expect(await send(link('y'.repeat(1_900)).repeat(5))).toMatchObject({ description: 'Bad Request: ENTITIES_TOO_LONG' });
});

test('the direct messages of a channel are written to by topic and show no typing', async () => {
  await using server = await startTelegramServer();
  server.inject({ chat: { id: -1001, is_direct_messages: true }, text: 'hi', direct_messages_topic: { topic_id: 7 } });
  expect(await call(server, 'sendMessage', { chat_id: -1001, text: 'a' })).toMatchObject({ error_code: 400 });
  expect(await call(server, 'sendChatAction', { chat_id: -1001, action: 'typing' })).toMatchObject({ error_code: 400 });
  const named = { chat_id: -1001, text: 'a', direct_messages_topic_id: 7 };
  expect(await call(server, 'sendMessage', named)).toMatchObject({ ok: true });
  expect(server.sends).toMatchObject([{ threadId: 'dm:7' }]);
  expect(await call(server, 'sendMessage', { ...named, chat_id: -1002 })).toMatchObject({ error_code: 400 });
});

test('what a button says back has 64 bytes at most', async () => {
  await using server = await startTelegramServer();
  const send = (callback_data: string) =>
    call(server, 'sendMessage', { chat_id: 1, text: 'a', reply_markup: { inline_keyboard: [[{ text: 'b', callback_data }]] } });
  expect(await send('é'.repeat(33))).toMatchObject({ description: 'Bad Request: BUTTON_DATA_INVALID' });
  expect(await send('é'.repeat(32))).toMatchObject({ ok: true });
});

test('an unknown token is refused', async () => {
  await using server = await startTelegramServer();
  expect(await call({ url: server.url, token: '1:x' }, 'getMe')).toMatchObject({ ok: false, error_code: 401 });
});

test('a pushed update comes again until it is taken, a second delivery of it too, and none that was dropped', async () => {
  const taken: unknown[] = [];
  let isUp = false;
  const bot = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (isUp) taken.push(JSON.parse(Buffer.concat(chunks).toString('utf8')).update_id);
      response.writeHead(isUp ? 200 : 500).end();
    });
  });
  await once(bot.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void bot.close());
  await using server = await startTelegramServer();
  const url = `http://127.0.0.1:${(bot.address() as AddressInfo).port}`;
  await call(server, 'setWebhook', { url });
  server.inject({ text: 'dropped' });
  await until('it was refused', () => server.hook.lastError);
  await call(server, 'deleteWebhook', { drop_pending_updates: true });
  expect(server.unconfirmed).toBe(0);
  // A repeat that is under way still arrives.
  await new Promise((resolve) => setTimeout(resolve, 100));
  isUp = true;
  await call(server, 'setWebhook', { url });
  for (const text of ['first', 'second delivery']) server.injectUpdate({ update_id: 7, message: { chat: { id: 5 }, text } });
  await until('both are taken', () => server.unconfirmed === 0);
  // Longer than the pause before a repeat of the one that was dropped.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(taken).toEqual([7, 7]);
});

test('run alone it prints its addresses, obeys the control API and logs what it accepted', async () => {
  await using dir = await tempDir();
  const log = join(dir.path, 'sends.jsonl');
  const child = spawn(process.execPath, [join(import.meta.dirname, 'server.ts'), '--port', '0', '--log', log], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const server = JSON.parse(line) as { url: string; control: string; token: string };
    const control = async (action: string, body?: object): Promise<unknown> =>
      (await fetch(`${server.control}${action}`, body ? { method: 'POST', body: JSON.stringify(body) } : {})).json();
    expect(await control('inject', { count: 150, message: { text: 'load' } })).toHaveProperty('messageIds.length', 150);
    expect(await call(server, 'getUpdates', {})).toHaveProperty('result.length', 100);
    await control('fault', { method: 'sendMessage', kind: 'error', status: 403, description: 'Forbidden: bot was blocked' });
    expect(await call(server, 'sendMessage', { chat_id: 5, text: 'no' })).toMatchObject({ error_code: 403 });
    expect(await call(server, 'sendMessage', { chat_id: 5, text: 'yes' })).toMatchObject({ ok: true });
    expect(await control('sends?after=0')).toMatchObject({ sends: [{ seq: 0, chatId: '5', text: 'yes' }] });
    expect(
      (await readFile(log, 'utf8'))
        .trim()
        .split('\n')
        .map((entry) => JSON.parse(entry)),
    ).toMatchObject([{ text: 'yes' }]);
    expect(await control('stats')).toMatchObject({ sends: 1, unconfirmed: 150 });
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});

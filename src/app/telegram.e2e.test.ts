// Telegram end to end: an emulator of another project for the load, our own server for files, a scripted
// model, the real program.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../testing/child-daemon.ts';
import { startCrablineTelegram } from '../testing/crabline.ts';
import { tempDir } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { callPieces, messagesOf, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/** `.ci/run` plays all of it: the emulator syncs a record of each call, which takes longer than the rest. */
const [CHATS, PER_CHAT] = isFullLoad() ? [100, 5] : [50, 2];
const MESSAGES = CHATS * PER_CHAT;

test(`${MESSAGES} messages over ${CHATS} chats of an independent emulator: all answered once, in order per chat, no error notice`, async () => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer({ record: false });
  await using dir = await tempDir();
  const settings = { api_root: platform.url, poll_timeout_secs: 1, rate_limits: false };
  const gateway = { channels: [{ type: 'telegram', allowed_senders: ['*'], settings }], http: { port: 0 } };
  const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY', gateway };
  const env = { TEST_KEY: 'sk', TELEGRAM_BOT_TOKEN: platform.token };
  await using daemon = await startChild({ dir: dir.path, config, env });
  await daemon.ready();
  const chats = Array.from({ length: CHATS }, (_, index) => String(1_001 + index));
  for (let n = 0; n < PER_CHAT; n += 1) {
    await Promise.all(chats.map((chatId) => platform.inject({ chatId, fromId: Number(chatId), text: `${chatId} message ${n}` })));
  }
  const { journal } = await daemon.settled(MESSAGES);
  expect(journal).toMatchObject({
    inbox: { DONE: MESSAGES, DEAD: 0 },
    outbox: { SENT: MESSAGES, UNKNOWN: 0, DEAD: 0 },
    refused: [],
  });
  const sends = await platform.sends();
  expect(sends).toHaveLength(MESSAGES);
  for (const chatId of chats) {
    const texts = sends.filter(({ body }) => String(body['chat_id']) === chatId).map(({ body }) => body['text']);
    expect(texts).toEqual(Array.from({ length: PER_CHAT }, (_, n) => `echo: ${chatId} message ${n}`));
  }
  expect(daemon.stderr()).not.toMatch(/"level":"(warn|error)"/);
}, 180_000);

test('a tool loop of three legs: listed, written, read back through the real tools, then answered', async () => {
  const path = 'notes/today.txt';
  await using at = await telegramScene({
    entry: { allowed_senders: ['7'] },
    script: (request) => {
      const results = messagesOf(request).filter(({ role }) => role === 'tool');
      const legs = [
        callPieces({ name: 'list_dir', arguments: { path: '.' } }),
        callPieces({ name: 'write_file', arguments: { path, content: 'seven apples' } }),
        callPieces({ name: 'read_file', arguments: { path } }),
      ];
      return stream(legs[results.length] ?? textPieces(`I read: ${results.at(-1)?.content}`));
    },
  });
  await using daemon = await at.start();
  at.platform.inject({ chat_id: 7, from: { id: 7 }, text: 'count the fruit' });
  await daemon.settled(1);
  expect(at.texts()).toEqual([expect.stringMatching(/^I read: .*seven apples/s)]);
  expect(at.model.requests).toHaveLength(4);
  const files = await filesBelow(join(daemon.dataDir, 'workspaces'));
  expect(files.filter((file) => file.endsWith('workspaces') || file.endsWith(path))).toEqual([expect.stringContaining(path)]);
  const [file = ''] = files.filter((name) => name.endsWith(path));
  expect(await readFile(file, 'utf8')).toBe('seven apples');
});

test('photo, voice and document come in as files of the workspace and go out again as what they are, byte for byte', async () => {
  const media = {
    photo: { bytes: Buffer.from('\xff\xd8\xff picture', 'latin1'), label: 'Photo', method: 'sendPhoto' },
    voice: { bytes: Buffer.from('OggS sound'), label: 'Voice note', method: 'sendVoice' },
    document: { bytes: Buffer.from('%PDF-1.7 report'), label: 'File', method: 'sendDocument' },
  };
  await using at = await telegramScene({
    entry: { allowed_senders: ['1', '2', '3'] },
    script: (request) => {
      const messages = messagesOf(request);
      const path = /: (uploads\/\S+) \(/.exec(userText(request))?.[1] ?? 'nothing';
      if (messages.at(-1)?.role === 'tool') return stream(textPieces(`here: ${messages.at(-1)?.content}`));
      return stream(callPieces({ name: 'send_file', arguments: { file_path: path, caption: 'as you sent it' } }));
    },
  });
  for (const [name, { bytes }] of Object.entries(media)) at.platform.addFile(name, bytes);
  await using daemon = await at.start();
  const sizes = [{ file_id: 'photo', file_unique_id: 'p', width: 90, height: 60, file_size: media.photo.bytes.length }];
  at.platform.inject({ chat_id: 1, from: { id: 1 }, caption: 'a picture', photo: sizes });
  at.platform.inject({
    chat_id: 2,
    from: { id: 2 },
    voice: { file_id: 'voice', file_unique_id: 'v', duration: 1, mime_type: 'audio/ogg' },
  });
  const document = { file_id: 'document', file_unique_id: 'd', file_name: 'Q3 report.pdf', mime_type: 'application/pdf' };
  at.platform.inject({ chat_id: 3, from: { id: 3 }, caption: 'the report', document });
  await daemon.settled(3);
  for (const [chat, { bytes, label, method }] of Object.values(media).entries()) {
    const chatId = String(chat + 1);
    const asked = at.model.requests.map(userText).find((text) => text.includes(`[${label}: uploads/`));
    expect(asked).toBeDefined();
    const sent = at.platform.sends.filter((send) => send.chatId === chatId);
    expect(sent.filter(({ file }) => file)).toMatchObject([
      { method, file: { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length } },
    ]);
    expect(sent.map(({ text }) => text)).toContain('as you sent it');
  }
});

async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

import { once } from 'node:events';
import { symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { LLMock } from '@copilotkit/aimock';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { audioFormatOf } from '../../lib/audio-format.ts';
import { systemClock } from '../../lib/clock.ts';
import { type MultipartPart, parseMultipart } from '../../simulator/multipart.ts';
import { FakeClock, tempDir } from '../../testing/fakes.ts';
import { createOpenAiTranscriber, type OpenAiTranscriberOptions, type TranscriptionUsage } from './openai-transcriber.ts';
import { MAX_AUDIO_BYTES } from './read-audio.ts';

const signal = new AbortController().signal;
const OGG = Buffer.from('OggS\0\x02 and sound');

function transcriber(origin: string, override: Partial<OpenAiTranscriberOptions> = {}) {
  const usage: TranscriptionUsage[] = [];
  const made = createOpenAiTranscriber({
    ...{ provider: 'groq', model: 'whisper-large-v3', baseUrl: `${origin}/v1`, apiKey: 'canary-77aa' },
    ...{ clock: systemClock, random: () => 0, onUsage: (entry) => usage.push(entry), ...override },
  });
  return { ...made, usage };
}

async function recording(dir: string, bytes: Uint8Array = OGG, name = 'a.oga') {
  const path = join(dir, name);
  await writeFile(path, bytes);
  return { path, mime: 'application/octet-stream', bytes: bytes.byteLength };
}

/** Takes uploads apart, which the emulator does not tell. */
async function uploadServer(statuses: readonly number[] = [200], body: unknown = { text: ' fine ', duration: 2.5 }) {
  const uploads: { parts: readonly MultipartPart[]; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer(async (request, response) => {
    const parts = parseMultipart(await buffer(request), request.headers['content-type'] ?? '');
    uploads.push({ parts, headers: request.headers });
    response.writeHead(statuses[uploads.length - 1] ?? 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    uploads,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('the emulator transcribes what it was told to, and says how long the sound was', async () => {
  await using dir = await tempDir();
  const mock = new LLMock({ port: 0, logLevel: 'silent', strict: true });
  mock.onTranscription({ transcription: { text: ' What is the weather like tomorrow?\n', duration: 3.2 } });
  await mock.start();
  try {
    const subject = transcriber(mock.url);
    expect(subject.id).toBe('groq/whisper-large-v3');
    expect(await subject.transcribe(await recording(dir.path), signal)).toBe('What is the weather like tomorrow?');
    expect(subject.usage).toEqual([{ provider: 'groq', model: 'whisper-large-v3', seconds: 3.2 }]);
    // Only Whisper's verbose form tells the length.
    const other = transcriber(mock.url, { model: 'gpt-4o-transcribe' });
    expect(await other.transcribe(await recording(dir.path), signal)).toBe('What is the weather like tomorrow?');
    expect(other.usage).toMatchObject([{ seconds: null }]);
  } finally {
    await mock.stop();
  }
});

test('F25 an overloaded server is asked again, with the whole recording', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer([529, 200]);
  const clock = new FakeClock();
  const ticking = setInterval(() => void clock.advance(500), 5);
  try {
    expect(await transcriber(server.url, { clock }).transcribe(await recording(dir.path), signal)).toBe('fine');
  } finally {
    clearInterval(ticking);
  }
  expect(server.uploads.map(({ parts }) => parts.find(({ name }) => name === 'file')?.bytes)).toEqual([OGG, OGG]);
});

test('the upload is named for what its bytes are, and for nothing the sender said', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer();
  const subject = transcriber(server.url, { language: 'de' });
  expect(await subject.transcribe(await recording(dir.path, OGG, 'my secret plan.mp3'), signal)).toBe('fine');
  const [{ parts, headers } = { parts: [], headers: {} }] = server.uploads;
  const fields = Object.fromEntries(
    parts.filter(({ filename }) => filename === undefined).map(({ name, bytes }) => [name, `${bytes}`]),
  );
  expect(fields).toEqual({ model: 'whisper-large-v3', response_format: 'verbose_json', temperature: '0', language: 'de' });
  expect(parts.find(({ name }) => name === 'file')).toEqual({ name: 'file', filename: 'audio.ogg', bytes: OGG });
  expect(headers).toMatchObject({ authorization: 'Bearer canary-77aa', 'user-agent': 'gatehouse' });
});

test.each<[string, Buffer, string | undefined]>([
  ['ogg', OGG, 'ogg'],
  ['wav', Buffer.from('RIFF\x24\x08\0\0WAVEfmt ', 'latin1'), 'wav'],
  ['flac', Buffer.from('fLaC\0\0\0\x22'), 'flac'],
  ['mp3 with a tag', Buffer.from('ID3\x04\0'), 'mp3'],
  ['mp3 without one', Buffer.from([0xff, 0xfb, 0x90, 0x64]), 'mp3'],
  ['aac', Buffer.from([0xff, 0xf1, 0x50, 0x80]), 'aac'],
  ['m4a', Buffer.from('\0\0\0\x20ftypM4A '), 'm4a'],
  ['webm', Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), 'webm'],
  ['amr', Buffer.from('#!AMR\n'), 'amr'],
  ['A30 a playlist', Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd'), undefined],
  ['a picture', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), undefined],
  ['another RIFF', Buffer.from('RIFF\x24\x08\0\0WEBPVP8 ', 'latin1'), undefined],
  ['one byte', Buffer.from([0xff]), undefined],
  ['nothing', Buffer.alloc(0), undefined],
])('%s is told by its first bytes', (_name, bytes, extension) => {
  expect(audioFormatOf(bytes)?.extension).toBe(extension);
});

test('what is no sound, or none that servers take, or too much, is refused before anything is sent', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer();
  const subject = transcriber(server.url);
  for (const bytes of [Buffer.from('hello'), Buffer.alloc(0), Buffer.from('#!AMR\n')]) {
    await expect(subject.transcribe(await recording(dir.path, bytes), signal)).rejects.toMatchObject({ code: 'GH2114' });
  }
  const large = await recording(dir.path, Buffer.concat([OGG, Buffer.alloc(MAX_AUDIO_BYTES)]));
  await expect(subject.transcribe({ ...large, bytes: 5 }, signal)).rejects.toMatchObject({ code: 'GH2114' });
  await expect(subject.transcribe({ ...large, path: '/nowhere' }, signal)).rejects.toMatchObject({ code: 'GH2114' });
  expect(server.uploads).toEqual([]);
});

test('A21 a link in place of the recording is not followed', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer();
  const { path } = await recording(dir.path);
  await symlink(path, join(dir.path, 'link.ogg'));
  const linked = { path: join(dir.path, 'link.ogg'), mime: 'audio/ogg', bytes: 4 };
  await expect(transcriber(server.url).transcribe(linked, signal)).rejects.toMatchObject({ code: 'GH2114' });
  expect(server.uploads).toEqual([]);
});

test('F26 A29 a refused key is GH2114 with its kind inside and without the key', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer([401], { error: { message: 'invalid key canary-77aa' } });
  const error: unknown = await transcriber(server.url)
    .transcribe(await recording(dir.path), signal)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'GH2114',
    hint: ERROR_CODES.GH2101.hint.replace('PROVIDER', 'groq'),
    cause: { failure: { kind: 'auth', code: 'GH2101' } },
  });
  expect(JSON.stringify([error, String(error)])).not.toContain('canary');
});

test('F28 an answer without text is malformed, and is on the bill all the same', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer([200], { duration: 4 });
  const subject = transcriber(server.url);
  await expect(subject.transcribe(await recording(dir.path), signal)).rejects.toMatchObject({
    cause: { failure: { kind: 'malformed' } },
  });
  expect(subject.usage).toMatchObject([{ seconds: 4 }]);
});

test('silence is an empty text, and an abort rejects with its reason', async () => {
  await using dir = await tempDir();
  await using server = await uploadServer([200], { text: ' \n' });
  const subject = transcriber(server.url);
  expect(await subject.transcribe(await recording(dir.path), signal)).toBe('');
  const reason = new Error('enough');
  await expect(subject.transcribe(await recording(dir.path), AbortSignal.abort(reason))).rejects.toBe(reason);
});

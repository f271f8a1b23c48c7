// Voice notes through the real program: fetched, transcribed, paid, and put before the model.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startAimock } from '../testing/aimock.ts';
import { cliJson } from '../testing/cli-json.ts';
import { tempDir } from '../testing/fakes.ts';
import { jsonReply, type ModelServerOptions, stream, textPieces, userText } from '../testing/model-server.ts';
import { needsSpeech, RECOGNIZER, voiceNote } from '../testing/speech.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram/scene.ts';

/** Enough of an Ogg file for what goes by the first bytes. */
const OGG = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(60_000)]);
const KEYS = { GROQ_API_KEY: 'gsk-canary-1', OPENAI_API_KEY: 'sk-canary-2' };
const CHEAP = { model_hints: { price: { in: 0, out: 0 } } };

/** One server for speech and chat: a minute of speech, and the answer says what the model was told. */
const script: ModelServerOptions['script'] = (request) =>
  request.path.endsWith('/audio/transcriptions')
    ? jsonReply({ text: 'turn off the [light]', duration: 60 })
    : stream(textPieces(userText(request)));

function say(at: TelegramScene, bytes: Buffer, more: object = {}): void {
  at.platform.addFile('v', bytes);
  at.platform.inject({
    text: undefined,
    voice: { file_id: 'v', file_unique_id: 'u', duration: 1, mime_type: 'audio/ogg', ...more },
  });
}

function spoken({ model }: TelegramScene) {
  return model.requests.filter(({ path }) => path.endsWith('/audio/transcriptions'));
}

test('A29 a voice note is transcribed by a server of its own, which gets no key of a provider, and is booked with its price', async () => {
  await using at = await telegramScene({ script, config: { ...CHEAP, budget: { daily_usd: 1 } } });
  const section = { kind: 'openai', base_url: `${at.model.url}/v1`, price_per_minute: 0.3 };
  await using daemon = await at.start({ config: { ...at.config, transcription: section }, env: KEYS });
  await daemon.ready();
  say(at, OGG, { mime_type: 'audio/ogg\r\nx: y', file_name: '../../../x.sh"\r\n' });
  await daemon.settled(1);
  expect(at.texts()[0]).toMatch(
    /^\[Voice transcription: turn off the \(light\)\]\n\[Voice note: uploads\/\w+\.ogg \(audio\/ogg, 60004 bytes\), named “x\.sh” by its sender\]$/,
  );
  expect(spoken(at).map(({ headers }) => headers.authorization)).toEqual([undefined]);
  const { groups } = (await cliJson(at.dir, ['usage', '--by', 'purpose'])) as { groups: object[] };
  expect(groups).toContainEqual(expect.objectContaining({ key: 'transcription', calls: 1, costUsd: 0.3 }));
});

test('a recording whose length could pass the limit is not sent, and its message is answered all the same', async () => {
  await using at = await telegramScene({ script, config: { ...CHEAP, budget: { daily_usd: 0.1 } } });
  const section = { kind: 'openai', base_url: `${at.model.url}/v1`, price_per_minute: 0.3 };
  await using daemon = await at.start({ config: { ...at.config, transcription: section }, env: KEYS });
  await daemon.ready();
  say(at, OGG);
  await daemon.settled(1);
  expect(at.texts()[0]).toContain('[Voice note could not be transcribed (GH2114); its words are not known]');
  expect(spoken(at)).toEqual([]);
  expect(daemon.stderr()).toMatch(/GH2114.*a limit of 0\.10 USD a day/);
});

test('kind openai against a server of a second author', async () => {
  await using aimock = await startAimock({
    fixtures: [{ match: { endpoint: 'transcription' }, response: { transcription: { text: 'as spoken', duration: 2 } } }],
  });
  await using at = await telegramScene({ script });
  const section = { kind: 'openai', base_url: `${aimock.url}/v1`, api_key_env: 'SPEECH_KEY', language: 'en' };
  await using daemon = await at.start({ config: { ...at.config, transcription: section }, env: { SPEECH_KEY: 'k' } });
  await daemon.ready();
  say(at, OGG);
  await daemon.settled(1);
  expect(at.texts()[0]).toMatch(/^\[Voice transcription: as spoken\]\n/);
});

test('kind command: words spoken into a voice note come before the model', async (context) => {
  needsSpeech(context);
  await using dir = await tempDir();
  const note = await readFile(await voiceNote(dir.path, 'what is the weather like tomorrow'));
  await using at = await telegramScene({ script });
  await using daemon = await at.start({
    config: { ...at.config, transcription: { kind: 'command', command: RECOGNIZER } },
    env: { PATH: process.env['PATH'] ?? '' },
  });
  await daemon.ready();
  say(at, note);
  await daemon.settled(1);
  expect(at.texts()[0]).toMatch(/^\[Voice transcription: .*weather like tomorrow/);
});

import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createTranscriber } from './create-transcriber.ts';

const deps = { clock: systemClock, random: () => 0 };

test.each([
  ['https://api.groq.com/openai/v1', 'groq/whisper-large-v3'],
  ['https://api.openai.com/v1/', 'openai/whisper-large-v3'],
  ['http://127.0.0.1:8000/v1', '127.0.0.1/whisper-large-v3'],
])('the server at %s is known as %s', (baseUrl, id) => {
  expect(createTranscriber({ kind: 'openai', baseUrl, model: 'whisper-large-v3' }, deps).id).toBe(id);
});

test('a command is known by its program', () => {
  expect(createTranscriber({ kind: 'command', command: ['/opt/bin/whisper-cli', '-f', '{wav}'] }, deps).id).toBe(
    'command/whisper-cli',
  );
});

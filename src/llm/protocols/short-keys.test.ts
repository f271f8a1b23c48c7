// Servers that people run themselves take any word for a key: such a word in an answer is a word.
import { expect, test } from 'vitest';
import { startModelServer, stream, textPieces } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createOpenAiChat } from './openai-chat.ts';
import { answerOf, wireOptions } from './wire-contract.ts';

const TEXT = 'This text of ollama is a test: 1 x "end".';
const said = async (apiKey: string, text: string) => {
  await using server = await startModelServer({ script: () => stream(textPieces(text)) });
  const model = createOpenAiChat(wireOptions(server.url, { provider: 'ollama', model: 'test', apiKey }));
  return answerOf(await collect(model.call(modelRequest('hi'), AbortSignal.timeout(5_000))));
};

test.each(['x', '1', '"', 'text', 'test', 'ollama', 'end', 'EMPTY'])(
  'with the key %s an answer stays as it is',
  async (apiKey) => {
    expect(await said(apiKey, TEXT)).toMatchObject({ text: TEXT, provider: 'ollama', model: 'test', stop: 'end' });
  },
);

test('A29 a key that is one is taken out of the answer, also one that JSON writes in another way', async () => {
  for (const key of ['sk-0123456789abcdef', 'a"long\\secret-of-ours']) {
    const answer = await said(key, `it is ${key}, really`);
    expect(answer).toMatchObject({ text: 'it is [redacted], really', provider: 'ollama', model: 'test' });
  }
});

// What people see when the model fails: the real program, Telegram, and a model server that misbehaves.
// `src/llm/fault-wires.test.ts` has each fault on each wire.
import { expect, test } from 'vitest';
import { until } from '../testing/fakes.ts';
import { errorReply, type Reply, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const REFUSED = { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' };

test.concurrent.each<[string, () => Reply, RegExp, number, object]>([
  ['F23 a model that cannot be reached', () => ({ pieces: [], end: 'destroy' }), /cannot be reached|broke off/, 4, { DEAD: 1 }],
  [
    'F26 a refused key: one call, and the chat is told who has to act',
    () => errorReply(401, REFUSED),
    /refused our access key.*GH2101/,
    1,
    { DEAD: 1 },
  ],
  [
    'F26 an empty account: one call',
    () => errorReply(402, { message: 'Insufficient credits' }),
    /needs payment.*GH2110/,
    1,
    { DEAD: 1 },
  ],
  [
    'F28 a stream that is cut inside a word',
    () => stream(textPieces('half a wo').slice(0, 2)),
    /broke off.*GH2109/,
    2,
    { DEAD: 1 },
  ],
  [
    'F29 an empty answer: told, and done with a reason',
    () => stream(textPieces('')),
    /returned no answer.*GH2108/,
    4,
    { DONE: 1, DEAD: 0 },
  ],
])('%s', async (_title, reply, told, calls, inbox) => {
  await using at = await telegramScene({ script: reply });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  const { journal, model, modelHealth, degraded } = await daemon.settled(1);
  expect(at.texts()).toEqual([expect.stringMatching(told)]);
  // The operator sees it as well: a model whose calls fail has no tick.
  expect(modelHealth).toMatchObject({ failedInARow: expect.any(Number), last: { code: expect.stringMatching(/^GH2\d{3}$/) } });
  expect(degraded).toContain(`model:${model.id}`);
  expect(at.model.requests).toHaveLength(calls);
  expect(journal.inbox).toMatchObject(inbox);
});

test.concurrent('F24 a key that is limited: as long as it says nobody who uses it is asked again, and everybody is answered', async () => {
  const limited = errorReply(429, { message: 'Rate limit reached' }, { 'retry-after': '2' });
  let limitedAt = 0;
  const script = (_request: unknown, index: number) => {
    if (index === 0) limitedAt = performance.now();
    return index === 0 ? limited : undefined;
  };
  await using at = await telegramScene({ script });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ chat_id: 1, from: { id: 1 }, text: 'first' });
  await until('the limit was met', () => at.model.requests.length > 0);
  at.platform.inject({ chat_id: 2, from: { id: 2 }, text: 'second' });
  await daemon.settled(2);
  expect(performance.now() - limitedAt).toBeGreaterThan(1_000);
  expect(at.texts(1)).toEqual(['echo: first']);
  expect(at.texts(2)).toEqual(['echo: second']);
  // The refused one, its repetition, and the other chat's: nothing was sent into the closed gate.
  expect(at.model.requests).toHaveLength(3);
});

test.concurrent('F25 F27 a stream that falls silent is given up and the next model answers; nothing of the first is seen', async () => {
  await using spare = await startModelServer({ script: () => stream(textPieces('whole answer')) });
  const script = () => stream(textPieces('half of ').slice(0, 2), { end: 'hang' });
  const fallback = { provider: 'vllm', model: 'spare', base_url: `${spare.url}/v1` };
  await using at = await telegramScene({ script, config: { fallback_models: [fallback] }, gateway: { llm_timeout_secs: 2 } });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['whole answer']);
  expect(userText(spare.requests[0] ?? ({ body: {} } as never))).toBe('hello');
});

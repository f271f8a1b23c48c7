import { expect, test } from 'vitest';
import type { ModelEvent, ModelRequest } from '../core/model.ts';
import { FakeClock } from './fakes.ts';
import { type ScriptedModel, scriptedModel } from './scripted-model.ts';

const request: ModelRequest = {
  messages: [],
  tools: [],
  context: { session: 's', channel: 'c', sender: 'c:1', purpose: 'test' },
};

async function events(model: ScriptedModel, signal = new AbortController().signal): Promise<readonly ModelEvent[]> {
  const seen: ModelEvent[] = [];
  for await (const event of model.call(request, signal)) seen.push(event);
  return seen;
}

test('every call takes the next step, ends in one done or failed, and its request is kept', async () => {
  const model = scriptedModel([
    'hi',
    { toolCalls: [{ name: 'f', arguments: { a: 1 } }] },
    { fail: 'rate-limit' },
    () => 'computed',
  ]);
  const types: string[][] = [];
  for (let i = 0; i < 4; i += 1) types.push((await events(model)).map(({ type }) => type));
  expect(types).toEqual([['text', 'done'], ['done'], ['failed'], ['text', 'done']]);
  expect(model.requests).toHaveLength(4);
  expect(model.remaining()).toBe(0);
});

test('a call beyond the script fails and says so', async () => {
  expect(await events(scriptedModel([]))).toMatchObject([{ type: 'failed', failure: { kind: 'bad-request' } }]);
});

test('a delay runs on the clock, and an abort ends delay and hang alike', async () => {
  const clock = new FakeClock();
  const model = scriptedModel([{ text: 'late', delayMs: 50 }, { text: 'never', delayMs: 50 }, { hang: true }], { clock });
  const late = events(model);
  await clock.advance(50);
  expect((await late).map(({ type }) => type)).toEqual(['text', 'done']);
  for (let i = 0; i < 2; i += 1) {
    const stop = new AbortController();
    const ended = events(model, stop.signal);
    await clock.advance(1);
    stop.abort(new Error('stop'));
    expect(await ended).toMatchObject([{ type: 'failed', failure: { kind: 'aborted' } }]);
  }
});

import { describe, expect, test } from 'vitest';
import type { ModelCallContext, ModelEvent } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { modelRequest } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { generate } from './generate.ts';
import { type StreamPart, stream } from './stream.ts';

const context: ModelCallContext = { session: 's', channel: 'c', sender: 'c:1', purpose: 'summary' };
const { signal } = new AbortController();

async function parts(stream: AsyncIterable<StreamPart>): Promise<StreamPart[]> {
  const all: StreamPart[] = [];
  for await (const part of stream) all.push(part);
  return all;
}

describe('generate', () => {
  test('a prompt becomes one user message after the system text, and the answer comes with its usage and model', async () => {
    const usage = { tokensIn: 3, tokensOut: 2, tokensCached: 1, costUsd: 0.5 };
    const model = scriptedModel([{ text: 'four', usage }], { id: 'acme/small' });
    const answer = await generate(
      model,
      { system: 'Be short.', prompt: '2+2?', temperature: 0, maxOutputTokens: 9, context },
      signal,
    );
    expect(answer).toEqual({ text: 'four', stop: 'end', usage, model: 'acme/small' });
    const [request] = model.requests;
    expect(request?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Be short.'],
      ['user', '2+2?'],
    ]);
    expect(request).toMatchObject({ tools: [], temperature: 0, maxOutputTokens: 9, context });
  });

  test('a system text joins the system message that a conversation begins with, so that there is one', async () => {
    const model = scriptedModel(['yes']);
    await generate(model, { system: 'First.', messages: modelRequest('hello').messages, context }, signal);
    expect(model.requests[0]?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'First.\n\nYou are terse.'],
      ['user', 'hello'],
    ]);
  });

  test('pictures of a prompt belong to its user message', async () => {
    const model = scriptedModel(['a cat']);
    const image = { mime: 'image/png', base64: 'AAAA' } as const;
    await generate(model, { prompt: 'what is it?', images: [image], context }, signal);
    const [request] = model.requests;
    expect(request?.images?.get(request.messages.at(-1)?.id ?? '')).toEqual([image]);
  });

  test('a failure is thrown with its code, message and hint', async () => {
    const failure = { kind: 'auth', code: 'GH2101', message: 'the key is wrong', hint: 'check it', retryable: false } as const;
    const asked = generate(scriptedModel([{ fail: failure }]), { prompt: 'x', context }, signal);
    await expect(asked).rejects.toMatchObject({
      name: 'GatehouseError',
      ...{ code: 'GH2101', message: 'the key is wrong', hint: 'check it' },
    });
  });

  test('an abort rethrows the reason of the signal, before the call and during it', async () => {
    const reason = new Error('enough');
    const unused = scriptedModel(['never']);
    await expect(generate(unused, { prompt: 'x', context }, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(unused.requests).toEqual([]);
    const stop = new AbortController();
    const asked = generate(scriptedModel([{ hang: true }]), { prompt: 'x', context }, stop.signal);
    setImmediate(() => stop.abort(reason));
    await expect(asked).rejects.toBe(reason);
  });

  test('a call that ends without an answer is an error, never an empty text', async () => {
    const model = scriptedModel([{ events: [{ type: 'text', text: 'half' }] }]);
    await expect(generate(model, { prompt: 'x', context }, signal)).rejects.toMatchObject({ code: 'GH2109' });
  });
});

describe('stream', () => {
  const end = { type: 'end', stop: 'end', usage: { tokensIn: 10, tokensOut: 5, tokensCached: 0 }, model: 'scripted/model' };

  test('text comes piece by piece and ends with the whole of it', async () => {
    const model = scriptedModel([{ chunks: ['one ', 'two'], reasoning: 'hidden' }]);
    expect(await parts(stream(model, { prompt: 'x', context }, signal))).toEqual([
      { type: 'text', text: 'one ' },
      { type: 'text', text: 'two' },
      { ...end, text: 'one two' },
    ]);
  });

  test('a restart is passed on where text had been shown, and not where only reasoning had', async () => {
    const done = {
      type: 'done',
      answer: { ...end, text: 'good', toolCalls: [], stop: 'end', provider: 'scripted', model: 'model' },
    };
    const events: ModelEvent[] = [
      { type: 'reasoning', text: 'hm' },
      { type: 'restart', reason: 'server' },
      { type: 'text', text: 'bad' },
      { type: 'switched', from: 'a/b', to: 'c/d', reason: 'server' },
      { type: 'restart', reason: 'server' },
      { type: 'text', text: 'good' },
      done as ModelEvent,
    ];
    expect(await parts(stream(scriptedModel([{ events }]), { prompt: 'x', context }, signal))).toEqual([
      { type: 'text', text: 'bad' },
      { type: 'restart', reason: 'server' },
      { type: 'text', text: 'good' },
      { ...end, text: 'good' },
    ]);
  });

  test('a failure in the middle is thrown after the text that came', async () => {
    const failure = { kind: 'malformed', code: 'GH2109', message: 'cut', hint: 'again', retryable: true } as const;
    const model = scriptedModel([
      {
        events: [
          { type: 'text', text: 'half' },
          { type: 'failed', failure },
        ],
      },
    ]);
    const seen: StreamPart[] = [];
    const read = async () => {
      for await (const part of stream(model, { prompt: 'x', context }, signal)) seen.push(part);
    };
    await expect(read()).rejects.toMatchObject({ code: 'GH2109', message: 'cut' });
    expect(seen).toEqual([{ type: 'text', text: 'half' }]);
  });

  test('leaving the loop early ends the call', async () => {
    let ended = false;
    const model = createDemoModel({ clock: systemClock });
    const watched = {
      ...model,
      async *call(...args: Parameters<typeof model.call>) {
        try {
          yield* model.call(...args);
        } finally {
          ended = true;
        }
      },
    };
    for await (const part of stream(watched, { prompt: 'a few words to say', context }, signal)) if (part.type === 'text') break;
    expect(ended).toBe(true);
  });
});

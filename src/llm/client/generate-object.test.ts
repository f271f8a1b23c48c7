import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isGatehouseError } from '../../core/errors.ts';
import type { Model, ModelCallContext, ModelFacts } from '../../core/model.ts';
import { type Script, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts';
import { generateObject } from './generate-object.ts';

const context: ModelCallContext = { session: 's', channel: 'c', sender: 'c:1', purpose: 'classify' };
const { signal } = new AbortController();
const schema = z
  .object({ city: z.string(), days: z.int().positive().default(1), tags: z.record(z.string(), z.number()).optional() })
  .strict();
const prompt = { schema, prompt: 'private words about Oslo', context };
const call = (args: string | Readonly<Record<string, unknown>>) => ({ toolCalls: [{ name: 'answer', arguments: args }] });

function withoutTools(script: Script): ScriptedModel {
  const facts: ModelFacts = { maxOutputTokens: 1, vision: false, tools: false, price: null };
  const model: ScriptedModel = scriptedModel(script);
  return Object.assign(model, { facts } satisfies Pick<Model, 'facts'>);
}

async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!isGatehouseError(thrown)) throw new Error('expected a GatehouseError', { cause: thrown });
  return thrown;
}

describe('with a tool', () => {
  test('the only tool has the schema as its parameters, and its arguments are the object, defaults filled in', async () => {
    const model = scriptedModel([call({ city: 'Oslo' })]);
    const result = await generateObject(model, { ...prompt, name: 'trip', description: 'A trip.' }, signal).catch(
      () => undefined,
    );
    expect(result).toBeUndefined(); // the script calls `answer`
    const [request] = model.requests;
    expect(request?.tools).toMatchObject([
      { name: 'trip', description: 'A trip.', parameters: { type: 'object', required: ['city'] } },
    ]);
    expect(request?.tools[0]?.parameters).not.toHaveProperty('$schema');
    expect(request?.messages[0]).toMatchObject({ role: 'system', content: expect.stringContaining('"trip", exactly once') });
    const { object, model: id } = await generateObject(scriptedModel([call({ city: 'Oslo' })]), prompt, signal);
    expect(object).toEqual({ city: 'Oslo', days: 1 });
    expect(id).toBe('scripted/model');
  });

  test('a type that is no object travels inside one', async () => {
    const model = scriptedModel([call({ value: ['a', 'b'] })]);
    const { object } = await generateObject(model, { ...prompt, schema: z.array(z.string()) }, signal);
    expect(object).toEqual(['a', 'b']);
    expect(model.requests[0]?.tools[0]?.parameters).toMatchObject({ type: 'object', required: ['value'] });
  });

  test('an answer that does not fit is shown with its problems once, and the usage of both calls is added', async () => {
    const usage = { tokensIn: 10, tokensOut: 5, tokensCached: 1, costUsd: 0.25 };
    const model = scriptedModel([
      { ...call({ city: 7 }), usage },
      { ...call({ city: 'Oslo', days: 2 }), usage },
    ]);
    const result = await generateObject(model, prompt, signal);
    expect(result).toMatchObject({
      object: { city: 'Oslo', days: 2 },
      usage: { tokensIn: 20, tokensOut: 10, tokensCached: 2, costUsd: 0.5 },
    });
    const repair = model.requests[1]?.messages.slice(-2);
    expect(repair).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 't0', arguments: '{"city":7}' }] },
      {
        role: 'tool',
        tool_call_id: 't0',
        content: expect.stringContaining('city: Invalid input: expected string, received number'),
      },
    ]);
  });

  test('a cost that one of the calls does not know is unknown, not the other one', async () => {
    const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
    const script = [
      { ...call({}), usage: { ...usage, costUsd: null } },
      { ...call({ city: 'Oslo' }), usage: { ...usage, costUsd: 1 } },
    ];
    const result = await generateObject(scriptedModel(script), prompt, signal);
    expect(result.usage.costUsd).toBeNull();
  });

  test('every call of an answer gets a result, so that the repair is a history that providers take', async () => {
    const calls = [
      { id: 'a', name: 'answer' },
      { id: 'b', name: 'answer' },
      { id: 'c', name: 'other' },
    ];
    const model = scriptedModel([{ toolCalls: calls }, call({ city: 'Oslo' })]);
    await generateObject(model, prompt, signal);
    const repair = model.requests[1]?.messages.slice(-3) ?? [];
    expect(repair.map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'b', 'c']);
    expect(repair[0]?.content).toContain('answer was called 2 times instead of once');
  });

  test('a model that ignores the tool and writes the object as text is understood', async () => {
    expect((await generateObject(scriptedModel(['{"city":"Oslo"}']), prompt, signal)).object).toEqual({ city: 'Oslo', days: 1 });
    const list = { ...prompt, schema: z.array(z.number()) };
    expect((await generateObject(scriptedModel(['[1,2]']), list, signal)).object).toEqual([1, 2]);
    expect((await generateObject(scriptedModel(['{"value":[3]}']), list, signal)).object).toEqual([3]);
  });
});

describe('as text', () => {
  test('a model without tools gets the schema in words and no tool', async () => {
    const model = withoutTools(['{"city":"Oslo","days":3}']);
    expect((await generateObject(model, prompt, signal)).object).toEqual({ city: 'Oslo', days: 3 });
    expect(model.requests[0]?.tools).toEqual([]);
    expect(model.requests[0]?.messages[0]?.content).toContain('"required":["city"]');
  });

  test.each([
    ['bare', ' {"city":"Oslo"}\n'],
    ['fenced', '```json\n{"city":"Oslo"}\n```'],
    ['fenced between words', 'Here it is:\n\n```\n{\n  "city": "Oslo"\n}\n```\nAnything else?'],
    ['fenced with tildes', '~~~\n{"city":"Oslo"}\n~~~'],
  ])('JSON is taken when it is %s', async (_, text) => {
    expect((await generateObject(withoutTools([text]), prompt, signal)).object).toEqual({ city: 'Oslo', days: 1 });
  });

  test.each([
    ['between words', 'It is {"city":"Oslo"} I think'],
    ['in two blocks', '```json\n{"city":"Oslo"}\n```\nor\n```json\n{"city":"Bergen"}\n```'],
    ['followed by more', '{"city":"Oslo"} {"city":"Bergen"}'],
    ['with a comment', '{"city":"Oslo" /* capital */}'],
    ['cut off', '{"city":"Os'],
  ])('JSON %s is not guessed at: the model is asked again', async (_, text) => {
    const model = withoutTools([text, '{"city":"Oslo"}']);
    expect((await generateObject(model, prompt, signal)).object).toEqual({ city: 'Oslo', days: 1 });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.messages.slice(-2).map(({ role }) => role)).toEqual(['assistant', 'user']);
  });
});

describe('after the repair', () => {
  test('GH2116 names the problems and holds no word of prompt or answer', async () => {
    const bad = { city: 7, 'private words': 1, tags: { 'about Oslo': 'secret' } };
    const error = await failure(generateObject(scriptedModel([call(bad), call(bad)]), prompt, signal));
    expect(error).toMatchObject({ code: 'GH2116' });
    expect(error.message).toContain('city: Invalid input: expected string, received number');
    expect(error.message).toContain('tags.*: Invalid input: expected number, received string');
    expect(error.message).toContain('1 keys that the schema does not have');
    expect(JSON.stringify([error.message, error])).not.toMatch(/private|Oslo|secret/);
  });

  test('GH2116 for text that is no JSON does not quote the text', async () => {
    const error = await failure(generateObject(withoutTools(['private Oslo', 'private Oslo']), prompt, signal));
    expect(error).toMatchObject({
      code: 'GH2116',
      message: 'scripted/model did not give what was asked for: the answer must be valid JSON',
    });
  });

  test('an answer that the output limit cut off says so', async () => {
    const cut = { ...call('{"city":"Os'), stop: 'length' } as const;
    const error = await failure(generateObject(scriptedModel([cut, cut]), prompt, signal));
    expect(error.message).toContain('cut off at the output limit');
  });

  test('a failed call is not repaired: its own code is thrown', async () => {
    const model = scriptedModel([call({}), { fail: 'rate-limit' }]);
    expect(await failure(generateObject(model, prompt, signal))).toMatchObject({ code: 'GH2102' });
  });

  test('an abort between the two calls rethrows the reason', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const model = scriptedModel([
      call({}),
      () => {
        stop.abort(reason);
        return { hang: true };
      },
    ]);
    await expect(generateObject(model, prompt, stop.signal)).rejects.toBe(reason);
  });
});

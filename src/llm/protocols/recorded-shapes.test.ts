// Answers in the shapes in which hosts are known to send them, each with what it must come to. Written anew
// after public recordings.
import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { type Reply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { createWire } from '../create.ts';
import { resolveProvider } from '../providers/resolve.ts';
import shapes from './fixtures/recorded-shapes.json' with { type: 'json' };

interface Shape {
  readonly name: string;
  /** Provider, `@` and the API type where it is not the provider's usual one, `/` and the model. */
  readonly target: string;
  /** The events of a stream: the data alone, name and data, or the bytes themselves. */
  readonly events?: readonly (object | readonly [name: string, data: object] | string)[];
  readonly end?: 'destroy';
  /** The content type, where it is not the one of a stream. */
  readonly type?: string;
  /** A whole answer in place of a stream. */
  readonly body?: unknown;
  readonly expect: {
    readonly text?: string;
    readonly reasoning?: string;
    readonly calls?: readonly (readonly [name: string, args: unknown])[];
    readonly stop?: string;
    readonly served?: string;
    readonly fails?: string;
    /** tokensIn, tokensOut, tokensCached, tokensReasoning. */
    readonly usage?: readonly number[];
    readonly costUsd?: number;
  };
}

const SHAPES = shapes as unknown as readonly Shape[];

function replyOf({ events = [], end, type, body }: Shape): Reply {
  const pieces = events.map((event) => {
    if (typeof event === 'string') return event;
    const [name, data] = Array.isArray(event) ? event : [undefined, event];
    return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
  });
  if (body !== undefined) return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(body)] };
  return { ...stream(pieces), ...(end ? { end } : {}), ...(type ? { headers: { 'content-type': type } } : {}) };
}

async function play(shape: Shape) {
  const [asked = '', ...model] = shape.target.split('/');
  const [provider = '', wire] = asked.split('@');
  await using server = await startModelServer({ script: () => replyOf(shape) });
  const target = resolveProvider({
    ...{ provider, model: model.join('/'), base_url: `${server.url}/v1` },
    ...(wire ? { api_type: wire as 'openai' | 'responses' } : {}),
  });
  const timeouts = { connectMs: 1_000, totalMs: 5_000 };
  const call = createWire(target, 'k-7781', { timeouts, clock: systemClock });
  const events = await collect(call.call(modelRequest('hi'), new AbortController().signal));
  const last = events.at(-1);
  if (last?.type === 'failed') {
    return { text: streamedText(events), fails: last.failure.kind, message: last.failure.message, billed: last.failure.usage };
  }
  if (last?.type !== 'done') throw new Error('the call did not end');
  const { text, reasoning, toolCalls, stop, servedModel, usage } = last.answer;
  expect(streamedText(events)).toBe(text);
  const calls = toolCalls.map(({ name, arguments: args }) => [name, args === '' ? {} : JSON.parse(args)]);
  return { text, reasoning, calls, stop, served: servedModel, billed: usage };
}

test.each(SHAPES)('$name', async (shape) => {
  const { usage, costUsd, ...told } = shape.expect;
  const { billed, ...got } = await play(shape);
  expect(got).toMatchObject(told);
  const counts = [billed?.tokensIn, billed?.tokensOut, billed?.tokensCached, billed?.tokensReasoning];
  if (usage) expect(counts.slice(0, usage.length)).toEqual(usage);
  if (costUsd !== undefined) expect(billed?.costUsd).toBeCloseTo(costUsd, 9);
});

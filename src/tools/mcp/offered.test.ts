import { describe, expect, it, test } from 'vitest';
import { createWire } from '../../llm/create.ts';
import { resolveProvider } from '../../llm/providers/resolve.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { Memory } from '../../testing/strict/memory.ts';
import { STRICT_PEERS, type StrictPeer } from '../../testing/strict/peers.ts';
import { offeredTools, type ServerTool } from './offered.ts';

type Schema = Readonly<Record<string, unknown>>;

const string = { type: 'string' };
const number = { type: 'number' };

function offered(schema: Schema): ServerTool[] {
  const { tools, skipped } = offeredTools('files', [{ name: 'cut', inputSchema: schema }]);
  expect(skipped).toEqual([]);
  return [...tools];
}

const parametersOf = (schema: Schema): unknown => offered(schema)[0]?.parameters;
const property = (schema: Schema): Schema => ({ type: 'object', properties: { a: schema } });

/** As servers write them, and as models are told of them. */
const FORMS: readonly (readonly [what: string, given: Schema, told: Schema])[] = [
  ['no arguments', { type: 'object' }, { type: 'object', properties: {} }],
  ['properties that PHP wrote as a list', { type: 'object', properties: [] }, { type: 'object', properties: {} }],
  [
    'a tuple of draft-07',
    property({ type: 'array', items: [number, string], additionalItems: false, maxItems: 2 }),
    property({ type: 'array', items: { anyOf: [number, string] }, maxItems: 2 }),
  ],
  [
    'a tuple of 2020-12',
    property({ type: 'array', prefixItems: [number, number], items: false }),
    property({ type: 'array', items: number }),
  ],
  ['an empty tuple', property({ type: 'array', items: [] }), property({ type: 'array', items: {} })],
  ['a list of anything', property({ type: 'array' }), property({ type: 'array', items: {} })],
  ['a list or nothing', property({ type: ['array', 'null'] }), property({ type: ['array', 'null'], items: {} })],
  ['bounds of draft-04', property({ ...number, minimum: 0, exclusiveMinimum: true }), property({ ...number, minimum: 0 })],
  [
    'variants that only require',
    { ...property(string), $schema: 'http://json-schema.org/draft-07/schema#', anyOf: [{ required: ['a'] }] },
    { ...property(string), required: ['a'] },
  ],
  [
    'variants with members of their own',
    {
      type: 'object',
      oneOf: [{ properties: { kind: { const: 'text' }, text: string }, required: ['kind', 'text'] }, { $ref: '#/$defs/Page' }],
      $defs: { Page: { type: 'object', properties: { kind: { const: 'page' }, page: number }, required: ['kind', 'page'] } },
    },
    {
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'text' }, { const: 'page' }] }, text: string, page: number },
      required: ['kind'],
      $defs: { Page: { type: 'object', properties: { kind: { const: 'page' }, page: number }, required: ['kind', 'page'] } },
    },
  ],
  [
    'parts that all hold',
    { ...property(string), required: ['a'], allOf: [{ properties: { b: number }, required: ['b'] }, { $ref: '#' }] },
    { type: 'object', properties: { a: string, b: number }, required: ['a', 'b'] },
  ],
  [
    'a reference to what is elsewhere now',
    {
      type: 'object',
      properties: { a: { type: 'array', items: [number, { $ref: '#/properties/a/items/0' }] }, b: { $ref: '#/properties/a' } },
    },
    { type: 'object', properties: { a: { type: 'array', items: { anyOf: [number, {}] } }, b: { $ref: '#/properties/a' } } },
  ],
  [
    'names and values that look like keywords',
    property({ type: 'object', properties: { items: string, anyOf: number }, default: { items: [1] }, enum: [{ items: [2] }] }),
    property({ type: 'object', properties: { items: string, anyOf: number }, default: { items: [1] }, enum: [{ items: [2] }] }),
  ],
];

describe('the arguments of a tool of a server', () => {
  it.each(FORMS)('are told in a form that providers take: %s', (_what, given, told) => {
    expect(parametersOf(given)).toEqual(told);
  });

  it('are approved as the server has them, not as models are told of them', () => {
    const tuple = property({ type: 'array', items: [number] });
    const [[first], [second]] = [offered(tuple), offered(property({ type: 'array', items: number }))];
    expect(first?.parameters).toEqual(second?.parameters);
    expect(first?.digest).not.toBe(second?.digest);
  });
});

test.each(STRICT_PEERS.map((peer) => [peer.name, peer] as const))(
  '%s refuses no request for any of them',
  async (_name, peer) => {
    const refusals = [];
    for (const [what, given] of FORMS) refusals.push([what, await refusalOf(peer, offered(given))]);
    expect(refusals).toEqual(FORMS.map(([what]) => [what, undefined]));
  },
);

/** What the strict server of a provider says to a request with these tools; undefined = it takes it. */
async function refusalOf({ config, wire }: StrictPeer, tools: readonly ServerTool[]): Promise<unknown> {
  let refusal: unknown = 'was not asked';
  const fetchFn = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname: path, searchParams: query } = new URL(String(url));
    const headers = Object.fromEntries(new Headers(init?.headers));
    const body = JSON.parse(String(init?.body)) as Record<string, unknown>;
    refusal = wire.validate({ method: 'POST', path, query, headers, body }, new Memory({}));
    return new Response('', { headers: { 'content-type': 'text/event-stream' } });
  };
  const target = resolveProvider({ ...config, base_url: `http://127.0.0.1:1${wire.basePath}` });
  const timeouts = { connectMs: 1_000, totalMs: 60_000 };
  const model = createWire(target, 'sk-strict', { timeouts, clock: new FakeClock(), fetch: fetchFn as typeof fetch });
  const specs = tools.map(({ id: name, description, parameters }) => ({ name, description, parameters }));
  const context = { session: 's', channel: 'test', sender: 'test:user-1', purpose: 'turn' };
  const messages = [{ id: 'm', role: 'user', content: 'Cut.', timestamp: '2026-01-01T00:00:00.000Z' } as const];
  for await (const _event of model.call({ messages, tools: specs, context }, new AbortController().signal)) void _event;
  return refusal;
}

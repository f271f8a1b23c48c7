import { describe, expect, test } from 'vitest';
import type { Json } from '../../core/message.ts';
import type { ModelFacts, ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { type Reply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createAnthropic } from './anthropic.ts';
import { anthropicBlock, anthropicEnd, anthropicStart, anthropicText } from './anthropic-contract.ts';
import { answerOf, failureOf, wireOptions } from './wire-contract.ts';

const FACTS: ModelFacts = { maxOutputTokens: 64_000, vision: true, tools: true, price: null };
const OK = stream([anthropicStart() + anthropicText('ok') + anthropicEnd()]);

interface Setting {
  readonly model?: string;
  readonly provider?: string;
  readonly facts?: ModelFacts;
  readonly replies?: readonly Reply[];
}

async function run(request: ModelRequest, { replies = [OK], facts = FACTS, ...setting }: Setting = {}) {
  await using server = await startModelServer({ script: (_, index) => replies[index] ?? OK });
  const model = createAnthropic(wireOptions(server.url, { provider: 'anthropic', model: 'claude-opus-5-5', facts, ...setting }));
  const events = await collect(model.call(request, new AbortController().signal));
  return { events, bodies: server.requests.map(({ body }) => body) };
}

let made = 0;
function line(role: SessionMessage['role'], content: string, more: Partial<SessionMessage> = {}): SessionMessage {
  made += 1;
  return { id: `m${made}`, role, content, timestamp: 't', ...more };
}
const called = (id: string, ...provider_ids: string[]) => ({
  tool_calls: [{ id, name: 'f', arguments: '{"a":1}', provider_ids }],
});
const result = (id: string, content = 'ok') => line('tool', content, { tool_call_id: id });
const state = (parts: readonly object[], model = 'claude-opus-4-8', more: object = {}) => ({
  provider_state: { provider: 'anthropic', model, data: { parts, ...more } as unknown as Json },
});
const ask = (...messages: SessionMessage[]): ModelRequest => modelRequest('hi', { messages });

type Block = Record<string, unknown>;
function blocks(body: Readonly<Record<string, unknown>> | undefined, role = 'assistant'): Block[] {
  return ((body?.['messages'] ?? []) as { role: string; content: Block[] }[])
    .filter((one) => one.role === role)
    .flatMap(({ content }) => content);
}

const THOUGHT = { type: 'thinking', thinking: '', signature: 'sig' };
const REDACTED = { type: 'redacted_thinking', data: 'x' };

describe('M6 an answer with thinking', () => {
  const thinking = [
    anthropicStart(),
    anthropicBlock(0, { type: 'thinking', thinking: '', signature: '' }, { type: 'signature_delta', signature: 'sig' }),
    anthropicBlock(1, REDACTED),
    anthropicText('Let me see.', 2),
    anthropicBlock(
      3,
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
      { type: 'input_json_delta', partial_json: '{"a":1}' },
    ),
    anthropicEnd('tool_use'),
  ];

  test('goes back block by block as it came, empty and redacted thinking included, under the ids of the provider', async () => {
    const { events } = await run(ask(line('user', 'go')), { replies: [stream(thinking)], model: 'claude-opus-4-8' });
    const { text, toolCalls, providerState } = answerOf(events);
    const kept = providerState ? { provider_state: providerState } : {};
    const tool_calls = toolCalls.map((call) => ({ ...call, id: 'ours', provider_ids: [call.id] }));
    const { bodies } = await run(ask(line('user', 'go'), line('assistant', text, { tool_calls, ...kept }), result('ours')), {
      model: 'claude-opus-4-8',
    });
    expect(blocks(bodies[0])).toEqual([
      THOUGHT,
      REDACTED,
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    ]);
    expect(blocks(bodies[0], 'user').at(-1)).toMatchObject({ type: 'tool_result', tool_use_id: 'toolu_1' });
  });

  test('a call that came twice and ran once goes back twice, each with its result', async () => {
    const kept = state([{ whole: THOUGHT }, { call: 't1' }, { call: 't2' }]);
    const history = [line('user', 'go'), line('assistant', '', { ...called('a', 't1', 't2'), ...kept }), result('a', 'once')];
    const { bodies } = await run(ask(...history), { model: 'claude-opus-4-8' });
    expect(blocks(bodies[0]).map(({ id }) => id)).toEqual([undefined, 't1', 't2']);
    expect(blocks(bodies[0], 'user').slice(1)).toMatchObject([
      { tool_use_id: 't1', content: 'once' },
      { tool_use_id: 't2', content: 'once' },
    ]);
  });

  test.each([
    ['the text was edited', line('assistant', 'other', { ...called('a', 't1'), ...state([{ whole: THOUGHT }, { call: 't1' }]) })],
    ['a call is missing', line('assistant', '', state([{ whole: THOUGHT }, { call: 't1' }]))],
    [
      'another model gave it',
      line('assistant', '', { ...called('a', 't1'), ...state([{ whole: THOUGHT }, { call: 't1' }], 'x') }),
    ],
  ])('is left out when %s', async (_, answer) => {
    const { bodies } = await run(ask(line('user', 'go'), answer, line('user', 'and?')), { model: 'claude-opus-4-8' });
    expect(JSON.stringify(bodies[0]?.['messages'])).not.toContain('thinking');
  });

  test('is asked again without it, once, when the provider refuses the signature', async () => {
    const refused = {
      status: 400,
      headers: { 'content-type': 'application/json' },
      pieces: [
        JSON.stringify({
          type: 'error',
          error: { type: 'invalid_request_error', message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
        }),
      ],
    };
    const history = [line('user', 'go'), line('assistant', 'a', state([{ whole: THOUGHT }, { chars: 1 }])), line('user', 'and?')];
    const mended = await run(ask(...history), { model: 'claude-opus-4-8', replies: [refused, OK] });
    expect(answerOf(mended.events).text).toBe('ok');
    expect(mended.bodies.map((body) => blocks(body).length)).toEqual([2, 1]);
    const again = await run(ask(...history), { model: 'claude-opus-4-8', replies: [refused, refused] });
    expect([failureOf(again.events).kind, again.bodies.length]).toEqual(['bad-request', 2]);
    expect((await run(ask(line('user', 'go')), { replies: [refused] })).bodies).toHaveLength(1);
  });
});

describe('M6 thinking that is signed over the conversation', () => {
  /** Two answers of a conversation, each with the state that the wire made for what was sent before it. */
  async function conversation(model = 'claude-opus-5-5'): Promise<SessionMessage[]> {
    const history: SessionMessage[] = [line('system', 'Be terse.')];
    for (const [n, question] of ['one', 'two'].entries()) {
      history.push(line('user', question));
      const reply = stream([
        anthropicStart(),
        anthropicBlock(0, { type: 'thinking', thinking: '', signature: `sig${n}` }),
        anthropicText('fine', 1),
        anthropicEnd(),
      ]);
      const { providerState } = answerOf((await run(ask(...history), { model, replies: [reply] })).events);
      history.push(line('assistant', 'fine', providerState ? { provider_state: providerState } : {}));
    }
    return [...history, line('user', 'three')];
  }
  const signatures = async (history: readonly SessionMessage[], model = 'claude-opus-5-5') =>
    blocks((await run(ask(...history), { model })).bodies[0]).flatMap(({ signature }) => signature ?? []);
  const edited = (history: readonly SessionMessage[], at: number, content: string) =>
    history.map((message, index) => (index === at ? { ...message, content } : message));

  test('goes back while the conversation before it is unchanged', async () => {
    expect(await signatures(await conversation())).toEqual(['sig0', 'sig1']);
  });

  test('is left out with all thinking before it once that has changed: system, question, or a history cut short', async () => {
    const history = await conversation();
    expect(await signatures(edited(history, 0, 'Be kind.'))).toEqual([]);
    expect(await signatures(edited(history, 1, 'eins'))).toEqual([]);
    expect(await signatures(edited(history, 3, 'zwei'))).toEqual([]);
    expect(await signatures(history.slice(3))).toEqual([]);
  });

  test('goes back whatever changed for models that sign each block by itself', async () => {
    const history = await conversation('claude-opus-5');
    expect(await signatures(edited(history, 1, 'eins'), 'claude-opus-5')).toEqual(['sig0', 'sig1']);
  });
});

describe('parameters', () => {
  const parameters = async (model: string, request: Partial<ModelRequest>, thinking?: readonly string[]) => {
    const facts = thinking ? { ...FACTS, thinking } : FACTS;
    const { bodies } = await run(modelRequest('hi', { temperature: 0.5, ...request }), { model, facts });
    return { thinking: bodies[0]?.['thinking'], effort: bodies[0]?.['output_config'], temperature: bodies[0]?.['temperature'] };
  };
  const adaptive = { type: 'adaptive' };

  test.each([
    ['claude-opus-5-5', 'auto', {}],
    ['claude-opus-5-5', 'high', { thinking: adaptive, effort: { effort: 'high' } }],
    ['claude-opus-5-5', 'off', { thinking: adaptive, effort: { effort: 'low' } }],
    ['claude-fable-5-2', 'off', { thinking: adaptive, effort: { effort: 'low' } }],
    ['claude-fable-5', 'off', { thinking: adaptive, effort: { effort: 'low' } }],
    ['claude-sonnet-5-5', 'off', { thinking: adaptive, effort: { effort: 'low' } }],
    ['claude-haiku-5-5', 'off', { thinking: { type: 'disabled' } }],
    ['claude-opus-5', 'off', { thinking: { type: 'disabled' } }],
    ['claude-opus-4-7', 'medium', { thinking: adaptive, effort: { effort: 'medium' } }],
    ['claude-opus-4-6', 'low', { thinking: adaptive, effort: { effort: 'low' } }],
    ['claude-opus-4-6', 'auto', { temperature: 0.5 }],
    ['claude-sonnet-4-5-20250929', 'medium', { thinking: { type: 'enabled', budget_tokens: 8_192 } }],
    ['claude-haiku-4-5', 'off', { thinking: { type: 'disabled' }, temperature: 0.5 }],
    ['claude-3-5-haiku-20241022', 'high', { temperature: 0.5 }],
  ] as const)('%s at level %s gets %o', async (model, level, expected) => {
    expect(await parameters(model, { thinking: level })).toEqual({
      thinking: undefined,
      effort: undefined,
      temperature: undefined,
      ...expected,
    });
  });

  test('the levels that the catalog names win over those of the family', async () => {
    const { thinking } = await parameters('claude-opus-9', { thinking: 'off' }, ['off', 'low']);
    expect(thinking).toEqual({ type: 'disabled' });
    expect(await parameters('claude-opus-9', { thinking: 'high' }, [])).toMatchObject({ thinking: undefined });
  });

  test('a budget leaves half of the output limit, and none is sent below the smallest one or amid calls without a thought', async () => {
    const budget = async (request: Partial<ModelRequest>) =>
      (await parameters('claude-haiku-4-5', { thinking: 'high', ...request })).thinking;
    expect(await budget({ maxOutputTokens: 4_096 })).toEqual({ type: 'enabled', budget_tokens: 2_048 });
    expect(await budget({ maxOutputTokens: 1_500 })).toBeUndefined();
    const messages = [line('user', 'go'), line('assistant', '', called('a')), result('a')];
    expect(await budget({ messages })).toBeUndefined();
    expect(await budget({ messages: [...messages, line('assistant', 'done'), line('user', 'and?')] })).toBeDefined();
  });

  test('the output limit is what was asked for, what the model allows, or 4,096', async () => {
    const limit = async (maxOutputTokens?: number, facts?: ModelFacts) => {
      const request = modelRequest('hi', maxOutputTokens === undefined ? {} : { maxOutputTokens });
      await using server = await startModelServer({ script: () => OK });
      const model = createAnthropic(wireOptions(server.url, facts ? { facts } : {}));
      await collect(model.call(request, new AbortController().signal));
      return server.requests[0]?.body['max_tokens'];
    };
    expect([await limit(), await limit(9_000), await limit(undefined, FACTS), await limit(99_999, FACTS)]).toEqual([
      4_096, 9_000, 64_000, 64_000,
    ]);
  });

  test('M7 the ends of system and of the last three messages of the user are marked for the cache', async () => {
    const answers = [1, 2, 3].flatMap((n) => [line('assistant', '', called(`c${n}`)), result(`c${n}`)]);
    const { bodies } = await run(ask(line('system', 'S'), line('user', 'go'), ...answers));
    const cache_control = { type: 'ephemeral' };
    expect(bodies[0]?.['system']).toEqual([{ type: 'text', text: 'S', cache_control }]);
    expect(blocks(bodies[0], 'user').map((block) => block['cache_control'])).toEqual([
      undefined,
      ...Array(3).fill(cache_control),
    ]);
    expect(blocks(bodies[0]).some((block) => 'cache_control' in block)).toBe(false);
  });

  test('other servers of this wire get neither marks nor parameters for thinking', async () => {
    const { bodies } = await run(modelRequest('hi', { thinking: 'high' }), { provider: 'zai', model: 'glm-5-turbo' });
    expect(JSON.stringify(bodies[0])).not.toMatch(/cache_control|thinking|output_config/);
    expect(bodies[0]?.['system']).toBe('You are terse.');
  });

  test('a picture of a result stands inside it', async () => {
    const back = result('a', 'A');
    const request = ask(line('user', 'go'), line('assistant', '', called('a')), back);
    const { bodies } = await run({ ...request, images: new Map([[back.id, [{ mime: 'image/png', base64: 'AAAA' }]]]) });
    expect(blocks(bodies[0], 'user')[1]?.['content']).toEqual([
      { type: 'text', text: 'A' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ]);
  });
});

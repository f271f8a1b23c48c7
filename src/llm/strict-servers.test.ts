// The agent loop against servers that refuse what each provider's documentation says is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAgent } from '../agent/run.ts';
import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { modelRefused } from '../operator/notices.ts';
import { profiles } from '../runs/profile.ts';
import { agentRun, countingTool, line } from '../testing/agent-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { anthropicWire } from '../testing/strict/anthropic.ts';
import { openAiChat } from '../testing/strict/openai-chat.ts';
import { STRICT_PEERS, type StrictPeer } from '../testing/strict/peers.ts';
import { type StrictServer, type StrictServerOptions, startStrictServer, type Turn } from '../testing/strict/strict-server.ts';
import { xai } from '../testing/strict/xai.ts';
import { catalogRows } from './catalog/catalog.ts';
import { collect, modelRequest } from './contract.ts';
import { createWire, type WireDeps } from './create.ts';
import { findKeyWithoutConfig } from './detect.ts';
import { resolveProvider } from './providers/resolve.ts';

const KEY = 'sk-strict-1234';

interface Hints {
  readonly context_window: number;
  readonly max_output_tokens?: number;
}

function wireOf(
  { config }: StrictPeer,
  server: StrictServer,
  deps: Partial<WireDeps> = {},
  { key = KEY, path = '', model_hints }: { key?: string; path?: string; model_hints?: Hints } = {},
): Model {
  const timeouts = { connectMs: 1_000, totalMs: 300_000 };
  const target = resolveProvider({ ...config, base_url: `${server.baseUrl}${path}`, model_hints });
  return createWire(target, key === '' ? undefined : key, { timeouts, clock: systemClock, ...deps });
}

/** The switch of the control: what a provider wants back is taken out of every request. */
function withoutState(model: Model): Model {
  const strip = ({ provider_state: _, ...message }: SessionMessage): SessionMessage => message;
  return { ...model, call: (request, signal) => model.call({ ...request, messages: request.messages.map(strip) }, signal) };
}

/** Two calls at once, one more, then text; words and arguments differ from turn to turn. */
function turnOf(name: string, n: number): Turn[] {
  const call = (i: number) => ({ name: 'echo', args: { by: name, turn: n, i } });
  return [{ text: `looking ${n}`, calls: [call(1), call(2)] }, { calls: [call(3)] }, { text: `answer ${n} of ${name}` }];
}

interface Peer {
  readonly peer: StrictPeer;
  readonly server: StrictServer;
  readonly model: Model;
  plan: Turn[];
}

async function startPeer(peer: StrictPeer): Promise<Peer> {
  const at: { plan: Turn[] } = { plan: [] };
  const server = await startStrictServer(peer.wire, () => at.plan.shift() ?? { text: 'nothing was planned' }, { apiKey: KEY });
  return Object.assign(at, { peer, server, model: wireOf(peer, server) });
}

let turns = 0;
async function converse(at: Peer, history: readonly SessionMessage[], model = at.model): Promise<readonly SessionMessage[]> {
  turns += 1;
  at.plan = turnOf(at.peer.name, turns);
  const input = line('user', `question ${turns}`, { id: `u${turns}:in` });
  const result = await runAgent(
    agentRun({
      runId: `run-${turns}`,
      model,
      input,
      history,
      tools: [countingTool()],
      clock: systemClock as unknown as FakeClock,
    }),
  );
  expect({ outcome: result.outcome, refusals: refusals(at) }).toMatchObject({ outcome: { kind: 'answered' }, refusals: [] });
  return [...history, ...result.lines];
}

const refusals = ({ server }: Peer): readonly string[] => server.refusals.map(({ refusal }) => JSON.stringify(refusal.body));

describe('histories', () => {
  const peers: Peer[] = [];
  beforeAll(async () => {
    for (const peer of STRICT_PEERS) peers.push(await startPeer(peer));
  });
  afterAll(async () => {
    for (const { server } of peers) await server[Symbol.asyncDispose]();
  });

  test('that each provider wrote are accepted by each other one, and by itself again afterwards', async () => {
    for (const from of peers) {
      for (const to of peers) {
        const written = await converse(from, await converse(from, []));
        const continued = await converse(to, written);
        await converse(from, continued);
      }
    }
    expect(peers.map((at) => [at.peer.name, refusals(at)])).toEqual(peers.map((at) => [at.peer.name, []]));
  });

  test.each(['deepseek', 'moonshot', 'openrouter'])('control: %s refuses them once provider state is dropped', async (name) => {
    const at = await startPeer(STRICT_PEERS.find((peer) => peer.name === name) ?? ({} as StrictPeer));
    await using _ = at.server;
    const dropped = converse(at, await converse(at, [], withoutState(at.model)).catch(() => []), withoutState(at.model));
    await expect(dropped).rejects.toThrow();
    expect(refusals(at)).not.toEqual([]);
  });

  test('control: gemini is sent dummy signatures once provider state is dropped, and none with it', async () => {
    const at = await startPeer(STRICT_PEERS.find(({ name }) => name === 'gemini') ?? ({} as StrictPeer));
    await using _ = at.server;
    await converse(at, await converse(at, []));
    expect(at.server.counts['dummySignatures'] ?? 0).toBe(0);
    await converse(at, [], withoutState(at.model));
    expect(at.server.counts['dummySignatures']).toBeGreaterThan(0);
  });
});

/** All wires of the strict servers, in their strictest models. */
const ALL_PEERS = [
  ...STRICT_PEERS,
  { name: 'xai', wire: xai, config: { provider: 'xai', model: 'grok-4.6', api_type: 'openai' } } satisfies StrictPeer,
].map((peer) => [peer.name, peer] as const);

describe('a refusal in the words of the provider', () => {
  async function refusal(
    peer: StrictPeer,
    options: StrictServerOptions,
    { text = 'hello', ...how }: { text?: string; key?: string; path?: string } = {},
  ): Promise<ModelFailure> {
    await using server = await startStrictServer(peer.wire, () => ({ text: 'here' }), { apiKey: KEY, ...options });
    const model = wireOf(peer, server, {}, how);
    const last = (await collect(model.call(modelRequest(text), new AbortController().signal))).at(-1);
    if (last?.type !== 'failed') throw new Error(`the call ended with ${last?.type}`);
    return last.failure;
  }

  test.each(ALL_PEERS)('says of %s that a model has ended, or never was', async (_, peer) => {
    for (const retired of [[peer.config.model], []])
      expect(await refusal(peer, { models: retired, retired })).toMatchObject({ kind: 'model-gone', code: 'GH2117' });
  });

  test.each(ALL_PEERS)('says of %s that a prompt is too long, and perhaps for what window', async (_, peer) => {
    const { kind, contextWindow = 1_000 } = await refusal(peer, { contextWindow: 1_000 }, { text: 'word '.repeat(4_000) });
    expect([kind, contextWindow]).toEqual(['context-length', 1_000]);
  });

  test.each(ALL_PEERS)('says of %s that a key is wrong, or that there is none', async (_, peer) => {
    for (const key of ['sk-wrong-123456', '']) expect(await refusal(peer, {}, { key })).toMatchObject({ kind: 'auth' });
  });

  test.each(ALL_PEERS)('says of %s that the address is wrong, and the owner is told so', async (_, peer) => {
    const failure = await refusal(peer, {}, { path: '/nowhere' });
    expect(failure).toMatchObject({ kind: 'bad-request', code: 'GH2106' });
    expect(modelRefused('p/m', failure)?.text).toContain('"base_url"');
  });
});

/** About 40,000 tokens. */
const LONG = Array.from({ length: 80 }, (_, n) =>
  line(n % 2 === 0 ? 'user' : 'assistant', `${n} ${'word '.repeat(400)}`, { id: `h${n}` }),
);

describe('a conversation that the window does not hold', () => {
  const asked = ({ refusals }: StrictServer) => refusals.map((one) => JSON.stringify(one.refusal.body));

  test.each(ALL_PEERS)('is trimmed by the agent after the refusal of %s, which then answers', async (_, peer) => {
    const options = { apiKey: KEY, contextWindow: 36_000 };
    await using server = await startStrictServer(peer.wire, () => ({ text: 'recovered' }), options);
    const model = wireOf(peer, server, {}, { model_hints: { context_window: 100_000 } });
    const run = { model, windows: new Map(), history: LONG, clock: systemClock as unknown as FakeClock };
    for (let n = 0; n < 2; n += 1)
      expect((await runAgent(agentRun(run))).outcome).toEqual({ kind: 'answered', text: 'recovered' });
    // The window that was learnt holds for the second run.
    expect(asked(server)).toEqual([expect.stringMatching(/token|context|length/i)]);
  });

  const BOTH: readonly StrictPeer[] = [
    {
      name: 'groq',
      wire: {
        ...{ ...openAiChat, provider: 'groq' },
        outputOf: ({ body }) => Number(body['max_completion_tokens'] ?? 0),
      },
      config: { provider: 'groq', model: 'openai/gpt-oss-120b' },
    },
    {
      name: 'anthropic',
      wire: anthropicWire({ outputInWindow: true }),
      config: { provider: 'anthropic', model: 'claude-haiku-4-5' },
    },
  ];
  const tools = Array.from({ length: 20 }, (_, n) => countingTool({ name: `tool_${n}`, description: 'word '.repeat(240) }));

  test.each(
    BOTH.flatMap((peer) => [
      [peer.name, peer, { context_window: 40_000, max_output_tokens: 20_000 }, 0] as const,
      [peer.name, peer, { context_window: 80_000, max_output_tokens: 60_000 }, 1] as const,
    ]),
  )('is sent to %s with room for its tools and its answer', async (_, peer, model_hints, refused) => {
    const options = { apiKey: KEY, contextWindow: 40_000 };
    await using server = await startStrictServer(peer.wire, () => ({ text: 'answered' }), options);
    const model = wireOf(peer, server, {}, { model_hints });
    const limits = profiles({ maxOutputTokens: model_hints.max_output_tokens }).session;
    const history = LONG.slice(0, 40);
    const run = { model, windows: new Map(), history, tools, limits, clock: systemClock as unknown as FakeClock };
    for (let n = 0; n < 2; n += 1)
      expect((await runAgent(agentRun(run))).outcome).toEqual({ kind: 'answered', text: 'answered' });
    expect(asked(server)).toHaveLength(refused);
    for (const { body } of server.requests.slice(refused))
      expect(Number(body['max_completion_tokens'] ?? body['max_tokens'])).toBeGreaterThan(3_000);
  });
});

describe('a key in the environment', () => {
  const today = new Date().toISOString().slice(0, 10);

  test.each(STRICT_PEERS.map((peer) => [peer.name, peer] as const))('is enough for a first answer of %s', async (_, peer) => {
    const { provider, model: _named, ...choice } = peer.config;
    const rows = catalogRows(provider);
    const retired = rows.filter(([, { ends }]) => ends !== undefined && ends < today).map(([model]) => model);
    const options = { apiKey: KEY, models: rows.map(([model]) => model), retired };
    await using server = await startStrictServer(peer.wire, () => ({ text: 'here' }), options);
    const config = { ...choice, base_url: server.baseUrl };
    const found = await findKeyWithoutConfig({ env: { [`${provider.toUpperCase()}_API_KEY`]: KEY }, config });
    if (!found?.target) throw new Error(`nothing was found for ${provider}`);
    const model = createWire(found.target, found.key?.value(), {
      timeouts: { connectMs: 1_000, totalMs: 10_000 },
      clock: systemClock,
    });
    const events = await collect(model.call(modelRequest('hello'), new AbortController().signal));
    expect(server.refusals.map(({ refusal }) => refusal.body)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'here' } });
  });

  test('control: a model that was taken away is refused by the server', async () => {
    const peer = STRICT_PEERS.find(({ name }) => name === 'gemini') ?? ({} as StrictPeer);
    const gone = { apiKey: KEY, models: [peer.config.model], retired: [peer.config.model] };
    await using server = await startStrictServer(peer.wire, () => ({ text: 'here' }), gone);
    const events = await collect(wireOf(peer, server).call(modelRequest('hello'), new AbortController().signal));
    expect(events.at(-1)).toMatchObject({ type: 'failed' });
  });
});

describe('M5 120 s of silent thinking', () => {
  const SILENT = { text: 'at last', silentMs: 120_000 };
  /** Between two looks of the watchdog. */
  const LOOK_MS = 1_000;

  /** `silentMs`: from the last bytes until the call was broken off, by the clock. */
  async function ask(
    peer: StrictPeer,
    turn: Turn,
    { stepMs = 5_000, ...override }: Partial<ModelRequest> & { stepMs?: number } = {},
  ): Promise<{ end: ModelEvent | undefined; silentMs: number }> {
    const clock = new FakeClock();
    await using server = await startStrictServer(peer.wire, () => turn, { apiKey: KEY, clock });
    const from = clock.monotonic();
    const at = { bytes: 0, abort: 0 };
    let events: readonly ModelEvent[] | undefined;
    const model = wireOf(peer, server, { clock, fetch: observed(clock, at) });
    const request = modelRequest('think', { maxOutputTokens: 1_000, ...override });
    const call = collect(model.call(request, new AbortController().signal)).then((all) => {
      events = all;
    });
    // The sockets and the client library take real time, not the clock's.
    while (!events && clock.monotonic() - from < 400_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await clock.advance(stepMs);
    }
    await call;
    return { end: events?.at(-1), silentMs: at.abort - at.bytes };
  }

  /** Notes when bytes arrive, the headers among them, and when the call is broken off. */
  function observed(clock: FakeClock, at: { bytes: number; abort: number }): typeof fetch {
    return async (input, init) => {
      init?.signal?.addEventListener('abort', () => {
        at.abort ||= clock.monotonic();
      });
      const response = await fetch(input, init);
      at.bytes = clock.monotonic();
      const noting = new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          at.bytes = clock.monotonic();
          controller.enqueue(bytes);
        },
      });
      return new Response(response.body?.pipeThrough(noting), response);
    };
  }

  const peerOf = (name: string): StrictPeer => STRICT_PEERS.find((peer) => peer.name === name) ?? ({} as StrictPeer);
  const claude = (provider: string, model: string): StrictPeer => {
    return { name: provider, wire: anthropicWire(), config: { provider, model } };
  };
  const ANSWERED = { type: 'done', answer: { text: 'at last' } };

  test.each(STRICT_PEERS.map((peer) => [peer.name, peer] as const))(
    'is answered by %s, with signs of life and without',
    async (name, peer) => {
      expect((await ask(peer, { ...SILENT, signsOfLife: true })).end).toMatchObject(ANSWERED);
      if (name === 'anthropic') return;
      expect((await ask(peer, SILENT)).end).toMatchObject(ANSWERED);
    },
  );

  // What arrives at 2 s: the start of the answer, or of a thought, or some of a thought.
  test.each([
    ['openai-chat', 1],
    ['openai-responses', 3],
    ['openai-responses', 5],
    ['gemini', 1],
    ['deepseek', 2],
    ['moonshot', 2],
    ['mistral', 1],
    ['openrouter', 2],
    ['anthropic', 3],
    ['zai', 1],
    ['zai', 3],
  ] as const)('is answered by %s where the first %i events come after 2 s and the silence after them', async (name, events) => {
    const turn = { ...SILENT, reasoning: 'Let me see.', lateMs: 2_000, silentAfterEvents: events };
    const peer = name === 'zai' ? claude(name, 'glm-5.3') : peerOf(name);
    expect((await ask(peer, { ...turn, signsOfLife: name === 'anthropic' })).end).toMatchObject(ANSWERED);
  });

  test('is waited for at level off where the model cannot stop thinking, and not where it can', async () => {
    const off = { thinking: 'off' } as const;
    expect((await ask(peerOf('gemini'), SILENT, off)).end).toMatchObject(ANSWERED);
    expect((await ask(peerOf('openai-chat'), SILENT, off)).end).toMatchObject({ type: 'failed', failure: { kind: 'timeout' } });
  });

  test('is noticed within 30 s where the wire promises signs of life and none come', async () => {
    const peers = [peerOf('anthropic'), claude('bedrock', 'global.anthropic.claude-opus-5-5')];
    const turn = { ...SILENT, silentAfterEvents: 1, silentMs: 200_000 };
    for (const { end, silentMs } of await Promise.all(peers.map((peer) => ask(peer, turn, { stepMs: 500 })))) {
      expect(end).toMatchObject({ type: 'failed', failure: { kind: 'timeout' } });
      expect(silentMs).toBeGreaterThanOrEqual(29_000);
      expect(silentMs).toBeLessThanOrEqual(30_000 + LOOK_MS);
    }
  });
});

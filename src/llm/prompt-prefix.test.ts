// Providers cache the beginning of a prompt: what was sent once must begin the next request, byte for byte.
import { describe, expect, test } from 'vitest';
import { runAgent } from '../agent/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { agentRun, countingTool, line } from '../testing/agent-run.ts';
import type { FakeClock } from '../testing/fakes.ts';
import { STRICT_PEERS, type StrictPeer } from '../testing/strict/peers.ts';
import { startStrictServer, type Turn } from '../testing/strict/strict-server.ts';
import { createWire } from './create.ts';
import { resolveProvider } from './providers/resolve.ts';

type Body = Readonly<Record<string, unknown>>;

/** Where the conversation stands in a body; whatever else is in it comes before that in the prompt. */
const CONVERSATION = ['messages', 'input', 'contents'];
/** Marks for the cache are no part of the prompt. */
const prompt = (value: unknown): string =>
  JSON.stringify(value, (key, member: unknown) => (key === 'cache_control' ? undefined : member));

/** One text for each block of the conversation: an answer and the results after it may share a message. */
function blocks(body: Body): string[] {
  const messages = CONVERSATION.flatMap((name) => (body[name] as Body[] | undefined) ?? []);
  return messages.flatMap((message) => {
    const parts = message['parts'] ?? message['content'];
    if (!Array.isArray(parts)) return [prompt(message)];
    return parts.map((part) => prompt({ ...message, parts: undefined, content: undefined, part }));
  });
}

function head(body: Body): string {
  return prompt(Object.fromEntries(Object.entries(body).filter(([name]) => !CONVERSATION.includes(name))));
}

/** Bodies of the requests of each turn: in each one call, two at once, then text. */
async function converse(peer: StrictPeer, turns: number, output: string): Promise<(readonly Body[])[]> {
  const plan: Turn[] = [];
  const options = { apiKey: 'sk-strict' };
  await using server = await startStrictServer(peer.wire, () => plan.shift() ?? { text: 'nothing was planned' }, options);
  const timeouts = { connectMs: 1_000, totalMs: 60_000, thinkingMs: 60_000 };
  const model = createWire(resolveProvider({ ...peer.config, base_url: server.baseUrl }), 'sk-strict', {
    ...{ timeouts, clock: systemClock },
  });
  const all: (readonly Body[])[] = [];
  let history: readonly SessionMessage[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    const call = (n: number) => ({ name: 'echo', args: { turn, n } });
    const reasoning = `Turn ${turn} needs thought.`;
    plan.push({ calls: [call(1)], reasoning }, { calls: [call(2), call(3)], reasoning, text: 'Two more.' });
    plan.push({ text: `answer ${turn}`, reasoning });
    const result = await runAgent(
      agentRun({
        ...{ runId: `run-${turn}`, model, history, clock: systemClock as unknown as FakeClock },
        input: line('user', `question ${turn}`, { id: `u${turn}:in` }),
        tools: [countingTool({ run: async () => ({ ok: true, output }) })],
      }),
    );
    expect({ outcome: result.outcome, refusals: server.refusals }).toMatchObject({ outcome: { kind: 'answered' }, refusals: [] });
    history = [...history, ...result.lines];
    all.push(server.requests.slice(all.flat().length).map(({ body }) => body));
  }
  return all;
}

const PEERS = STRICT_PEERS.map((peer) => [peer.name, peer] as const);

describe('M7 a prompt begins with the one before it', () => {
  test.each(PEERS)('within a turn and over turns: %s', async (_name, peer) => {
    const bodies = (await converse(peer, 3, 'a short result')).flat();
    expect(bodies).toHaveLength(9);
    for (const [at, body] of bodies.entries()) {
      const last = bodies[at - 1];
      if (last)
        expect({ at, head: head(body), blocks: blocks(body).slice(0, blocks(last).length) }).toEqual({
          at,
          head: head(last),
          blocks: blocks(last),
        });
    }
  });

  test.each(PEERS)('a long result is cut when its turn ends, and stays as it was cut: %s', async (_name, peer) => {
    const turns = await converse(peer, 4, 'One line of a file. '.repeat(200));
    const starts = turns.map(([first = {}]) => blocks(first));
    const [, second = [], third = [], fourth = []] = starts;
    expect(third.slice(0, second.length)).toEqual(second);
    expect(fourth.slice(0, third.length)).toEqual(third);
    for (const bodies of turns) {
      for (const [at, body] of bodies.entries()) {
        const last = bodies[at - 1];
        if (last) expect(blocks(body).slice(0, blocks(last).length)).toEqual(blocks(last));
      }
    }
  });
});

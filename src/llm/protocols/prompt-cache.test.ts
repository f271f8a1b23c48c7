/**
 * What a turn of many tool calls pays for its prompt, by the count of a server that caches as Anthropic
 * documents it.
 */
import { expect, test } from 'vitest';
import { runAgent } from '../../agent/run.ts';
import type { SessionMessage } from '../../core/session.ts';
import { agentRun, countingTool, line } from '../../testing/agent-run.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { anthropicWire } from '../../testing/strict/anthropic.ts';
import { type StrictServer, startStrictServer, type Turn } from '../../testing/strict/strict-server.ts';
import { createAnthropic } from './anthropic.ts';
import { wireOptions } from './wire-contract.ts';

const CALLS = 20;
/** 4 characters are a token at this server. */
const START = 'Rules of the house. '.repeat((3_000 * 4) / 20);
const RESULT = 'One line of a file. '.repeat((2_000 * 4) / 20);
/** Of the input price. Some models read for half of that. */
const PAID = { written: 1.25, read: 0.1 };

async function scene() {
  const clock = new FakeClock();
  const plan: Turn[] = [];
  const server = await startStrictServer(anthropicWire(), () => plan.shift() ?? { text: 'unplanned' }, { clock });
  const wire = createAnthropic(
    wireOptions(server.origin, { provider: 'anthropic', model: 'claude-opus-5-5', contextWindow: 1_000_000 }),
  );
  let history: readonly SessionMessage[] = [];
  let turns = 0;
  return {
    server,
    async turn(): Promise<void> {
      turns += 1;
      const calls = Array.from({ length: CALLS }, (_, n) => ({ name: 'look', args: { turn: turns, n } }));
      plan.push(...calls.map((call): Turn => ({ reasoning: 'What next?', calls: [call] })), {
        text: `done ${turns}`,
        reasoning: 'So.',
      });
      const look = countingTool({ name: 'look', run: async (args) => ({ ok: true, output: JSON.stringify(args) + RESULT }) });
      const input = line('user', `question ${turns}`, { id: `u${turns}` });
      const result = await runAgent(
        agentRun({ runId: `r${turns}`, system: START, input, history, tools: [look], model: wire, clock }),
      );
      expect({ outcome: result.outcome, refusals: server.refusals.map(({ refusal }) => refusal.body) }).toMatchObject({
        outcome: { kind: 'answered' },
        refusals: [],
      });
      history = [...history, ...result.lines];
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Of what the prompts would cost without a cache. */
function share({ billed }: StrictServer): number {
  const rest = billed.in - billed.cached - billed.cacheWrite;
  return (rest + billed.cacheWrite * PAID.written + billed.cached * PAID.read) / billed.in;
}

test('M7 a turn of 20 tool calls pays at most a quarter of its uncached prompt, ten such turns at most two fifths', async () => {
  await using one = await scene();
  await one.turn();
  expect(one.server.billed.in).toBeGreaterThan(CALLS * 20_000);
  expect(share(one.server)).toBeLessThanOrEqual(0.25);
  for (let n = 2; n <= 10; n += 1) await one.turn();
  expect(share(one.server)).toBeLessThanOrEqual(0.4);
  expect(one.server.counts['missingThinking'] ?? 0).toBe(0);
});

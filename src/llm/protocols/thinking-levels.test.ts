/**
 * Each level on each Claude and Gemini model through the agent loop, on servers that refuse what the
 * documentation says is refused.
 */
import { expect, test } from 'vitest';
import { runAgent } from '../../agent/run.ts';
import type { SessionMessage, ThinkingLevel } from '../../core/session.ts';
import { agentRun, countingTool, line } from '../../testing/agent-run.ts';
import { anthropicWire } from '../../testing/strict/anthropic.ts';
import { geminiWire } from '../../testing/strict/gemini.ts';
import { type StrictWire, startStrictServer, type Turn } from '../../testing/strict/strict-server.ts';
import { resolveProvider } from '../providers/resolve.ts';
import { createAnthropic } from './anthropic.ts';
import { createGemini } from './gemini.ts';
import { wireOptions } from './wire-contract.ts';

const LEVELS: readonly ThinkingLevel[] = ['off', 'low', 'auto', 'medium', 'high'];
const CLAUDE = ['fable-5', 'fable-5-1', 'fable-5-2', 'opus-5-5', 'sonnet-5-5', 'haiku-5-5', 'opus-5', 'sonnet-5', 'opus-4-8'];
const OLDER = ['opus-4-7', 'opus-4-6', 'sonnet-4-6', 'opus-4-5', 'sonnet-4-5', 'haiku-4-5'];
const GEMINI = [
  '2.5-pro',
  '2.5-flash',
  '2.5-flash-lite',
  '3-flash-preview',
  '3.1-pro-preview',
  '3.5-flash',
  '3.8-flash',
  '4-argon',
];

/** One turn of six calls, two of them at once, at each level, all in one conversation. */
async function converse(provider: string, model: string): Promise<unknown> {
  const wire: StrictWire = provider === 'anthropic' ? anthropicWire() : geminiWire();
  const plan: Turn[] = [];
  await using server = await startStrictServer(wire, () => plan.shift() ?? { text: 'unplanned' });
  const { facts } = resolveProvider({ provider, model });
  const options = wireOptions(provider === 'anthropic' ? server.origin : server.baseUrl, { provider, model, facts });
  const asked = provider === 'anthropic' ? createAnthropic(options) : createGemini(options);
  const outcomes: string[] = [];
  let history: readonly SessionMessage[] = [];
  for (const [n, thinking] of LEVELS.entries()) {
    const call = (i: number) => ({ name: 'echo', args: { n, i } });
    const reasoning = 'What next?';
    const single = [2, 3, 4].map((i): Turn => ({ reasoning, calls: [call(i)] }));
    plan.push(
      { reasoning, text: 'I look.', calls: [call(0), call(1)] },
      ...single,
      { calls: [call(5)] },
      { reasoning, text: `done ${n}` },
    );
    const input = line('user', `question ${n}`, { id: `u${n}` });
    const result = await runAgent(agentRun({ runId: `r${n}`, model: asked, input, history, thinking, tools: [countingTool()] }));
    outcomes.push(result.outcome.kind);
    history = [...history, ...result.lines];
  }
  const { missingThinking = 0, dummySignatures = 0, droppedTextSignatures = 0 } = server.counts;
  return {
    outcomes,
    refusals: server.refusals.map(({ refusal }) => refusal.body),
    missingThinking,
    dummySignatures,
    droppedTextSignatures,
  };
}

test.each([
  ...[...CLAUDE, ...OLDER].map((name) => ['anthropic', `claude-${name}`]),
  ...GEMINI.map((name) => ['gemini', `gemini-${name}`]),
])('%s: %s refuses no level and loses no thought', async (provider = '', model = '') => {
  expect(await converse(provider, model)).toEqual({
    outcomes: LEVELS.map(() => 'answered'),
    refusals: [],
    missingThinking: 0,
    dummySignatures: 0,
    droppedTextSignatures: 0,
  });
});

import type { SlotStatus } from '../../core/status.ts';
import { plainName } from '../../lib/plain-name.ts';
import type { AdaptiveCommand, CommandSpec, Prompted, PromptPorts } from './command.ts';
import type { Conversation } from './conversation.ts';

/** What people may call the modes (spec A6). */
const MODES = { off: 'off', lane: 'lane', hedge: 'hedge', race: 'hedge', circuit: 'hedge' } as const;
type Word = keyof typeof MODES;

export const adaptiveCommand: CommandSpec = {
  ...{ name: 'adaptive', args: '[off|lane|hedge]', isPrivate: true },
  summary: 'for the owner: how the models are doing, and how the next calls choose among them',
  read(words) {
    const [word = '', ...more] = words.map((one) => one.toLowerCase());
    if (words.length === 0) return { kind: 'adaptive' };
    // Ranking is what lane does: there is no switch of its own.
    if (word === 'qos') return { kind: 'adaptive', isRanking: true };
    return more.length === 0 && isMode(word) ? { kind: 'adaptive', mode: MODES[word] } : undefined;
  },
};

function isMode(word: string): word is Word {
  return Object.hasOwn(MODES, word);
}

/** The mode holds for all chats, until the models are configured anew or the daemon starts again. */
export async function answerAdaptive(
  { mode, isRanking }: AdaptiveCommand,
  { message }: Conversation,
  { answer, isOwner, router }: PromptPorts,
): Promise<Prompted> {
  const say = (outcome: string, text: string): Prompted => ({ outcome, parts: answer(message, text) });
  if (!isOwner(message)) return say('not-permitted', 'Only the owner of this assistant can do that. Nothing was changed.');
  const found = router();
  if (!found) return say('adaptive', 'Adaptive routing is not configured (adaptive_routing.enabled, with fallback_models).');
  if (isRanking) return say('adaptive', 'Models are ranked by how they are doing in mode lane, and only there: /adaptive lane.');
  if (mode === undefined) return say('adaptive', [`Mode: ${found.mode}.`, ...found.snapshot().map(slotText)].join('\n'));
  found.mode = mode;
  return say('adaptive', `From now on the mode is ${mode}, for all chats. The config holds again after a restart.`);
}

function slotText(slot: SlotStatus): string {
  const { id, circuit, errorRate, latencyMs, p95Ms, tokensPerSecond, successes, failures } = slot;
  const calls = successes + failures;
  if (calls === 0) return `- ${plainName(id)}: not used yet`;
  const times = latencyMs === null ? '' : `, ${seconds(latencyMs)} on average, 95 % within ${seconds(p95Ms ?? latencyMs)}`;
  const speed = tokensPerSecond === null ? '' : `, ${Math.round(tokensPerSecond)} tokens/s`;
  const health = circuit === 'closed' ? '' : `, left alone after failures (${circuit})`;
  return `- ${plainName(id)}: ${calls} calls, ${Math.round(errorRate * 100)} % of the last failed${times}${speed}${health}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

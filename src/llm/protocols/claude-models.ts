/** What each Claude model accepts, by its name. Sources: provider-rules 3a and 3b. */
import type Anthropic from '@anthropic-ai/sdk';
import type { ModelFacts, ModelRequest } from '../../core/model.ts';
import { thinkingWord } from './thinking.ts';

type Thinking = Pick<Anthropic.MessageCreateParamsStreaming, 'thinking' | 'output_config'>;

interface ClaudeModel {
  readonly family: string;
  /** 405 = 4.5. 0: another model, or one whose name does not end with its version. */
  readonly version: number;
}

export function claudeModel(name: string): ClaudeModel {
  const [, family = '', major = '0', minor = '0'] = /claude-([a-z]+)-(\d+)(?:[-.](\d{1,2}))?(?!\d)/.exec(name) ?? [];
  return { family, version: Number(major) * 100 + Number(minor) };
}

const BUDGETS: Readonly<Record<string, number>> = { low: 2_048, medium: 8_192, high: 24_576 };
/** A smaller one is refused. */
const MIN_BUDGET = 1_024;

/** The parameters for a level; none: the model decides. `mayBegin`: answers may open with thinking (4.5). */
export function claudeThinking(
  { family, version }: ClaudeModel,
  facts: ModelFacts | undefined,
  level: ModelRequest['thinking'],
  { maxTokens, mayBegin }: { readonly maxTokens: number; readonly mayBegin: boolean },
): Thinking {
  const canStop = version <= 500 ? family !== 'fable' : family === 'haiku';
  const levels = facts?.thinking ?? [...(canStop ? ['off'] : []), 'low', 'medium', 'high'];
  // Of these a catalog says otherwise for another cloud, where they refuse it as well.
  const neverStops = family === 'fable' || (version === 505 && !canStop);
  const word = thinkingWord(level, neverStops ? levels.filter((one) => one !== 'off') : levels);
  if (word === undefined || version < 405) return {};
  if (word === 'off') return { thinking: { type: 'disabled' } };
  if (version > 405) return { thinking: { type: 'adaptive' }, output_config: { effort: word as 'low' | 'medium' | 'high' } };
  // The output limit includes the thoughts: half of it is left for the answer.
  const budget = Math.min(BUDGETS[word] ?? 0, Math.floor(maxTokens / 2));
  return budget < MIN_BUDGET || !mayBegin ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

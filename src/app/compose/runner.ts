import { sessionLimits } from '../../agent/limits.ts';
import { systemPrompt } from '../../agent/prompt.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { RunLimits } from '../../core/turn.ts';
import type { Delivery } from '../../delivery/deliver.ts';
import { ModelChoice } from '../../gateway/commands/model-choice.ts';
import { OwnAnswers } from '../../gateway/own-answers.ts';
import { Runner, type RunnerOptions } from '../../runs/runner.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { whyAnswer } from '../../runs/why-answer.ts';
import type { ModelStack } from '../model-stack.ts';
import type { PlanAnswer } from './delivery.ts';
import type { Operator } from './operator.ts';
import type { Base, Config } from './options.ts';
import { remainsFor } from './store.ts';
import { composeTools } from './tools.ts';

/** What turns need beside the base. */
export interface TurnParts {
  readonly base: Base;
  readonly models: ModelStack;
  readonly operator: Operator;
  readonly transcripts: Transcripts;
  readonly delivery: Delivery;
  readonly parts: PlanAnswer;
}

export function composeRunner(turn: TurnParts): Runner {
  const { base, models, transcripts, parts } = turn;
  const { options, events, journal, entries, onParts, hot } = base;
  const { clock, dataDir } = options;
  const choice = choiceOf(turn);
  const ownAnswers = new OwnAnswers({
    ...{ transcripts, choice, why: whyOf(turn), model: models.model, clock },
    demoAllowed: (channel) => base.channels.isLocal(channel) || (entries.get(channel)?.allow_demo ?? false),
  });
  return new Runner({
    ...{ journal, transcripts, parts, onParts, dataDir, clock, emit: events.emit },
    model: models.model,
    choice,
    instead: ownAnswers.of,
    ...(models.transcriber ? { transcriber: models.transcriber } : {}),
    tools: composeTools(base, turn.delivery),
    limits: limitsOf(options.config),
    maxHistory: () => hot().max_history,
    system: () => {
      const { system_prompt: prompt } = hot();
      return systemPrompt({ ...(prompt ? { base: prompt } : {}), now: clock.now() });
    },
    remains: remainsFor(options),
    streams: (channel) => entries.get(channel)?.streaming !== 'off',
    ...abilities(turn),
  });
}

/** What a turn may do on the channel of its message. */
function abilities({ base, delivery }: TurnParts) {
  const { options, channels } = base;
  const channelOf = (name: string) => channels.channels.get(name);
  return {
    channel: (name, signal) => channels.working(name, signal),
    tellsDelays: (channel) => !channels.isLocal(channel) || options.terminal?.interactive !== false,
    typing: (message) => delivery.typing(message),
    edits: (channel) => channelOf(channel)?.edit !== undefined,
    draft: (message) => delivery.draft(message),
  } satisfies Partial<RunnerOptions>;
}

/** For `/why`, at once and in its lane. */
export function whyOf({ base, operator }: TurnParts): (message: InboundMessage) => Promise<string> {
  const { options, journal } = base;
  const isOwner = (message: InboundMessage): boolean => operator.owner.wrote(message);
  return (message) => whyAnswer(message, { record: journal.record, clock: options.clock, isOwner });
}

function choiceOf({ base, models, operator, transcripts }: TurnParts): ModelChoice {
  const { options, entries } = base;
  return new ModelChoice({
    ...{ model: models.model, named: models.named, thinking: options.config.thinking, transcripts },
    configured({ channel, senderId }) {
      const { model, sender_models: bySender, thinking } = entries.get(channel) ?? {};
      const senderModel = bySender && Object.hasOwn(bySender, senderId) ? bySender[senderId] : undefined;
      return { senderModel, channelModel: model, channelThinking: thinking };
    },
    isOwner: (message) => operator.owner.wrote(message),
  });
}

function limitsOf({ max_iterations: maxIterations, gateway }: Config): RunLimits {
  return sessionLimits({
    maxIterations,
    sessionTimeoutMs: gateway.session_timeout_secs * 1_000,
    toolTimeoutMs: gateway.tool_timeout_secs * 1_000,
    ...(gateway.max_output_tokens === undefined ? {} : { maxOutputTokens: gateway.max_output_tokens }),
  });
}

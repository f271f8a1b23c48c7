import { sessionLimits } from '../../agent/limits.ts';
import { systemPrompt } from '../../agent/prompt.ts';
import type { RunLimits } from '../../core/turn.ts';
import type { Delivery } from '../../delivery/deliver.ts';
import { ModelChoice } from '../../gateway/commands/model-choice.ts';
import { OwnAnswers } from '../../gateway/own-answers.ts';
import { Runner, type RunnerOptions } from '../../runs/runner.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import type { ModelStack } from '../model-stack.ts';
import type { PlanAnswer } from './delivery.ts';
import type { Operator } from './operator.ts';
import type { Base, LiveConfig } from './options.ts';
import { remainsFor } from './store.ts';
import { composeTools } from './tools.ts';

/** What turns need beside the base. */
export interface TurnParts {
  readonly base: Base;
  /** To be asked at each use. */
  readonly models: () => ModelStack;
  readonly operator: Operator;
  readonly transcripts: Transcripts;
  readonly delivery: Delivery;
  readonly parts: PlanAnswer;
}

export function composeRunner(turn: TurnParts): Runner {
  const { base, models, transcripts, parts } = turn;
  const { options, events, journal, channels, onParts, live } = base;
  const { clock, dataDir } = options;
  const choice = choiceOf(turn);
  const ownAnswers = new OwnAnswers({
    ...{ transcripts, choice, clock },
    get model() {
      return models().model;
    },
    demoAllowed: (channel) => channels.isLocal(channel) || (channels.rules(channel)?.allow_demo ?? false),
  });
  return new Runner({
    ...{ journal, transcripts, parts, onParts, dataDir, clock, emit: events.emit },
    choice,
    instead: ownAnswers.of,
    get transcriber() {
      return models().transcriber;
    },
    tools: composeTools(base, turn.delivery),
    get limits() {
      return limitsOf(live());
    },
    maxHistory: () => live().gateway.max_history,
    system: () => {
      const { system_prompt: prompt } = live().gateway;
      return systemPrompt({ ...(prompt ? { base: prompt } : {}), now: clock.now() });
    },
    remains: remainsFor(options),
    noteUpload: base.uploads.note,
    streams: (channel) => channels.rules(channel)?.streaming !== 'off',
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

function choiceOf({ base, models, operator, transcripts }: TurnParts): ModelChoice {
  return new ModelChoice({
    transcripts,
    get model() {
      return models().model;
    },
    get named() {
      return models().named;
    },
    get thinking() {
      return base.live().thinking;
    },
    configured({ channel, senderId }) {
      const { model, sender_models: bySender, thinking } = base.channels.rules(channel) ?? {};
      const senderModel = bySender && Object.hasOwn(bySender, senderId) ? bySender[senderId] : undefined;
      return { senderModel, channelModel: model, channelThinking: thinking };
    },
    isOwner: (message) => operator.owner.wrote(message),
  });
}

function limitsOf({ max_iterations: maxIterations, gateway }: LiveConfig): RunLimits {
  return sessionLimits({
    maxIterations,
    sessionTimeoutMs: gateway.session_timeout_secs * 1_000,
    toolTimeoutMs: gateway.tool_timeout_secs * 1_000,
    ...(gateway.max_output_tokens === undefined ? {} : { maxOutputTokens: gateway.max_output_tokens }),
  });
}

// queue modes: what the config and people say, what slow answers change, and what a message does by it
import type { QueuedRow } from '../../bus/inbound-bus.ts';
import { errorText } from '../../core/errors.ts';
import { chatRefOf, principalOf } from '../../core/ids.ts';
import type { AnswerTarget, InboundMessage } from '../../core/message.ts';
import type { During } from '../../core/queueing.ts';
import { duringOf, type QueueRules } from '../../gateway/queue-mode.ts';
import { Escalation } from '../../runs/escalation.ts';
import { QueueBook } from '../../runs/queue-rules.ts';
import type { ModelStack } from '../model-stack.ts';
import type { PlanAnswer } from './delivery.ts';
import { hookSettings } from './hooks.ts';
import { type Operator, provenOwner } from './operator.ts';
import type { Base } from './options.ts';

export interface QueueParts {
  /** For turns of lanes. */
  readonly rules: (row: QueuedRow) => Promise<QueueRules>;
  /** For admission. */
  readonly during: (message: InboundMessage) => Promise<During | undefined>;
  /** For commands. */
  readonly book: QueueBook;
  readonly escalation: Escalation;
}

interface QueueNeeds {
  readonly base: Base;
  /** To be asked at each use. */
  readonly models: () => Pick<ModelStack, 'router' | 'budget'>;
  readonly operator: Operator;
  readonly parts: PlanAnswer;
}

export function composeQueue({ base, models, operator, parts }: QueueNeeds): QueueParts {
  const { journal, channels, live, options, onParts } = base;
  const { logger, clock } = options;
  const tell = (target: AnswerTarget, text: string): void => {
    const notice = parts(target, text, []);
    journal.enqueue(notice).then(
      () => onParts(notice),
      (error: unknown) => logger.warn('responsiveness.untold', { detail: errorText(error) }),
    );
  };
  const escalation = new Escalation({
    isOn: () => live().gateway.auto_escalation,
    router: () => models().router,
    ...{ tell, clock, logger },
  });
  const book = new QueueBook({
    ...{ journal, escalation },
    channel(name) {
      const { type, queue_mode: mode, debounce_ms: debounceMs } = channels.rules(name) ?? {};
      return { type, mode, debounceMs };
    },
    mode: () => live().gateway.queue_mode,
    asksFirst: () => hookSettings(base).some(({ event }) => event === 'message_in'),
  });
  const hasOwnRules = ({ channel, senderId }: InboundMessage): boolean => {
    const { senders } = live().tool_policy;
    const ofSenders = channels.rules(channel)?.sender_models ?? {};
    const isNamed = Object.hasOwn(senders, principalOf({ channel, senderId })) || Object.hasOwn(ofSenders, senderId);
    return isNamed || models().budget?.limits.senderUsd !== undefined;
  };
  const isOwner = provenOwner(operator, channels);
  const answer = (message: InboundMessage, text: string) => parts(message, text, []);
  return {
    ...{ escalation, book },
    rules: async (row) => ({ ...(await book.of(chatRefOf(row.lane))), hasOwnRules }),
    during: async (message) => duringOf(await book.of(message), isOwner(message), answer),
  };
}

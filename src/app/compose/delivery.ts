import { chatKey } from '../../core/ids.ts';
import type { AnswerTarget, Choice } from '../../core/message.ts';
import type { NewPart } from '../../core/outbox.ts';
import { targetOf } from '../../core/run.ts';
import type { AgentResult } from '../../core/turn.ts';
import { createDelivery, type Delivery } from '../../delivery/deliver.ts';
import { planParts } from '../../delivery/plan.ts';
import { topicHolding } from '../../runs/topic-output.ts';
import type { Operator } from './operator.ts';
import type { Base } from './options.ts';

const HOUR_MS = 3_600_000;
/** With a minute between attempts an outage of three hours costs no answer; expiry bounds it in any case. */
const SEND_ATTEMPTS = 200;
/** A terminal answer may be any size; every real channel states its own limits. */
const ANY_SIZE = { text: 4_000, unit: 'codepoint', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;

/** Of a channel whose entry names none. */
const DEFAULT_SIGNS = { working: '👀', done: '', failed: '' };

/** Cuts an answer into parts that fit the channel it goes to. */
export type PlanAnswer = (
  target: AnswerTarget,
  text: string,
  files: AgentResult['files'],
  choices?: readonly Choice[],
) => readonly NewPart[];

export function composePlan({ options, channels, live }: Base, { approvals }: Operator): PlanAnswer {
  const { clock } = options;
  return (target, text, files, choices) => {
    if (choices) approvals.noteAnswer(target, choices.length > 0);
    const channel = channels.channels.get(target.channel);
    return planParts({
      ...{ message: target, text, files, choices: choices ?? [] },
      buttons: channel?.buttons ?? false,
      limits: channel?.limits ?? ANY_SIZE,
      now: clock.now(),
      expiresInMs: live().gateway.answer_expiry_hours * HOUR_MS,
    });
  };
}

export function composeDelivery({ options, events, journal, channels }: Base): Delivery {
  const delivery = createDelivery({
    journal,
    channels: channels.channels,
    clock: options.clock,
    random: Math.random,
    emit: events.emit,
    maxAttempts: SEND_ATTEMPTS,
    ready: ({ name }) => channels.canSend(name),
    streams: (channel) => channels.rules(channel)?.streaming !== 'off',
    async view(row) {
      const target = targetOf(row);
      if (!target) return { isSeen: true };
      const chat = await journal.chats.of(chatKey(target));
      const topic = topicHolding(row);
      const line = chat?.settings.status ?? undefined;
      return { isSeen: topic === undefined || topic === (chat?.active ?? ''), ...(line ? { line } : {}) };
    },
    statusLine: (channel) => channels.rules(channel)?.status_line === true,
    reactions: {
      of: (channel) => channels.rules(channel)?.reactions ?? DEFAULT_SIGNS,
      hasReacted: async ({ seq }) => (await journal.steps(seq)).some(({ tool }) => tool === 'react'),
    },
  });
  events.observe(delivery.observe);
  events.observe((event) => {
    if (event.type === 'channel' && event.state === 'healthy' && event.channel) delivery.pokeChannel(event.channel);
  });
  return delivery;
}

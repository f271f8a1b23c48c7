import { systemPrompt } from '../../agent/prompt.ts';
import { turnsOfPerson } from '../../bus/turn-permits.ts';
import { jobOf } from '../../core/child.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { PairingStore } from '../../core/pairing.ts';
import type { People } from '../../core/people.ts';
import type { Delivery } from '../../delivery/deliver.ts';
import { ModelChoice } from '../../gateway/commands/model-choice.ts';
import { OwnAnswers } from '../../gateway/own-answers.ts';
import { mayWrite } from '../../operator/may-write.ts';
import { Choices } from '../../runs/choices.ts';
import { Compaction, type CompactionOptions } from '../../runs/compaction.ts';
import { Earlier } from '../../runs/earlier.ts';
import { GroupAbout } from '../../runs/group-about.ts';
import { Runner } from '../../runs/runner.ts';
import type { RunnerOptions } from '../../runs/runner-options.ts';
import { sessionChange } from '../../runs/session-changes.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { whyAnswer } from '../../runs/why-answer.ts';
import { createPolicy } from '../../tools/policy.ts';
import type { ModelStack } from '../model-stack.ts';
import { composeModelAccess } from './ask-model.ts';
import { closeBrowser } from './browser.ts';
import type { PlanAnswer } from './delivery.ts';
import { composeExtras } from './extras.ts';
import { removeGoneTopics } from './gone-topics.ts';
import { composeHooks } from './hooks.ts';
import { composeMessages } from './messages.ts';
import { type Operator, provenOwner } from './operator.ts';
import { type Base, timezoneOf } from './options.ts';
import { allowedSenders } from './own-accounts.ts';
import { isSpoofable, policySettings, provesSender } from './policy.ts';
import type { QueueParts } from './queue.ts';
import { remainsFor } from './store.ts';
import { notifiedIn, profilesOf } from './tasks.ts';
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
  readonly pairing: PairingStore;
  readonly people: Pick<People, 'audit' | 'idsOf' | 'links' | 'mayTryLink'>;
}

/** `waiting`: how many turns of conversations wait for a permit. */
export function composeRunner(turn: TurnParts, queue: QueueParts, waiting: () => number): Runner {
  const { base, models, operator, transcripts, parts } = turn;
  const { options, events, journal, channels, onParts, live } = base;
  const { clock, dataDir } = options;
  const choices = choicesOf(turn);
  const hooks = composeHooks(base);
  const able = abilities(turn);
  const access = composeModelAccess({ base, models, choices, hooks });
  const compaction = compactionOf(turn, access, waiting);
  const ownAnswers = new OwnAnswers({
    compaction,
    ...{ choice: commandsOf(turn, choices), why: whyOf(turn), clock },
    transcripts: {
      async restart(session, keep) {
        const kept = await transcripts.restart(session, keep);
        await closeBrowser(base, session);
        return kept;
      },
    },
    mayChange: mayChangeIn(turn),
    get model() {
      return models().model;
    },
    demoAllowed: (channel) => channels.isLocal(channel) || (channels.rules(channel)?.allow_demo ?? false),
  });
  return new Runner({
    ...{ journal, transcripts, parts, onParts, dataDir, clock, emit: events.emit },
    onEnded({ workspace, source }) {
      if (workspace !== undefined || source.kind !== 'chat') void removeGoneTopics(base);
    },
    onAnswered: (row, ms) => queue.escalation.answered(row, ms),
    ...{ choices, compaction },
    earlier: earlierOf(turn),
    about: new GroupAbout({ channel: (name, signal) => channels.working(name, signal), clock, logger: options.logger }),
    questions: operator.questions,
    instead: async (row, ready, signal) =>
      (await sessionChange(row, ready, transcripts)) ?? (await ownAnswers.of(row, ready, signal)),
    get transcriber() {
      return models().transcriber;
    },
    models: access,
    tools: composeTools({ ...turn, choices, hooks, sendBeside: composeMessages({ ...turn, mayWrite: writerCheck(turn) }) }),
    get limits() {
      return profilesOf(live());
    },
    maxHistory: () => live().gateway.max_history,
    system: () => {
      const { system_prompt: prompt } = live().gateway;
      return systemPrompt({ ...(prompt ? { base: prompt } : {}), now: clock.now(), timezone: timezoneOf(options) });
    },
    hooks,
    ...notifiedIn(base),
    remains: remainsFor(options),
    uploads: base.uploads,
    claimDisk: (workspace, bytes, signal) => base.disk.claim(workspace, bytes, signal),
    answers: turn.delivery,
    extras: composeExtras(base, able.policy),
    ...able,
  });
}

function compactionOf({ base, transcripts }: TurnParts, models: CompactionOptions['models'], waiting: () => number): Compaction {
  const { clock, logger } = base.options;
  const compaction = new Compaction({
    ...{ transcripts, waits: base.journal.waits, models, clock, logger },
    isOn: () => base.live().gateway.compaction,
    isBusy: () => waiting() > 0,
  });
  transcripts.closeFirst(compaction);
  return compaction;
}

/** What a turn may do on the channel of its message. */
function abilities({ base, delivery }: TurnParts) {
  const { options, channels, live } = base;
  return {
    channel: (name, signal) => channels.working(name, signal),
    edits: (name) => channels.channels.get(name)?.edit !== undefined,
    policy: options.policy ?? createPolicy(() => policySettings(live(), (name) => channels.lastRules(name))),
    mayApprove: (name) => provesSender(channels.rules(name)?.type),
    tellsDelays: (channel) => !channels.isLocal(channel) || options.terminal?.interactive !== false,
    typing: (message) => delivery.typing(message),
  } satisfies Partial<RunnerOptions>;
}

/** Whether this person may write to the agent, by the rules of now. */
export function writerCheck({ base: { channels }, pairing }: TurnParts) {
  return (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>): Promise<boolean> => {
    const rules = { local: channels.isLocal(who.channel), allowedSenders: allowedSenders(channels, who.channel) };
    return mayWrite(who, rules, pairing);
  };
}

function earlierOf(turn: TurnParts): Earlier {
  const { base, pairing } = turn;
  const { channels, options } = base;
  return new Earlier({
    channel: (name, signal) => channels.working(name, signal),
    mayWrite: writerCheck(turn),
    isBlocked: (who) => pairing.isBlocked(who),
    showsAll({ channel, chatId }) {
      const from = channels.rules(channel)?.context_from ?? {};
      return (Object.hasOwn(from, chatId) ? from[chatId] : from['*']) === 'everyone';
    },
    ...{ clock: options.clock, logger: options.logger },
  });
}

/** For `/why`, at once and in its lane. */
export function whyOf({
  base: { options, journal, channels, live },
  operator,
}: TurnParts): (message: InboundMessage) => Promise<string> {
  const isOwner = provenOwner(operator, channels);
  const ofPerson = (): number => {
    const { limits, gateway } = live();
    const { person_turns_at_once: ofPerson } = limits;
    return turnsOfPerson({ ofPerson, total: gateway.max_concurrent_sessions, channels: channels.size });
  };
  return (message) => whyAnswer(message, { record: journal.record, clock: options.clock, isOwner, ofPerson });
}

/** Who may change a conversation: in a group, what all people there share. */
export function mayChangeIn({ base: { channels }, operator }: TurnParts): (message: InboundMessage) => boolean {
  const isOwner = provenOwner(operator, channels);
  return (message) => {
    const rules = channels.rules(message.channel);
    const isAdmin = !isSpoofable(rules) && (rules?.group_admins ?? []).includes(message.senderId);
    return !message.isGroup || isAdmin || isOwner(message);
  };
}

export function choicesOf({ base, models, transcripts }: TurnParts): Choices {
  return new Choices({
    ...{ journal: base.journal, transcripts },
    get model() {
      return models().model;
    },
    get named() {
      return models().named;
    },
    get thinking() {
      return base.live().thinking;
    },
    configured(row) {
      const { message, source } = row;
      if (source.kind === 'api') return { senderModel: base.live().mcp_clients[source.client]?.model };
      if (!message) return jobOf(row) === undefined ? {} : { jobModel: base.live().purposes.job };
      const { channel, senderId } = message;
      const { model, sender_models: bySender, thinking } = base.channels.lastRules(channel) ?? {};
      const senderModel = bySender && Object.hasOwn(bySender, senderId) ? bySender[senderId] : undefined;
      return { senderModel, channelModel: model, channelThinking: thinking };
    },
  });
}

function commandsOf({ base, models, operator }: TurnParts, choices: Choices): ModelChoice {
  return new ModelChoice({
    choices,
    get model() {
      return models().model;
    },
    get named() {
      return models().named;
    },
    get thinking() {
      return base.live().thinking;
    },
    isOwner: provenOwner(operator, base.channels),
    clock: base.options.clock,
  });
}

import { InboundBus } from '../../bus/inbound-bus.ts';
import { TurnPermits } from '../../bus/turn-permits.ts';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { PairingStore } from '../../core/pairing.ts';
import type { Logger } from '../../core/ports.ts';
import type { RunRow } from '../../core/run.ts';
import type { AccessRules } from '../../gateway/access.ts';
import { Backlog } from '../../gateway/backlog.ts';
import { Gateway } from '../../gateway/gateway.ts';
import { Lanes } from '../../gateway/lanes.ts';
import { VoiceGate } from '../../gateway/voice-gate.ts';
import { type AddressPattern, guardedPattern } from '../../lib/guarded-pattern.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { type StandingOptions, standingOf } from '../../operator/authority.ts';
import { Floods } from '../../operator/floods.ts';
import { withReadableWords } from '../../operator/readable-words.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { modeOf } from '../../tools/policy.ts';
import type { ChannelRules, ChannelSet } from '../channels.ts';
import { onBehalfOf } from '../origin.ts';
import { closeBrowser } from './browser.ts';
import { composeCommands } from './commands.ts';
import { removeGoneTopic, removeGoneTopics } from './gone-topics.ts';
import type { Operator } from './operator.ts';
import type { Base } from './options.ts';
import { allowedSenders, closedToFriends } from './own-accounts.ts';
import { personalOf } from './personal.ts';
import { isSpoofable } from './policy.ts';
import { composeQueue, type QueueParts } from './queue.ts';
import { choicesOf, composeRunner, type TurnParts, whyOf, writerCheck } from './runner.ts';

export interface GatewayParts {
  readonly gateway: Gateway;
  readonly lanes: Lanes;
  readonly permits: TurnPermits;
  readonly gate: VoiceGate;
}

/** Intake, lanes and what decides about what was overheard. */
export function composeGateway(turn: TurnParts): GatewayParts {
  const queue = composeQueue(turn);
  const permits = turnPermits(turn.base);
  const runner = composeRunner(turn, queue, () => permits.conversationsWaiting);
  const { base, models, operator, transcripts, delivery, parts, pairing, people } = turn;
  const { options, events, journal, channels } = base;
  const { config, clock, logger } = options;
  const patterns = groupPatterns(channels, logger);
  const backlog = new Backlog(clock);
  const mayWrite = writerCheck(turn);
  const wasRead = async ({ seq }: RunRow) => (await journal.steps(seq)).some(({ kind }) => kind === 'model');
  events.observe((event) => {
    if (event.type === 'finished' && event.messageId) backlog.told(event.messageId);
  });
  const gate = new VoiceGate({
    turn: async (row, signal, durable) => runner.run(await withReadableWords(row, { mayWrite, wasRead }), signal, durable),
    get transcriber() {
      return models().transcriber;
    },
    patterns,
    workspace: (session) => sessionWorkspace(options.dataDir, session),
    uploads: base.uploads,
    channel: (name, signal) => channels.working(name, signal),
    ...{ backlog, journal, clock, emit: events.emit },
  });
  const bus = new InboundBus(config.gateway.bus_capacity);
  const lanes = composeLanes(base, { bus, gate, permits, sessions: transcripts.sessions, rules: queue.rules });
  const { approvals, owner } = operator;
  const answer = (message: InboundMessage, text: string) => parts(message, text, []);
  const standing = standingOptions(base, operator, pairing);
  const standsFor = (message: InboundMessage) => standingOf(message, standing);
  const { emit } = events;
  const { high_water: highWater } = config.gateway;
  const floods = new Floods({ journal, highWater, limits: () => base.live().limits, clock, emit, answer });
  const gateway = new Gateway({
    ...{ journal, bus, lanes, runner, transcripts, delivery, backlog, floods, people, clock, emit: events.emit },
    wrote: () => void base.linked.refresh().catch((error) => logger.warn('journal.look-failed', { detail: errorText(error) })),
    onEnded: () => void removeGoneTopics(base),
    onCut: (session, isGone) => void endSession(base, session, isGone),
    admission: {
      ...{ rules: accessRules(channels, patterns, () => models().transcriber !== undefined), clock },
      pairing: closedToFriends(pairing, () => channels.channels),
      firstAccount: (channel) => journal.chats.firstAccount(channel),
      isOwner: (message) => owner.isOwnersId(message),
      why: whyOf(turn),
      personal: personalOf(turn, standing),
      commands: composeCommands(turn, choicesOf(turn), standsFor, queue),
      during: queue.during,
      answer,
      decide: (message) => approvals.decide(message),
      standing: standsFor,
    },
  });
  return { gateway, lanes, permits, gate };
}

/** What a session has beside its lines. Never rejects. */
async function endSession(base: Base, session: string, isGone: boolean): Promise<void> {
  await Promise.all([closeBrowser(base, session), ...(isGone ? [removeGoneTopic(base, session)] : [])]);
}

function turnPermits({ options, channels, live }: Base): TurnPermits {
  return new TurnPermits({
    clock: options.clock,
    get total() {
      return live().gateway.max_concurrent_sessions;
    },
    get channels() {
      return channels.size;
    },
    get ofPerson() {
      return live().limits.person_turns_at_once;
    },
    get background() {
      return live().tasks.max_running;
    },
  });
}

interface LaneParts {
  readonly bus: InboundBus;
  readonly gate: VoiceGate;
  readonly permits: TurnPermits;
  readonly sessions: KeyedMutex;
  readonly rules: QueueParts['rules'];
}

function composeLanes({ options, events, journal }: Base, { bus, gate, permits, sessions, rules }: LaneParts): Lanes {
  const { clock } = options;
  return new Lanes({
    ...{ journal, bus, permits, sessions, rules, clock, emit: events.emit },
    turn: (row, signal, durable) => onBehalfOf({ kind: 'run', id: row.key }, () => gate.run(row, signal, durable)),
    onTurnError: (row, error, retryInMs) =>
      events.emit({
        type: 'failed',
        at: clock.now(),
        messageId: row.messageId,
        session: row.session,
        channel: row.channel,
        code: isGatehouseError(error) ? error.code : 'GH2003',
        detail: `${errorText(error)}; next try in ${retryInMs} ms`,
      }),
  });
}

function standingOptions({ channels, live, journal }: Base, { owner }: Operator, pairing: PairingStore): StandingOptions {
  const rules = (channel: string) => channels.rules(channel);
  return {
    mode: (role, principal) => modeOf(role, principal, live().tool_policy),
    ...{ owner, pairing, isLocal: (channel) => channels.isLocal(channel) },
    allowedSenders: (channel) => rules(channel)?.allowed_senders ?? [],
    isSpoofable: (channel) => isSpoofable(rules(channel)),
    relayed: (chat) => journal.relayed(chat),
    taintTold: (chat, platformId) => journal.tasks.taintTold(chat, platformId),
    isMail: (channel) => rules(channel)?.type === 'email',
  };
}

const SLOW_HINT =
  "it fits nothing until its channel's entry changes or the daemon starts again: write it without a repeat in a repeat";

type PatternsOf = (channel: string) => readonly AddressPattern[];

function groupPatterns(channels: ChannelSet, logger: Logger): PatternsOf {
  const made = new WeakMap<ChannelRules, readonly AddressPattern[]>();
  const warnSlow = (channel: string, pattern: string): void =>
    logger.warn('group-pattern.slow', { channel, pattern, hint: SLOW_HINT });
  return (channel) => {
    const rules = channels.rules(channel);
    if (!rules) return [];
    const patterns =
      made.get(rules) ?? rules.group_patterns.map((pattern) => guardedPattern(pattern, () => warnSlow(channel, pattern)));
    made.set(rules, patterns);
    return patterns;
  };
}

function accessRules(channels: ChannelSet, patterns: PatternsOf, hears: () => boolean): (channel: string) => AccessRules {
  return (channel) => {
    const entry = channels.rules(channel);
    return {
      local: channels.isLocal(channel),
      allowedSenders: allowedSenders(channels, channel),
      allowedGroups: entry?.allowed_groups ?? [],
      groupMode: entry?.group_mode ?? 'mention',
      groupPatterns: patterns(channel),
      groupVoice: (entry?.group_voice ?? false) && hears(),
    };
  };
}

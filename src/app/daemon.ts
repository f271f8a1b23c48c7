// Config in, running daemon out: the one place that knows every part (decision D9).
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import { cached } from '../../sessions/cache.ts';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { sessionLimits } from '../agent/limits.ts';
import { systemPrompt } from '../agent/prompt.ts';
import { EventBus } from '../bus/event-bus.ts';
import { InboundBus } from '../bus/inbound-bus.ts';
import type { Terminal } from '../core/channel.ts';
import { errorText, type GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import { draftKey } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { Choice, InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Tool } from '../core/tool.ts';
import type { AgentResult } from '../core/turn.ts';
import { createDelivery, type Delivery } from '../delivery/deliver.ts';
import { planParts } from '../delivery/plan.ts';
import type { AccessRules } from '../gateway/access.ts';
import type { AdmitOptions } from '../gateway/admit.ts';
import { STOPPED_MARK } from '../gateway/answer-place.ts';
import { Backlog } from '../gateway/backlog.ts';
import { isCommandWord } from '../gateway/commands/index.ts';
import { ModelChoice } from '../gateway/commands/model-choice.ts';
import { channelHost, Gateway } from '../gateway/gateway.ts';
import { Lanes } from '../gateway/lanes.ts';
import { Transcripts } from '../gateway/transcripts.ts';
import { Turns } from '../gateway/turn.ts';
import { VoiceGate } from '../gateway/voice-gate.ts';
import { WebhookServer } from '../http/webhook-server.ts';
import { openJournal } from '../journal/open.ts';
import { copyAttachment, pruneAttachments } from '../media/attachments.ts';
import { pruneUploads } from '../media/prune-uploads.ts';
import { isVerdict } from '../operator/approvals.ts';
import { builtInTools } from '../tools/index.ts';
import { ChannelSet, type Registry } from './channels.ts';
import { keepHouse } from './keep-house.ts';
import type { ModelStack } from './model-stack.ts';
import { logEvents, Observations } from './observe.ts';
import { createOperator, type Operator, tellOfChannels } from './operator.ts';

const HOUR_MS = 3_600_000;
/** With a minute between attempts an outage of three hours costs no answer; expiry bounds it in any case. */
const SEND_ATTEMPTS = 200;
/** A terminal answer may be any size; every real channel states its own limits. */
const ANY_SIZE = { text: 4_000, unit: 'codepoint', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;

export interface DaemonOptions {
  readonly config: LoadedConfig['config'];
  readonly dataDir: string;
  readonly registry: Registry;
  /** Called once the journal is open: what was spent today is in it. */
  readonly model: (parts: { readonly journal: Journal; readonly emit: Emit; readonly operator: Operator }) => Promise<ModelStack>;
  readonly secret: (variable: string) => string;
  /** Takes every secret given out so far out of a text. Default: nothing is secret. */
  readonly redact?: (text: string) => string;
  readonly terminal?: Terminal;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The journal's file can no longer be trusted: the process must end. */
  readonly onFatal: (error: GatehouseError) => void;
  /** All inputs ended (EOF on the only channel). */
  readonly onAllEnded: () => void;
  /** Aborts when the process is asked to end: channels that are still starting give up. The caller closes the daemon. */
  readonly stop?: AbortSignal;
  /** Sees every event, beside log and status. */
  readonly observe?: Emit;
  /** Tools beside the built-in ones. */
  readonly extraTools?: readonly Tool[];
  /** Stands between the daemon and its journal; for tests that break it on purpose. */
  readonly wrapJournal?: (journal: Journal) => Journal;
}

/** The keys of section `gateway` that take effect while the daemon runs. */
type HotSettings = Pick<LoadedConfig['config']['gateway'], 'system_prompt' | 'max_history'>;

/** The running parts. `close` is the only way down; it is safe to call twice. */
export interface Daemon {
  readonly gateway: Gateway;
  readonly journal: Journal;
  readonly channels: ChannelSet;
  readonly lanes: Lanes;
  readonly observations: Observations;
  readonly models: ModelStack;
  /** Applies what may change without a restart (spec F3): system prompt, length of history, and limits on spending. */
  reconfigure(config: LoadedConfig['config']): void;
  /** Stops intake, parks turns, finishes sends under way within the limits, then closes everything in order. */
  close(limits?: { turnsMs: number; deliveryMs: number }): Promise<void>;
}

/**
 * Builds the graph, recovers what earlier processes left, then starts the channels. The caller holds the lock of the data
 * directory. Rejects with GH12xx or GH13xx when the data directory cannot be used; a channel that fails only goes `down`.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, clock, logger } = options;
  const events = new EventBus((error) => logger.error('observer.failed', { detail: errorText(error) }));
  const redact = options.redact ?? ((text: string) => text);
  const observations = new Observations(redact);
  events.observe(observations.observe);
  events.observe(logEvents(logger));
  if (options.observe) events.observe(options.observe);

  const opened = await openJournal({
    dir: options.dataDir,
    clock,
    highWater: config.gateway.high_water,
    onFatal: options.onFatal,
    onUpgrade: (about) => logger.warn('journal.upgrade', { ...about, hint: 'the copy is the way back to the version before' }),
    onWritable: (failure) =>
      events.emit({
        type: 'journal',
        at: clock.now(),
        state: failure ? 'failing' : 'ok',
        ...(failure ? { code: failure.code } : {}),
      }),
  });
  const journal = options.wrapJournal?.(opened.journal) ?? opened.journal;
  const webhooks = new WebhookServer({ ...config.gateway.webhooks, logger });
  const channels = await ChannelSet.create(
    config.gateway.channels.map((entry) => ({ name: entry.name ?? entry.type, type: entry.type, settings: entry.settings })),
    { ...pick(options), dataDir: options.dataDir, webhooks, redact, emit: events.emit, onAllEnded: options.onAllEnded },
  );
  options.stop?.addEventListener('abort', () => channels.stopReceiving(), { once: true });
  events.observe((event) => {
    if (event.type === 'received' && event.channel) channels.received(event.channel);
    if (event.type === 'part.sent' && event.channel) channels.sent(event.channel);
  });
  let hot: HotSettings = config.gateway;
  // Delivery is built last; parts that are committed before are found in the outbox when it begins.
  let poke = (_lane: string): void => undefined;
  const onParts = (parts: readonly NewPart[]): void => {
    for (const lane of new Set(parts.map((part) => part.lane))) poke(lane);
  };
  const operator = createOperator({ chats: config.gateway.owner, journal, channels, onParts, redact, clock, logger });
  const models = await options.model({ journal, emit: events.emit, operator });
  const { pairing } = opened;
  const built = buildGateway({ options, models, journal, pairing, channels, events, operator, onParts, hot: () => hot });
  const { gateway, delivery, transcripts, lanes } = built;
  poke = (lane) => delivery.poke(lane);

  const recovery = await journal.recover(
    {
      maxAttempts: config.gateway.max_attempts,
      maxAgeMs: config.gateway.max_message_age_hours * HOUR_MS,
      stoppedMark: STOPPED_MARK,
    },
    (row, reason) => {
      const notice = built.parts(row.message, givenUpText(reason), []);
      return channels.channels.get(row.message.channel)?.edit ? inPlaceOfDraft(row.message, notice) : notice;
    },
  );
  const { resumed, buried, unheard, sending } = recovery;
  if (resumed + buried + unheard.length + sending.length > 0) {
    logger.info('recovered', { resumed, buried, unheard: unheard.length, sending: sending.length });
  }
  await built.gate.forget(unheard);
  await pruneAttachments(join(options.dataDir, 'outgoing'), clock.now());
  await gateway.recover(recovery);
  tellOfChannels(operator.owner, channels, events);
  journal.onOutsideChange(() => {
    gateway.look().catch((error) => logger.warn('journal.look-failed', { detail: errorText(error) }));
  });
  const prune = async (): Promise<void> => {
    await opened.prune();
    await pruneUploads(options.dataDir, clock.now());
  };
  const housekeeping = keepHouse(prune, clock, logger);
  await channels.start((channel, report) =>
    channelHost(gateway, journal, { channel: channel.name, account: channel.account }, report),
  );

  let closing: Promise<void> | undefined;
  const close = async (limits: { turnsMs: number; deliveryMs: number }): Promise<void> => {
    // Intake first, then turns, then what they left to send (sends need their channels), then the disk. Each is closed also
    // when closing another one failed; a stack closes in reverse.
    await using parts = new AsyncDisposableStack();
    for (const part of [opened, operator.owner, transcripts, webhooks, channels, delivery, models]) parts.use(part);
    housekeeping[Symbol.dispose]();
    channels.stopReceiving();
    await gateway.stop(limits);
  };
  return {
    gateway,
    journal,
    channels,
    lanes,
    observations,
    models,
    reconfigure: ({ gateway, budget }) => {
      hot = gateway;
      models.setLimits?.(budget);
    },
    close: (limits = { turnsMs: 5_000, deliveryMs: 10_000 }) => {
      closing ??= close(limits);
      return closing;
    },
  };
}

function pick(options: DaemonOptions): Pick<DaemonOptions, 'registry' | 'secret' | 'clock' | 'logger' | 'terminal'> {
  const { registry, secret, clock, logger, terminal } = options;
  return { registry, secret, clock, logger, ...(terminal ? { terminal } : {}) };
}

interface Parts {
  readonly options: DaemonOptions;
  readonly models: ModelStack;
  readonly journal: Journal;
  readonly pairing: Awaited<ReturnType<typeof openJournal>>['pairing'];
  readonly channels: ChannelSet;
  readonly events: EventBus;
  readonly operator: Operator;
  readonly onParts: (parts: readonly NewPart[]) => void;
  /** Asked at each turn. */
  readonly hot: () => HotSettings;
}

function buildGateway({ options, models, journal, pairing, channels, events, operator, onParts, hot }: Parts): {
  gateway: Gateway;
  delivery: Delivery;
  transcripts: Transcripts;
  lanes: Lanes;
  gate: VoiceGate;
  parts: (message: InboundMessage, text: string, files: AgentResult['files']) => readonly NewPart[];
} {
  const { config, dataDir, clock, logger } = options;
  const emit = events.emit;
  const byName = channels.channels;
  const entries = new Map(config.gateway.channels.map((entry) => [entry.name ?? entry.type, entry]));
  const parts = (
    message: InboundMessage,
    text: string,
    files: AgentResult['files'],
    choices?: readonly Choice[],
  ): readonly NewPart[] => {
    if (choices) operator.approvals.noteAnswer(message, choices.length > 0);
    return planParts({
      ...{ message, text, files, choices: choices ?? [] },
      buttons: byName.get(message.channel)?.buttons ?? false,
      limits: byName.get(message.channel)?.limits ?? ANY_SIZE,
      now: clock.now(),
      expiresInMs: config.gateway.answer_expiry_hours * HOUR_MS,
    });
  };
  const delivery = createDelivery({
    journal,
    channels: byName,
    clock,
    random: Math.random,
    emit,
    maxAttempts: SEND_ATTEMPTS,
    ready: ({ name }) => channels.canSend(name),
  });
  events.observe((event) => {
    if (event.type === 'channel' && event.state === 'healthy' && event.channel) delivery.pokeChannel(event.channel);
  });
  const transcripts = new Transcripts({
    journal,
    clock,
    store: cached(
      openJsonlStore({
        dir: dataDir,
        clock,
        onDamage: ({ key, lines, quarantine }) =>
          emit({ type: 'session.damaged', at: clock.now(), session: key, lines: lines.length, quarantine }),
      }),
      { maxSessions: config.gateway.max_sessions },
    ),
    onError: (error) => logger.warn('session.flush-failed', { detail: errorText(error) }),
  });
  const choice = new ModelChoice({
    ...{ model: models.model, named: models.named, thinking: config.thinking, transcripts },
    configured({ channel, senderId }) {
      const { model, sender_models: bySender, thinking } = entries.get(channel) ?? {};
      const senderModel = bySender && Object.hasOwn(bySender, senderId) ? bySender[senderId] : undefined;
      return { senderModel, channelModel: model, channelThinking: thinking };
    },
    isOwner: (message) => operator.owner.wrote(message),
  });
  const turns = new Turns({
    journal,
    transcripts,
    model: models.model,
    choice,
    ...(models.transcriber ? { transcriber: models.transcriber } : {}),
    tools: [...builtInTools(), ...(options.extraTools ?? [])],
    channel: (name, signal) => channels.working(name, signal),
    demoAllowed: (channel) => channels.isLocal(channel) || (entries.get(channel)?.allow_demo ?? false),
    limits: sessionLimits({
      maxIterations: config.max_iterations,
      sessionTimeoutMs: config.gateway.session_timeout_secs * 1_000,
      toolTimeoutMs: config.gateway.tool_timeout_secs * 1_000,
      ...(config.gateway.max_output_tokens === undefined ? {} : { maxOutputTokens: config.gateway.max_output_tokens }),
    }),
    maxHistory: () => hot().max_history,
    system: () => {
      const { system_prompt: base } = hot();
      return systemPrompt({ ...(base ? { base } : {}), now: clock.now() });
    },
    dataDir,
    attach: (file, channel) => copyAttachment(join(dataDir, 'outgoing'), file, byName.get(channel)?.limits.uploadBytes ?? 0),
    parts,
    isReserved: (words) => isCommandWord(words) || isVerdict(words),
    onParts,
    tellsDelays: (channel) => !channels.isLocal(channel) || options.terminal?.interactive !== false,
    reacts: (channel) => byName.get(channel)?.react !== undefined,
    react: (message, emoji, signal) =>
      delivery.react(message, emoji, signal).catch((error: unknown) => {
        const reason = errorText(error);
        throw new Error(options.redact?.(reason) ?? reason);
      }),
    typing: (message) => delivery.typing(message),
    edits: (channel) => byName.get(channel)?.edit !== undefined,
    draft: (message) => delivery.draft(message),
    streams: (channel) => entries.get(channel)?.streaming !== 'off',
    clock,
    emit,
  });
  const patterns = new Map(
    [...entries].map(([name, entry]) => [name, entry.group_patterns.map((text) => new RegExp(text, 'iu'))]),
  );
  const backlog = new Backlog(clock);
  events.observe((event) => {
    if (event.type === 'finished' && event.messageId) backlog.told(event.messageId);
  });
  const gate = new VoiceGate({
    turn: (row, signal) => turns.run(row, signal),
    ...(models.transcriber ? { transcriber: models.transcriber } : {}),
    patterns: (channel) => patterns.get(channel) ?? [],
    workspace: (session) => turns.workspace(session),
    channel: (name, signal) => channels.working(name, signal),
    ...{ backlog, journal, clock, emit },
  });
  const bus = new InboundBus(config.gateway.bus_capacity);
  const lanes = new Lanes({
    journal,
    bus,
    concurrency: config.gateway.max_concurrent_sessions,
    channels: config.gateway.channels.length,
    turn: (row, signal) => gate.run(row, signal),
    onTurnError: (row, error, retryInMs) => {
      const code = isGatehouseError(error) ? error.code : 'GH2003';
      emit({
        type: 'failed',
        at: clock.now(),
        messageId: row.message.id,
        session: row.session,
        channel: row.message.channel,
        code,
        detail: `${errorText(error)}; next try in ${retryInMs} ms`,
      });
    },
    clock,
    emit,
  });
  const rules = (channel: string): AccessRules => {
    const entry = entries.get(channel);
    return {
      local: channels.isLocal(channel),
      allowedSenders: entry?.allowed_senders ?? [],
      allowedGroups: entry?.allowed_groups ?? [],
      groupMode: entry?.group_mode ?? 'mention',
      groupPatterns: patterns.get(channel) ?? [],
      groupVoice: (entry?.group_voice ?? false) && models.transcriber !== undefined,
    };
  };
  const { approvals } = operator;
  const admission: AdmitOptions = {
    ...{ rules, pairing, clock },
    answer: (message, text) => parts(message, text, []),
    decide: (message) => approvals.decide(message),
    concerns: (message) => approvals.concerns(message),
  };
  const onAnswered = (messageId: string): void => approvals.committed(messageId);
  const gateway = new Gateway({ journal, bus, lanes, turns, transcripts, delivery, admission, backlog, onAnswered, clock, emit });
  return { gateway, delivery, transcripts, lanes, gate, parts };
}

/** What an earlier process showed of the answer may still stand; where it does not, the notice is sent. */
function inPlaceOfDraft({ id }: InboundMessage, [first, ...rest]: readonly NewPart[]): readonly NewPart[] {
  return first ? [{ ...first, part: { ...first.part, edits: draftKey(id) } }, ...rest] : [];
}

function givenUpText(reason: string): string {
  return `⚠️ I could not answer your message: ${reason} (GH2002). It is kept; its owner can run it again.`;
}

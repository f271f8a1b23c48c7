// gateway.owner of the config ->
//   who is told of trouble and asked for decisions, and what of the daemon's events they are told
import type { LoadedConfig } from '../../../config/load.ts';
import type { EventBus } from '../../bus/event-bus.ts';
import type { Journal } from '../../core/journal.ts';
import type { InboundMessage } from '../../core/message.ts';
import { isLoginRefused, type NewPart } from '../../core/outbox.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import { Approvals } from '../../operator/approvals.ts';
import { channelDown, strangersAsked } from '../../operator/notices.ts';
import { Owner } from '../../operator/owner.ts';
import { RunQuestions } from '../../operator/run-questions.ts';
import type { ChannelSet } from '../channels.ts';
import type { Reloader } from '../reload.ts';
import { ownersChats } from './own-accounts.ts';
import { isSpoofable, provesSender } from './policy.ts';

/** The person who runs the daemon, as its parts see them. */
export interface Operator {
  readonly owner: Owner;
  readonly approvals: Approvals;
  /** Questions that runs ask. */
  readonly questions: RunQuestions;
}

type Reload = Reloader<LoadedConfig['config']>['reload'];

export interface OperatorOptions {
  /** Asked at each use. */
  readonly chats: () => LoadedConfig['config']['gateway']['owner'];
  readonly journal: Journal;
  readonly channels: ChannelSet;
  /** Parts are on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createOperator({ chats, channels, ...options }: OperatorOptions): Operator {
  const channel = (name: string) => channels.channels.get(name);
  const owner = new Owner({
    ...options,
    get chats() {
      const named = chats().map(({ channel, chat_id, sender_ids }) => ({ channel, chatId: chat_id, senderIds: sender_ids }));
      return [...named, ...ownersChats(channels.channels)];
    },
    channel,
    state: (name) => channels.state(name),
  });
  const approvals = new Approvals({
    ...{ ...options, owner },
    standsInChat: (name, threadId) => channel(name)?.standsInChat?.(threadId) === true,
    provesSender: (name) => channels.isLocal(name) || provesSender(channels.rules(name)?.type),
  });
  return { owner, approvals, questions: new RunQuestions({ ...options, approvals, owner, channel }) };
}

/**
 * Reloads as `reload` does, then looks after the open questions to the owner: the config may name another
 * one now, or another account for their chat.
 */
export function lookingAfterQuestions({ approvals }: Pick<Operator, 'approvals'>, reload: Reload): Reload {
  return async (config, signal) => {
    const changes = await reload(config, signal);
    await approvals.recover();
    return changes;
  };
}

/** Whether the operator surely wrote a message: never where a stranger can write under the operator's id. */
export function provenOwner(
  { owner }: Pick<Operator, 'owner'>,
  channels: Pick<ChannelSet, 'rules'>,
): (message: InboundMessage) => boolean {
  return (message) => owner.wrote(message) && !isSpoofable(channels.rules(message.channel));
}

/**
 * From now on channels that go down are told of elsewhere (F34), and at once those that could not even be
 * created.
 */
export function tellOfChannels(owner: Owner, channels: Pick<ChannelSet, 'status'>, events: EventBus): void {
  /** Channels that worked since this process began, with the causes told since the last time they did. */
  const told = new Map<string, Set<string>>();
  const down = (name: string, detail: string | undefined): void => {
    const notice = channelDown(name, detail);
    const causes = told.get(name);
    const isBack = causes !== undefined && !causes.has(notice.key);
    causes?.add(notice.key);
    void owner.tell({ ...notice, isBack });
  };
  for (const { name, state, detail } of channels.status()) if (state === 'down') down(name, detail);
  events.observe((event) => {
    if (event.type === 'channel' && event.channel !== undefined) {
      if (event.state === 'healthy') told.set(event.channel, new Set());
      if (event.state === 'down') down(event.channel, event.detail);
    }
    // Not every platform says so but in answer to a send.
    if (event.type === 'part.retry' && isLoginRefused(event.reason) && event.channel !== undefined)
      down(event.channel, `GH1501: ${event.reason}`);
    owner.observe(event);
  });
}

/** From now on the owner is told, once a day, that strangers ask to be let in. Without an owner no one is. */
export function tellOfStrangers(owner: Owner, events: EventBus): void {
  events.observe((event) => {
    if (event.type !== 'finished' || event.outcome !== 'pairing' || event.channel === undefined || !owner.exists) return;
    void owner.tell(strangersAsked(event.channel));
  });
}

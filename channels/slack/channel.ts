/**
 * The adapter: one app in one workspace. Receiving is `connect.ts` or `webhook.ts`, wire calls are
 * `client.ts`.
 */
import type {
  Channel,
  ChannelDeps,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendOptions,
  SendResult,
} from '../../src/core/channel.ts';
import type { EarlierMessage } from '../../src/core/earlier-message.ts';
import type { ChatRef, InboundMessage, MediaRef, OutboundPart } from '../../src/core/message.ts';
import { apiFailureOf, type ErrorCode } from '../kit/call-error.ts';
import { settleFailedSend } from '../kit/call-result.ts';
import { downloadLimits, MEGABYTE } from '../kit/download.ts';
import { type JsonObject, list, obj, str } from '../kit/json.ts';
import { Lifecycle } from '../kit/lifecycle.ts';
import { RecentMap } from '../kit/recent.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { aboutChannel } from './in/about.ts';
import { receiveBySocket } from './in/connect.ts';
import { DirectChats } from './in/direct-chats.ts';
import { download } from './in/download.ts';
import { earlierMessages } from './in/earlier.ts';
import { type OnlyFor, onlyForOf } from './in/inbound-fields.ts';
import { Receiver } from './in/receive.ts';
import { receiveByHttp } from './in/webhook.ts';
import { callWithTables } from './out/call-with-tables.ts';
import { type Found, findPart } from './out/find.ts';
import { TEXT_LIMIT, toSendResult, toUpdate } from './out/outbound.ts';
import { sendPart } from './out/send.ts';
import { sentBytes } from './out/sent-length.ts';
import { Status } from './out/status.ts';
import { Titles } from './out/titles.ts';
import type { SlackSettings } from './settings.ts';
import type { SlackClient } from './wire/client.ts';
import { nameFromEmoji } from './wire/emoji.ts';

const LIMITS: ChannelLimits = {
  text: TEXT_LIMIT,
  unit: 'byte',
  sentLength: sentLength(TEXT_LIMIT, sentBytes),
  caption: TEXT_LIMIT,
  uploadBytes: 100 * MEGABYTE,
  downloadBytes: 20 * MEGABYTE,
};
/**
 * https://docs.slack.dev/apis/web-api/rate-limits: one message a second in a conversation, short bursts
 * allowed. `chat.update` is of Tier 3, 50 a minute of one app in one workspace: drafts leave eight of them to
 * the last edits of answers.
 */
const RATES: NonNullable<ChannelLimits['rate']> = {
  perChat: { burst: 3, perSecond: 1 },
  perGroup: { burst: 3, perSecond: 1 },
  perAccount: { burst: 20, perSecond: 10 },
  edits: { burst: 3, perSecond: 0.65 },
};
const SIDE_CALL_MS = 10_000;
const MAX_REMEMBERED = 500;

export interface SlackChannelOptions {
  readonly client: SlackClient;
  readonly account: string;
  readonly settings: SlackSettings;
  readonly deps: ChannelDeps;
  /** Mode `socket`. */
  readonly appToken?: string;
  /** Mode `http`. */
  readonly signingSecret?: string;
}

export class SlackChannel implements Channel {
  readonly name: string;
  readonly type = 'slack';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'A';
  readonly sendClass = 'find';
  readonly buttons = true;
  readonly #options: SlackChannelOptions;
  readonly #client: SlackClient;
  readonly #life = new Lifecycle();
  /** Part key -> id of the file that was uploaded for it. */
  readonly #files = new RecentMap<string>(MAX_REMEMBERED);
  /** Message -> the reaction we put under it. */
  readonly #reactions = new RecentMap<string>(MAX_REMEMBERED);
  readonly #directChats: DirectChats;
  readonly #titles: Titles;
  readonly #status: Status;
  #userId: string | undefined;
  #receiver: Receiver | undefined;

  constructor(options: SlackChannelOptions) {
    this.#options = options;
    this.#client = options.client;
    this.name = options.deps.name;
    this.account = options.account;
    const { settings, client, deps } = options;
    this.#directChats = new DirectChats({ client, clock: deps.clock, logger: deps.logger });
    const call = (method: string, args: JsonObject): Promise<JsonObject> => this.#call(method, args, this.#life.stopping);
    this.#titles = new Titles({ call, logger: deps.logger });
    this.#status = new Status({
      call: (args, signal = this.#life.stopping) => this.#call('assistant.threads.setStatus', args, signal),
    });
    this.limits = { ...LIMITS, ...sendTime(settings), ...(settings.rate_limits && { rate: RATES }) };
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    const { settings, deps, appToken = '', signingSecret = '' } = this.#options;
    await this.#life.start(host, signal, async (stop, settled) => {
      const receiver = new Receiver({
        client: this.#client,
        directChats: this.#directChats,
        host,
        account: this.account,
        settings,
        deps,
        signal: stop,
        settled,
      });
      this.#receiver = receiver;
      await (settings.mode === 'socket' ? receiveBySocket(receiver, appToken) : receiveByHttp(receiver, signingSecret));
    });
  }

  stop(): Promise<void> {
    return this.#life.stop(async () => {
      await Promise.all([this.#titles.ended(), this.#status.ended()]);
      this.#client.close();
    });
  }

  send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const { settings, deps } = this.#options;
    return this.#life.sends.run(signal, async () => {
      const onlyFor = this.#onlyFor(part);
      const result = await sendPart(part, {
        ...{ client: this.#client, directChats: this.#directChats, clock: deps.clock, plain, signal },
        ...(onlyFor && { onlyFor }),
        timeoutMs: (part.file ? settings.upload_timeout_secs : settings.send_timeout_secs) * 1_000,
        uploaded: ({ key }, fileId) => this.#files.set(key, fileId),
      });
      if (result.kind !== 'sent' || onlyFor) return result;
      // The platform shows us our own message too, but only with the event of its kind of conversation.
      if (part.threadId !== undefined) this.#receiver?.wrote(part.chatId, part.threadId);
      this.#titles.answered(part);
      return result;
    });
  }

  async edit(platformId: string, part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const target = messageOf(platformId);
    if (!target)
      return { kind: 'refused', reason: 'invalid', detail: 'a message with a file, or for one person, cannot be edited' };
    return await this.#life.sends.run(signal, async () => {
      try {
        const ms = this.#options.settings.send_timeout_secs * 1_000;
        await callWithTables(
          (tables) => toUpdate(target, part, plain, tables),
          (args) => this.#call('chat.update', args, signal, ms),
        );
        this.#status.edited(part);
        return { kind: 'sent', platformId };
      } catch (error) {
        return settleFailedSend(error, (failure) => toSendResult(failure, 'chat'));
      }
    });
  }

  /** https://docs.slack.dev/reference/methods/chat.delete: with a bot token, messages of that bot only. */
  async withdraw(
    { platformId, ...place }: Pick<OutboundPart, 'chatId' | 'threadId'> & { readonly platformId: string },
    signal: AbortSignal,
  ): Promise<void> {
    const target = messageOf(platformId);
    if (!target) throw new Error('this is no message that can be deleted');
    await this.#call('chat.delete', { channel: target.chatId, ts: target.ts }, signal, SIDE_CALL_MS, ['message_not_found']);
    this.#status.end(place);
  }

  async earlier(message: InboundMessage, limit: number, signal: AbortSignal): Promise<readonly EarlierMessage[]> {
    const reading = this.#receiver?.reading;
    if (!reading) throw new Error('the login is not accepted yet');
    const call = (method: string, args: JsonObject): Promise<JsonObject> => this.#call(method, args, signal);
    return await earlierMessages(message, limit, { ...reading, call, signal });
  }

  async about({ chatId }: ChatRef, signal: AbortSignal): Promise<string> {
    return await aboutChannel(chatId, (method, args) => this.#call(method, args, signal));
  }

  /** Works before `start` too: what another boot left is settled before any channel starts. */
  async find(part: OutboundPart, signal: AbortSignal, since?: number): Promise<Found> {
    // What one person was shown stands in no history: sent again it might be there twice, so it stays in
    // doubt.
    if (this.#onlyFor(part)) return undefined;
    try {
      this.#userId ??= str((await this.#call('auth.test', {}, signal))['user_id']);
    } catch (error) {
      if (signal.aborted) throw error;
      return undefined;
    }
    const userId = this.#userId;
    if (userId === undefined) return undefined;
    const fileId = this.#files.get(part.key);
    return findPart(part, {
      ...{ client: this.#client, clock: this.#options.deps.clock, signal },
      isOwn: (message) => message['user'] === userId,
      ...(fileId !== undefined && { fileId }),
      ...(since !== undefined && { since }),
    });
  }

  typing(place: Pick<OutboundPart, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
    return this.#status.show(place, signal);
  }

  async react({ platformId }: { readonly platformId: string }, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    const target = messageOf(platformId);
    if (!target) throw new Error('this is no message that can carry a reaction');
    const place = { channel: target.chatId, timestamp: target.ts };
    const name = emoji === undefined ? undefined : nameFromEmoji(emoji);
    if (emoji !== undefined && name === undefined) throw new Error(`no name is known for ${emoji}`);
    const before = this.#reactions.get(platformId);
    if (name !== undefined) {
      await this.#call('reactions.add', { ...place, name }, signal, SIDE_CALL_MS, ['already_reacted']);
      this.#reactions.set(platformId, name);
    }
    if (name === undefined) this.#reactions.delete(platformId);
    const old = before !== undefined ? [before] : name === undefined ? await this.#ownReactions(place, signal) : [];
    for (const each of old) {
      if (each !== name) await this.#call('reactions.remove', { ...place, name: each }, signal, SIDE_CALL_MS, ['no_reaction']);
    }
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#options.settings, signal, this.#life.stopping);
    return download(media, { client: this.#client, ...limits });
  }

  /** A command that was edited into other words meanwhile is answered for all, as these would be. */
  #onlyFor({ file, chatId, replyContext }: OutboundPart): OnlyFor | undefined {
    const isOther = this.#receiver?.wasEdited(`${chatId}:${replyContext?.['ts']}`) ?? false;
    return file || isOther ? undefined : onlyForOf(replyContext);
  }

  /** After a restart: which reactions of ours are there. */
  async #ownReactions(place: JsonObject, signal: AbortSignal): Promise<readonly string[]> {
    this.#userId ??= str((await this.#call('auth.test', {}, signal))['user_id']);
    const message = obj((await this.#call('reactions.get', { ...place, full: true }, signal))['message']);
    return list(message['reactions'])
      .map(obj)
      .flatMap((reaction) => (list(reaction['users']).includes(this.#userId) ? (str(reaction['name']) ?? []) : []));
  }

  async #call(
    method: string,
    args: JsonObject,
    signal: AbortSignal,
    ms = SIDE_CALL_MS,
    fine: readonly (ErrorCode | undefined)[] = [],
  ): Promise<JsonObject> {
    try {
      return await this.#life.call({ clock: this.#options.deps.clock, ms, signal }, (inner) =>
        this.#client.call(method, args, inner),
      );
    } catch (error) {
      if (fine.includes(apiFailureOf(error)?.code)) return {};
      throw error;
    }
  }
}

/** Undefined for a file, whose message has no id that we know. */
function messageOf(platformId: string): { readonly chatId: string; readonly ts: string } | undefined {
  const match = /^([^:]+):(\d+\.\d+)$/.exec(platformId);
  return match?.[1] !== undefined && match[2] !== undefined ? { chatId: match[1], ts: match[2] } : undefined;
}

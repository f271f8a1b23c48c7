/**
 * What a workspace holds, for the test server: conversations with their messages, files and reactions. No
 * wire, no faults.
 */
import { ApiError } from './api-error.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: Buffer;
  readonly mime: string;
  /** The type of the answer that holds its bytes. Default: `mime`. */
  readonly servedAs?: string;
  readonly statedSize?: number;
  /** Served as a redirect to there. */
  readonly redirect?: string;
  /** What `files.info` names instead of the server's own address. */
  readonly url?: string;
}

export interface StoredMessage {
  readonly type: 'message';
  readonly channel: string;
  readonly ts: string;
  readonly user?: string;
  text: string;
  /** Of the bot's own messages, as they were sent. */
  blocks?: readonly Json[];
  readonly [field: string]: unknown;
}

export interface PersonMessage {
  /** Default: the direct conversation with the bot. */
  readonly channel?: string;
  /** Undefined: no person wrote it. */
  readonly user?: string | undefined;
  readonly text?: string;
  readonly thread_ts?: string;
  readonly files?: readonly StoredFile[];
  readonly [field: string]: unknown;
}

/** A message that one person saw, or would have seen. */
export interface EphemeralMessage {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
  readonly threadTs?: string;
  /** False in a thread that has no replies: no person sees it. */
  readonly isShown: boolean;
}

export const TEAM_ID = 'T0TEST';
export const BOT_USER = 'U0BOT';
export const BOT_ID = 'B0BOT';
export const PERSON = 'U0ADA';
export const DIRECT = 'D0ADA';

export class SlackWorkspace {
  readonly messages: StoredMessage[] = [];
  readonly files = new Map<string, StoredFile>();
  /** Conversation id -> its kind; messages in others make a new one, direct when the id begins with D. */
  /** What members say that a channel is about: its topic and purpose. */
  readonly about = new Map<string, { readonly topic: { value: string }; readonly purpose: { value: string } }>();
  readonly conversations = new Map<string, 'im' | 'mpim' | 'public_channel' | 'private_channel'>([[DIRECT, 'im']]);
  /** `channel:ts` -> name -> users. */
  readonly reactions = new Map<string, Map<string, Set<string>>>();
  /** What was shown to one person alone, in the order of the calls. */
  readonly ephemerals: EphemeralMessage[] = [];
  /** `channel:user` of people, and `channel` alone where the bot is, who are in no such conversation. */
  readonly outsiders = new Set<string>();
  /** `channel:ts` of a thread of the AI pane -> its title. */
  readonly titles = new Map<string, string>();
  /**
   * `channel:ts` of a thread, or `channel` of an agent's direct conversation -> the prompts that it shows.
   */
  readonly prompts = new Map<string, readonly Json[]>();
  /**
   * True: the app has the feature `agent_view`, where prompts belong to no thread; false: `assistant_view`.
   */
  isAgent = false;
  /** True: files of the bot are taken and not shown, as while the real platform scans them. */
  holdsFiles = false;
  readonly #held: StoredMessage[] = [];
  #last = 0;
  #ids = 0;

  /** As if nobody had ever written; ids and times go on. */
  clear(): void {
    this.messages.length = 0;
    this.files.clear();
    this.conversations.clear();
    this.about.clear();
    this.reactions.clear();
    this.ephemerals.length = 0;
    this.outsiders.clear();
    this.titles.clear();
    this.prompts.clear();
  }

  /** The direct conversation of the bot with a person: `U0ADA` has `D0ADA`. */
  direct(user: string): string {
    const id = user.replace(/^./, 'D');
    this.conversations.set(id, 'im');
    return id;
  }

  /** Shown to one person, in no history. */
  whisper(message: Omit<EphemeralMessage, 'isShown'>): string {
    const { channel, threadTs } = message;
    const isShown = threadTs === undefined || this.thread(channel, threadTs).length > 1;
    this.ephemerals.push({ ...message, isShown });
    return this.nextTs();
  }

  /** Never twice, and never earlier than the one before. Microseconds since the epoch. */
  nextTs(): string {
    this.#last = Math.max(Date.now() * 1_000, this.#last + 1);
    return `${Math.floor(this.#last / 1_000_000)}.${String(this.#last % 1_000_000).padStart(6, '0')}`;
  }

  nextId(letter: string): string {
    this.#ids += 1;
    return `${letter}0TEST${this.#ids}`;
  }

  add(message: Json & { readonly channel: string; readonly text: string }): StoredMessage {
    if (!this.conversations.has(message.channel)) {
      this.conversations.set(message.channel, message.channel.startsWith('D') ? 'im' : 'public_channel');
    }
    const stored: StoredMessage = { ts: this.nextTs(), ...message, type: 'message' };
    const held = this.holdsFiles && stored.user === BOT_USER && stored['files'] !== undefined;
    (held ? this.#held : this.messages).push(stored);
    return stored;
  }

  /** The scan is over. */
  showFiles(): void {
    this.holdsFiles = false;
    this.messages.push(...this.#held.splice(0));
  }

  /** Where a file is shown, as `files.info` tells it. */
  shares(fileId: string): Json {
    const showing = this.messages.filter(({ files }) => Array.isArray(files) && files.some(({ id }) => id === fileId));
    const among = (isPrivate: boolean): Json => {
      const found = showing.filter(({ channel }) => channel.startsWith('D') === isPrivate);
      return Object.fromEntries(found.map(({ channel, ts }) => [channel, [{ ts }]]));
    };
    return { public: among(false), private: among(true) };
  }

  find(channel: string, ts: string): StoredMessage | undefined {
    return this.messages.find((message) => message.channel === channel && message.ts === ts);
  }

  remove(channel: string, ts: string): void {
    const at = this.messages.findIndex((message) => message.channel === channel && message.ts === ts);
    if (at >= 0) this.messages.splice(at, 1);
  }

  /** First messages and those outside threads, newest first, as `conversations.history` lists them. */
  history(channel: string): readonly Json[] {
    return this.messages
      .filter(
        (message) =>
          message.channel === channel && (message['thread_ts'] === undefined || message['subtype'] === 'thread_broadcast'),
      )
      .map((message) => {
        const replies = this.messages.filter((reply) => reply.channel === channel && reply['thread_ts'] === message.ts);
        const latest = replies.at(-1)?.ts;
        return latest === undefined
          ? message
          : { ...message, thread_ts: message.ts, reply_count: replies.length, latest_reply: latest };
      })
      .sort((a, b) => Number(b.ts) - Number(a.ts));
  }

  /**
   * The first message, which tells how many replies it has, and these, oldest first, as
   * `conversations.replies` lists them.
   */
  thread(channel: string, ts: string): readonly Json[] {
    const all = this.messages.filter((one) => one.channel === channel && (one.ts === ts || one['thread_ts'] === ts));
    const replies = all.filter((one) => one.ts !== ts).sort((a, b) => Number(a.ts) - Number(b.ts));
    const counted = { thread_ts: ts, reply_count: replies.length, latest_reply: replies.at(-1)?.ts };
    const [first] = all.filter((one) => one.ts === ts);
    return [...(first ? [replies.length > 0 ? { ...first, ...counted } : first] : []), ...replies];
  }

  fileObject(file: StoredFile, origin: string): Json {
    const address = file.url ?? `${origin}/files/${file.id}/${encodeURIComponent(file.name)}`;
    return {
      id: file.id,
      name: file.name,
      title: file.name,
      mimetype: file.mime,
      size: file.statedSize ?? file.bytes.length,
      mode: 'hosted',
      url_private: address,
      url_private_download: address,
    };
  }
}

/** The full payload of an event, as both transports carry it. */
export function eventPayload(event: Json, eventId: string): Json {
  return {
    token: 'legacy-verification-token',
    team_id: TEAM_ID,
    context_team_id: TEAM_ID,
    context_enterprise_id: null,
    api_app_id: 'A0TEST',
    event,
    type: 'event_callback',
    event_id: eventId,
    event_time: Math.floor(Date.now() / 1_000),
    authorizations: [{ enterprise_id: null, team_id: TEAM_ID, user_id: BOT_USER, is_bot: true, is_enterprise_install: false }],
    is_ext_shared_channel: false,
    event_context: '4-test',
  };
}

/**
 * As `oldest` and `latest` of the listing methods: between them, themselves only with `inclusive`. Throws
 * where one is no time (https://docs.slack.dev/reference/methods/conversations.replies: `invalid_ts_oldest`).
 */
export function within(messages: readonly Json[], args: Json): readonly Json[] {
  const bound = (name: 'oldest' | 'latest'): number | undefined => {
    if (args[name] === undefined) return undefined;
    if (!/^\d+(?:\.\d{1,6})?$/.test(String(args[name]))) throw new ApiError(`invalid_ts_${name}`);
    return Number(args[name]);
  };
  const [oldest = 0, latest = Number.POSITIVE_INFINITY] = [bound('oldest'), bound('latest')];
  const isInclusive = ['true', '1'].includes(String(args['inclusive']));
  return messages.filter(({ ts }) => {
    const at = Number(ts);
    return (at > oldest && at < latest) || (isInclusive && (at === oldest || at === latest));
  });
}

/** Of a page, whatever is asked for. */
const MOST_ITEMS = 1_000;

/** One page of a listing. The cursor is the number of what was listed already. */
export function page(items: readonly Json[], field: string, args: Json): Json {
  const from = Number(args['cursor'] ?? 0);
  const to = from + Math.min(Number(args['limit'] ?? 100), MOST_ITEMS);
  return {
    [field]: items.slice(from, to),
    has_more: to < items.length,
    response_metadata: { next_cursor: to < items.length ? String(to) : '' },
  };
}

/** Entities as people see them. */
export function decode(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** The methods of the Web API: what a call does to the workspace, and what it is answered with. */
import { ApiError } from './api-error.ts';
import { answerPane } from './assistant-pane.ts';
import { checkUpdate, postedPieces, readBlocks } from './limits.ts';
import type { SlackSocketServer } from './socket-server.ts';
import {
  BOT_ID,
  BOT_USER,
  decode,
  type Json,
  page,
  type SlackWorkspace,
  type StoredFile,
  type StoredMessage,
  TEAM_ID,
  within,
} from './workspace.ts';

/** One message the server accepted from the bot. */
export interface SlackSend {
  readonly channel: string;
  readonly ts: string;
  /** As it came. */
  readonly raw: string;
  /** Entities decoded. */
  readonly text: string;
  readonly threadTs?: string;
  readonly fileName?: string;
  readonly fileBytes?: Buffer;
  readonly args: Json;
}

/** The server behind which the methods stand. */
export interface WebApiServer {
  readonly workspace: SlackWorkspace;
  readonly sockets: Pick<SlackSocketServer, 'ticket'>;
  readonly origin: string;
  readonly sends: SlackSend[];
  readonly names: ReadonlyMap<string, string>;
  readonly organisation: string | undefined;
  readonly members: ReadonlyMap<string, readonly string[]>;
  readonly foreign: ReadonlyMap<string, string>;
  readonly echoes: boolean;
  event(event: Json): Json;
  file(file: Partial<StoredFile> & { readonly name: string; readonly bytes: Buffer }): StoredFile;
}

/** Who the bot is. */
const LOGIN: Json = {
  ...{ url: 'https://test.slack.com/', team: 'Test', user: 'gatehouse' },
  ...{ team_id: TEAM_ID, user_id: BOT_USER, bot_id: BOT_ID },
};

export class SlackWebApi {
  /** Places for files that a client asked for, by id. */
  readonly uploads = new Map<string, { name: string; length: number; bytes?: Buffer }>();
  readonly #server: WebApiServer;

  constructor(server: WebApiServer) {
    this.#server = server;
  }

  /** What a call is answered with; throws an `ApiError`. */
  answer(method: string, args: Json): Json {
    const { workspace } = this.#server;
    const channel = String(args['channel'] ?? args['channel_id'] ?? '');
    switch (method) {
      case 'auth.test':
        return { ...LOGIN, ...(this.#server.organisation && { enterprise_id: this.#server.organisation }) };
      case 'apps.connections.open':
        return { url: this.#server.sockets.ticket(this.#server.origin) };
      case 'chat.postMessage':
        return this.#post(channel, args);
      case 'chat.postEphemeral':
        return this.#postEphemeral(channel, args);
      case 'conversations.open':
        return this.#open(String(args['users'] ?? ''));
      case 'chat.update':
        return this.#update(channel, args);
      case 'chat.delete':
        return this.#delete(channel, args);
      case 'users.conversations': {
        const types = String(args['types']).split(',');
        const found = [...workspace.conversations].filter(([, kind]) => types.includes(kind));
        return page(
          found.map(([id]) => ({ id })),
          'channels',
          args,
        );
      }
      case 'conversations.info':
        if (!workspace.conversations.has(channel)) throw new ApiError('channel_not_found');
        return { channel: { id: channel, ...workspace.about.get(channel) } };
      case 'conversations.history':
        if (!workspace.conversations.has(channel)) throw new ApiError('channel_not_found');
        return page(within(workspace.history(channel), args), 'messages', args);
      case 'conversations.replies': {
        const thread = workspace.thread(channel, String(args['ts']));
        if (thread.length === 0) throw new ApiError('thread_not_found');
        // The first message comes along whatever its age.
        return page([...thread.slice(0, 1), ...within(thread.slice(1), args)], 'messages', args);
      }
      case 'reactions.add':
      case 'reactions.remove':
      case 'reactions.get':
        return this.#react(method, channel, args);
      case 'files.getUploadURLExternal': {
        const id = workspace.nextId('F');
        this.uploads.set(id, { name: String(args['filename']), length: Number(args['length']) });
        return { upload_url: `${this.#server.origin}/upload/${id}`, file_id: id };
      }
      case 'files.completeUploadExternal':
        return this.#completeUpload(channel, args);
      case 'files.info': {
        const file = workspace.files.get(String(args['file']));
        if (!file) throw new ApiError('file_not_found');
        return { file: { ...workspace.fileObject(file, this.#server.origin), shares: workspace.shares(file.id) } };
      }
      case 'users.info':
        return { user: this.#person(String(args['user'])) };
      case 'assistant.threads.setStatus':
        return {};
      case 'assistant.threads.setSuggestedPrompts':
      case 'assistant.threads.setTitle':
        return answerPane(method, channel, args, this.#server);
      default:
        throw new ApiError('unknown_method');
    }
  }

  #person(id: string): Json {
    const { names, members, foreign, organisation } = this.#server;
    const [name, teams] = [names.get(id), members.get(id)];
    if (name === undefined) throw new ApiError('user_not_found');
    const user = { id, name: 'handle', profile: { display_name: '', real_name: name } };
    return { ...user, ...(teams && { enterprise_user: { id, enterprise_id: foreign.get(id) ?? organisation, teams } }) };
  }

  #post(channel: string, args: Json): Json {
    const text = String(args['text'] ?? '');
    const { conversations, outsiders } = this.#server.workspace;
    if (!conversations.has(channel)) throw new ApiError('channel_not_found');
    if (outsiders.has(channel)) throw new ApiError('not_in_channel');
    if (text === '') throw new ApiError('no_text');
    const blocks = readBlocks(args['blocks']);
    const threadTs = typeof args['thread_ts'] === 'string' ? args['thread_ts'] : undefined;
    // Text beside blocks is what a notification shows.
    const pieces = blocks ? [text] : postedPieces(text);
    const all = pieces.map((piece) =>
      this.#server.workspace.add({
        ...{ channel, text: piece, user: BOT_USER, bot_id: BOT_ID, team: TEAM_ID },
        ...(threadTs !== undefined && { thread_ts: threadTs }),
        ...(typeof args['metadata'] === 'string' && { metadata: JSON.parse(args['metadata']) }),
        ...(blocks && { blocks }),
      }),
    );
    for (const stored of all) {
      this.#record(stored, args);
      if (this.#server.echoes) this.#server.event({ ...stored, event_ts: stored.ts });
    }
    const [first] = all;
    return { channel, ts: first?.ts, message: first };
  }

  /**
   * docs.slack.dev/reference/methods/chat.postEphemeral: no metadata, nothing in any history; who is not in
   * the channel is refused.
   */
  #postEphemeral(channel: string, args: Json): Json {
    const { workspace } = this.#server;
    const [user, text] = [String(args['user'] ?? ''), String(args['text'] ?? '')];
    if (!workspace.conversations.has(channel)) throw new ApiError('channel_not_found');
    if (workspace.outsiders.has(channel)) throw new ApiError('not_in_channel');
    if (workspace.outsiders.has(`${channel}:${user}`) || !/^[UW]/.test(user)) throw new ApiError('user_not_in_channel');
    if (text === '') throw new ApiError('no_text');
    const threadTs = typeof args['thread_ts'] === 'string' ? { threadTs: args['thread_ts'] } : {};
    return { message_ts: workspace.whisper({ channel, user, text: decode(text), ...threadTs }) };
  }

  /** docs.slack.dev/reference/methods/conversations.open, with one user: the scope im:write. */
  #open(user: string): Json {
    if (user === '') throw new ApiError('users_list_not_supplied');
    if (!/^[UW][A-Z0-9]+$/.test(user)) throw new ApiError('user_not_found');
    return { channel: { id: this.#server.workspace.direct(user) } };
  }

  #update(channel: string, args: Json): Json {
    const message = this.#own(channel, args, 'cant_update_message');
    const text = String(args['text'] ?? '');
    checkUpdate(text);
    const blocks = readBlocks(args['blocks']);
    message.text = text;
    // Without the argument the old ones stay; an empty list takes them away.
    if (blocks) message.blocks = blocks;
    return { channel, ts: message.ts, text };
  }

  #delete(channel: string, args: Json): Json {
    const { ts } = this.#own(channel, args, 'cant_delete_message');
    this.#server.workspace.remove(channel, ts);
    return { channel, ts };
  }

  /** The message that a call names; refuses the call where it is not the bot's. */
  #own(channel: string, args: Json, refusal: string): StoredMessage {
    const message = this.#server.workspace.find(channel, String(args['ts']));
    if (!message) throw new ApiError('message_not_found');
    if (message.user !== BOT_USER) throw new ApiError(refusal);
    return message;
  }

  #react(method: string, channel: string, args: Json): Json {
    const ts = String(args['timestamp']);
    const message = this.#server.workspace.find(channel, ts);
    if (!message) throw new ApiError('message_not_found');
    const id = `${channel}:${ts}`;
    const all = this.#server.workspace.reactions.get(id) ?? new Map<string, Set<string>>();
    this.#server.workspace.reactions.set(id, all);
    const name = String(args['name']);
    if (method === 'reactions.get') {
      return { message: { ...message, reactions: [...all].map(([each, users]) => ({ name: each, users: [...users] })) } };
    }
    if (!/^[a-z0-9_+'-]+$/.test(name)) throw new ApiError('invalid_name');
    const has = all.get(name)?.has(BOT_USER) ?? false;
    if (method === 'reactions.add' && has) throw new ApiError('already_reacted');
    if (method === 'reactions.remove' && !has) throw new ApiError('no_reaction');
    if (method === 'reactions.add') all.set(name, new Set([...(all.get(name) ?? []), BOT_USER]));
    else all.delete(name);
    return {};
  }

  #completeUpload(channel: string, args: Json): Json {
    const [entry] = JSON.parse(String(args['files'])) as readonly { id: string; title?: string }[];
    const upload = entry && this.uploads.get(entry.id);
    if (!entry || !upload?.bytes) throw new ApiError('file_not_found');
    if (!this.#server.workspace.conversations.has(channel)) throw new ApiError('channel_not_found');
    const file = this.#server.file({ id: entry.id, name: upload.name, bytes: upload.bytes });
    this.#server.workspace.files.set(file.id, file);
    const stored = this.#server.workspace.add({
      ...{ channel, text: String(args['initial_comment'] ?? ''), user: BOT_USER, bot_id: BOT_ID, subtype: 'file_share' },
      ...(typeof args['thread_ts'] === 'string' && { thread_ts: args['thread_ts'] }),
      files: [this.#server.workspace.fileObject(file, this.#server.origin)],
    });
    this.#record(stored, args, file);
    // No ts: the message is made a little later on the real platform.
    return { files: [{ id: file.id, title: entry.title }] };
  }

  #record(stored: StoredMessage, args: Json, file?: StoredFile): void {
    const threadTs = stored['thread_ts'];
    this.#server.sends.push({
      ...{ channel: stored.channel, ts: stored.ts, raw: stored.text, text: decode(stored.text), args },
      ...(typeof threadTs === 'string' && { threadTs }),
      ...(file && { fileName: file.name, fileBytes: file.bytes }),
    });
  }
}

/**
 * A small Bot API server: true offset semantics, long polls, one poller at a time, HTML judged, files both
 * ways, scripted faults. In process: `startTelegramServer()`. Alone: `node src/simulator/telegram/server.ts
 * --port 0 [--log FILE] [--token T]` prints one line of JSON with its addresses. What it accepted is what a
 * test may call "sent".
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { handleControl } from './control.ts';
import { parseTelegramHtml } from './html.ts';
import type { TelegramButton, TelegramEdit, TelegramFault, TelegramSend } from './records.ts';
import { type JsonObject, num, obj, parseBody, readAll, str, type Uploaded } from './wire.ts';

export interface TelegramServerOptions {
  readonly port?: number;
  readonly token?: string;
  readonly username?: string;
  /** Append-only JSONL of accepted sends: survives whatever happens to the process under test. */
  readonly log?: string;
}

interface Poll {
  readonly finish: (outcome: 'updates' | 'timeout' | 'conflict' | 'gone') => void;
}

const SENDS: Readonly<Record<string, string | undefined>> = {
  sendMessage: undefined,
  sendPhoto: 'photo',
  sendVoice: 'voice',
  sendAudio: 'audio',
  sendVideo: 'video',
  sendDocument: 'document',
};

/** TQueue of the real server: an offset this far ahead of the newest id is taken for one from before a restart of the ids. */
const OFFSET_TOO_FAR = 100_000;

class ApiError extends Error {
  readonly status: number;
  readonly parameters: JsonObject | undefined;

  constructor(status: number, description: string, parameters?: JsonObject) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

export class TelegramServer implements AsyncDisposable {
  readonly token: string;
  readonly username: string;
  readonly botId: number;
  /** Accepted sends, oldest first. */
  readonly sends: TelegramSend[] = [];
  readonly edits: TelegramEdit[] = [];
  readonly #buttons = new Map<number, readonly TelegramButton[]>();
  /** Every call, also refused ones: `method` only. */
  readonly calls: string[] = [];
  /** Parameters of the last call of each method. */
  readonly lastCall = new Map<string, JsonObject>();
  /** When the bot last said in a chat that it is typing. Epoch ms. */
  readonly typingAt = new Map<string, number>();
  /** Update id of the next injected update. Set it lower to play a restart of the ids. */
  nextUpdateId = 1;
  webhook = '';
  maxUpdateId = 0;
  readonly #files = new Map<string, { path: string; bytes: Buffer; size: number | undefined }>();
  #faults: (TelegramFault & { left: number })[] = [];
  #updates: { update_id: number; body: JsonObject }[] = [];
  #nextMessageId = 1;
  #poll: Poll | undefined;
  readonly #log: number | undefined;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #closed: Promise<void> | undefined;

  constructor(options: TelegramServerOptions = {}) {
    this.token = options.token ?? '700001:test-token-AAAAAAAAAAAAAAAAAAAAAAAAAAA';
    this.username = options.username ?? 'gatehouse_test_bot';
    this.botId = Number(this.token.split(':')[0]);
    this.#log = options.log === undefined ? undefined : openSync(options.log, 'a');
    this.#server.keepAliveTimeout = 60_000;
  }

  async listen(port = 0): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    return this;
  }

  /** What goes into `api_root`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Updates that no poll has confirmed yet. */
  get unconfirmed(): number {
    return this.#updates.length;
  }

  /** Open connections, idle ones too. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  /**
   * A message from a person. `message` is laid over a private text message from user 1000; ids are filled in. Returns the
   * message id.
   */
  inject(message: JsonObject = {}, kind = 'message'): number {
    const from = { id: 1000, is_bot: false, first_name: 'Ada', ...obj(message['from']) };
    const chatId = num(obj(message['chat'])['id']) ?? num(message['chat_id']) ?? from.id;
    const type = chatId > 0 ? 'private' : String(chatId).startsWith('-100') ? 'supergroup' : 'group';
    const chat = {
      id: chatId,
      type,
      ...(chatId > 0 ? { first_name: from.first_name } : { title: 'Group' }),
      ...obj(message['chat']),
    };
    const messageId = num(message['message_id']) ?? this.#nextMessageId++;
    const { chat_id: _, ...rest } = message;
    this.injectUpdate({ [kind]: { date: Math.floor(Date.now() / 1000), ...rest, message_id: messageId, chat, from } });
    return messageId;
  }

  /** A raw update; `update_id` is filled in unless given. */
  injectUpdate(update: JsonObject): number {
    const id = num(update['update_id']) ?? this.nextUpdateId;
    this.nextUpdateId = id + 1;
    this.maxUpdateId = id;
    this.#updates.push({ update_id: id, body: { ...update, update_id: id } });
    this.#poll?.finish('updates');
    return id;
  }

  /** Makes `fileId` downloadable. `size` is what `getFile` states, when it shall differ from the truth. */
  addFile(fileId: string, bytes: Buffer, size?: number): void {
    this.#files.set(fileId, { path: `files/${this.#files.size}.bin`, bytes, size });
  }

  fault(fault: TelegramFault): void {
    this.#faults.push({ ...fault, left: fault.times ?? 1 });
  }

  clearFaults(): void {
    this.#faults = [];
  }

  /** Breaks every connection of clients without a word, the poll among them. */
  breakConnections(): void {
    this.#server.closeAllConnections();
  }

  /** The buttons under a message of the bot. */
  markupOf(messageId: number): readonly TelegramButton[] {
    return this.#buttons.get(messageId) ?? [];
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#poll?.finish('gone');
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
      if (this.#log !== undefined) closeSync(this.#log);
    });
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = new URL(request.url ?? '/', 'http://localhost').pathname;
      if (path.startsWith('/control/')) return reply(response, 200, await handleControl(this, path.slice(9), request));
      const [, file, token, rest = ''] = /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(path) ?? [];
      if (file !== undefined) return this.#serveFile(response, token ?? '', rest);
      await this.#serveCall(request, response, token ?? '', rest);
    } catch (error) {
      if (response.destroyed) return;
      const status = error instanceof ApiError ? error.status : 500;
      const parameters = error instanceof ApiError ? error.parameters : undefined;
      const description = error instanceof Error ? error.message : String(error);
      reply(response, status, { ok: false, error_code: status, description, ...(parameters && { parameters }) });
    }
  }

  #serveFile(response: ServerResponse, token: string, path: string): void {
    const file = [...this.#files.values()].find((entry) => entry.path === path);
    if (token !== this.token || !file) throw new ApiError(404, 'Not Found');
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(file.bytes);
  }

  async #serveCall(request: IncomingMessage, response: ServerResponse, token: string, method: string): Promise<void> {
    const { params, files } = parseBody(await readAll(request), request.headers['content-type'] ?? '');
    this.calls.push(method);
    this.lastCall.set(method, params);
    const fault = this.#takeFault(method, params);
    if (fault?.kind === 'cut') return void response.destroy();
    if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 0));
    if (fault?.kind === 'hold') await fault.until;
    if (fault?.kind === 'error') {
      throw new ApiError(fault.status ?? 400, fault.description ?? 'Bad Request', fault.parameters);
    }
    if (token !== this.token) throw new ApiError(401, 'Unauthorized');
    const lost = fault?.kind === 'hang' || fault?.kind === 'drop';
    const result = await this.#answer(method, params, files, response, lost);
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'drop') return void response.destroy();
    reply(response, 200, { ok: true, result });
  }

  #takeFault(method: string, params: JsonObject): TelegramFault | undefined {
    const fits = (fault: TelegramFault): boolean =>
      (fault.method === undefined || fault.method === '*' || fault.method === method) &&
      (fault.chatId === undefined || fault.chatId === str(params['chat_id']));
    const fault = this.#faults.find((entry) => entry.left > 0 && fits(entry));
    if (!fault) return undefined;
    fault.left -= 1;
    if (fault.left === 0) this.#faults = this.#faults.filter((entry) => entry !== fault);
    return fault;
  }

  #answer(
    method: string,
    params: JsonObject,
    files: ReadonlyMap<string, Uploaded>,
    response: ServerResponse,
    lost: boolean,
  ): unknown {
    switch (method) {
      case 'getMe':
        return { id: this.botId, is_bot: true, first_name: 'Gatehouse', username: this.username };
      case 'deleteWebhook':
        this.webhook = '';
        return true;
      case 'getUpdates':
        return this.#getUpdates(params, response);
      case 'sendChatAction':
        this.typingAt.set(str(params['chat_id']) ?? '', Date.now());
        return true;
      case 'getFile':
        return this.#getFile(str(params['file_id']) ?? '');
      case 'editMessageText':
        return this.#edit(params);
      case 'setMessageReaction':
      case 'answerCallbackQuery':
        return true;
      default:
        if (!(method in SENDS)) throw new ApiError(404, 'Not Found');
        return this.#send(method, params, files, lost);
    }
  }

  async #getUpdates(params: JsonObject, response: ServerResponse): Promise<unknown> {
    if (this.webhook !== '') {
      throw new ApiError(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    this.#poll?.finish('conflict');
    const given = num(params['offset']);
    const offset = given !== undefined && given <= this.maxUpdateId + OFFSET_TOO_FAR ? given : undefined;
    // Everything below the offset is confirmed and forgotten, whatever this call will return.
    if (offset !== undefined) {
      const keep = this.#updates.findIndex((update) => update.update_id >= offset);
      if (keep !== 0) this.#updates = keep === -1 ? [] : this.#updates.slice(keep);
    }
    const timeoutMs = (num(params['timeout']) ?? 0) * 1_000;
    if (this.#updates.length === 0 && timeoutMs > 0) {
      const outcome = await this.#wait(timeoutMs, response);
      if (outcome === 'conflict') {
        throw new ApiError(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        );
      }
    }
    const due = offset === undefined ? this.#updates : this.#updates.filter((update) => update.update_id >= offset);
    return due.slice(0, num(params['limit']) ?? 100).map((update) => update.body);
  }

  #wait(timeoutMs: number, response: ServerResponse): Promise<Parameters<Poll['finish']>[0]> {
    return new Promise((resolve) => {
      const poll: Poll = {
        finish: (outcome) => {
          clearTimeout(timer);
          if (this.#poll === poll) this.#poll = undefined;
          resolve(outcome);
        },
      };
      const timer = setTimeout(() => poll.finish('timeout'), timeoutMs);
      response.once('close', () => poll.finish('gone'));
      this.#poll = poll;
    });
  }

  #getFile(fileId: string): unknown {
    const file = this.#files.get(fileId);
    if (!file) throw new ApiError(400, 'Bad Request: invalid file_id');
    const size = file.size ?? file.bytes.length;
    if (size > 20 * 1024 * 1024) throw new ApiError(400, 'Bad Request: file is too big');
    return { file_id: fileId, file_unique_id: fileId, file_size: size, file_path: file.path };
  }

  #edit(params: JsonObject): unknown {
    const text = this.#visible(str(params['text']) ?? '', params, 4_096, 'message is too long');
    const messageId = num(params['message_id']);
    const at = this.sends.findIndex((send) => send.messageId === messageId && send.chatId === str(params['chat_id']));
    const old = this.sends[at];
    if (!old) throw new ApiError(400, 'Bad Request: message to edit not found');
    if (old.text === text) throw new ApiError(400, 'Bad Request: message is not modified');
    this.sends[at] = { ...old, text };
    this.#buttons.set(old.messageId, buttonsOf(params));
    this.edits.push({ at: Date.now(), messageId: old.messageId, text });
    return { message_id: num(params['message_id']), date: 0, chat: { id: num(params['chat_id']) }, text };
  }

  #send(method: string, params: JsonObject, files: ReadonlyMap<string, Uploaded>, lost: boolean): unknown {
    const chatId = str(params['chat_id']) ?? '';
    if (!/^-?\d+$/.test(chatId)) throw new ApiError(400, 'Bad Request: chat not found');
    const field = SENDS[method];
    const file = field === undefined ? undefined : files.get(field);
    if (field !== undefined && !file) throw new ApiError(400, `Bad Request: there is no ${field} in the request`);
    const words = str(params[field === undefined ? 'text' : 'caption']) ?? '';
    const text = field
      ? this.#visible(words, params, 1_024, 'message caption is too long')
      : this.#visible(words, params, 4_096, 'message is too long');
    if (!field && text.trim() === '') throw new ApiError(400, 'Bad Request: message text is empty');
    const threadId = str(params['message_thread_id']);
    if (threadId === '1') throw new ApiError(400, 'Bad Request: message thread not found');
    const messageId = this.#nextMessageId++;
    const replyTo = num(obj(params['reply_parameters'])['message_id']);
    const parseMode = str(params['parse_mode']);
    const send: TelegramSend = {
      seq: this.sends.length,
      at: Date.now(),
      method,
      chatId,
      messageId,
      text,
      ...(threadId !== undefined && { threadId }),
      ...(parseMode !== undefined && { parseMode }),
      ...(replyTo !== undefined && { replyTo }),
      ...(file && { file }),
      ...(lost && { replyLost: true }),
    };
    this.sends.push(send);
    this.#buttons.set(messageId, buttonsOf(params));
    if (this.#log !== undefined) writeSync(this.#log, `${JSON.stringify(send)}\n`);
    return { message_id: messageId, date: Math.floor(send.at / 1000), chat: { id: Number(chatId), type: 'private' }, text };
  }

  #visible(words: string, params: JsonObject, limit: number, tooLong: string): string {
    const parsed = params['parse_mode'] === 'HTML' ? parseTelegramHtml(words) : { text: words };
    if ('error' in parsed) throw new ApiError(400, parsed.error);
    if (parsed.text.length > limit) throw new ApiError(400, `Bad Request: ${tooLong}`);
    return parsed.text;
  }
}

function buttonsOf(params: JsonObject): readonly TelegramButton[] {
  const rows = obj(params['reply_markup'])['inline_keyboard'];
  return Array.isArray(rows) ? (rows.flat() as TelegramButton[]) : [];
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Listens on 127.0.0.1, by default on a free port. */
export function startTelegramServer(options: TelegramServerOptions = {}): Promise<TelegramServer> {
  return new TelegramServer(options).listen(options.port);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      log: { type: 'string' },
      token: { type: 'string' },
      username: { type: 'string' },
    },
  });
  const server = await startTelegramServer({ ...values, port: Number(values.port) });
  process.stdout.write(
    `${JSON.stringify({ url: server.url, control: `${server.url}/control/`, token: server.token, pid: process.pid })}\n`,
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close());
}

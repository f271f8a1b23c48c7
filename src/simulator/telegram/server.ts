/**
 * A small Bot API server: true offset semantics, long polls, one poller at a time, HTML judged, files both
 * ways, scripted faults. In process: `startTelegramServer()`. Alone: `node src/simulator/telegram/server.ts
 * --port 0 [--log FILE] [--token T]` prints one line of JSON with its addresses. What it accepted is what a
 * test may call "sent".
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { PLATFORM_LIMITS } from '../../../channels/telegram/platform-limits.ts';
import { createLocalServer } from '../local-server.ts';
import { ChatHistory } from './chat-history.ts';
import { CommandMenu } from './command-menu.ts';
import { handleControl } from './control.ts';
import type { TelegramButton, TelegramEdit, TelegramFault, TelegramSend } from './records.ts';
import { Refusal } from './refusal.ts';
import { UpdateQueue } from './update-queue.ts';
import { WebhookPush } from './webhook-push.ts';
import { type JsonObject, num, obj, parseBody, readAll, str, type Uploaded } from './wire.ts';

export interface TelegramServerOptions {
  readonly port?: number;
  readonly token?: string;
  readonly username?: string;
  /** Append-only JSONL of accepted sends: survives whatever happens to the process under test. */
  readonly log?: string;
}

export class TelegramServer implements AsyncDisposable {
  readonly token: string;
  readonly username: string;
  readonly botId: number;
  /** Every call, also refused ones: `method` only. */
  readonly calls: string[] = [];
  /** Parameters of each change of the bot's reaction to a message. */
  readonly reactions: JsonObject[] = [];
  /** Parameters of the last call of each method. */
  readonly lastCall = new Map<string, JsonObject>();
  /** When the bot last said in a chat that it is typing. Epoch ms. */
  readonly typingAt = new Map<string, number>();
  readonly menu = new CommandMenu();
  /** Called with every accepted send before its reply leaves, and every file: only its digest is kept. */
  onSend: ((send: TelegramSend) => void) | undefined;
  onUpload: ((file: Uploaded, content: Buffer) => void) | undefined;
  readonly #files = new Map<string, { path: string; bytes: Buffer; size: number | undefined }>();
  #faults: (TelegramFault & { left: number })[] = [];
  readonly #updates = new UpdateQueue();
  readonly hook = new WebhookPush(this.#updates);
  readonly #history = new ChatHistory((send) => this.#accepted(send));
  readonly #log: number | undefined;
  readonly #server = createLocalServer((request, response) => void this.#serve(request, response));
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

  /** Accepted sends, oldest first. */
  get sends(): TelegramSend[] {
    return this.#history.sends;
  }

  get edits(): TelegramEdit[] {
    return this.#history.edits;
  }

  /** Updates that no poll has confirmed yet. */
  get unconfirmed(): number {
    return this.#updates.unconfirmed;
  }

  get maxUpdateId(): number {
    return this.#updates.maxId;
  }

  /** Update id of the next injected update. Set it lower to play a restart of the ids. */
  set nextUpdateId(id: number) {
    this.#updates.nextId = id;
  }

  /** Open connections, idle ones too. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  /**
   * A message from a person. `message` is laid over a private text message from user 1000; ids are filled in.
   * Returns the message id.
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
    if (obj(message['chat'])['is_direct_messages'] === true) this.#history.makeDirect(chatId);
    const messageId = num(message['message_id']) ?? this.#history.nextMessageId();
    const { chat_id: _, ...rest } = message;
    this.injectUpdate({ [kind]: { date: Math.floor(Date.now() / 1000), ...rest, message_id: messageId, chat, from } });
    return messageId;
  }

  /** A raw update; `update_id` is filled in unless given. */
  injectUpdate(update: JsonObject): number {
    return this.#updates.add(update);
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
    return this.#history.buttonsUnder(messageId);
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.hook.close();
      this.#updates.close();
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
      const status = error instanceof Refusal ? error.status : 500;
      const parameters = error instanceof Refusal ? error.parameters : undefined;
      const description = error instanceof Error ? error.message : String(error);
      reply(response, status, { ok: false, error_code: status, description, ...(parameters && { parameters }) });
    }
  }

  #serveFile(response: ServerResponse, token: string, path: string): void {
    const file = [...this.#files.values()].find((entry) => entry.path === path);
    if (token !== this.token || !file) throw new Refusal(404, 'Not Found');
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(file.bytes);
  }

  async #serveCall(request: IncomingMessage, response: ServerResponse, token: string, method: string): Promise<void> {
    const { params, files } = parseBody(await readAll(request), request.headers['content-type'] ?? '', this.onUpload);
    this.calls.push(method);
    this.lastCall.set(method, params);
    const fault = this.#takeFault(method, params);
    if (fault?.kind === 'cut') return void response.destroy();
    if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 0));
    if (fault?.kind === 'hold') await fault.until;
    if (fault?.kind === 'error') {
      throw new Refusal(fault.status ?? 400, fault.description ?? 'Bad Request', fault.parameters);
    }
    if (token !== this.token) throw new Refusal(401, 'Unauthorized');
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
      case 'setWebhook':
      case 'deleteWebhook':
      case 'getWebhookInfo':
        return this.hook.answer(method, params);
      case 'getUpdates':
        this.hook.refusePolls();
        return this.#updates.take(params, response);
      case 'sendChatAction':
        this.#history.typing(params);
        this.typingAt.set(str(params['chat_id']) ?? '', Date.now());
        return true;
      case 'getFile':
        return this.#getFile(str(params['file_id']) ?? '');
      case 'editMessageText':
        return this.#history.edit(params);
      case 'deleteMessage':
        return this.#history.remove(params);
      case 'getMyCommands':
      case 'setMyCommands':
        return this.menu.answer(method, params);
      case 'setMessageReaction':
        return this.reactions.push(params) > 0;
      case 'answerCallbackQuery':
        return true;
      default:
        return this.#history.send(method, params, files, lost);
    }
  }

  #getFile(fileId: string): unknown {
    const file = this.#files.get(fileId);
    if (!file) throw new Refusal(400, 'Bad Request: invalid file_id');
    const size = file.size ?? file.bytes.length;
    if (size > PLATFORM_LIMITS.download.value) throw new Refusal(400, 'Bad Request: file is too big');
    return { file_id: fileId, file_unique_id: fileId, file_size: size, file_path: file.path };
  }

  #accepted(send: TelegramSend): void {
    if (this.#log !== undefined) writeSync(this.#log, `${JSON.stringify(send)}\n`);
    this.onSend?.(send);
  }
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

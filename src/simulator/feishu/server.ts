/** The Open Platform for the adapter: messages, files, reactions, faults on demand. Events: `delivery.ts`. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { PLATFORM_LIMITS } from '../../../channels/feishu/platform-limits.ts';
import { createLocalServer, isTaken } from '../local-server.ts';
import { type Answer, type Call, type FeishuFault, ok } from './calls.ts';
import { CardEntities } from './cards.ts';
import { FeishuEvents } from './delivery.ts';
import { BOT_OPEN_ID, type FeishuMessage, type FeishuPayload, feishuEvent, messageEvent, newMessageId } from './events.ts';
import { asStored, listMessages } from './history.ts';
import { ApiError, cardIdOf, checkRecall, editPost, type FeishuPost, readPostContent } from './posts.ts';
import { Reactions } from './reactions.ts';
import { readUpload, type Upload } from './uploads.ts';

const CARDS = '/open-apis/cardkit/v1/cards';

export async function startFeishuServer(): Promise<FeishuServer> {
  const server = new FeishuServer();
  await server.listen();
  return server;
}

export class FeishuServer extends FeishuEvents {
  readonly appId = `cli_${randomBytes(8).toString('hex')}`;
  readonly appSecret = 'secret-of-the-app';
  url = '';
  /** What people see of the bot, oldest first. */
  readonly posts: FeishuPost[] = [];
  readonly calls: string[] = [];
  readonly faults: FeishuFault[] = [];
  /** Keys of uploads -> what was uploaded. */
  readonly uploads = new Map<string, Upload>();
  /** Keys of files people sent -> bytes. */
  readonly files = new Map<string, Buffer>();
  /** Messages of people, by id, as `GET im/v1/messages/:id` tells them. */
  readonly stored = new Map<string, Record<string, unknown>>();
  /** In a forwarded message, by its id; each names the one around it in `upper_message_id`. */
  readonly conversations = new Map<string, readonly object[]>();
  readonly reactions = new Reactions();
  readonly withdrawn = new Set<string>();
  readonly modes = new Map<string, string>();
  readonly cards = new CardEntities(
    () => this.now(),
    (id, json) => {
      const post = this.posts.find((one) => one.id === id);
      if (post) Object.assign(post, { content: json, edits: post.edits + 1 });
    },
  );
  /** Scopes that the app was not given. */
  readonly missingScopes = new Set<string>();
  now: () => number = Date.now;
  tokensIssued = 0;
  #token = '';
  readonly #sockets = new Set<Socket>();
  readonly #http = createLocalServer((request, response) => void this.#answer(request, response));

  async listen(): Promise<void> {
    this.#http.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#http.on('upgrade', (request, socket, head) => {
      if (isTaken(request, socket)) this.upgrade(request, socket, head);
    });
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.endDelivery();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** From now on the token is refused as one that was taken back. */
  revokeToken(): void {
    this.#token = randomUUID();
  }

  /** As if nobody had written, read or been answered: for programs that start one daemon after the other. */
  forget(): void {
    this.forgetEvents();
    for (const list of [this.posts, this.calls, this.faults]) list.length = 0;
    this.cards.forget();
    for (const kept of [this.uploads, this.files, this.stored, this.conversations, this.reactions, this.withdrawn, this.modes])
      kept.clear();
  }

  say(message: FeishuMessage): FeishuPayload {
    return this.emit(this.compose(message));
  }

  /** A message that the platform has stored, and has not begun to deliver. */
  compose(message: FeishuMessage): FeishuPayload {
    const event = messageEvent(message);
    const { message: sent, sender } = event as { message: Record<string, unknown>; sender: Record<string, unknown> };
    this.stored.set(String(sent['message_id']), {
      message_id: sent['message_id'],
      chat_id: sent['chat_id'],
      msg_type: sent['message_type'],
      sender: { id: message.openId ?? 'ou_ada', id_type: 'open_id', sender_type: sender['sender_type'] },
      body: { content: sent['content'] },
      create_time: sent['create_time'],
      ...(sent['thread_id'] !== undefined && { thread_id: sent['thread_id'] }),
      ...(message.mentions && { mentions: message.mentions }),
    });
    this.modes.set(String(sent['chat_id']), sent['chat_type'] === 'p2p' ? 'p2p' : 'group');
    return feishuEvent('im.message.receive_v1', event, { appId: this.appId });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const url = new URL(request.url ?? '/', 'http://x');
    const call: Call = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    const name = `${call.method} ${call.path}`;
    this.calls.push(name);
    const index = this.faults.findIndex(({ match }) => match.test(name));
    const fault = index === -1 ? undefined : this.faults.splice(index, 1)[0];
    if (fault?.kind === 'error') {
      const { status, code, msg = 'refused', headers = {} } = fault;
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
      response.end(JSON.stringify({ code, msg }));
      return;
    }
    if (fault?.kind === 'page') {
      response.writeHead(fault.status, { 'content-type': 'text/html', ...fault.headers });
      response.end('<html>a proxy says hello</html>');
      return;
    }
    const { status = 200, json, bytes } = this.#run(call);
    if (fault?.kind === 'drop') return void request.socket.destroy();
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.ms));
    if (bytes) {
      const type = call.path.includes('json') ? 'application/json' : 'application/octet-stream';
      response.writeHead(status, { 'content-type': type, 'content-disposition': 'attachment; filename="file"' });
      response.end(bytes);
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(json));
  }

  #run(call: Call): Answer {
    try {
      return this.#route(call);
    } catch (error) {
      if (!(error instanceof ApiError)) return { status: 500, json: { code: 1, msg: String(error) } };
      return { status: error.status, json: { code: error.code, msg: error.message } };
    }
  }

  #route(call: Call): Answer {
    const { method, path } = call;
    const data = call.headers['content-type']?.includes('json')
      ? (JSON.parse(call.body.toString() || '{}') as Record<string, unknown>)
      : {};
    if (path === '/callback/ws/endpoint') return this.#discover(data);
    if (path === '/open-apis/auth/v3/tenant_access_token/internal') return this.#issue(data);
    if (call.headers.authorization !== `Bearer ${this.#token}`)
      throw new ApiError(99991663, 'Invalid access token for authorization.', 401);
    if (path === '/open-apis/bot/v3/info') {
      return ok({ bot: { activate_status: 2, app_name: 'Gatehouse', open_id: BOT_OPEN_ID } });
    }
    if (method === 'POST' && path === '/open-apis/im/v1/messages') {
      if (call.query.get('receive_id_type') !== 'chat_id') throw new ApiError(230001, 'invalid receive_id_type');
      return this.#post(data, String(data['receive_id']), undefined);
    }
    if (method === 'GET' && path === '/open-apis/im/v1/messages') {
      this.#need('im:message.group_msg', 230027, 'Lack of necessary permissions');
      return ok({
        data: listMessages([...this.stored.values(), ...this.posts.map((post) => asStored(post, this.appId))], call.query),
      });
    }
    if (path.startsWith(CARDS)) {
      this.#need('cardkit:card:write', 99991672, 'Access denied. One of the following scopes is required');
      return ok({ data: this.cards.handle(method, path.slice(CARDS.length), data) });
    }
    const upload = method === 'POST' ? /^\/open-apis\/im\/v1\/(image|file)s$/.exec(path)?.[1] : undefined;
    if (upload !== undefined) return ok({ data: this.#keep(upload, call) });
    const chat = /^\/open-apis\/im\/v1\/chats\/([^/]+)$/.exec(path)?.[1];
    if (chat !== undefined) return ok({ data: { chat_mode: this.modes.get(chat) ?? 'group' } });
    const [, id = '', rest = ''] = /^\/open-apis\/im\/v1\/messages\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    if (id === '') throw new ApiError(404, 'no such route', 404);
    return this.#message(decodeURIComponent(id), rest, call, data);
  }

  #message(id: string, rest: string, call: Call, data: Record<string, unknown>): Answer {
    const { method } = call;
    const post = this.posts.find((entry) => entry.id === id);
    const key = /^\/resources\/([^/]+)$/.exec(rest)?.[1];
    if (key !== undefined) {
      const bytes = this.files.get(decodeURIComponent(key));
      const message = this.stored.get(id);
      if (!bytes || (message && !JSON.stringify(message).includes(key))) throw new ApiError(234003, 'File not in msg.');
      return { bytes };
    }
    if (method === 'POST' && rest === '/reply') {
      if (this.withdrawn.has(id)) throw new ApiError(230011, 'The message was withdrawn.');
      const chatId = String(this.stored.get(id)?.['chat_id'] ?? post?.chatId ?? '');
      if (chatId === '') throw new ApiError(231003, 'The message is not found.');
      return this.#post(data, chatId, id);
    }
    if (rest.startsWith('/reactions')) return ok({ data: this.#reaction(id, rest.slice('/reactions'.length), call, data) });
    if (method === 'GET' && rest === '') {
      const item = post ? asStored(post, this.appId) : this.stored.get(id);
      if (!item) throw new ApiError(230110, 'The message is deleted.');
      return ok({ data: { items: [item, ...(this.conversations.get(id) ?? [])] } });
    }
    if (!post) throw new ApiError(230001, 'invalid message_id');
    if (method === 'DELETE' && rest === '') {
      checkRecall(post, this.now());
      this.withdrawn.add(id);
      this.posts.splice(this.posts.indexOf(post), 1);
      return ok({ data: {} });
    }
    if (method === 'PUT' || method === 'PATCH') {
      editPost(post, method, data, this.now());
      return ok({ data: {} });
    }
    throw new ApiError(404, 'no such route', 404);
  }

  #reaction(id: string, rest: string, { method, query }: Call, data: Record<string, unknown>): object {
    const isThere = this.stored.has(id) || this.posts.some((post) => post.id === id);
    if (!isThere || this.withdrawn.has(id)) throw new ApiError(231003, 'The message is not found, maybe not exist or deleted.');
    if (method === 'POST' && rest === '') return { reaction_id: this.reactions.put(id, data['reaction_type']) };
    if (method === 'GET' && rest === '') {
      this.#need('im:message.reactions:read', 99991672, 'Access denied. One of the following scopes is required');
      return this.reactions.list(id, query, this.appId);
    }
    if (method !== 'DELETE' || rest === '') throw new ApiError(404, 'no such route', 404);
    this.reactions.take(decodeURIComponent(rest.slice(1)));
    return {};
  }

  #post(data: Record<string, unknown>, chatId: string, parentId: string | undefined): Answer {
    const uuid = typeof data['uuid'] === 'string' ? data['uuid'] : undefined;
    if (uuid !== undefined && uuid.length > PLATFORM_LIMITS.uuid.value) throw new ApiError(230001, 'uuid is too long');
    const before = uuid === undefined ? undefined : this.posts.find((post) => post.uuid === uuid);
    if (before) return ok({ data: { message_id: before.id, chat_id: before.chatId } });
    const type = String(data['msg_type']);
    const id = newMessageId();
    const cardId = cardIdOf(type, data['content']);
    const content = cardId === undefined ? readPostContent(type, data['content']) : this.cards.send(cardId, id);
    const key = content['image_key'] ?? content['file_key'];
    if (key !== undefined && !this.uploads.has(String(key))) throw new ApiError(230055, 'The file is not there.');
    const post: FeishuPost = {
      ...{ id, chatId, type, content },
      ...(cardId !== undefined && { cardId }),
      inThread: data['reply_in_thread'] === true,
      at: this.now(),
      edits: 0,
      ...(parentId !== undefined && { parentId }),
      ...(data['reply_in_thread'] === true && {
        threadId: String(this.stored.get(parentId ?? '')?.['thread_id'] ?? `omt_${parentId}`),
      }),
      ...(uuid !== undefined && { uuid }),
    };
    this.posts.push(post);
    return ok({ data: { message_id: post.id, chat_id: chatId, msg_type: type } });
  }

  #keep(kind: string, call: Call): object {
    const key = `${kind === 'image' ? 'img' : 'file'}_v3_${randomUUID()}`;
    this.uploads.set(key, readUpload(kind, call.body, call.headers['content-type'] ?? ''));
    return { [`${kind}_key`]: key };
  }

  #need(scope: string, code: number, msg: string): void {
    if (this.missingScopes.has(scope)) throw new ApiError(code, `${msg}: [${scope}]`);
  }

  #issue(data: Record<string, unknown>): Answer {
    if (data['app_id'] !== this.appId || data['app_secret'] !== this.appSecret)
      throw new ApiError(10014, 'app secret invalid', 200);
    this.tokensIssued += 1;
    this.#token = `t-${randomUUID()}`;
    return ok({ tenant_access_token: this.#token, expire: 7_200 });
  }

  #discover(data: Record<string, unknown>): Answer {
    if (data['AppID'] !== this.appId || data['AppSecret'] !== this.appSecret) throw new ApiError(514, 'auth failed', 200);
    const URL = `${this.url.replace('http', 'ws')}/ws?device_id=d&service_id=1&access_key=k&ticket=t`;
    return ok({ data: { URL, ClientConfig: this.clientConfig } });
  }
}

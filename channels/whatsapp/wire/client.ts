/** One connection to WhatsApp Web. The only file that loads Baileys. */
import type { EventEmitter } from 'node:events';
import {
  type AuthenticationCreds,
  type BinaryNode,
  Browsers,
  type ConnectionState,
  DEFAULT_CONNECTION_CONFIG,
  decodeMessageNode,
  initAuthCreds,
  type MediaConnInfo,
  makeWASocket,
  proto,
  type SignalKeyStore,
  unpadRandomMax16,
  type WAMessage,
  type WAVersion,
} from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { NO_LONGER_NEEDED } from '../../../src/lib/no-longer-needed.ts';
import { CallError } from '../../kit/call-error.ts';
import { Albums } from '../in/albums.ts';
import { type Delivered, isCiphertext, type OpenAhead, type Opened, ReceiptGate } from '../in/gate.ts';
import { StanzaLine } from '../in/stanza-line.ts';
import { SentOn } from '../out/sent-on.ts';
import { Ended, toFailure } from './failure.ts';
import { GroupCache } from './groups.ts';
import { bareJid, jidOf, type Me, meOf, type Pins, parseJid } from './ids.ts';
import { quietLogger, silenceSignalLibrary } from './quiet.ts';
import type { LoginStore } from './store.ts';

silenceSignalLibrary();

/** `undecryptable` and `absent` have no content: it could not be opened, or was not sent to this device. It may come later under the same id. */
export type Origin = 'encrypted' | 'plaintext' | 'undecryptable' | 'absent';

export interface ConnectionOptions {
  readonly store: LoginStore;
  readonly url: string;
  readonly version?: string;
  readonly requireEncryption: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Resolves when the message is safe; only then the server gets its receipt. Rejects only after the connection ended. `others` are
   * the other pictures of an album that it begins.
   */
  readonly onMessage: (message: WAMessage, origin: Origin, others: readonly proto.IMessage[]) => Promise<void>;
  readonly onQr?: (content: string) => void;
}

const CONNECT_TIMEOUT_MS = 20_000;
/** A server that does not answer the closing handshake is left. */
const CLOSE_MS = 2_000;
/** An empty message in the padding of the Signal layer: the last byte says how many bytes of padding there are. */
const NOTHING = Uint8Array.of(1);

type Socket = ReturnType<typeof makeWASocket>;

export class WhatsAppConnection {
  /** Rejects with `Ended` when the connection ended before it was open. */
  readonly opened: Promise<void>;
  readonly ended: Promise<Ended>;
  /** A failure of theirs ends the connection: what it was about must not be acknowledged. */
  readonly pins: Pins;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #creds: AuthenticationCreds;
  readonly #gate: ReceiptGate;
  readonly #open = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<Ended>();
  readonly #acks = new Map<string, PromiseWithResolvers<BinaryNode>>();
  readonly #groups: GroupCache;
  readonly #delivering = new Set<Promise<unknown>>();
  readonly #sentOn: SentOn;
  readonly #albums: Albums;
  readonly #line: StanzaLine;
  readonly #stop = new AbortController();
  #handle: (node: BinaryNode) => Promise<void> = async () => undefined;
  #over = false;
  #cause: unknown;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.opened = this.#open.promise;
    this.ended = this.#end.promise;
    this.opened.catch(() => undefined); // whoever waits for it sees it; a connection that is only ended has nobody waiting
    const { store, url, version } = options;
    this.pins = {
      phoneOf: (lid) => this.#guard(() => store.phoneOf(lid)),
      lidOf: (phone) => this.#guard(() => store.lidOf(phone)),
      pin: (phone, lid) => this.#guard(() => store.pin(phone, lid)),
    };
    this.#creds = (store.get('creds', 'creds') as AuthenticationCreds | undefined) ?? initAuthCreds();
    this.#gate = new ReceiptGate({
      store,
      guard: (access) => this.#guard(access),
      deliver: (node, opened, ahead) => this.#deliver(node, opened, ahead),
      failed: (node) => this.#track(this.#deliverNothing(node, 'undecryptable')),
    });
    this.#line = new StanzaLine({
      handle: (node) => this.#take(node),
      overflowed: () => this.fail(new Error('more messages came than are kept in memory')),
      logger: options.logger,
    });
    this.#albums = new Albums({
      ...{ store, clock: options.clock, line: this.#line, restOf },
      guard: (access) => this.#guard(access),
      decode: (padded) => this.#decode(unpadded(padded)),
    });
    this.#groups = new GroupCache(options.clock, (jid) => this.#socket.groupMetadata(jid));
    this.#sentOn = new SentOn({ decode: (bytes) => proto.WebMessageInfo.decode(bytes), logger: options.logger });
    this.#socket = makeWASocket({
      waWebSocketUrl: url,
      ...(version !== undefined && { version: version.split('.').map(Number) as WAVersion }),
      auth: { creds: this.#creds, keys: this.#keys() },
      browser: Browsers.ubuntu('Chrome'),
      logger: quietLogger(options.logger),
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      // Whatever cannot be written ends the connection at once: no second attempt may come after the server was told something else.
      transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
      // The phone goes on to notify its owner; and chats of before the link are none of ours.
      markOnlineOnConnect: false,
      syncFullHistory: false,
      emitOwnEvents: false,
      generateHighQualityLinkPreview: false,
      getMessage: async ({ id }) => {
        const kept = id ? store.sent(id) : undefined;
        return kept && proto.Message.decode(kept);
      },
      cachedGroupMetadata: async (jid) => this.#groups.cached(jid),
      shouldIgnoreJid: (jid) => parseJid(jid)?.kind === 'newsletter' || jid === 'status@broadcast',
      makeSignalRepository: (auth, logger, lookUp) =>
        this.#gate.wrap(DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, lookUp), auth),
    });
    this.#listen();
  }

  get me(): Me | undefined {
    return meOf(this.#creds);
  }

  get isOpen(): boolean {
    return !this.#over && this.#socket.ws.isOpen;
  }

  /** The code to type on the phone instead of scanning. Only after the server offered a QR code. */
  pairingCode(phone: string): Promise<string> {
    return this.#socket.requestPairingCode(phone.replace(/\D/g, ''));
  }

  /** Sends one message under an id of ours and waits for the server's word. Rejects with a `CallError`. */
  async relay(jid: string, message: proto.IMessage, options: { id: string; attributes?: Record<string, string> }): Promise<void> {
    if (!this.isOpen) throw new CallError(undefined, { kind: 'unreached', detail: 'not connected' });
    const { id, attributes } = options;
    const ack = Promise.withResolvers<BinaryNode>();
    ack.promise.catch(() => undefined); // the call may fail before anybody waits for it
    this.#acks.set(id, ack);
    try {
      this.#guard(() => this.#options.store.keepSent(id, proto.Message.encode(message).finish(), this.#options.clock.now()));
      if (parseJid(jid)?.kind === 'group') await this.#groups.know(jid);
      const left = this.#socket.relayMessage(jid, message, {
        messageId: id,
        ...(attributes && { additionalAttributes: attributes }),
      });
      // The end of the connection rejects the second at once; the SDK would wait for its questions to time out.
      const { attrs } = await Promise.race([left.then(() => ack.promise), ack.promise]);
      if (attrs['error'] !== undefined)
        throw new CallError(undefined, { kind: 'api', code: Number(attrs['error']), detail: `error ${attrs['error']}` });
    } catch (error) {
      throw error instanceof CallError ? error : new CallError(undefined, toFailure(error));
    } finally {
      // An attempt that was given up may end when the next one, under the same id, is waiting.
      if (this.#acks.get(id) === ack) this.#acks.delete(id);
    }
  }

  /** Where files can be stored, and the token for it. Rejects with a `CallError`. */
  async mediaHosts(): Promise<Pick<MediaConnInfo, 'hosts' | 'auth'>> {
    if (!this.isOpen) throw new CallError(undefined, { kind: 'unreached', detail: 'not connected' });
    return await this.#socket.refreshMediaConn(false).catch((error: unknown) => {
      throw new CallError(undefined, toFailure(error));
    });
  }

  async typing(jid: string): Promise<void> {
    if (this.isOpen) await this.#socket.sendPresenceUpdate('composing', jid);
  }

  /** How a group calls a member: groups go by LID or by number, and the apps find a message by its author's address there. */
  async memberJid(group: string, memberId: string): Promise<string> {
    await this.#groups.know(group);
    const lid = this.#groups.cached(group)?.addressingMode === 'lid' ? this.pins.lidOf(memberId) : undefined;
    return lid === undefined ? jidOf(memberId) : `${lid}@lid`;
  }

  /** Ends the connection because of `error`, before anything else is sent. Later causes are not reported. */
  fail(error: Error): void {
    if (this.#over) return;
    this.#cause ??= error;
    this.#over = true;
    void this.#socket.end(error);
  }

  /** Ends the connection and waits until nothing of it is under way. Twice is safe. */
  async close(): Promise<void> {
    // First the socket, then whoever waits for the gateway: the SDK answers a message that broke off with a refusal.
    const closing = this.#socket.end(undefined);
    this.#over = true;
    const { socket } = this.#socket.ws as unknown as { socket?: { terminate(): void } };
    const timer = setTimeout(() => socket?.terminate(), CLOSE_MS);
    try {
      await closing;
      await this.ended;
    } finally {
      clearTimeout(timer);
    }
    // Not for the SDK: what it had asked the server it waits for up to a minute, and cannot do anything with any more.
    await Promise.allSettled(this.#delivering);
  }

  #listen(): void {
    const { ev } = this.#socket;
    const ws: EventEmitter = this.#socket.ws;
    const [handle] = ws.listeners('CB:message') as ((node: BinaryNode) => Promise<void>)[];
    if (!handle) throw new Error('this version of the SDK handles messages in another place');
    ws.removeAllListeners('CB:message');
    this.#handle = handle;
    ws.on('CB:message', (node: BinaryNode) => this.#line.push(node));
    ws.on('CB:ack,class:message', (node: BinaryNode) => this.#acks.get(node.attrs['id'] ?? '')?.resolve(node));
    ev.on('creds.update', () => this.#saveCreds());
    ev.on('connection.update', (update) => this.#follow(update));
    ev.on('groups.update', (updates) => {
      for (const { id } of updates) this.#groups.forget(id);
    });
    ev.on('group-participants.update', ({ id }) => this.#groups.forget(id));
  }

  #follow({ connection, qr, lastDisconnect }: Partial<ConnectionState>): void {
    if (qr !== undefined) this.#options.onQr?.(qr);
    if (connection === 'open') this.#open.resolve();
    if (connection !== 'close') return;
    this.#over = true;
    this.#stop.abort(NO_LONGER_NEEDED);
    const ended = new Ended(this.#cause ?? lastDisconnect?.error);
    for (const ack of this.#acks.values())
      ack.reject(new CallError(undefined, { kind: 'lost', detail: 'the connection ended before the answer' }));
    this.#open.reject(ended);
    this.#end.resolve(ended);
  }

  async #take(node: BinaryNode): Promise<void> {
    if (this.#over) return;
    this.#gate.remember(node);
    const parts = Array.isArray(node.content) ? node.content : [];
    const plain = parts.find(({ tag }) => tag === 'plaintext');
    if (plain?.content instanceof Uint8Array && parseJid(node.attrs['from'])?.kind !== 'newsletter') {
      await this.#track(this.#deliverContent(node, this.#decode(plain.content), 'plaintext'));
      // It is acknowledged, so that it does not come again, and nothing in it reaches the SDK.
      if (this.#options.requireEncryption) return await this.#socket.sendMessageAck(node);
    }
    if (!plain && !parts.some(isCiphertext)) await this.#track(this.#deliverNothing(node, 'absent'));
    // The SDK puts what waited at the server into a line of its own, without end, and returns at once: live messages would pass it.
    const { offline: _, ...attrs } = node.attrs;
    await this.#handle({ ...node, attrs });
  }

  async #deliver(node: BinaryNode, opened: Opened, ahead: OpenAhead): Promise<Delivered> {
    const content = this.#decode(unpadded(opened.plaintext));
    await this.#track(this.#deliverContent(node, content, 'encrypted', { opened, ahead }));
    if (!content) return { plaintext: NOTHING, rest: NOTHING };
    return { plaintext: opened.plaintext, rest: restOf(content) };
  }

  #decode(bytes: Uint8Array): proto.IMessage | undefined {
    try {
      const decoded = proto.Message.decode(bytes);
      return decoded.deviceSentMessage?.message ?? decoded;
    } catch (error) {
      this.#options.logger.warn('whatsapp.message-unreadable', { error: errorText(error) });
      return undefined;
    }
  }

  async #deliverContent(
    node: BinaryNode,
    content: proto.IMessage | undefined,
    origin: 'encrypted' | 'plaintext',
    more?: { readonly opened: Opened; readonly ahead: OpenAhead },
  ): Promise<void> {
    if (this.#over) throw new Error('the connection has ended');
    const { fullMessage } = decodeMessageNode(node, this.#creds.me?.id ?? '', this.#creds.me?.lid ?? '');
    if (!content || !more) return await this.#offer({ ...fullMessage, ...(content && { message: content }) }, origin);
    for (const message of this.#sentOn.in(fullMessage, content)) await this.#offer(message, origin);
    const others = await this.#albums.others({ ...more.opened, node, content }, more.ahead, this.#stop.signal);
    await this.#offer({ ...fullMessage, message: content }, origin, others);
  }

  /** With the number of who came under their LID alone, where it is known from an earlier message or question. */
  async #offer(message: WAMessage, origin: Origin, others: readonly proto.IMessage[] = []): Promise<void> {
    const { key } = message;
    const kind = parseJid(key.remoteJid)?.kind;
    const author = kind === 'group' || kind === 'broadcast' ? key.participant : key.remoteJid;
    const name = kind === 'group' ? 'participantAlt' : 'remoteJidAlt';
    if (author && parseJid(author)?.kind === 'lid' && !key[name]) {
      const number = await this.#socket.signalRepository.lidMapping.getPNForLID(author);
      if (number) return await this.#options.onMessage({ ...message, key: { ...key, [name]: bareJid(number) } }, origin, others);
    }
    await this.#options.onMessage(message, origin, others);
  }

  /** The SDK acknowledges what it has no content of without telling anybody. */
  async #deliverNothing(node: BinaryNode, origin: 'undecryptable' | 'absent'): Promise<void> {
    if (this.#over) throw new Error('the connection has ended');
    const message = this.#frameOf(node);
    if (!message || message.category === 'peer') return;
    const parts = Array.isArray(node.content) ? node.content : [];
    // Linked devices are never sent what can be viewed once.
    const once = parts.some(({ tag, attrs }) => tag === 'unavailable' && attrs['type']?.startsWith('view_once'));
    if (once) await this.#offer({ ...message, key: { ...message.key, isViewOnce: true } }, 'encrypted');
    else {
      this.#sentOn.missing(message);
      await this.#offer(message, origin);
    }
  }

  /** Everything but the content; undefined for a stanza that the SDK will refuse. */
  #frameOf(node: BinaryNode): WAMessage | undefined {
    try {
      return decodeMessageNode(node, this.#creds.me?.id ?? '', this.#creds.me?.lid ?? '').fullMessage;
    } catch (error) {
      this.#options.logger.warn('whatsapp.stanza-refused', { id: node.attrs['id'], error: errorText(error) });
      return undefined;
    }
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#delivering.add(work);
    try {
      return await work;
    } finally {
      this.#delivering.delete(work);
    }
  }

  #keys(): SignalKeyStore {
    const { store, clock } = this.#options;
    return {
      get: async (type, ids) => {
        // The SDK goes on a little after the end; by then nothing it learns or changes can leave.
        const rows = this.#over
          ? []
          : ids.map((id) => [id, this.#guard(() => store.get(type, id))] as const).filter(([, value]) => value !== undefined);
        const typed = type === 'app-state-sync-key' ? rows.map(([id, value]) => [id, toSyncKey(value)] as const) : rows;
        return Object.fromEntries(typed) as Awaited<ReturnType<SignalKeyStore['get']>> as never;
      },
      set: async (data) => {
        if (!this.#over) this.#guard(() => store.write(data, clock.now()));
      },
    };
  }

  #saveCreds(): void {
    const { store, clock } = this.#options;
    if (!this.#over) this.#guard(() => store.write({ creds: { creds: this.#creds } }, clock.now()));
  }

  /** A change that is not on disk must not become known to the server, not even as a refusal of what it was for. */
  #guard<T>(access: () => T): T {
    try {
      return access();
    } catch (error) {
      this.fail(new Error(`the login cannot be read or written: ${errorText(error)}`, { cause: error }));
      throw error;
    }
  }
}

function unpadded(padded: Uint8Array): Uint8Array {
  try {
    return unpadRandomMax16(padded);
  } catch {
    return Uint8Array.of(0xff); // no protobuf: reported as unreadable
  }
}

/** What the SDK needs again should the stanza be repeated: keys of a group, and what holds no message of a person. */
function restOf(message: proto.IMessage): Uint8Array {
  const { senderKeyDistributionMessage, protocolMessage } = message;
  const words = protocolMessage?.editedMessage ?? protocolMessage?.peerDataOperationRequestResponseMessage;
  const kept = protocolMessage && !words ? { protocolMessage } : {};
  const rest = { ...(senderKeyDistributionMessage && { senderKeyDistributionMessage }), ...kept };
  return Buffer.concat([proto.Message.encode(rest).finish(), NOTHING]);
}

function toSyncKey(value: unknown): proto.Message.AppStateSyncKeyData {
  return proto.Message.AppStateSyncKeyData.fromObject(value as { [key: string]: unknown });
}

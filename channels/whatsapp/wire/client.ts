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
  makeWASocket,
  proto,
  type SignalKeyStore,
  unpadRandomMax16,
  type WAVersion,
} from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import { NO_LONGER_NEEDED } from '../../../src/lib/no-longer-needed.ts';
import { CallError } from '../../kit/call-error.ts';
import { type Codec, type ReadingOptions, StanzaReader } from '../in/stanza-reader.ts';
import { ADDRESSING_CHANGED, Ended, toFailure } from './failure.ts';
import { GroupCache } from './groups.ts';
import { jidOf, type Me, meOf, type Pins, parseJid } from './ids.ts';
import { MediaHosts, type MediaPlace } from './media-hosts.ts';
import { quietLogger, silenceSignalLibrary } from './quiet.ts';

silenceSignalLibrary();

export interface ConnectionOptions extends ReadingOptions {
  readonly url: string;
  readonly version?: string;
  readonly onQr?: (content: string) => void;
}

const CONNECT_TIMEOUT_MS = 20_000;
/** A server that does not answer the closing handshake is left. */
const CLOSE_MS = 2_000;

type Socket = ReturnType<typeof makeWASocket>;

const CODEC: Codec = {
  decode: (bytes) => proto.Message.decode(bytes),
  decodeSentOn: (bytes) => proto.WebMessageInfo.decode(bytes),
  encode: (message) => proto.Message.encode(message).finish(),
  unpad: unpadRandomMax16,
};

export class WhatsAppConnection {
  /** Rejects with `Ended` when the connection ended before it was open. */
  readonly opened: Promise<void>;
  readonly ended: Promise<Ended>;
  /** A failure of theirs ends the connection: what it was about must not be acknowledged. */
  readonly pins: Pins;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #creds: AuthenticationCreds;
  readonly #reader: StanzaReader;
  readonly #open = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<Ended>();
  readonly #acks = new Map<string, PromiseWithResolvers<BinaryNode>>();
  readonly #groups: GroupCache;
  readonly #media: MediaHosts;
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
    this.#reader = new StanzaReader(options, {
      codec: CODEC,
      guard: (access) => this.#guard(access),
      frame: (node) => decodeMessageNode(node, this.#creds.me?.id ?? '', this.#creds.me?.lid ?? '').fullMessage,
      phoneOf: (lid) => this.#socket.signalRepository.lidMapping.getPNForLID(lid),
      passOn: (node) => this.#handle(node),
      acknowledge: (node) => this.#socket.sendMessageAck(node),
      fail: (error) => this.fail(error),
      isOver: () => this.#over,
      ended: this.#stop.signal,
    });
    this.#groups = new GroupCache(options.clock, (jid) => this.#socket.groupMetadata(jid));
    this.#media = new MediaHosts(options.clock, (question) => this.#socket.query(question));
    this.#socket = makeWASocket({
      waWebSocketUrl: url,
      ...(version !== undefined && { version: version.split('.').map(Number) as WAVersion }),
      auth: { creds: this.#creds, keys: this.#keys() },
      browser: Browsers.ubuntu('Chrome'),
      logger: quietLogger(options.logger),
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      // A failed write ends the connection at once: no second attempt may come after the server was told
      // something else.
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
        this.#reader.wrap(DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, lookUp), auth),
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
      this.#guard(() => this.#options.store.keepSent(id, CODEC.encode(message), this.#options.clock.now()));
      if (parseJid(jid)?.kind === 'group') await this.#groups.know(jid);
      const left = this.#socket.relayMessage(jid, message, {
        messageId: id,
        ...(attributes && { additionalAttributes: attributes }),
      });
      // The end of the connection rejects the second at once; the SDK would wait until its questions time
      // out.
      const { attrs } = await Promise.race([left.then(() => ack.promise), ack.promise]);
      if (Number(attrs['error']) === ADDRESSING_CHANGED) this.#groups.forget(jid);
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
  async mediaHosts(): Promise<MediaPlace> {
    if (!this.isOpen) throw new CallError(undefined, { kind: 'unreached', detail: 'not connected' });
    return await this.#media.place().catch((error: unknown) => {
      throw error instanceof CallError ? error : new CallError(undefined, toFailure(error));
    });
  }

  async typing(jid: string): Promise<void> {
    if (this.isOpen) await this.#socket.sendPresenceUpdate('composing', jid);
  }

  /**
   * How a group calls a member. Groups go by LID or by number, and the apps find a message by its author's
   * address there.
   */
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
    // The socket ends first, then what waits for the gateway: the SDK refuses a message that broke off.
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
    // It does not wait for the SDK, which waits up to a minute for answers of the server that it cannot use
    // any more.
    await this.#reader.settled();
  }

  #listen(): void {
    const { ev } = this.#socket;
    const ws: EventEmitter = this.#socket.ws;
    const [handle] = ws.listeners('CB:message') as ((node: BinaryNode) => Promise<void>)[];
    if (!handle) throw new Error('this version of the SDK handles messages in another place');
    ws.removeAllListeners('CB:message');
    this.#handle = handle;
    ws.on('CB:message', (node: BinaryNode) => this.#reader.push(node));
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

  /** A change that is not on disk must stay unknown to the server, even as a refusal of what it was for. */
  #guard<T>(access: () => T): T {
    try {
      return access();
    } catch (error) {
      this.fail(new Error(`the login cannot be read or written: ${errorText(error)}`, { cause: error }));
      throw error;
    }
  }
}

function toSyncKey(value: unknown): proto.Message.AppStateSyncKeyData {
  return proto.Message.AppStateSyncKeyData.fromObject(value as { [key: string]: unknown });
}

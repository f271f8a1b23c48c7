/**
 * Messages as the platform pushes them, one stanza after the other: what a person wrote is handed over first,
 * and only then the SDK goes on with the stanza, which it acknowledges.
 */
import type { BinaryNode, proto, SignalAuthState, SignalRepositoryWithLIDStore, WAMessage } from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { SentOn } from '../out/sent-on.ts';
import { bareJid, parseJid } from '../wire/ids.ts';
import type { LoginStore } from '../wire/store.ts';
import { Albums, type AlbumsOptions } from './albums.ts';
import { type Delivered, isCiphertext, type OpenAhead, type Opened, ReceiptGate } from './gate.ts';
import { StanzaLine } from './stanza-line.ts';

/**
 * `undecryptable` and `absent` have no content: it could not be opened, or was not sent to this device. It
 * may come later under the same id.
 */
export type Origin = 'encrypted' | 'plaintext' | 'undecryptable' | 'absent';

export interface MoreOfMessage {
  /** The other pictures of an album that it begins. */
  readonly others: readonly proto.IMessage[];
  /**
   * Which chat our own phone wrote it into, by its word, which is encrypted; the address on the stanza is the
   * server's.
   */
  readonly destination?: string;
}

export interface ReadingOptions {
  readonly store: LoginStore;
  readonly requireEncryption: boolean;
  /** See `Albums`; absent where nothing is read after this connection. */
  readonly partOf?: AlbumsOptions['partOf'];
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Resolves when the message is safe; only then the server gets its receipt. Rejects only after the
   * connection ended.
   */
  readonly onMessage: (message: WAMessage, origin: Origin, more: MoreOfMessage) => Promise<void>;
}

/**
 * The SDK's reading and writing of bytes, passed in because one file alone loads it. Throws for what it
 * cannot read.
 */
export interface Codec {
  readonly decode: (bytes: Uint8Array) => proto.Message;
  /** What our own phone sends on. */
  readonly decodeSentOn: (bytes: Uint8Array) => proto.IWebMessageInfo;
  readonly encode: (message: proto.IMessage) => Uint8Array;
  readonly unpad: (padded: Uint8Array) => Uint8Array;
}

/** The connection, as far as reading needs it. */
export interface Link {
  readonly codec: Codec;
  /** Ends the connection when the store fails, before the SDK can tell the server anything. */
  readonly guard: <T>(access: () => T) => T;
  /** Everything of a message but its content. Throws for a stanza that the SDK will refuse. */
  readonly frame: (node: BinaryNode) => WAMessage;
  /** The number behind a LID, where the platform told it. */
  readonly phoneOf: (lid: string) => Promise<string | null>;
  /** Lets the SDK go on with a stanza. */
  readonly passOn: (node: BinaryNode) => Promise<void>;
  /** Acknowledges a stanza that the SDK is not given. */
  readonly acknowledge: (node: BinaryNode) => Promise<void>;
  readonly fail: (error: Error) => void;
  /** The connection has ended, or is ending. */
  readonly isOver: () => boolean;
  /** Aborts when the connection has ended. */
  readonly ended: AbortSignal;
}

/** An empty message in the padding of the Signal layer: the last byte says how long the padding is. */
const NOTHING = Uint8Array.of(1);

export class StanzaReader {
  readonly #options: ReadingOptions;
  readonly #link: Link;
  readonly #gate: ReceiptGate;
  readonly #line: StanzaLine;
  readonly #albums: Albums;
  readonly #sentOn: SentOn;
  readonly #destinations = new WeakMap<proto.IMessage, string>();
  readonly #delivering = new Set<Promise<unknown>>();

  constructor(options: ReadingOptions, link: Link) {
    this.#options = options;
    this.#link = link;
    const { store, clock, logger } = options;
    const { guard, codec } = link;
    this.#gate = new ReceiptGate({
      store,
      guard,
      deliver: (node, opened, ahead) => this.#deliver(node, opened, ahead),
      failed: (node) => this.#track(this.#deliverNothing(node, 'undecryptable')),
    });
    this.#line = new StanzaLine({
      handle: (node) => this.#take(node),
      overflowed: () => link.fail(new Error('more messages came than are kept in memory')),
      logger,
    });
    this.#albums = new Albums({
      ...{ store, guard, clock, line: this.#line, partOf: options.partOf },
      decode: (padded) => this.#decode(this.#unpadded(padded)),
      restOf: (message) => this.#restOf(message),
    });
    this.#sentOn = new SentOn({ decode: codec.decodeSentOn, logger });
  }

  /** The stanza's turn comes when those before it are done. */
  push(node: BinaryNode): void {
    this.#line.push(node);
  }

  /** What the SDK decrypts with, made to wait until the message is safe. */
  wrap(repository: SignalRepositoryWithLIDStore, auth: SignalAuthState): SignalRepositoryWithLIDStore {
    return this.#gate.wrap(repository, auth);
  }

  /** Resolves when nothing that was being handed over is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#delivering);
  }

  async #take(node: BinaryNode): Promise<void> {
    if (this.#link.isOver()) return;
    this.#gate.remember(node);
    const parts = Array.isArray(node.content) ? node.content : [];
    const plain = parts.find(({ tag }) => tag === 'plaintext');
    if (plain?.content instanceof Uint8Array && parseJid(node.attrs['from'])?.kind !== 'newsletter') {
      await this.#track(this.#deliverContent(node, this.#decode(plain.content), 'plaintext'));
      // It is acknowledged, so that it does not come again, and nothing in it reaches the SDK.
      if (this.#options.requireEncryption) return await this.#link.acknowledge(node);
    }
    if (!plain && !parts.some(isCiphertext)) await this.#track(this.#deliverNothing(node, 'absent'));
    // The SDK puts what waited at the server into a line of its own, without end, and returns at once: live
    // messages would pass it.
    const { offline: _, ...attrs } = node.attrs;
    await this.#link.passOn({ ...node, attrs });
  }

  async #deliver(node: BinaryNode, opened: Opened, ahead: OpenAhead): Promise<Delivered> {
    const content = this.#decode(this.#unpadded(opened.plaintext));
    await this.#track(this.#deliverContent(node, content, 'encrypted', { opened, ahead }));
    if (!content) return { plaintext: NOTHING, rest: NOTHING };
    return { plaintext: opened.plaintext, rest: this.#restOf(content) };
  }

  #decode(bytes: Uint8Array): proto.IMessage | undefined {
    try {
      const decoded = this.#link.codec.decode(bytes);
      const { message, destinationJid } = decoded.deviceSentMessage ?? {};
      if (message && destinationJid) this.#destinations.set(message, destinationJid);
      return message ?? decoded;
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
    if (this.#link.isOver()) throw new Error('the connection has ended');
    const frame = this.#link.frame(node);
    if (!content || !more) return await this.#offer({ ...frame, ...(content && { message: content }) }, origin);
    for (const message of this.#sentOn.in(frame, content)) await this.#offer(message, origin);
    const others = await this.#albums.others({ ...more.opened, node, content }, more.ahead, this.#link.ended);
    const whole = this.#albums.whole(node, content);
    const destination = this.#destinations.get(content);
    if (destination !== undefined) this.#destinations.set(whole, destination);
    await this.#offer({ ...frame, message: whole }, origin, others);
  }

  /** With the number of a person who came under a LID alone, where an earlier message or question told it. */
  async #offer(message: WAMessage, origin: Origin, others: readonly proto.IMessage[] = []): Promise<void> {
    const destination = message.message ? this.#destinations.get(message.message) : undefined;
    const more = { others, ...(destination !== undefined && { destination }) };
    const { key } = message;
    const kind = parseJid(key.remoteJid)?.kind;
    const author = kind === 'group' || kind === 'broadcast' ? key.participant : key.remoteJid;
    const name = kind === 'group' ? 'participantAlt' : 'remoteJidAlt';
    if (author && parseJid(author)?.kind === 'lid' && !key[name]) {
      const number = await this.#link.phoneOf(author);
      if (number) return await this.#options.onMessage({ ...message, key: { ...key, [name]: bareJid(number) } }, origin, more);
    }
    await this.#options.onMessage(message, origin, more);
  }

  /** The SDK acknowledges what it has no content of, and says nothing of it. */
  async #deliverNothing(node: BinaryNode, origin: 'undecryptable' | 'absent'): Promise<void> {
    if (this.#link.isOver()) throw new Error('the connection has ended');
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
      return this.#link.frame(node);
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

  #unpadded(padded: Uint8Array): Uint8Array {
    try {
      return this.#link.codec.unpad(padded);
    } catch {
      return Uint8Array.of(0xff); // no protobuf: reported as unreadable
    }
  }

  /**
   * What the SDK needs again should the stanza be repeated: keys of a group, and what holds no message of a
   * person.
   */
  #restOf(message: proto.IMessage): Uint8Array {
    const { senderKeyDistributionMessage, protocolMessage } = message;
    const words = protocolMessage?.editedMessage ?? protocolMessage?.peerDataOperationRequestResponseMessage;
    const kept = protocolMessage && !words ? { protocolMessage } : {};
    const rest = { ...(senderKeyDistributionMessage && { senderKeyDistributionMessage }), ...kept };
    return Buffer.concat([this.#link.codec.encode(rest), NOTHING]);
  }
}

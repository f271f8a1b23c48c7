/**
 * WhatsApp Web for tests: Noise, Signal, a queue that repeats what has no receipt, groups, files, linking, and faults. What the
 * independent peer can do is tested with that one too; this one has what it lacks.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { type BinaryNode, proto } from '@whiskeysockets/baileys';
import { type WebSocket, WebSocketServer } from 'ws';
import { LoginStore } from '../../../channels/whatsapp/store.ts';
import { answerIq, type Group, refuseIq } from './answers.ts';
import { MediaHost } from './media.ts';
import { certificateChain, type Hello, NoiseServer } from './noise.ts';
import { Linking } from './pairing.ts';
import { type Bundle, credsOf, Phone } from './phone.ts';
import { readStanza, type Seen } from './readers.ts';

export interface Written {
  readonly from: Phone;
  readonly message: proto.IMessage;
  readonly id?: string;
  /** Into this group instead of the private chat. */
  readonly group?: string;
  /** Which of the sender's addresses the stanza names first; the other one comes beside it. Default phone. */
  readonly by?: 'phone' | 'lid';
  /** Leaves the other address out. */
  readonly alone?: boolean;
  /** Sent without end-to-end encryption, which no phone does. */
  readonly plaintext?: boolean;
  /** In place of what the phone would encrypt. */
  readonly enc?: readonly BinaryNode[];
  readonly attributes?: Readonly<Record<string, string>>;
}

/** What becomes of the next message of the device. */
type SendFault =
  | { readonly kind: 'refuse'; readonly code: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'cut' }
  /** Confirmed after so many ms, default 300, or when the test says so. */
  | { readonly kind: 'hold'; readonly ms?: number; readonly until?: Promise<unknown> };

interface Connection {
  readonly socket: WebSocket;
  readonly noise: NoiseServer;
  state: 'hello' | 'finish' | 'open';
  device: string;
}

interface Queued {
  readonly id: string;
  readonly node: BinaryNode;
}

export class WhatsAppPlatform implements AsyncDisposable {
  readonly owner: Phone;
  readonly seen: Seen[] = [];
  /** Every message stanza of the device, repeated ones too. */
  readonly wire: BinaryNode[] = [];
  /** Receipts, acks and everything else it said, in order. */
  readonly said: BinaryNode[] = [];
  readonly groups = new Map<string, Group>();
  readonly media: MediaHost;
  readonly linking: Linking;
  /** Codes that the next logins end with. */
  readonly failures: number[] = [];
  readonly faults: SendFault[] = [];
  /** Error codes for the next questions of this kind, `usync usync`. */
  readonly questionFaults = new Map<string, number>();
  /** What the next answer to this kind of question waits for. */
  readonly questionsHeld = new Map<string, Promise<unknown>>();
  preKeys = 50;
  logins = 0;
  readonly #phones = new Map<string, Phone>();
  readonly #devices = new Map<string, Bundle>();
  readonly #queue: Queued[] = [];
  readonly #connections = new Set<Connection>();
  readonly #http: Server;
  readonly #sockets = new Set<Socket>();
  readonly #wss = new WebSocketServer({ noServer: true });
  readonly #certificates: Buffer;
  #bundle: Bundle | undefined;
  #ids = 0;
  /** Frames of connections from before the last `forget` are not read. */
  #era = 0;

  private constructor(certificates: Buffer) {
    this.#certificates = certificates;
    this.#http = createServer((request, response) => this.media.handle(request, response));
    this.#http.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#http.on('upgrade', (request, socket, head) => {
      this.#wss.handleUpgrade(request, socket, head, (ws) => this.#accept(ws));
    });
    this.owner = this.#add('15550000000', '900000000000001', 'Bot');
    this.media = new MediaHost(() => this.httpUrl);
    this.linking = new Linking({
      owner: this.owner,
      deviceJid: this.deviceJid,
      linked: (device, bundle) => this.#register(device, bundle),
      send: (node, device) => {
        for (const connection of this.#open()) if (connection.device === device) this.#send(connection, node);
      },
    });
  }

  static async start(): Promise<WhatsAppPlatform> {
    const platform = new WhatsAppPlatform(await certificateChain());
    await new Promise<void>((resolve) => platform.#http.listen(0, '127.0.0.1', resolve));
    return platform;
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.httpUrl.replace('http', 'ws')}/ws/chat`;
  }

  get deviceJid(): string {
    return `${this.owner.phone}:7@s.whatsapp.net`;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Messages without a receipt: what comes again. */
  get unacknowledged(): number {
    return this.#queue.length;
  }

  person(phone: string, name?: string): Phone {
    const person = this.#phones.get(phone) ?? this.#add(phone, `9${phone.padStart(14, '0')}`, phone);
    if (name !== undefined) person.name = name;
    return person;
  }

  /** The same number with another account behind it. */
  reassign(phone: string, name: string): Phone {
    return this.#add(phone, `8${phone.padStart(14, '0')}`, name);
  }

  group(id: string, members: readonly Phone[], addressing: Group['addressing'] = 'pn'): void {
    this.groups.set(id, { id, subject: 'Group', members: [...members, this.owner], addressing });
  }

  /** Puts a login into `dir` as if the account had been linked there; `known: false` one that the phone has removed again. */
  async link(dir: string, options: { readonly known?: boolean } = {}): Promise<void> {
    const creds = {
      ...credsOf(options.known === false ? 'removed device' : 'device'),
      me: { id: this.deviceJid, lid: `${this.owner.lid}:7@lid`, name: 'Bot' },
      registered: true,
    };
    // Of no use to these tests, but whoever is sent the first message of a session is shown it.
    Object.assign(creds, {
      account: {
        details: Buffer.alloc(1),
        accountSignature: Buffer.alloc(64),
        accountSignatureKey: Buffer.alloc(32),
        deviceSignature: Buffer.alloc(64),
      },
    });
    using store = await LoginStore.open(join(dir, 'login.db'), { create: true, now: Date.now() });
    store?.write({ creds: { creds } }, Date.now());
    if (options.known !== false) this.#register(Buffer.from(creds.noiseKey.public).toString('base64'), creds);
  }

  /** Queues a message and sends it to whoever is connected. Resolves to its id. */
  async write(written: Written): Promise<string> {
    const node = await this.compose(written);
    this.post(node);
    return node.attrs['id'] ?? '';
  }

  /** A message as the phone of its writer hands it to the server. */
  async compose(written: Written): Promise<BinaryNode> {
    const { from, group, by = 'phone', plaintext, alone = false } = written;
    this.#ids += 1;
    const id = written.id ?? `3A${String(this.#ids).padStart(18, '0')}`;
    const bundle = this.#bundle;
    if (!bundle) throw new Error('no device is linked');
    const bytes = proto.Message.encode(written.message).finish();
    const content = plaintext
      ? [{ tag: 'plaintext', attrs: {}, content: bytes }]
      : (written.enc ??
        (group ? await from.encryptForGroup(group, written.message, bundle) : [await from.encrypt(written.message, bundle)]));
    const [own, other] = by === 'phone' ? [from.phoneJid, from.lidJid] : [from.lidJid, from.phoneJid];
    const beside = by === 'phone' ? 'lid' : 'pn';
    const place = group ? { from: group, participant: own } : { from: own };
    const alternative = alone ? {} : { [`${group ? 'participant' : 'sender'}_${beside}`]: other };
    const t = String(Math.floor(Date.now() / 1_000));
    const attrs = {
      ...place,
      ...alternative,
      id,
      t,
      type: 'text',
      notify: from.name,
      addressing_mode: by === 'phone' ? 'pn' : 'lid',
      ...written.attributes,
    };
    return { tag: 'message', attrs, content: [...content] };
  }

  /** Kept until there is a receipt for it, and sent to whoever is connected; the same once more is sent once more. */
  post(node: BinaryNode): void {
    if (!this.#queue.some((queued) => queued.node === node)) this.#queue.push({ id: node.attrs['id'] ?? '', node });
    for (const connection of this.#open()) this.#send(connection, node);
  }

  lastStanza(): BinaryNode {
    const last = this.#queue.at(-1);
    if (!last) throw new Error('nothing is queued');
    return last.node;
  }

  /** Puts one of the messages back into the queue. */
  requeue(node: BinaryNode): void {
    this.#queue.push({ id: node.attrs['id'] ?? '', node });
  }

  /** A phone could not read a message of the device. */
  askAgain(reader: Phone, id: string): void {
    const attrs = { id, from: reader.phoneJid, type: 'retry', t: '1' };
    const retry: BinaryNode = { tag: 'retry', attrs: { count: '1', id, t: '1', v: '1' } };
    for (const connection of this.#open()) this.#send(connection, { tag: 'receipt', attrs, content: [retry] });
  }

  /** Ends the connections with a code, as the platform does when it replaces or removes a device. */
  endWith(code: number, child: BinaryNode = { tag: 'conflict', attrs: {} }): void {
    for (const connection of this.#open()) {
      this.#send(connection, { tag: 'stream:error', attrs: { code: String(code) }, content: [child] });
      connection.socket.close();
    }
  }

  /** Ends the connections as it does when a device may not log in. */
  fail(attrs: Readonly<Record<string, string>>): void {
    for (const connection of this.#open()) this.#refuse(connection, attrs);
  }

  /** The network goes away for a moment. */
  cut(): void {
    for (const { socket } of this.#connections) socket.terminate();
  }

  /** As if nobody had linked, written or read anything: for programs that start one daemon after the other. */
  forget(): void {
    this.cut();
    this.#era += 1;
    for (const list of [this.#queue, this.seen, this.wire, this.said, this.failures, this.faults]) list.length = 0;
    this.questionFaults.clear();
    this.questionsHeld.clear();
    this.#devices.clear();
    this.#bundle = undefined;
    for (const phone of this.#phones.values()) phone.forget();
  }

  /** By number or LID; undefined for nobody. */
  phone(user: string): Phone | undefined {
    return this.#phones.get(user);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    for (const socket of this.#sockets) socket.destroy();
    this.#wss.close();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  #add(phone: string, lid: string, name: string): Phone {
    const added = new Phone({ phone, lid, name, peer: this.#phones.size === 0 ? `${phone}:7@s.whatsapp.net` : this.deviceJid });
    this.#phones.set(phone, added);
    this.#phones.set(lid, added);
    return added;
  }

  #register(device: string, bundle: Bundle): void {
    this.#devices.set(device, bundle);
    this.#bundle = bundle;
  }

  #open(): Connection[] {
    return [...this.#connections].filter(({ state }) => state === 'open');
  }

  #send({ socket, noise }: Connection, node: BinaryNode): void {
    if (socket.readyState === socket.OPEN) socket.send(noise.encode(node));
  }

  #accept(socket: WebSocket): void {
    const connection: Connection = { socket, noise: new NoiseServer(this.#certificates), state: 'hello', device: '' };
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    socket.on('error', () => socket.terminate());
    const era = this.#era;
    let work: Promise<void> = Promise.resolve();
    socket.on('message', (data: Buffer) => {
      work = work.then(() => (era === this.#era ? this.#receive(connection, data) : undefined)).catch(() => socket.terminate());
    });
  }

  async #receive(connection: Connection, data: Buffer): Promise<void> {
    for (const frame of connection.noise.frames(data)) {
      if (connection.state === 'hello') {
        connection.socket.send(connection.noise.answerHello(frame));
        connection.state = 'finish';
      } else if (connection.state === 'finish') {
        this.#logIn(connection, connection.noise.finish(frame));
      } else {
        await this.#handle(connection, await connection.noise.decode(frame));
      }
    }
  }

  #logIn(connection: Connection, { noiseKey, payload }: Hello): void {
    this.logins += 1;
    connection.state = 'open';
    connection.device = noiseKey.toString('base64');
    const failure = this.failures.shift();
    if (failure !== undefined) return void this.#refuse(connection, { reason: String(failure) });
    if (payload.devicePairingData) return void this.linking.offerCodes(connection.device, payload.devicePairingData);
    if (!this.#devices.has(connection.device)) return void this.#refuse(connection, { reason: '401' });
    const t = String(Math.floor(Date.now() / 1_000));
    this.#send(connection, { tag: 'success', attrs: { t, lid: `${this.owner.lid}:7@lid` } });
    for (const { node } of this.#queue) this.#send(connection, { ...node, attrs: { ...node.attrs, offline: '0' } });
    const offline: BinaryNode = { tag: 'offline', attrs: { count: String(this.#queue.length) } };
    this.#send(connection, { tag: 'ib', attrs: {}, content: [offline] });
  }

  #refuse(connection: Connection, attrs: Readonly<Record<string, string>>): void {
    this.#send(connection, { tag: 'failure', attrs: { ...attrs } });
    connection.socket.close();
  }

  async #handle(connection: Connection, node: BinaryNode): Promise<void> {
    if (node.tag === 'message') return await this.#take(connection, node);
    if (node.tag === 'iq') return this.#answer(connection, node);
    this.said.push(node);
    const done =
      node.tag === 'receipt' ? node.attrs['type'] !== 'retry' : node.tag === 'ack' && node.attrs['class'] === 'message';
    const at = done ? this.#queue.findIndex(({ id }) => id === node.attrs['id']) : -1;
    if (at >= 0) this.#queue.splice(at, 1);
  }

  #answer(connection: Connection, node: BinaryNode): void {
    const [question] = Array.isArray(node.content) ? node.content : [];
    if (node.attrs['type'] === 'result') {
      // The device accepted that it is linked; it has to log in as what it is now.
      if (question?.tag === 'pair-device-sign') {
        this.#send(connection, { tag: 'stream:error', attrs: { code: '515' } });
        connection.socket.close();
      }
      return;
    }
    if (question?.tag === 'link_code_companion_reg') this.linking.codeStep(connection.device, question);
    const kind = `${node.attrs['xmlns']} ${question?.tag}`;
    const [code, held] = [this.questionFaults.get(kind), this.questionsHeld.get(kind)];
    this.questionFaults.delete(kind);
    this.questionsHeld.delete(kind);
    const answer = (): void =>
      this.#send(connection, code === undefined ? answerIq(node, this.#directory()) : refuseIq(node, code));
    if (held === undefined) answer();
    else void held.then(answer);
  }

  #directory() {
    return {
      phone: (user: string) => this.#phones.get(user),
      owner: this.owner,
      groups: this.groups,
      mediaHost: 'media.whatsapp.net',
      preKeys: this.preKeys,
    };
  }

  async #take(connection: Connection, node: BinaryNode): Promise<void> {
    const fault = this.faults.shift();
    const { id = '', to = '', type } = node.attrs;
    const ack = { class: 'message', id, from: to, t: '1', ...(type && { type }) };
    if (fault?.kind === 'refuse') return this.#send(connection, { tag: 'ack', attrs: { ...ack, error: String(fault.code) } });
    this.wire.push(node);
    const message = await readStanza(node, this.#directory());
    // Apps show one message per id.
    if (message && !this.seen.some((one) => one.id === id && one.to === to))
      this.seen.push({ id, to, message, attrs: node.attrs, at: Date.now() });
    if (fault?.kind === 'cut') return connection.socket.terminate();
    if (fault?.kind === 'lose') return;
    if (fault?.kind === 'hold') await (fault.until ?? new Promise((resolve) => setTimeout(resolve, fault.ms ?? 300)));
    this.#send(connection, { tag: 'ack', attrs: ack });
  }
}

export const startWhatsAppPlatform = (): Promise<WhatsAppPlatform> => WhatsAppPlatform.start();

/**
 * WhatsApp Web for tests: Noise, Signal, a queue that repeats what has no receipt, groups, files, linking,
 * and faults. What the independent peer can do is tested with that one too; this one has what it lacks.
 */
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { createLocalServer, isTaken } from '../local-server.ts';
import { answerIq, type Group, refuseIq } from './answers.ts';
import { type Connection, Connections } from './connections.ts';
import { type SendFault, takeFault } from './faults.ts';
import { writeLogin } from './login-file.ts';
import { MediaHost } from './media.ts';
import { certificateChain, type Hello } from './noise.ts';
import { Linking } from './pairing.ts';
import { type Bundle, Phone } from './phone.ts';
import { readStanza, type Seen } from './readers.ts';
import { messageStanza, type Written } from './stanza.ts';

interface Queued {
  readonly id: string;
  readonly node: BinaryNode;
}

/** Of the web client, which others say they are. */
const ORIGIN = 'https://web.whatsapp.com';

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
  /** Epoch ms, as phones count how old messages are. */
  now: () => number = Date.now;
  logins = 0;
  readonly #phones = new Map<string, Phone>();
  readonly #devices = new Map<string, Bundle>();
  readonly #queue: Queued[] = [];
  readonly #connections: Connections;
  readonly #http: Server;
  readonly #sockets = new Set<Socket>();
  #bundle: Bundle | undefined;
  #ids = 0;

  private constructor(certificates: Buffer) {
    this.#connections = new Connections(certificates, {
      loggedIn: (connection, hello) => this.#logIn(connection, hello),
      said: (connection, node) => this.#handle(connection, node),
    });
    this.#http = createLocalServer((request, response) => this.media.handle(request, response), ORIGIN);
    this.#http.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#http.on('upgrade', (request, socket, head) => {
      if (isTaken(request, socket, ORIGIN)) this.#connections.upgrade(request, socket, head);
    });
    this.owner = this.#add('15550000000', '900000000000001', 'Bot');
    this.media = new MediaHost(() => this.httpUrl);
    this.linking = new Linking({
      owner: this.owner,
      deviceJid: this.deviceJid,
      linked: (device, bundle) => this.#register(device, bundle),
      send: (node, device) => {
        for (const connection of this.#connections.open()) if (connection.device === device) connection.send(node);
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
    return this.#connections.count;
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

  /**
   * Puts a login into `dir` as if the account had been linked there; `known: false` one that the phone has
   * removed again.
   */
  async link(dir: string, options: { readonly known?: boolean } = {}): Promise<void> {
    const me = { id: this.deviceJid, lid: `${this.owner.lid}:7@lid`, name: 'Bot' };
    const creds = await writeLogin(dir, options.known === false ? 'removed device' : 'device', me);
    if (options.known !== false) this.#register(Buffer.from(creds.noiseKey.public).toString('base64'), creds);
  }

  /** Queues a message and sends it to every open connection. Resolves to its id. */
  async write(written: Written): Promise<string> {
    const node = await this.compose(written);
    this.post(node);
    return node.attrs['id'] ?? '';
  }

  /** A message as the phone of its writer hands it to the server. */
  async compose(written: Written): Promise<BinaryNode> {
    this.#ids += 1;
    const id = written.id ?? `3A${String(this.#ids).padStart(18, '0')}`;
    const bundle = this.#bundle;
    if (!bundle) throw new Error('no device is linked');
    return await messageStanza(written, id, bundle);
  }

  /**
   * Kept until there is a receipt for it, and sent to every open connection; the same once more is sent once
   * more.
   */
  post(node: BinaryNode): void {
    if (!this.#queue.some((queued) => queued.node === node)) this.#queue.push({ id: node.attrs['id'] ?? '', node });
    for (const connection of this.#connections.open()) connection.send(node);
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
    for (const connection of this.#connections.open()) connection.send({ tag: 'receipt', attrs, content: [retry] });
  }

  /** Ends the connections with a code, as the platform does when it replaces or removes a device. */
  endWith(code: number, child: BinaryNode = { tag: 'conflict', attrs: {} }): void {
    for (const connection of this.#connections.open()) connection.end(code, child);
  }

  /** Ends the connections as it does when a device may not log in. */
  fail(attrs: Readonly<Record<string, string>>): void {
    for (const connection of this.#connections.open()) connection.refuse(attrs);
  }

  /** The network goes away for a moment. */
  cut(): void {
    this.#connections.cut();
  }

  /** As if nothing had been linked, written or read: for programs that start one daemon after the other. */
  forget(): void {
    this.#connections.forget();
    for (const list of [this.#queue, this.seen, this.wire, this.said, this.failures, this.faults]) list.length = 0;
    this.questionFaults.clear();
    this.questionsHeld.clear();
    this.#devices.clear();
    this.#bundle = undefined;
    for (const phone of this.#phones.values()) phone.forget();
  }

  /** By number or LID; undefined for an unknown one. */
  phone(user: string): Phone | undefined {
    return this.#phones.get(user);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connections.close();
    for (const socket of this.#sockets) socket.destroy();
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

  #logIn(connection: Connection, { payload }: Hello): void {
    this.logins += 1;
    const failure = this.failures.shift();
    if (failure !== undefined) return void connection.refuse({ reason: String(failure) });
    if (payload.devicePairingData) return void this.linking.offerCodes(connection.device, payload.devicePairingData);
    if (!this.#devices.has(connection.device)) return void connection.refuse({ reason: '401' });
    const t = String(Math.floor(Date.now() / 1_000));
    connection.send({ tag: 'success', attrs: { t, lid: `${this.owner.lid}:7@lid` } });
    for (const { node } of this.#queue) connection.send({ ...node, attrs: { ...node.attrs, offline: '0' } });
    const offline: BinaryNode = { tag: 'offline', attrs: { count: String(this.#queue.length) } };
    connection.send({ tag: 'ib', attrs: {}, content: [offline] });
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
        connection.end(515);
      }
      return;
    }
    if (question?.tag === 'link_code_companion_reg') this.linking.codeStep(connection.device, question);
    const kind = `${node.attrs['xmlns']} ${question?.tag}`;
    const [code, held] = [this.questionFaults.get(kind), this.questionsHeld.get(kind)];
    this.questionFaults.delete(kind);
    this.questionsHeld.delete(kind);
    const answer = (): void => connection.send(code === undefined ? answerIq(node, this.#directory()) : refuseIq(node, code));
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
    const fault = takeFault(this.faults, node);
    const { id = '', to = '', type } = node.attrs;
    const ack = { class: 'message', id, from: to, t: '1', ...(type && { type }) };
    if (fault?.kind === 'refuse' || fault?.kind === 'refuse-edits') {
      const error = String(fault.kind === 'refuse' ? fault.code : 479);
      return connection.send({ tag: 'ack', attrs: { ...ack, error } });
    }
    this.wire.push(node);
    const message = await readStanza(node, this.#directory());
    // Apps show one message per id.
    if (message && !this.seen.some((one) => one.id === id && one.to === to))
      this.seen.push({ id, to, message, attrs: node.attrs, at: this.now() });
    if (fault?.kind === 'cut') return connection.socket.terminate();
    if (fault?.kind === 'lose') return;
    if (fault?.kind === 'hold') await (fault.until ?? new Promise((resolve) => setTimeout(resolve, fault.ms ?? 300)));
    connection.send({ tag: 'ack', attrs: ack });
  }
}

export const startWhatsAppPlatform = (): Promise<WhatsAppPlatform> => WhatsAppPlatform.start();

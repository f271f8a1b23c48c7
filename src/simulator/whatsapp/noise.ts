/** The server's side of the Noise XX handshake of WhatsApp Web, and of its frames. */
import { createHash } from 'node:crypto';
import { startWhatsAppServer } from '@openclaw/crabline';
import {
  aesDecryptGCM,
  aesEncryptGCM,
  type BinaryNode,
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  hkdf,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
} from '@whiskeysockets/baileys';
import { WebSocket } from 'ws';
import { tempDir } from '../temp-dir.ts';

/** Handshake state of either side: keys, hash and counter of the Noise protocol. */
class Handshake {
  #hash: Buffer = Buffer.from(NOISE_MODE);
  #salt: Buffer = this.#hash;
  #key: Buffer = this.#hash;
  #counter = 0;

  authenticate(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest();
  }

  mix(shared: Uint8Array): void {
    [this.#salt, this.#key] = this.derive(shared);
    this.#counter = 0;
  }

  /** What the side that does this next writes with, then reads with. */
  derive(input: Uint8Array): [Buffer, Buffer] {
    const key = Buffer.from(hkdf(Buffer.from(input), 64, { salt: this.#salt, info: '' }));
    return [key.subarray(0, 32), key.subarray(32)];
  }

  seal(data: Uint8Array): Buffer {
    return this.#mixed(aesEncryptGCM(data, this.#key, iv(this.#counter), this.#hash));
  }

  open(data: Uint8Array): Buffer {
    const opened = aesDecryptGCM(data, this.#key, iv(this.#counter), this.#hash);
    this.#mixed(Buffer.from(data));
    return Buffer.from(opened);
  }

  #mixed(data: Buffer): Buffer {
    this.#counter += 1;
    this.authenticate(data);
    return data;
  }
}

function iv(counter: number): Buffer {
  const value = Buffer.alloc(12);
  value.writeUInt32BE(counter, 8);
  return value;
}

function frame(data: Uint8Array): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntBE(data.byteLength, 0, 3);
  return Buffer.concat([head, data]);
}

/** What a client says of itself when it connects. */
export interface Hello {
  readonly noiseKey: Buffer;
  readonly payload: proto.ClientPayload;
}

export class NoiseServer {
  readonly #certificates: Uint8Array;
  readonly #handshake = new Handshake();
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #static = Curve.generateKeyPair();
  #buffer = Buffer.alloc(0);
  #begun = false;
  #transport: { write: Buffer; read: Buffer; written: number; seen: number } | undefined;

  constructor(certificates: Uint8Array) {
    this.#certificates = certificates;
    this.#handshake.authenticate(NOISE_WA_HEADER);
  }

  /** Complete frames of what was received; the first bytes of a connection are the header of the protocol. */
  frames(data: Buffer): Buffer[] {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    if (!this.#begun) {
      const at = this.#buffer.indexOf(NOISE_WA_HEADER);
      if (at < 0) throw new Error('the client did not begin with the header of the protocol');
      this.#buffer = this.#buffer.subarray(at + NOISE_WA_HEADER.length);
      this.#begun = true;
    }
    const found: Buffer[] = [];
    while (this.#buffer.length >= 3 && this.#buffer.length >= 3 + this.#buffer.readUIntBE(0, 3)) {
      const end = 3 + this.#buffer.readUIntBE(0, 3);
      found.push(this.#buffer.subarray(3, end));
      this.#buffer = this.#buffer.subarray(end);
    }
    return found;
  }

  answerHello(data: Buffer): Buffer {
    const { clientHello } = proto.HandshakeMessage.decode(data);
    if (!clientHello?.ephemeral) throw new Error('no client hello');
    this.#handshake.authenticate(clientHello.ephemeral);
    this.#handshake.authenticate(this.#ephemeral.public);
    this.#handshake.mix(Curve.sharedKey(this.#ephemeral.private, clientHello.ephemeral));
    const key = this.#handshake.seal(this.#static.public);
    this.#handshake.mix(Curve.sharedKey(this.#static.private, clientHello.ephemeral));
    const payload = this.#handshake.seal(this.#certificates);
    const serverHello = { ephemeral: this.#ephemeral.public, static: key, payload };
    return frame(proto.HandshakeMessage.encode({ serverHello }).finish());
  }

  finish(data: Buffer): Hello {
    const { clientFinish } = proto.HandshakeMessage.decode(data);
    if (!clientFinish?.static || !clientFinish.payload) throw new Error('no client finish');
    const noiseKey = this.#handshake.open(clientFinish.static);
    this.#handshake.mix(Curve.sharedKey(this.#ephemeral.private, noiseKey));
    const payload = proto.ClientPayload.decode(this.#handshake.open(clientFinish.payload));
    const [read, write] = this.#handshake.derive(Buffer.alloc(0));
    this.#transport = { write, read, written: 0, seen: 0 };
    return { noiseKey, payload };
  }

  async decode(data: Buffer): Promise<BinaryNode> {
    if (!this.#transport) throw new Error('the handshake is not over');
    return decodeBinaryNode(aesDecryptGCM(data, this.#transport.read, iv(this.#transport.seen++), Buffer.alloc(0)));
  }

  encode(node: BinaryNode): Buffer {
    if (!this.#transport) throw new Error('the handshake is not over');
    return frame(aesEncryptGCM(encodeBinaryNode(node), this.#transport.write, iv(this.#transport.written++), Buffer.alloc(0)));
  }
}

let certificates: Promise<Buffer> | undefined;

/** The chain that clients insist on. It is the platform's own; the independent peer is asked for its copy. */
export function certificateChain(): Promise<Buffer> {
  certificates ??= askForCertificates();
  return certificates;
}

async function askForCertificates(): Promise<Buffer> {
  await using dir = await tempDir();
  const server = await startWhatsAppServer({ recorderPath: `${dir.path}/whatsapp.jsonl` });
  const socket = new WebSocket(server.manifest.endpoints.baileysWebSocketUrl);
  try {
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const handshake = new Handshake();
    const ephemeral = Curve.generateKeyPair();
    handshake.authenticate(NOISE_WA_HEADER);
    handshake.authenticate(ephemeral.public);
    const hello = proto.HandshakeMessage.encode({ clientHello: { ephemeral: ephemeral.public } }).finish();
    const answer = new Promise<Buffer>((resolve) => socket.once('message', (data: Buffer) => resolve(data)));
    socket.send(Buffer.concat([NOISE_WA_HEADER, frame(hello)]));
    const { serverHello } = proto.HandshakeMessage.decode((await answer).subarray(3));
    if (!serverHello?.ephemeral || !serverHello.static || !serverHello.payload) throw new Error('no server hello');
    handshake.authenticate(serverHello.ephemeral);
    handshake.mix(Curve.sharedKey(ephemeral.private, serverHello.ephemeral));
    handshake.mix(Curve.sharedKey(ephemeral.private, handshake.open(serverHello.static)));
    return handshake.open(serverHello.payload);
  } finally {
    socket.terminate();
    await server.close();
  }
}

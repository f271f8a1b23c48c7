/** Phones of people: the keys of the Signal protocol and what they write and read with them. */
import {
  type AuthenticationCreds,
  addTransactionCapability,
  type BinaryNode,
  DEFAULT_CONNECTION_CONFIG,
  initAuthCreds,
  proto,
  type SignalKeyStore,
  type SignalRepositoryWithLIDStore,
  unpadRandomMax16,
  writeRandomPadMax16,
} from '@whiskeysockets/baileys';

import { KeyedMutex } from '../../lib/keyed-mutex.ts';

const QUIET = {
  level: 'silent',
  child: () => QUIET,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The keys that a device of somebody shows to the server. */
export type Bundle = Pick<AuthenticationCreds, 'registrationId' | 'signedIdentityKey' | 'signedPreKey'>;

/**
 * One phone at a time. The library queues its jobs by the address of the other side, here the same for all
 * phones, and runs them all in the async context of the first: a job of one phone then ends up in a
 * transaction that is over, and its key is given out twice.
 */
const TURNS = new KeyedMutex();

const MADE = new Map<string, AuthenticationCreds>();

/**
 * Keys of a device, made once per process and name: making them takes longer than most tests. Sessions
 * are never shared.
 */
export function credsOf(name: string): AuthenticationCreds {
  const creds = MADE.get(name) ?? initAuthCreds();
  MADE.set(name, creds);
  return { ...creds };
}

function memoryKeys(): SignalKeyStore {
  const rows = new Map<string, unknown>();
  return {
    get: async (type, ids) =>
      Object.fromEntries(ids.flatMap((id) => (rows.has(`${type}/${id}`) ? [[id, rows.get(`${type}/${id}`)]] : []))) as never,
    set: async (data) => {
      for (const [type, changes] of Object.entries(data)) {
        for (const [id, value] of Object.entries(changes ?? {})) {
          if (value === null) rows.delete(`${type}/${id}`);
          else rows.set(`${type}/${id}`, value);
        }
      }
    },
  };
}

function repositoryOf(creds: AuthenticationCreds): SignalRepositoryWithLIDStore {
  const keys = addTransactionCapability(memoryKeys(), QUIET, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
  return DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, QUIET);
}

/** One phone. `peer` is the device under test, under one address whatever it calls itself. */
export class Phone {
  readonly creds: AuthenticationCreds;
  readonly phone: string;
  readonly lid: string;
  name: string;
  #repository: SignalRepositoryWithLIDStore;
  readonly #peer: string;
  #session = false;

  constructor(options: { phone: string; lid: string; name: string; peer: string }) {
    this.creds = credsOf(options.lid);
    this.phone = options.phone;
    this.lid = options.lid;
    this.name = options.name;
    this.#peer = options.peer;
    this.#repository = repositoryOf(this.creds);
  }

  get phoneJid(): string {
    return `${this.phone}@s.whatsapp.net`;
  }

  get lidJid(): string {
    return `${this.lid}@lid`;
  }

  /** Forgets the session, as a phone does that is asked to send a message again. */
  reset(): void {
    this.#session = false;
  }

  /** Everything it knows of others: the device under test is a new one from here on. */
  forget(): void {
    this.#session = false;
    this.#repository = repositoryOf(this.creds);
  }

  /** The `<enc>` of a message to the device whose bundle this is. */
  async encrypt(message: proto.IMessage, bundle: Bundle): Promise<BinaryNode> {
    const data = writeRandomPadMax16(proto.Message.encode(message).finish());
    return await TURNS.runExclusive(this.#peer, async () => {
      await this.#begin(bundle);
      const { type, ciphertext } = await this.#repository.encryptMessage({ jid: this.#peer, data });
      return { tag: 'enc', attrs: { v: '2', type }, content: ciphertext };
    });
  }

  /** Whatever bytes, padding included, to the device that this phone has written to before. */
  async encryptBytes(data: Uint8Array): Promise<BinaryNode> {
    const { type, ciphertext } = await this.#repository.encryptMessage({ jid: this.#peer, data });
    return { tag: 'enc', attrs: { v: '2', type }, content: ciphertext };
  }

  /** For a group: the message, and before it the key of this writer to those who have it not. */
  async encryptForGroup(group: string, message: proto.IMessage, bundle: Bundle): Promise<BinaryNode[]> {
    const data = writeRandomPadMax16(proto.Message.encode(message).finish());
    const { ciphertext, senderKeyDistributionMessage } = await this.#repository.encryptGroupMessage({
      group,
      meId: this.phoneJid,
      data,
    });
    const key = {
      senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: senderKeyDistributionMessage },
    };
    return [await this.encrypt(key, bundle), { tag: 'enc', attrs: { v: '2', type: 'skmsg' }, content: ciphertext }];
  }

  async decrypt({ attrs, content }: BinaryNode): Promise<proto.IMessage> {
    const type = attrs['type'];
    if (!(content instanceof Uint8Array) || (type !== 'msg' && type !== 'pkmsg')) throw new Error('not encrypted for a device');
    const padded = await TURNS.runExclusive(this.#peer, () =>
      this.#repository.decryptMessage({ jid: this.#peer, type, ciphertext: content }),
    );
    this.#session = true;
    return proto.Message.decode(unpadRandomMax16(padded));
  }

  async learnGroupKey(item: proto.Message.ISenderKeyDistributionMessage): Promise<void> {
    await this.#repository.processSenderKeyDistributionMessage({ item, authorJid: this.#peer });
  }

  async decryptForGroup(group: string, ciphertext: Uint8Array): Promise<proto.IMessage> {
    const padded = await this.#repository.decryptGroupMessage({ group, authorJid: this.#peer, msg: ciphertext });
    return proto.Message.decode(unpadRandomMax16(padded));
  }

  async #begin({ registrationId, signedIdentityKey, signedPreKey }: Bundle): Promise<void> {
    if (this.#session) return;
    this.#session = true;
    await this.#repository.injectE2ESession({
      jid: this.#peer,
      session: {
        registrationId,
        identityKey: signalKey(signedIdentityKey.public),
        signedPreKey: {
          keyId: signedPreKey.keyId,
          publicKey: signalKey(signedPreKey.keyPair.public),
          signature: signedPreKey.signature,
        },
      },
    });
  }
}

/** Public keys of the Signal protocol begin with their type. */
function signalKey(key: Uint8Array): Buffer {
  return key.byteLength === 33 ? Buffer.from(key) : Buffer.concat([Buffer.from([5]), key]);
}

function bigEndian(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

/** What the server answers when somebody asks for the keys of a device. */
export function bundleNode(jid: string, { registrationId, signedIdentityKey, signedPreKey }: Bundle): BinaryNode {
  const leaf = (tag: string, content: Uint8Array): BinaryNode => ({ tag, attrs: {}, content });
  return {
    tag: 'user',
    attrs: { jid },
    content: [
      leaf('registration', bigEndian(registrationId, 4)),
      leaf('type', Buffer.from([5])),
      leaf('identity', signedIdentityKey.public),
      {
        tag: 'skey',
        attrs: {},
        content: [
          leaf('id', bigEndian(signedPreKey.keyId, 3)),
          leaf('value', signedPreKey.keyPair.public),
          leaf('signature', signedPreKey.signature),
        ],
      },
    ],
  };
}

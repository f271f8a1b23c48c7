/**
 * Makes the SDK wait. By itself it sends the receipt of a message before anything else knows of the message.
 * Here decrypting one does not end before the message is safe elsewhere, and the receipt comes after
 * decrypting. Also holds what makes that repeatable: the plaintext is written in the transaction that uses up
 * the key, so that the same ciphertext can be read again after a kill.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import type {
  BinaryNode,
  SignalAuthState,
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
} from '@whiskeysockets/baileys';
import { type LoginStore, RECEIVED } from '../wire/store.ts';

export interface GateOptions {
  readonly store: LoginStore;
  /** Ends the connection when the store fails, before the SDK can tell the server anything. */
  readonly guard: <T>(access: () => T) => T;
  /**
   * Resolves when the message is safe, to what the SDK is to see of it and what is to be kept. Rejects only
   * when the connection has ended: the SDK takes any rejection for a broken message and refuses it.
   */
  readonly deliver: (node: BinaryNode, opened: Opened, ahead: OpenAhead) => Promise<Delivered>;
  /**
   * Resolves once it is recorded that a part of this stanza could not be decrypted. Only then the server is
   * asked for it again.
   */
  readonly failed: (node: BinaryNode) => Promise<void>;
}

/** A ciphertext that was decrypted. `hash` is what the login knows it by. */
export interface Opened {
  readonly hash: string;
  /** Padded as it came. */
  readonly plaintext: Uint8Array;
}

/**
 * Decrypts a ciphertext of the same chat, author and device before its turn, in which it is then read from
 * the login. Undefined for one that cannot be decrypted: its turn will show that again.
 */
export type OpenAhead = (ciphertext: Uint8Array, type: string) => Promise<Opened | undefined>;

interface Reading {
  /** The SDK's own name of the transaction, so that it still excludes those of the same session. */
  readonly transaction: string;
  readonly keys: SignalKeyStoreWithTransaction;
  readonly decrypt: (ciphertext: Uint8Array, type: string) => Promise<Uint8Array>;
}

export interface Delivered {
  /** Both padded as they came. */
  readonly plaintext: Uint8Array;
  readonly rest: Uint8Array;
}

export class ReceiptGate {
  readonly #options: GateOptions;
  /** Ciphertext, by identity, to the stanza it came in: the SDK passes on the one without the other. */
  readonly #stanzas = new WeakMap<Uint8Array, BinaryNode>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Before the SDK is given a stanza. */
  remember(node: BinaryNode): void {
    if (!Array.isArray(node.content)) return;
    for (const { tag, content } of node.content) {
      if (tag === 'enc' && content instanceof Uint8Array) this.#stanzas.set(content, node);
    }
  }

  /** The same repository with both decrypting methods behind the gate. */
  wrap(repository: SignalRepositoryWithLIDStore, auth: SignalAuthState): SignalRepositoryWithLIDStore {
    const keys = auth.keys as SignalKeyStoreWithTransaction;
    return {
      ...committedAtOnce(repository),
      decryptMessage: (options) =>
        this.#open(options.ciphertext, options.type, {
          transaction: options.jid,
          keys,
          decrypt: async (ciphertext, type) => {
            if (type !== 'msg' && type !== 'pkmsg') throw new Error('not encrypted for a device');
            return await repository.decryptMessage({ ...options, ciphertext, type });
          },
        }),
      decryptGroupMessage: (options) =>
        this.#open(options.msg, 'skmsg', {
          transaction: options.group,
          keys,
          decrypt: async (msg, type) => {
            if (type !== 'skmsg') throw new Error('not encrypted for a group');
            return await repository.decryptGroupMessage({ ...options, msg });
          },
        }),
    };
  }

  async #open(ciphertext: Uint8Array, type: string, reading: Reading): Promise<Uint8Array> {
    const { store, guard, deliver, failed } = this.#options;
    const node = this.#stanzas.get(ciphertext);
    let opened: Opened;
    try {
      opened = await this.#unlock(ciphertext, type, reading);
    } catch (error) {
      if (node) await failed(node);
      throw error;
    }
    if (!node) return opened.plaintext;
    const delivered = await deliver(node, opened, (other, kind) => this.#unlock(other, kind, reading).catch(() => undefined));
    guard(() => store.settle(opened.hash, delivered.rest));
    return delivered.plaintext;
  }

  async #unlock(ciphertext: Uint8Array, type: string, { keys, transaction, decrypt }: Reading): Promise<Opened> {
    const { store, guard } = this.#options;
    const key = hash('sha256', ciphertext);
    const known = guard(() => store.received(key));
    if (known) return { hash: key, plaintext: known };
    const plaintext = await keys.transaction(async () => {
      const opened = await decrypt(ciphertext, type);
      // Not one of the SDK's key types; it hands them all to our store as they are.
      await keys.set({ [RECEIVED]: { [key]: opened } } as Parameters<typeof keys.set>[0]);
      return opened;
    }, transaction);
    return { hash: key, plaintext };
  }
}

/**
 * The SDK encrypts and sends within one transaction and commits it afterwards: a kill in between would bring
 * the used key back, and the next message to the same device would be unreadable there. Outside of that
 * transaction each change is on disk before it is used.
 */
function committedAtOnce(repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore {
  const outside = AsyncLocalStorage.snapshot();
  return {
    ...repository,
    encryptMessage: (options) => outside(() => repository.encryptMessage(options)),
    encryptGroupMessage: (options) => outside(() => repository.encryptGroupMessage(options)),
    getSenderKeyDistributionMessage: (options) => outside(() => repository.getSenderKeyDistributionMessage(options)),
    injectE2ESession: (options) => outside(() => repository.injectE2ESession(options)),
    migrateSession: (from, to) => outside(() => repository.migrateSession(from, to)),
    deleteSession: (jids) => outside(() => repository.deleteSession(jids)),
  };
}

/** What the SDK can decrypt; other kinds (bots of the platform) it refuses by itself. */
export function isCiphertext({ tag, attrs, content }: BinaryNode): boolean {
  return tag === 'enc' && content instanceof Uint8Array && /^(?:pkmsg|msg|skmsg)$/.test(attrs['type'] ?? '');
}

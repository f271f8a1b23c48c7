/**
 * Makes the SDK wait. By itself it sends the receipt of a message before anybody was told of the message; here decrypting one does not
 * end before the message is safe elsewhere, and the receipt comes after decrypting. Also holds what makes that repeatable: the
 * plaintext is written in the transaction that uses up the key, so that the same ciphertext can be read again after a kill.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import type {
  BinaryNode,
  SignalAuthState,
  SignalKeyStoreWithTransaction,
  SignalRepositoryWithLIDStore,
} from '@whiskeysockets/baileys';
import { type LoginStore, RECEIVED } from './store.ts';

export interface GateOptions {
  readonly store: LoginStore;
  /** Ends the connection when the store fails, before the SDK can tell the server anything. */
  readonly guard: <T>(access: () => T) => T;
  /**
   * Resolves when the message is safe, to what the SDK is to see of it and what is to be kept. Rejects only when the connection has
   * ended: the SDK takes any rejection for a broken message and refuses it.
   */
  readonly deliver: (node: BinaryNode, plaintext: Uint8Array) => Promise<Delivered>;
  /** Resolves when it is recorded that a part of this stanza could not be decrypted; only then the server is asked for it again. */
  readonly failed: (node: BinaryNode) => Promise<void>;
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
      // Under the SDK's own name of each transaction, so that it still excludes those of the same session.
      decryptMessage: (options) => this.#open(options.ciphertext, options.jid, keys, () => repository.decryptMessage(options)),
      decryptGroupMessage: (options) =>
        this.#open(options.msg, options.group, keys, () => repository.decryptGroupMessage(options)),
    };
  }

  async #open(
    ciphertext: Uint8Array,
    transaction: string,
    keys: SignalKeyStoreWithTransaction,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    const { store, guard, deliver, failed } = this.#options;
    const key = hash('sha256', ciphertext);
    const node = this.#stanzas.get(ciphertext);
    const unlock = (): Promise<Uint8Array> =>
      keys.transaction(async () => {
        const opened = await decrypt();
        // Not one of the SDK's key types; it hands them all to our store as they are.
        await keys.set({ [RECEIVED]: { [key]: opened } } as Parameters<typeof keys.set>[0]);
        return opened;
      }, transaction);
    let plaintext: Uint8Array;
    try {
      plaintext = guard(() => store.received(key)) ?? (await unlock());
    } catch (error) {
      if (node) await failed(node);
      throw error;
    }
    if (!node) return plaintext;
    const delivered = await deliver(node, plaintext);
    guard(() => store.settle(key, delivered.rest));
    return delivered.plaintext;
  }
}

/**
 * The SDK encrypts and sends within one transaction and commits it afterwards: a kill in between would bring the used key back, and the
 * next message to the same device would be unreadable there. Run outside of that transaction, each change is on disk before it is used.
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

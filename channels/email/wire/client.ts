/** IMAP wire calls, nothing else: the one user of imapflow. */
import { ImapFlow, type MailboxObject } from 'imapflow';
import type { Clock } from '../../../src/core/ports.ts';
import type { MailFacts } from '../in/inbound.ts';
import type { Credentials, Login } from './credentials.ts';
import { isAuthFailure } from './failure.ts';

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
  readonly tls: 'implicit' | 'starttls' | 'none';
  readonly ca?: string;
  readonly rejectUnauthorized: boolean;
}

export type ServerAddress = ServerPlace & Login;

/** One of the servers, and how to get in. */
export interface ServerAccess {
  readonly place: ServerPlace;
  readonly credentials: Credentials;
}

export interface OpenOptions {
  readonly mailbox: string;
  readonly readOnly: boolean;
  /** Aborting it closes the connection at once. */
  readonly signal: AbortSignal;
}

/** RFC 2177: a server may drop a client that idles for 30 minutes. */
const MAX_IDLE_MS = 20 * 60_000;
/** Idle as soon as nothing is asked: the notice of new mail is what makes answers prompt. */
const IDLE_AFTER_MS = 100;
/** Above any mail that is fetched (max_message_bytes); a server cannot make us buffer more. */
const MAX_LITERAL_BYTES = 256 * 1024 * 1024;

/** One connection with one selected mailbox. Every call rejects once the connection is gone. */
export class ImapSession implements AsyncDisposable {
  readonly #client: ImapFlow;
  readonly #unbind: () => void;
  #failure: unknown;
  #changed = false;
  #wake: () => void = () => undefined;

  private constructor(client: ImapFlow, unbind: () => void) {
    this.#client = client;
    this.#unbind = unbind;
    client.on('error', (error) => {
      this.#failure = error;
    });
    client.on('exists', () => {
      this.#changed = true;
      this.#wake();
    });
    client.on('close', () => this.#wake());
  }

  /**
   * With the login as it is now, and once more with another where the server refused it. Rejects as `open`
   * and as the credentials do; `describeFault` reads all of them.
   */
  static async logIn({ place, credentials }: ServerAccess, options: OpenOptions): Promise<ImapSession> {
    const login = await credentials.current(options.signal);
    try {
      return await ImapSession.open({ ...place, ...login }, options);
    } catch (error) {
      const other = isAuthFailure(error) ? await credentials.another(login, options.signal) : undefined;
      if (other === undefined) throw error;
      return await ImapSession.open({ ...place, ...other }, options);
    }
  }

  /** Rejects with the error of imapflow or of the socket; `describeFault` reads it. */
  static async open(server: ServerAddress, { mailbox, readOnly, signal }: OpenOptions): Promise<ImapSession> {
    signal.throwIfAborted();
    const client = new ImapFlow(clientOptions(server));
    const onAbort = () => client.close();
    signal.addEventListener('abort', onAbort, { once: true });
    const session = new ImapSession(client, () => signal.removeEventListener('abort', onAbort));
    try {
      await client.connect();
      await client.mailboxOpen(mailbox, { readOnly });
      return session;
    } catch (error) {
      await session.close();
      signal.throwIfAborted();
      throw error;
    }
  }

  get uidValidity(): string {
    return this.#mailbox().uidValidity.toString();
  }

  get uidNext(): number {
    return this.#mailbox().uidNext;
  }

  /** Ascending. Also clears the sign that something changed: what arrives from now on wakes `nextChange`. */
  async uidsAfter(uid: number): Promise<readonly number[]> {
    this.#changed = false;
    const found = await this.#client.search({ uid: `${uid + 1}:*` }, { uid: true });
    // `n:*` always matches the newest mail, even one below n (RFC 3501 section 6.4.8).
    return this.#checked(found)
      .filter((each) => each > uid)
      .sort((a, b) => a - b);
  }

  /**
   * What the server knows of each mail; a deleted one is missing. What a first answer left out is asked for
   * once more: no mail is looked at again once the cursor passed it. `written` asks for the Date of each mail
   * too.
   */
  async facts(uids: readonly number[], { written }: { readonly written: boolean }): Promise<ReadonlyMap<number, MailFacts>> {
    const first = await this.#facts(uids, written);
    const missing = uids.filter((uid) => !first.has(uid));
    return missing.length === 0 ? first : new Map([...first, ...(await this.#facts(missing, written))]);
  }

  /** The first `maxBytes` bytes, without setting \Seen. Undefined: deleted, or the server cannot give it. */
  async source(uid: number, maxBytes: number): Promise<Buffer | undefined> {
    const query = { uid: true, source: { start: 0, maxLength: maxBytes } };
    const found = await this.#client.fetchAll(String(uid), query, { uid: true });
    this.#mailbox();
    return found.find((mail) => mail.uid === uid && mail.source !== undefined)?.source;
  }

  async markSeen(uids: readonly number[]): Promise<void> {
    await this.#client.messageFlagsAdd(uids.join(','), ['\\Seen'], { uid: true });
  }

  /**
   * Selects the mailbox again. A folder that was deleted and made again keeps its name and changes
   * `uidValidity`; a server answers for the old one (dovecot even to STATUS) for as long as it stays
   * selected.
   */
  async reselect(): Promise<void> {
    const { path, readOnly } = this.#mailbox();
    await this.#client.mailboxOpen(path, { readOnly: readOnly === true });
  }

  /** Resolves after `ms`, or to `true` as soon as the server announced mail since the last `uidsAfter`. */
  async nextChange(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    try {
      if (!this.#changed && !this.#client.isClosed) await clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!woken.signal.aborted) throw error;
    } finally {
      this.#wake = () => undefined;
    }
    this.#mailbox();
    return this.#changed;
  }

  /**
   * Selects another mailbox of the same account, read-only. False only when the server has none; rejects when
   * it is not to be had now.
   */
  async examine(mailbox: string): Promise<boolean> {
    try {
      await this.#client.mailboxOpen(mailbox, { readOnly: true });
      return true;
    } catch (error) {
      if (this.#client.usable && isMissing(error)) return false;
      throw error;
    }
  }

  /** Whether the account has this mailbox; the selected one stays selected. */
  async exists(mailbox: string): Promise<boolean> {
    try {
      // False: refused in a way that says nothing of the name, as by a server that answers BAD for a missing
      // one.
      const status: unknown = await this.#client.status(mailbox, { uidNext: true });
      return status !== false || (await this.#client.list()).some(({ path }) => path === mailbox);
    } catch (error) {
      // How imapflow says that LIST does not know the name either
      if (error instanceof Error && 'code' in error && error.code === 'NotFound') return false;
      throw error;
    }
  }

  /** UIDs in the selected mailbox whose Message-ID is this one. */
  async findMessageId(id: string): Promise<readonly number[]> {
    const found = await this.#client.search({ header: { 'message-id': id } }, { uid: true });
    return this.#checked(found);
  }

  /** The folder the server marks as \Sent (RFC 6154), by flag only, never guessed by name. */
  async sentMailbox(): Promise<string | undefined> {
    const list = await this.#client.list();
    return list.find((each) => each.specialUse === '\\Sent' && each.specialUseSource === 'extension')?.path;
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#unbind();
    this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A server may report changed flags at any time (RFC 3501 section 7): such a line holds no facts. */
  async #facts(uids: readonly number[], written: boolean): Promise<Map<number, MailFacts>> {
    const query = { uid: true, size: true, internalDate: true, ...(written ? { headers: ['date'] } : {}) };
    const found = await this.#client.fetchAll(uids.join(','), query, { uid: true });
    this.#mailbox();
    const { uidValidity } = this;
    const facts = new Map<number, MailFacts>();
    for (const { uid, size, internalDate, headers } of found) {
      if (size === undefined || internalDate === undefined) continue;
      const received = new Date(internalDate).getTime();
      const date = Date.parse(/^date:(.*)/i.exec(headers?.toString('latin1') ?? '')?.[1]?.replace(/\(.*/, '') ?? '');
      const writtenAt = Number.isNaN(date) ? {} : { writtenAt: date };
      facts.set(uid, { uidValidity, uid, size, receivedAt: Number.isNaN(received) ? 0 : received, ...writtenAt });
    }
    return facts;
  }

  #checked(found: unknown): readonly number[] {
    this.#mailbox();
    if (!Array.isArray(found)) throw new Error('the IMAP server refused a search');
    return found as number[];
  }

  #mailbox(): MailboxObject {
    const { mailbox, usable } = this.#client;
    if (!usable || !mailbox) throw this.#failure ?? new Error('the IMAP connection was closed');
    return mailbox;
  }
}

/** Not every server says NONEXISTENT (RFC 5530); imapflow then looks whether LIST knows the name. */
function isMissing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const code = 'serverResponseCode' in error ? error.serverResponseCode : undefined;
  return code === 'NONEXISTENT' || (code === undefined && 'mailboxMissing' in error && error.mailboxMissing === true);
}

function clientOptions(server: ServerAddress): ConstructorParameters<typeof ImapFlow>[0] {
  return {
    host: server.host,
    port: server.port,
    secure: server.tls === 'implicit',
    ...(server.tls === 'implicit' ? {} : { doSTARTTLS: server.tls === 'starttls' }),
    auth:
      'accessToken' in server
        ? { user: server.user, accessToken: server.accessToken }
        : { user: server.user, pass: server.password },
    tls: { rejectUnauthorized: server.rejectUnauthorized, ...(server.ca === undefined ? {} : { ca: server.ca }) },
    logger: false,
    clientInfo: { name: 'gatehouse' },
    disableCompression: true,
    autoIdleDelay: IDLE_AFTER_MS,
    maxIdleTime: MAX_IDLE_MS,
    connectionTimeout: 20_000,
    maxLiteralSize: MAX_LITERAL_BYTES,
    maxResponseSize: 2 * MAX_LITERAL_BYTES,
  };
}

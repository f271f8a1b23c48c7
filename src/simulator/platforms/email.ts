import { parseMail } from '../../../channels/email/in/mime.ts';
import { GatehouseError } from '../../core/errors.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import {
  type MailServerOptions,
  type MailServers,
  mailServersMissing,
  type StoredMail,
  startMailServers,
} from '../email/servers.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/** Under this name the mail server says whose mail it found genuine. */
const SERVER = 'mx.example.test';

export class EmailPlatform implements Platform {
  readonly type = 'email';
  readonly needsFirstStart = true;
  readonly faults: readonly FaultKind[] = ['disconnect'];
  readonly #servers: MailServers;
  /** Who wrote each mail to this daemon, by its id. */
  #writers = new Map<string, number>();
  /** The first mail of each person. */
  #threads = new Map<number, string>();
  #written = 0;
  /**
   * A restart and a delivery exclude each other: a mail waits for the server, as with any relay, and none is
   * cut off half delivered.
   */
  readonly #dovecot = new KeyedMutex();
  #restarted: Promise<void> | undefined;

  constructor(servers: MailServers) {
    this.#servers = servers;
  }

  get channel(): Platform['channel'] & { readonly settings: object } {
    const { host, imapPort, smtpPort, users } = this.#servers;
    const settings = {
      ...{ imap_host: host, imap_port: imapPort, imap_tls: 'none' },
      ...{ smtp_host: host, smtp_port: smtpPort, smtp_tls: 'none' },
      ...{ from_address: users.bot, authserv_id: SERVER, poll_interval_secs: 1, bcc_self: true },
      // Everybody here writes from one address; the bound is against loops and would end a longer run.
      ...{ max_replies_per_sender_per_hour: 1_000_000, max_replies_per_thread_per_hour: 1_000 },
      // The copy in the own mailbox arrives within a few milliseconds here.
      find_grace_secs: 2,
    };
    return { type: 'email', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { EMAIL_USERNAME: this.#servers.users.bot, EMAIL_PASSWORD: 'secret' };
  }

  async begin(_dataDir: string): Promise<void> {
    this.#writers = new Map();
    this.#threads = new Map();
  }

  /** Everybody has one address, and a thread of their own in it: that is what makes a conversation. */
  async write(person: number, text: string): Promise<void> {
    this.#written += 1;
    const id = `<platform-${this.#written}@example.test>`;
    this.#writers.set(id, person);
    const first = this.#threads.get(person);
    if (first === undefined) this.#threads.set(person, id);
    const headers = [
      `Authentication-Results: ${SERVER}; dmarc=pass header.from=example.test`,
      `From: Alice <${this.#servers.users.alice}>`,
      `To: ${this.#servers.users.bot}`,
      `Subject: question ${this.#written}`,
      `Message-ID: ${id}`,
      `Date: ${new Date().toUTCString()}`,
      ...(first === undefined ? [] : [`References: ${first}`]),
    ];
    const mail = `${headers.join('\r\n')}\r\n\r\n${text}\r\n`;
    await this.#dovecot.runExclusive('', () => this.#servers.deliver(mail));
  }

  async seen(): Promise<readonly SeenMessage[]> {
    await this.#restarted;
    // The daemon is done when postfix took the mail, which lies in the mailbox a moment later. A frozen queue
    // shows as lost mail.
    for (let tries = 0; tries < 100 && (await this.#servers.queued()) > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const mails = await this.#servers.mailbox('alice');
    // A relay that loses the mailbox's word after storing delivers again: two files of one mail, sent once.
    const once = new Map(mails.toReversed().map((mail) => [queueId(mail.raw) ?? mail.raw, mail]));
    const seen = await Promise.all([...once.values()].toReversed().map((mail) => this.#message(mail)));
    return seen.filter((message) => message !== undefined);
  }

  async waiting(): Promise<number> {
    return 0;
  }

  fault(kind: FaultKind): void {
    if (kind !== 'disconnect') return;
    this.#restarted = this.#dovecot.runExclusive('', () => this.#servers.restartImap());
    // `seen` tells.
    this.#restarted.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dovecot.runExclusive('', () => this.#servers.stop());
  }

  async #message({ raw, at }: StoredMail): Promise<SeenMessage | undefined> {
    const person = this.#writers.get(/^In-Reply-To:\s*(\S+)/im.exec(raw)?.[1] ?? '');
    if (person === undefined) return undefined;
    const { text = '' } = await parseMail(Buffer.from(raw, 'latin1'));
    return { person, text: text.trim(), at };
  }
}

/** What postfix calls a mail that it took from the bot; the same mail sent twice has two. */
function queueId(raw: string): string | undefined {
  return /\(Postfix\) with \S+ id (\w+)/.exec(raw)?.[1];
}

/** dovecot and postfix. `disconnect` restarts dovecot. Rejects with GH1004 where they are not installed. */
export async function startEmailPlatform(): Promise<Platform> {
  return new EmailPlatform(await serversOrWords());
}

/** Rejects with GH1004 where they are not installed. */
export async function serversOrWords(options?: MailServerOptions): Promise<MailServers> {
  const missing = mailServersMissing();
  if (missing !== undefined)
    throw new GatehouseError('GH1004', `the mail servers cannot run here: ${missing}`, {
      hint: 'on Debian, as root: `apt-get install dovecot-imapd dovecot-lmtpd postfix openssl`',
    });
  return await startMailServers(options);
}

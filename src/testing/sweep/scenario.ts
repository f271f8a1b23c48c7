import { type DoubleMessage, DoublePlatform } from '../double-platform.ts';
import { type MailServers, startMailServers } from '../mail-servers.ts';
import { startTelegramServer, type TelegramServer } from '../telegram-server.ts';

/** One platform as the sweep uses it. What it recorded is what counts; the daemon's own word is only used for UNKNOWN. */
export interface Scenario extends AsyncDisposable {
  readonly name: 'telegram' | 'email' | 'double';
  /** `channels[]` of the config. */
  readonly channel: unknown;
  readonly env: Readonly<Record<string, string>>;
  /** The platform's side is emptied for a new run: one question per chat is waiting. */
  ask(questions: readonly string[]): Promise<void>;
  /** Texts that arrived in the chat of each question, in order. */
  answers(): Promise<readonly (readonly string[])[]>;
  /** Messages that the platform still offers. */
  waiting(): Promise<number>;
  /** True when a first, undisturbed start is needed before messages arrive: mail older than that is not answered. */
  readonly needsFirstStart: boolean;
}

class TelegramScenario implements Scenario {
  readonly name = 'telegram';
  readonly needsFirstStart = false;
  readonly #server: TelegramServer;
  #questions = 0;
  #sent = 0;

  constructor(server: TelegramServer) {
    this.#server = server;
  }

  get channel(): unknown {
    return {
      type: 'telegram',
      allowed_senders: ['*'],
      settings: { api_root: this.#server.url, poll_timeout_secs: 1, rate_limits: false },
    };
  }

  get env(): Record<string, string> {
    return { TELEGRAM_BOT_TOKEN: this.#server.token };
  }

  async ask(questions: readonly string[]): Promise<void> {
    this.#sent = this.#server.sends.length;
    this.#questions = questions.length;
    // Every run has its own data directory and so its own cursor; confirmed updates of the last run are gone at the server.
    for (const [index, text] of questions.entries())
      this.#server.inject({ chat_id: 1001 + index, from: { id: 1001 + index }, text });
  }

  async answers(): Promise<readonly (readonly string[])[]> {
    const sends = this.#server.sends.slice(this.#sent);
    return Array.from({ length: this.#questions }, (_, index) =>
      sends.filter(({ chatId }) => chatId === String(1001 + index)).map(({ text }) => text),
    );
  }

  async waiting(): Promise<number> {
    return this.#server.unconfirmed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

class DoubleScenario implements Scenario {
  readonly name = 'double';
  readonly needsFirstStart = false;
  readonly #platform: DoublePlatform;
  readonly channel: unknown;
  readonly env = {};
  #run = 0;
  #questions = 0;

  constructor(platform: DoublePlatform, url: string) {
    this.#platform = platform;
    this.channel = { type: 'double', allowed_senders: ['*'], settings: { url } };
  }

  async ask(questions: readonly string[]): Promise<void> {
    this.#run += 1;
    this.#questions = questions.length;
    const run = this.#run;
    this.#platform.deliver(
      ...questions.map(
        (text, index): DoubleMessage => ({ id: `${run}-${index}`, chatId: `${run}-${index}`, senderId: 'ada', text }),
      ),
    );
  }

  async answers(): Promise<readonly (readonly string[])[]> {
    return Array.from({ length: this.#questions }, (_, index) =>
      this.#platform.posted.filter(({ chatId }) => chatId === `${this.#run}-${index}`).map(({ text }) => text),
    );
  }

  async waiting(): Promise<number> {
    return this.#platform.unacknowledged;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#platform[Symbol.asyncDispose]();
  }
}

class EmailScenario implements Scenario {
  readonly name = 'email';
  readonly needsFirstStart = true;
  readonly #servers: MailServers;
  #run = 0;
  #questions = 0;

  constructor(servers: MailServers) {
    this.#servers = servers;
  }

  get channel(): unknown {
    const { host, imapPort, smtpPort, users } = this.#servers;
    const wire = {
      imap_host: host,
      imap_port: imapPort,
      imap_tls: 'none',
      smtp_host: host,
      smtp_port: smtpPort,
      smtp_tls: 'none',
    };
    // One second of grace: the copy in the own mailbox arrives within a few milliseconds here.
    const settings = {
      ...wire,
      from_address: users.bot,
      trust_from: true,
      poll_interval_secs: 1,
      find_grace_secs: 2,
      bcc_self: true,
    };
    return { type: 'email', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return { EMAIL_USERNAME: this.#servers.users.bot, EMAIL_PASSWORD: 'secret' };
  }

  async ask(questions: readonly string[]): Promise<void> {
    this.#run += 1;
    this.#questions = questions.length;
    for (const [index, text] of questions.entries()) {
      const headers = [
        `From: Alice <${this.#servers.users.alice}>`,
        `To: ${this.#servers.users.bot}`,
        `Subject: question ${index}`,
        `Message-ID: ${this.#id(index)}`,
        `Date: ${new Date().toUTCString()}`,
      ];
      await this.#servers.deliver(`${headers.join('\r\n')}\r\n\r\n${text}\r\n`);
    }
  }

  async answers(): Promise<readonly (readonly string[])[]> {
    // The daemon is done when postfix took the mail; it lies in the mailbox a moment later. A frozen queue shows as lost mail.
    for (let tries = 0; tries < 100 && (await this.#servers.queued()) > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const mails = await this.#servers.mailbox('alice');
    return Array.from({ length: this.#questions }, (_, index) =>
      mails
        .filter(({ raw }) =>
          new RegExp(`^In-Reply-To:\\s*${this.#id(index).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'im').test(raw),
        )
        .map(({ raw }) => /answer \d+/.exec(raw)?.[0] ?? raw),
    );
  }

  async waiting(): Promise<number> {
    return 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers.stop();
  }

  #id(index: number): string {
    return `<sweep-${this.#run}-${index}@example.test>`;
  }
}

/** Starts the platform's side of a scenario. */
export async function startScenario(name: Scenario['name']): Promise<Scenario> {
  if (name === 'telegram') return new TelegramScenario(await startTelegramServer());
  if (name === 'email') return new EmailScenario(await startMailServers());
  const platform = new DoublePlatform();
  return new DoubleScenario(platform, await platform.start());
}

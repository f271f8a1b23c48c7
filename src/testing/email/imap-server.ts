/** An IMAP server that misbehaves on command, as a sound one cannot. Plain text, one mailbox per name. */
import { createServer, type Socket } from 'node:net';

export interface ImapMail {
  readonly uid: number;
  readonly raw: string;
  /** As IMAP writes it, `01-Nov-2026 10:00:00 +0000`. */
  readonly internalDate?: string;
}

export interface ImapServer extends AsyncDisposable {
  readonly port: number;
  /** How often somebody tried to log in. */
  readonly logins: number;
  /** Each command as it came, without its tag. */
  readonly commands: readonly string[];
  /** What a mailbox holds; a name that is missing here does not exist. Starts with an empty INBOX. */
  readonly mailboxes: Map<string, ImapMail[]>;
  uidValidity: number;
  /** Answers for the server with a line without tag, like `NO [LIMIT] later`; undefined goes on as usual. */
  refuse: (command: string) => string | undefined;
  /** Untagged lines around each FETCH's data, as RFC 3501 section 7 lets a server send them at any time. */
  unasked: { before: readonly string[]; after: readonly string[] };
  /** What a FETCH leaves out although SEARCH listed it: asked for once more, it is there. */
  readonly withheldOnce: Set<number>;
  /** True hangs up instead of answering. */
  drop: (command: string) => boolean;
}

export async function startImapServer(): Promise<ImapServer> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    new Connection(socket, server, commands).greet();
  });
  const commands: string[] = [];
  const server: ImapServer = {
    get port() {
      return (listener.address() as { port: number }).port;
    },
    get logins() {
      return commands.filter((command) => command.startsWith('LOGIN')).length;
    },
    commands,
    mailboxes: new Map([['INBOX', []]]),
    uidValidity: 7,
    refuse: () => undefined,
    unasked: { before: [], after: [] },
    withheldOnce: new Set(),
    drop: () => false,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', () => resolve()));
  return server;
}

class Connection {
  readonly #socket: Socket;
  readonly #server: ImapServer;
  readonly #commands: string[];
  #buffer = '';
  #selected: string | undefined;
  #idle: string | undefined;

  constructor(socket: Socket, server: ImapServer, commands: string[]) {
    this.#socket = socket;
    this.#server = server;
    this.#commands = commands;
  }

  greet(): void {
    this.#socket.write('* OK [CAPABILITY IMAP4rev1 LITERAL+ IDLE SPECIAL-USE SASL-IR AUTH=XOAUTH2] ready\r\n');
    this.#socket.on('data', (chunk) => {
      this.#buffer += chunk.toString('latin1');
      for (let end = this.#buffer.indexOf('\r\n'); end >= 0; end = this.#buffer.indexOf('\r\n')) {
        const line = this.#buffer.slice(0, end);
        this.#buffer = this.#buffer.slice(end + 2);
        this.#heard(line);
      }
    });
  }

  #heard(line: string): void {
    if (this.#idle !== undefined) {
      this.#socket.write(`${this.#idle} OK done\r\n`);
      this.#idle = undefined;
      return;
    }
    const [tag = '', ...rest] = line.split(' ');
    const command = rest.join(' ');
    this.#commands.push(command);
    if (this.#server.drop(command)) {
      this.#socket.destroy();
      return;
    }
    const refusal = this.#server.refuse(command);
    if (refusal !== undefined) this.#socket.write(`${tag} ${refusal}\r\n`);
    else if (/^IDLE/i.test(command)) {
      this.#idle = tag;
      this.#socket.write('+ idling\r\n');
    } else this.#socket.write(`${this.#answer(command)}`.replace(/<tag>/, tag));
  }

  #answer(command: string): string {
    const done = '<tag> OK done\r\n';
    if (/^CAPABILITY/i.test(command)) return `* CAPABILITY IMAP4rev1 LITERAL+ IDLE SPECIAL-USE SASL-IR AUTH=XOAUTH2\r\n${done}`;
    if (/^LIST/i.test(command)) return this.#list(command) + done;
    const [, verb, name] = /^(SELECT|EXAMINE) "?([^"]+)"?/i.exec(command) ?? [];
    if (verb !== undefined && name !== undefined) {
      const mails = this.#server.mailboxes.get(name);
      this.#selected = mails && name;
      if (!mails) return '<tag> NO there is no such mailbox\r\n';
      const next = Math.max(0, ...mails.map(({ uid }) => uid)) + 1;
      const facts = [`${mails.length} EXISTS`, `OK [UIDVALIDITY ${this.#server.uidValidity}] x`, `OK [UIDNEXT ${next}] x`];
      return `${facts.map((fact) => `* ${fact}\r\n`).join('')}${done}`;
    }
    const [, status] = /^STATUS "?([^" ]+)"?/i.exec(command) ?? [];
    if (status !== undefined) {
      const known = this.#server.mailboxes.has(status);
      return known ? `* STATUS ${status} (UIDNEXT 1)\r\n${done}` : '<tag> NO there is no such mailbox\r\n';
    }
    if (/^UID SEARCH/i.test(command)) return `* SEARCH${this.#search(command)}\r\n${done}`;
    if (/^UID FETCH/i.test(command)) return this.#fetch(command) + done;
    return done;
  }

  #list(command: string): string {
    const wanted = /"?([^" ]*)"?$/.exec(command)?.[1] ?? '';
    // Asks for the hierarchy's separator (RFC 3501 section 6.3.8)
    if (wanted === '') return '* LIST (\\Noselect) "/" ""\r\n';
    const names = [...this.#server.mailboxes.keys()].filter((name) => wanted === '*' || wanted === name);
    return names.map((name) => `* LIST () "/" ${name}\r\n`).join('');
  }

  #mails(): readonly ImapMail[] {
    return this.#server.mailboxes.get(this.#selected ?? '') ?? [];
  }

  #search(command: string): string {
    const [, id] = /MESSAGE-ID "?([^"]+?)"?$/i.exec(command) ?? [];
    const from = Number(/UID (\d+):\*/i.exec(command)?.[1] ?? 1);
    return this.#mails()
      .filter(({ uid, raw }) => (id === undefined ? uid >= from : raw.includes(id)))
      .map(({ uid }) => ` ${uid}`)
      .join('');
  }

  #fetch(command: string): string {
    const wanted = new Set((/^UID FETCH (\S+)/i.exec(command)?.[1] ?? '').split(',').flatMap(range));
    const { unasked, withheldOnce } = this.#server;
    const lines = this.#mails().flatMap((mail, index) => {
      if (!wanted.has(mail.uid)) return [];
      if (!command.includes('PEEK[]') && withheldOnce.delete(mail.uid)) return [];
      const seq = `* ${index + 1} FETCH (UID ${mail.uid}`;
      if (command.includes('PEEK[]')) return [`${seq} BODY[]<0> {${Buffer.byteLength(mail.raw, 'latin1')}}\r\n${mail.raw})`];
      const date = `${/^Date:.*\r\n/im.exec(mail.raw)?.[0] ?? ''}\r\n`;
      const written = command.includes('HEADER.FIELDS') ? ` BODY[HEADER.FIELDS (DATE)] {${date.length}}\r\n${date}` : '';
      const received = mail.internalDate ?? '01-Nov-2026 10:00:00 +0000';
      return [`${seq} INTERNALDATE "${received}" RFC822.SIZE ${mail.raw.length}${written})`];
    });
    return [...unasked.before, ...lines, ...unasked.after].map((line) => `${line}\r\n`).join('');
  }
}

function range(text: string): number[] {
  const [from = 0, to = from] = text.split(':').map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

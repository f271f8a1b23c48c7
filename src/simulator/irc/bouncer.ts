/**
 * A bouncer, or a server with history, as a bot meets it: what was said before is shown again to each new
 * connection. The lines are those of ZNC 1.8.2, soju and Ergo. Strict: what a client may not say ends its
 * connection and is told in `complaints`. Never shipped.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface BouncerOptions {
  /** Offered to clients. Default: what ZNC 1.8.2 offers of those that matter. */
  readonly caps?: readonly string[];
  /**
   * `all`: the last lines to each connection (ZNC without AutoClear, a channel with history). `missed`: what
   * came while no client was there, once (ZNC as it is installed). `unconfirmed`: what is behind the last
   * line whose ping was answered (soju).
   */
  readonly replays: 'all' | 'missed' | 'unconfirmed';
  /** `znc.in/playback` with a batch for each conversation, or that of IRCv3. */
  readonly batch?: 'znc.in/playback' | 'chathistory';
  /** Lines of history have their `msgid`; else only live ones. Both only for clients with `message-tags`. */
  readonly keepsMsgids?: boolean;
}

export interface SaidLine {
  /** `Ada!~ada@host`. */
  readonly from: string;
  readonly target: string;
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  readonly msgid?: string;
}

interface Client {
  readonly socket: Socket;
  readonly caps: Set<string>;
  nick?: string;
  isIn: boolean;
}

const ZNC_CAPS = ['batch', 'server-time', 'echo-message', 'znc.in/self-message'];
const ACTION = '\u0001ACTION ';
const KNOWN = /^(?:PASS|CAP|NICK|USER|JOIN|PING|PONG|PRIVMSG|QUIT)$/;

export class Bouncer {
  /** What clients said, oldest first, without pings and what answers them. */
  readonly heard: string[] = [];
  /** What a client did against the protocol. */
  readonly complaints: string[] = [];
  readonly #options: BouncerOptions;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #clients = new Set<Client>();
  readonly #lines: SaidLine[] = [];
  /** How many of the lines need not be shown again. */
  #done = 0;
  #batches = 0;

  constructor(options: BouncerOptions) {
    this.#options = options;
  }

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Clients that were let in. */
  get connections(): number {
    return [...this.#clients].filter(({ isIn }) => isIn).length;
  }

  /** What the bot said in conversations. */
  get answers(): readonly string[] {
    return this.heard.filter((line) => line.startsWith('PRIVMSG'));
  }

  /** On the network: clients that are here see it now. */
  say(line: SaidLine): void {
    this.#lines.push(line);
    const here = [...this.#clients].filter(({ isIn }) => isIn);
    for (const client of here) this.#show(client, line, undefined, this.#lines.length);
    if (this.#options.replays === 'missed' && here.length > 0) this.#done = this.#lines.length;
  }

  /** Ends every connection; clients come again. */
  cut(): void {
    for (const { socket } of this.#clients) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    const client: Client = { socket, caps: new Set(), isIn: false };
    this.#clients.add(client);
    let rest = '';
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#clients.delete(client));
    socket.setEncoding('utf8').on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (!socket.destroyed) this.#hear(client, line);
    });
  }

  #complain({ socket }: Client, what: string): void {
    this.complaints.push(what);
    socket.end('ERROR :protocol\r\n');
  }

  #hear(client: Client, line: string): void {
    const [command = '', first = '', ...more] = line.split(' ');
    if (!KNOWN.test(command)) this.#complain(client, `unknown: ${line}`);
    else if (!client.isIn && /^(?:JOIN|PRIVMSG)$/.test(command)) this.#complain(client, `before 001: ${line}`);
    else if (command === 'PONG') this.#confirm(client, first.replace(/^:/, ''));
    else if (command === 'PING') this.#write(client, `:bouncer PONG bouncer ${first}`);
    else this.heard.push(line);
    if (command === 'NICK') client.nick = first;
    if (command === 'JOIN') this.#write(client, `:${client.nick}!b@bot.example JOIN ${first}`);
    if (command === 'CAP' && first === 'END') this.#letIn(client);
    else if (command === 'CAP') this.#offer(client, first, more.join(' ').replace(/^:/, ''));
  }

  /** Each is asked for alone, since one that is not known refuses all of its line. */
  #offer(client: Client, verb: string, cap: string): void {
    const isKnown = (this.#options.caps ?? ZNC_CAPS).includes(cap);
    if (verb !== 'REQ' || cap.includes(' ')) this.#complain(client, `not understood: CAP ${verb} ${cap}`);
    if (isKnown) client.caps.add(cap);
    this.#write(client, `:irc.znc.in CAP * ${isKnown ? 'ACK' : 'NAK'} :${cap}`);
  }

  #letIn(client: Client): void {
    if (client.nick === undefined) this.#complain(client, 'CAP END before NICK');
    client.isIn = true;
    this.#write(client, `:irc.example 001 ${client.nick} :Welcome`);
    const from = this.#done;
    const conversations = Map.groupBy(
      this.#lines.slice(from).map((line, index) => ({ line, count: from + index + 1 })),
      ({ line: { from: sender, target } }) => (target.startsWith('#') ? target : sender.split('!')[0]),
    );
    if (this.#options.replays === 'missed') this.#done = this.#lines.length;
    for (const [name = '', lines] of conversations) this.#showAgain(client, name, lines);
  }

  #showAgain(client: Client, name: string, lines: readonly { readonly line: SaidLine; readonly count: number }[]): void {
    this.#batches += 1;
    const batch = client.caps.has('batch') ? `b${this.#batches}` : undefined;
    const isUndated = !client.caps.has('server-time');
    const isChannel = name.startsWith('#');
    if (batch !== undefined) this.#write(client, `:bouncer BATCH +${batch} ${this.#options.batch ?? 'znc.in/playback'} ${name}`);
    else if (isUndated && isChannel) this.#write(client, `:***!znc@znc.in PRIVMSG ${name} :Buffer Playback...`);
    for (const { line, count } of lines) {
      const { msgid, ...others } = line;
      const kept = this.#options.keepsMsgids ? line : others;
      this.#show(client, isUndated ? { ...kept, text: stamped(line) } : kept, batch, count);
    }
    if (batch !== undefined) this.#write(client, `:bouncer BATCH -${batch}`);
    else if (isUndated && isChannel) this.#write(client, `:***!znc@znc.in PRIVMSG ${name} :Playback Complete.`);
  }

  #show(client: Client, { from, target, text, at, msgid }: SaidLine, batch: string | undefined, count: number): void {
    const { caps } = client;
    const tags = [
      ...(batch === undefined ? [] : [`batch=${batch}`]),
      ...(caps.has('server-time') ? [`time=${new Date(at).toISOString()}`] : []),
      ...(caps.has('message-tags') && msgid !== undefined ? [`msgid=${msgid}`] : []),
    ].join(';');
    this.#write(client, `${tags && `@${tags} `}:${from} PRIVMSG ${target} :${text}`);
    if (this.#options.replays === 'unconfirmed') this.#write(client, `PING soju-msgid-${count}`);
  }

  #confirm(client: Client, token: string): void {
    const count = /^soju-msgid-(\d+)$/.exec(token)?.[1];
    if (count === undefined || Number(count) > this.#lines.length) this.#complain(client, `no such ping: ${token}`);
    else this.#done = Math.max(this.#done, Number(count));
  }

  #write({ socket }: Client, line: string): void {
    socket.write(`${line}\r\n`);
  }
}

/** As ZNC does where a client takes no times. */
function stamped({ text, at }: SaidLine): string {
  const stamp = `[${new Date(at).toISOString().slice(11, 19)}] `;
  return text.startsWith(ACTION) ? `${ACTION}${stamp}${text.slice(ACTION.length)}` : stamp + text;
}

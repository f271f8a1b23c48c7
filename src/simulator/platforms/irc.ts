import { GatehouseError } from '../../core/errors.ts';
import { type IrcServer, ircMissing, type Person, startIrcServer } from '../irc/server.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/** Lines closer together than this are one message of the bot: people see a line for each of its lines. */
const SAME_MESSAGE_MS = 100;

class IrcPlatform implements Platform {
  readonly type = 'irc';
  readonly needsFirstStart = true;
  readonly env = {};
  readonly faults: readonly FaultKind[] = [];
  readonly #server: IrcServer;
  readonly #people = new Map<number, Person>();
  #beganAt = 0;

  constructor(server: IrcServer) {
    this.#server = server;
  }

  get channel() {
    const settings = { host: '127.0.0.1', port: this.#server.port, tls: false, nick: 'bot' };
    return { type: 'irc', allowed_senders: ['*'], settings };
  }

  async begin(): Promise<void> {
    this.#beganAt = Date.now();
  }

  /** On one line: the protocol has no other. */
  async write(person: number, text: string): Promise<void> {
    const known = this.#people.get(person) ?? (await this.#server.join(`person${person}`));
    this.#people.set(person, known);
    known.say(`PRIVMSG bot :${text.replaceAll('\n', ' ')}`);
  }

  async seen(): Promise<readonly SeenMessage[]> {
    return [...this.#people].flatMap(([person, { lines, times }]) => {
      const messages: { person: number; text: string; at: number; last: number }[] = [];
      for (const [index, line] of lines.entries()) {
        const [text, at] = [/^:bot!\S+ PRIVMSG \S+ :(.*)/.exec(line)?.[1], times[index] ?? 0];
        if (text === undefined || at < this.#beganAt) continue;
        const before = messages.at(-1);
        if (before && at - before.last < SAME_MESSAGE_MS) Object.assign(before, { text: `${before.text}\n${text}`, last: at });
        else messages.push({ person, text, at, last: at });
      }
      return messages;
    });
  }

  async waiting(): Promise<number> {
    return 0;
  }

  fault(): void {
    throw new Error('this platform plays no fault');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** A real ngircd: what is written while the bot is away is lost. Rejects with GH1004 without ngircd. */
export async function startIrcPlatform(): Promise<Platform> {
  const missing = ircMissing();
  if (missing !== undefined)
    throw new GatehouseError('GH1004', `the IRC server cannot run here: ${missing}`, {
      hint: 'on Debian, as root: `apt-get install ngircd`',
    });
  return new IrcPlatform(await startIrcServer());
}

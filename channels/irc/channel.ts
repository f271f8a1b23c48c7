/** The adapter: one nickname on one server. Receiving is `receive.ts`, sending is `outbound.ts`. */
import type { Channel, ChannelDeps, ChannelHost, ChannelLimits, SendOptions, SendResult } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import { ConnectionLife } from '../kit/connection-life.ts';
import type { LineSocket } from '../kit/line-socket.ts';
import { receive } from './in/receive.ts';
import type { Passwords } from './login.ts';
import { targetOf, toLines } from './out/outbound.ts';
import type { IrcSettings } from './settings.ts';

/** Bytes: with the longest names a line has room for this much (RFC 2812 2.3). */
const TEXT_OF_LINE = 300;
const SECOND = 1_000;

function limitsOf({ max_lines }: IrcSettings): ChannelLimits {
  return {
    // One part is a whole answer: a table or a list that is cut in two cannot be read.
    text: max_lines * TEXT_OF_LINE,
    unit: 'byte',
    parts: 1,
    // A line carries no file.
    caption: 0,
    uploadBytes: 0,
    downloadBytes: 0,
    rate: { perAccount: { burst: 4, perSecond: 0.5 } },
    // A line takes two seconds, and ten seconds may be owed for those before.
    sendMs: (2 * max_lines + 40) * SECOND,
  };
}

export class IrcChannel implements Channel {
  readonly type = 'irc';
  readonly name: string;
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'C';
  readonly sendClass = 'blind';
  readonly #settings: IrcSettings;
  readonly #passwords: Passwords;
  readonly #deps: ChannelDeps;
  readonly #life: ConnectionLife<LineSocket>;
  #target: string | undefined;

  constructor(settings: IrcSettings, passwords: Passwords, deps: ChannelDeps) {
    this.limits = limitsOf(settings);
    this.name = deps.name;
    this.account = `${settings.nick}@${settings.host}`;
    this.#settings = settings;
    this.#passwords = passwords;
    this.#deps = deps;
    this.#life = new ConnectionLife(deps);
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (connected, stop) =>
      receive({
        settings: this.#settings,
        passwords: this.#passwords,
        account: this.account,
        deps: this.#deps,
        host,
        life: this.#life,
        target: () => this.#target,
        connected,
        signal: stop,
      }),
    );
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * A server works through the lines of a connection in order. So the answer to a ping behind the part
   * says that the part was passed on, and a refusal comes before that answer.
   */
  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const { nick, max_lines: maxLines } = this.#settings;
    const lines = toLines(part, { nick, maxLines, plain });
    return this.#life.send(signal, (socket, token, until) => {
      this.#target = targetOf(part.chatId);
      return socket.send([...lines, `PING :${token}`], until);
    });
  }
}

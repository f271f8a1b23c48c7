/** The adapter: one nickname on one server. Receiving is `receive.ts`, sending is `outbound.ts`. */
import type { Channel, ChannelDeps, ChannelHost, ChannelLimits, SendOptions, SendResult } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import { ConnectionLife } from '../kit/connection-life.ts';
import type { LineSocket } from '../kit/line-socket.ts';
import { toLines } from './outbound.ts';
import { receive } from './receive.ts';
import type { IrcSettings } from './settings.ts';

const LIMITS: ChannelLimits = {
  // RFC 2812 2.3: a line has 512 bytes, of which names and addresses take up to 210.
  text: 300,
  unit: 'byte',
  // A line carries no file.
  caption: 0,
  uploadBytes: 0,
  downloadBytes: 0,
  rate: { perAccount: { burst: 4, perSecond: 0.5 } },
  // A part may be 150 lines of one letter each, and a line takes two seconds.
  sendMs: 320_000,
};

export class IrcChannel implements Channel {
  readonly type = 'irc';
  readonly name: string;
  readonly account: string;
  readonly limits = LIMITS;
  readonly inboundClass = 'C';
  readonly sendClass = 'blind';
  readonly #settings: IrcSettings;
  readonly #password: string | undefined;
  readonly #deps: ChannelDeps;
  readonly #life: ConnectionLife<LineSocket>;

  constructor(settings: IrcSettings, deps: ChannelDeps) {
    this.name = deps.name;
    this.account = `${settings.nick}@${settings.host}`;
    this.#settings = settings;
    this.#password = settings.password_env && deps.secret(settings.password_env);
    this.#deps = deps;
    this.#life = new ConnectionLife(deps);
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (connected, stop) =>
      receive({
        settings: this.#settings,
        password: this.#password,
        account: this.account,
        deps: this.#deps,
        host,
        life: this.#life,
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
  send(part: OutboundPart, { signal }: SendOptions): Promise<SendResult> {
    return this.#life.send(signal, (socket, token) => socket.send([...toLines(part), `PING :${token}`], signal));
  }
}

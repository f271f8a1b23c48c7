/** The adapter: one nickname on one server. Receiving is `receive.ts`, sending is `outbound.ts`. */
import type { Channel, ChannelDeps, ChannelHost, ChannelLimits, SendOptions, SendResult } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import { ConnectionLife } from '../kit/connection-life.ts';
import { NOT_LEFT } from '../kit/lifecycle.ts';
import type { LineSocket } from '../kit/line-socket.ts';
import { receive } from './in/receive.ts';
import type { Passwords } from './login.ts';
import { targetOf, toLines } from './out/outbound.ts';
import { PartUnderWay } from './out/part-under-way.ts';
import type { IrcSettings } from './settings.ts';

/** Bytes: with the longest names a line has room for this much (RFC 2812 2.3). */
const TEXT_OF_LINE = 300;
const SECOND = 1_000;
const LINE_MS = 2 * SECOND;
/** Others were sent for so long that its time would end between two of its lines. */
const TOO_LATE: SendResult = { kind: 'retry', reason: 'its turn came too late', afterMs: 0, scope: 'part' };

/** Ten seconds may be owed for the lines before, and others may be sent first. */
function sendMsOf({ max_lines }: IrcSettings): number {
  return max_lines * LINE_MS + 40 * SECOND;
}

function limitsOf(settings: IrcSettings): ChannelLimits {
  return {
    // One part is a whole answer: a table or a list that is cut in two cannot be read.
    text: settings.max_lines * TEXT_OF_LINE,
    unit: 'byte',
    parts: 1,
    // A line carries no file.
    caption: 0,
    uploadBytes: 0,
    downloadBytes: 0,
    rate: { perAccount: { burst: 4, perSecond: 0.5 } },
    sendMs: sendMsOf(settings),
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
  #sending: PartUnderWay | undefined;

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
        sending: () => this.#sending,
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
   * says that the part was passed on, and a refusal comes before that answer. A part is begun only where
   * there is time for all of its lines.
   */
  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const { nick, max_lines: maxLines } = this.#settings;
    const lines = toLines(part, { nick, maxLines, plain });
    const { clock } = this.#deps;
    const latest = clock.monotonic() + sendMsOf(this.#settings) - (lines.length + 1) * LINE_MS;
    return this.#life.send(signal, async (socket, token, until) => {
      if (clock.monotonic() > latest) return TOO_LATE;
      const sending = new PartUnderWay(targetOf(part.chatId), lines.length);
      this.#sending = sending;
      try {
        return await socket.send([...lines, `PING :${token}`], until, () => sending.written());
      } catch (error) {
        if (sending.hasLeft) throw error;
        return NOT_LEFT;
      }
    });
  }
}

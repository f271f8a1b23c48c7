import { randomUUID } from 'node:crypto';
import type { Channel, ChannelDeps, ChannelHost, ChannelLimits } from '../../src/core/channel.ts';
import { ConnectionLife } from '../kit/connection-life.ts';
import { type LineSocket, openLineSocket } from '../kit/line-socket.ts';
import { parseLine, toInbound } from './inbound.ts';
import { toAnswers, toLines } from './outbound.ts';
import type { IrcSettings } from './settings.ts';

/** RFC 1459 8.10: a line costs two seconds, and ten may be owed. RFC 2812 2.3: 512 bytes, of which names and addresses take 210. */
const PACE = { lineMs: 2_000, owedMs: 10_000 };
/** A part may be 150 lines of a letter each. */
const PACED = { rate: { perAccount: { burst: 4, perSecond: 0.5 } }, sendMs: 320_000 };
const LIMITS: ChannelLimits = { text: 300, unit: 'byte', caption: 0, uploadBytes: 0, downloadBytes: 0, ...PACED };
/** RFC 2812 5.2 and what servers added: the message reached nobody, twice; a channel stays closed to us. */
const [GONE, BLOCKED, NOT_JOINED] = [/^40[13]$/, /^(?:40[45]|477|486|531|716)$/, /^47[1-6]$/];

/** An account on one server. */
export function createIrcChannel(settings: IrcSettings, deps: ChannelDeps): Channel {
  const password = settings.password_env && deps.secret(settings.password_env);
  const [{ name: channel, clock }, { nick }] = [deps, settings];
  const account = `${nick}@${settings.host}`;
  const life = new ConnectionLife<LineSocket>(deps);
  const connect = async (host: ChannelHost, up: (socket: LineSocket) => void, signal: AbortSignal): Promise<void> => {
    const socket = openLineSocket({ ...settings, ask: 'PING :alive', pace: PACE, clock, signal });
    socket.write(
      'CAP REQ :account-tag',
      'CAP REQ :server-time',
      'CAP REQ :message-tags',
      `NICK ${nick}`,
      `USER ${nick} 0 * :${nick}`,
    );
    socket.write(password === undefined ? 'CAP END' : 'CAP REQ :sasl');
    for await (const text of socket.lines) {
      const line = parseLine(text);
      const [{ command }, detail = ''] = [line, line.params.at(-1)];
      socket.write(...toAnswers(line, settings, password));
      if (command === '001') up(socket);
      if (command === 'PONG') life.answer({ kind: 'sent', platformId: detail }, detail);
      if (GONE.test(command)) life.answer({ kind: 'refused', reason: 'chat-gone', detail });
      if (BLOCKED.test(command)) life.answer({ kind: 'refused', reason: 'blocked', detail });
      if (NOT_JOINED.test(command)) host.health('degraded', `${line.params[1]}: ${detail}`);
      if (command === 'KICK' && line.params[1] === nick) host.health('degraded', `thrown out of ${line.params[0]}: ${detail}`);
      const message = toInbound(line, { channel, account, nick, platformId: randomUUID(), timestamp: clock.now() });
      if (message) await life.take(message);
    }
  };
  return {
    ...{ type: 'irc', name: channel, account, limits: LIMITS, inboundClass: 'C', sendClass: 'blind' },
    start: (host, signal) => life.start(host, signal, (up, stop) => connect(host, up, stop)),
    stop: () => life.stop(),
    // A server works through our lines in order: by answering the ping it says that what came before was taken, or first why not.
    send: (part, { signal }) => life.send(signal, (socket, token) => socket.send([...toLines(part), `PING :${token}`], signal)),
  };
}

/** One connection, from its first line to its last: log in, answer the server, hand over what people say. */
import { randomUUID } from 'node:crypto';
import type { ChannelDeps, ChannelHost } from '../../src/core/channel.ts';
import type { ConnectionLife } from '../kit/connection-life.ts';
import { type LineSocket, openLineSocket } from '../kit/line-socket.ts';
import { refusalOf, requireWelcome, troubleOf } from './failure.ts';
import { toInbound } from './inbound.ts';
import { parseLine } from './line.ts';
import { answersTo, greeting } from './login.ts';
import type { IrcSettings } from './settings.ts';

/** RFC 1459 8.10: a line costs two seconds, and ten seconds may be owed. */
const PACE = { lineMs: 2_000, owedMs: 10_000 };

export interface ReceiveOptions {
  readonly settings: IrcSettings;
  readonly password: string | undefined;
  readonly account: string;
  readonly deps: Pick<ChannelDeps, 'name' | 'clock'>;
  readonly host: ChannelHost;
  /** Runs `receive` again when it has ended, and is told what became of the send under way. */
  readonly life: ConnectionLife<LineSocket>;
  /** Told once the server let us in. */
  readonly connected: (socket: LineSocket) => void;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** Resolves or rejects when the connection has ended. */
export async function receive({
  settings,
  password,
  account,
  deps,
  host,
  life,
  connected,
  signal,
}: ReceiveOptions): Promise<void> {
  const { name: channel, clock } = deps;
  const socket = openLineSocket({ ...settings, ask: 'PING :alive', pace: PACE, clock, signal });
  socket.write(...greeting(settings, password));
  for await (const text of socket.lines) {
    const line = parseLine(text);
    requireWelcome(line, settings);
    socket.write(...answersTo(line, settings, password));
    if (line.command === '001') connected(socket);
    // The answer to the ping that `send` wrote behind a part; a refusal comes before it.
    if (line.command === 'PONG') life.answer({ kind: 'sent', platformId: line.last }, line.last);
    const refusal = refusalOf(line);
    if (refusal) life.answer(refusal);
    const trouble = troubleOf(line, settings);
    if (trouble !== undefined) host.health('degraded', trouble);
    const message = toInbound(line, { channel, account, nick: settings.nick, platformId: randomUUID(), timestamp: clock.now() });
    if (message) await life.take(message);
  }
}

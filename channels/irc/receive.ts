/** One connection, from its first line to its last: log in, answer the server, hand over what people say. */
import { randomUUID } from 'node:crypto';
import type { ChannelDeps, ChannelHost } from '../../src/core/channel.ts';
import type { ConnectionLife } from '../kit/connection-life.ts';
import { type LineSocket, openLineSocket } from '../kit/line-socket.ts';
import { refusalOf, requireWelcome, troubleOf } from './failure.ts';
import { toInbound } from './inbound.ts';
import { type Line, parseLine } from './line.ts';
import { answersTo, greeting, joins, type Passwords } from './login.ts';
import { Identification } from './nickserv.ts';
import type { IrcSettings } from './settings.ts';

/** RFC 1459 8.10: a line costs two seconds, and ten seconds may be owed. */
const PACE = { lineMs: 2_000, owedMs: 10_000 };

export interface ReceiveOptions {
  readonly settings: IrcSettings;
  readonly passwords: Passwords;
  readonly account: string;
  readonly deps: Pick<ChannelDeps, 'name' | 'clock'>;
  readonly host: ChannelHost;
  /** Runs `receive` again when it has ended, and is told what became of the send under way. */
  readonly life: ConnectionLife<LineSocket>;
  /** Whom the part under way, or the last one, is for. */
  readonly target: () => string | undefined;
  /** Told once the server let us in. */
  readonly connected: (socket: LineSocket) => void;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** Resolves or rejects when the connection has ended. */
export async function receive(options: ReceiveOptions): Promise<void> {
  const { settings, passwords, account, deps, host, life, signal } = options;
  const { name: channel, clock } = deps;
  const socket = openLineSocket({ ...settings, ask: 'PING :alive', pace: PACE, clock, signal });
  const over = new AbortController();
  let entry: Entry | undefined;
  try {
    socket.write(...greeting(settings, passwords));
    for await (const text of socket.lines) {
      const line = parseLine(text);
      requireWelcome(line, settings);
      socket.write(...answersTo(line, settings, passwords));
      if (line.command === '001') entry = enter(socket, options, over.signal);
      entry?.heard(line);
      // The answer to the ping that `send` wrote behind a part; a refusal comes before it.
      if (line.command === 'PONG') life.answer({ kind: 'sent', platformId: line.last }, line.last);
      const refusal = refusalOf(line, options.target());
      if (refusal) life.answer(refusal);
      const trouble = troubleOf(line, settings);
      if (trouble !== undefined) host.health('degraded', trouble);
      const message = toInbound(line, {
        ...{ channel, account, nick: settings.nick },
        ...{ platformId: randomUUID(), timestamp: clock.now() },
      });
      if (message) await life.take(message);
    }
  } finally {
    over.abort(new Error('the connection ended'));
    await entry?.done;
  }
}

interface Entry {
  readonly done: Promise<void>;
  /** What the server says meanwhile. */
  heard(line: Line): void;
}

/**
 * Into the channels, after NickServ where that is set: some let no one in, or speak, whom it does not know.
 * `done` never rejects.
 */
function enter(socket: LineSocket, { settings, passwords, deps, host, connected }: ReceiveOptions, over: AbortSignal): Entry {
  const join = (trouble?: string): void => {
    socket.write(...joins(settings));
    connected(socket);
    if (trouble !== undefined) host.health('degraded', trouble);
  };
  const { nickserv: password } = passwords;
  if (password === undefined) {
    join();
    return { done: Promise.resolve(), heard: () => undefined };
  }
  const { nick } = settings;
  const login = new Identification({ nick, password, write: socket.write, clock: deps.clock, signal: over });
  return {
    // When the connection ended first there is nothing to join.
    done: login.run().then(join, () => undefined),
    heard: (line) => login.heard(line),
  };
}

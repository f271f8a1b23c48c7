/** One connection, from its first line to its last: log in, answer the server, hand over what people say. */
import { randomUUID } from 'node:crypto';
import type { ChannelDeps, ChannelHost } from '../../../src/core/channel.ts';
import type { ConnectionLife } from '../../kit/connection-life.ts';
import { type LineSocket, openLineSocket } from '../../kit/line-socket.ts';
import { answersTo, greeting, joins, type Passwords } from '../login.ts';
import type { PartUnderWay } from '../out/part-under-way.ts';
import type { IrcSettings } from '../settings.ts';
import { requireWelcome, troubleOf } from '../wire/failure.ts';
import { type Line, parseLine } from '../wire/line.ts';
import { Identification } from '../wire/nickserv.ts';
import { formatCursor, isTooOld, parseCursor, type Reach } from './cursor.ts';
import { toInbound } from './inbound.ts';
import { Replay, type Shown } from './replay.ts';

/** RFC 1459 8.10: a line costs two seconds, and ten seconds may be owed. */
const PACE = { lineMs: 2_000, owedMs: 10_000 };
const HOUR_MS = 3_600_000;

export interface ReceiveOptions {
  readonly settings: IrcSettings;
  readonly passwords: Passwords;
  readonly account: string;
  readonly deps: Pick<ChannelDeps, 'name' | 'clock' | 'logger'>;
  readonly host: ChannelHost;
  /** Runs `receive` again when it has ended, and is told what became of the send under way. */
  readonly life: ConnectionLife<LineSocket>;
  /** The part under way, or the last one. */
  readonly sending: () => PartUnderWay | undefined;
  /** Told once the server let us in. */
  readonly connected: (socket: LineSocket) => void;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** Resolves or rejects when the connection has ended. */
export async function receive(options: ReceiveOptions): Promise<void> {
  const { settings, passwords, deps, host, life, signal } = options;
  const { clock } = deps;
  const reach = { since: await firstStart(options), catchUpMs: settings.catch_up_hours * HOUR_MS };
  const socket = openLineSocket({ ...settings, ask: 'PING :alive', pace: PACE, clock, signal });
  const over = new AbortController();
  const replay = new Replay();
  let entry: Entry | undefined;
  try {
    socket.write(...greeting(settings, passwords));
    for await (const text of socket.lines) {
      const line = parseLine(text);
      const shown = replay.read(line);
      requireWelcome(line, settings);
      answer(line, socket, options);
      if (line.command === '001') entry = enter(socket, options, over.signal);
      entry?.heard(line);
      // The answer to the ping that `send` wrote behind a part; what speaks against it comes before.
      const outcome = options.sending()?.heard(line);
      if (outcome) life.answer(outcome, line.command === 'PONG' ? line.last : undefined);
      const trouble = troubleOf(line, settings);
      if (trouble !== undefined) host.health('degraded', trouble);
      await take(line, shown, reach, options);
    }
  } finally {
    over.abort(new Error('the connection ended'));
    await entry?.done;
  }
}

/**
 * Bouncers and servers show history from before they knew us, too. The time of the first start is committed
 * before any message, so that what comes while we are away is younger.
 */
async function firstStart({ host, life, deps: { clock, logger } }: ReceiveOptions): Promise<number> {
  const stored = await host.cursor();
  const since = parseCursor(stored);
  const now = clock.now();
  // One that lies ahead comes from a clock that was set back since. It would hide what is missed until then.
  if (since !== undefined && since <= now) return since;
  if (stored !== undefined && since === undefined) logger.warn('irc.cursor-unreadable', {});
  life.keep(formatCursor(now));
  return now;
}

/**
 * By the answer to such a ping soju knows that we have what it said before, and does not show it again. So
 * that is told once it is stored; a bouncer that waits for other pings would hang up on us.
 */
function answer(line: Line, socket: LineSocket, { settings, passwords, life }: ReceiveOptions): void {
  const answers = answersTo(line, settings, passwords);
  const isReceipt = line.command === 'PING' && line.last.startsWith('soju-msgid-');
  if (!isReceipt) socket.write(...answers);
  // It never rejects.
  else void life.stored().then((all) => all && socket.write(...answers));
}

async function take(line: Line, { id, isHistory, isUndated }: Shown, reach: Reach, options: ReceiveOptions): Promise<void> {
  const { settings, account, life } = options;
  const { name: channel, clock, logger } = options.deps;
  const now = clock.now();
  const message = toInbound(line, {
    ...{ channel, account, nick: settings.nick, isUndated },
    ...{ platformId: randomUUID(), secondaryId: id, timestamp: now },
  });
  if (!message) return;
  if (isTooOld(message.timestamp, isHistory, reach, now))
    logger.info('irc.too-old', { message: message.id, at: message.timestamp });
  else await life.take(message);
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

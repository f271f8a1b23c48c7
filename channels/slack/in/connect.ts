/** Receiving over Socket Mode: one socket at a time, and a catch-up after each new one. */
import { errorText } from '../../../src/core/errors.ts';
import { reconnect, STEADY_MS } from '../../kit/reconnect.ts';
import type { Envelope } from '../wire/client.ts';
import type { SlackPayload } from './payload.ts';
import { pause, type Receiver } from './receive.ts';

/** Whether the other program is gone is told by the next greeting only. */
const RECHECK_MS = 300_000;
const KINDS: Readonly<Record<string, SlackPayload['kind']>> = {
  events_api: 'event',
  interactive: 'action',
  slash_commands: 'command',
};

/** Receives until the signal aborts or the login is refused for good. Never rejects. */
export async function receiveBySocket(receiver: Receiver, appToken: string): Promise<void> {
  const { deps, signal } = receiver.options;
  const { clock, random } = deps;
  await reconnect({
    run: async (connected) => {
      await receiver.login();
      if (await holdSocket(receiver, appToken)) connected();
    },
    onEnd: (error, waitMs) => error === undefined || receiver.failed(error, waitMs),
    clock,
    random,
    signal,
  });
  await receiver.intakeEnded();
}

/** One socket's life; true when it was a long one: the platform renews each after hours. */
async function holdSocket(receiver: Receiver, appToken: string): Promise<boolean> {
  const { client, deps, signal, settled } = receiver.options;
  const { clock, logger } = deps;
  const caughtUp = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<string | undefined>();
  const life = new AbortController();
  const onAbort = (): void => ending.resolve(undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  receiver.intake?.holdUntil(caughtUp.promise);
  let rivals = 0;
  const handlers = {
    onEnvelope: (envelope: Envelope) => {
      if (!take(receiver, envelope)) ending.resolve('more arrives than can be stored');
    },
    onHello: (connections: number) => {
      rivals = connections - 1;
    },
  };
  const started = clock.monotonic();
  let catching: Promise<void> | undefined;
  try {
    const socket = await client.openSocket(appToken, handlers, signal);
    try {
      receiver.connected();
      void socket.closed.then(ending.resolve);
      const { begun, done } = receiver.catchUpFirst(true, life.signal);
      catching = done;
      await Promise.race([begun, ending.promise]);
      caughtUp.resolve();
      reportConnected(receiver, rivals);
      settled();
      const waits = [ending.promise, ...(rivals > 0 ? [pause(clock, RECHECK_MS, life.signal)] : [])];
      const reason = await Promise.race(waits);
      reportEnd(receiver, reason, clock.monotonic() - started);
      logger.info('slack.socket-closed', { reason: reason ?? 'no reason stated' });
    } finally {
      caughtUp.resolve();
      life.abort(new Error('the socket is gone'));
      // What is being committed is acknowledged over the socket that it came from, while that is still open.
      if (signal.aborted) await receiver.intakeEnded();
      await socket.close();
      await catching;
    }
  } finally {
    caughtUp.resolve();
    signal.removeEventListener('abort', onAbort);
    receiver.interrupted();
  }
  return clock.monotonic() - started >= STEADY_MS;
}

/** False when there is no room: the envelope is left unacknowledged, and the platform keeps it. */
function take(receiver: Receiver, envelope: Envelope): boolean {
  const { logger } = receiver.options.deps;
  if (envelope.retry) logger.info('slack.redelivered', { ...envelope.retry });
  const kind = KINDS[envelope.type];
  if (kind !== undefined) return receiver.take({ payload: { kind, body: envelope.body }, ack: () => envelope.ack() });
  // Nothing for us: acknowledged, or it would come again and again.
  receiver.notices?.unhandled(`envelope/${envelope.type}`);
  envelope.ack().catch((error: unknown) => logger.info('slack.ack-failed', { error: errorText(error) }));
  return true;
}

function reportConnected(receiver: Receiver, rivals: number): void {
  if (rivals === 0) {
    receiver.healthy();
    return;
  }
  const others = rivals === 1 ? 'another connection of this app is' : `${rivals} other connections of this app are`;
  receiver.health('degraded', `GH1503: ${others} open: each message reaches only one program, stop the other`);
}

function reportEnd(receiver: Receiver, reason: string | undefined, livedMs: number): void {
  if (receiver.options.signal.aborted) return;
  if (reason === 'link_disabled') receiver.health('down', 'GH1501: Socket Mode was turned off for the app');
  else if (livedMs < STEADY_MS) receiver.health('degraded', `GH1502: the connection broke (${reason ?? 'no reason stated'})`);
}

// requests on stdin -> a browser whose every connection goes through stdout -> replies
//
// A program of its own, in a sandbox without a network and without a directory. It runs the browser, so
// nothing that it says is believed: `sessions.ts` reads it as the words of strangers.
import { type AddressInfo, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { systemClock } from '../../lib/clock.ts';
import { Multiplexer } from '../../lib/multiplexer.ts';
import { outgrows } from '../../sandbox/memory.ts';
import { launch } from './launch.ts';
import type { FromDriver, ToDriver } from './messages.ts';
import { LostPage, MovedPage, Page } from './page.ts';

const [maxMemory = '', playwright = ''] = process.argv.slice(2);
const link = new Multiplexer({
  send: (bytes) => process.stdout.write(bytes),
  onMessage: (text) => take(JSON.parse(text) as ToDriver),
  maxStreams: 0,
  onBroken: () => process.exit(1),
});
process.stdin.on('data', (bytes: Buffer) => link.receive(bytes));
// Without the daemon there is nothing to do.
process.stdin.on('end', () => process.exit(0));

/** The request that is under way, for the reply that has to come before the end. */
let current: number | undefined;
outgrows(process.pid, Number(maxMemory), { clock: systemClock, over: new AbortController().signal }).then(() => {
  const reason = `the page took more than ${Math.floor(Number(maxMemory) / 1024 ** 2)} MiB of memory, and the browser was closed; navigate again`;
  if (current !== undefined) fail(current, reason, true);
  else process.exit(0);
});

const page = begin();
// Told with the first request; until then there is no one to hear of it.
page.catch(() => undefined);

async function begin(): Promise<Page> {
  const forwarder = createServer({ allowHalfOpen: true }, (socket) => {
    const stream = link.open();
    pipeline(socket, stream, () => undefined);
    // The browser keeps a connection that the other side has left until it wants to use it again.
    pipeline(stream, socket, () => {
      socket.destroy();
      stream.destroy();
    });
  });
  forwarder.listen(0, '127.0.0.1');
  await new Promise((resolve) => forwarder.once('listening', resolve));
  const browser = await launch(playwright, (forwarder.address() as AddressInfo).port);
  browser.once('disconnected', () => process.exit(2));
  const opened = await Page.open(browser);
  // An action that is under way tells of it; between two, the next one finds no browser.
  opened.lost.catch(() => (current === undefined ? process.exit(0) : undefined));
  return opened;
}

function reply(message: FromDriver): void {
  link.message(JSON.stringify(message));
}

/** What was written to a pipe is there when this process ends. */
function fail(id: number, reason: string, isLast: boolean, at: { readonly url?: string } = {}): void {
  reply({ kind: 'failed', id, reason, isLast, ...at });
  if (isLast) process.exit(0);
}

async function take(request: ToDriver): Promise<void> {
  current = request.id;
  try {
    reply({ kind: 'done', id: request.id, ...(await (await page).perform(request)) });
  } catch (error) {
    fail(request.id, reasonOf(error), error instanceof LostPage, error instanceof MovedPage ? { url: error.url } : {});
  }
  current = undefined;
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll('\0', '').slice(0, 1_000).toWellFormed();
}

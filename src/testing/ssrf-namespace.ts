/**
 * Runs in a network namespace of its own in which every address there is leads to listeners of this process,
 * so that a connection to anywhere is seen. Prints which addresses were connected to, as JSON.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createEgress } from '../egress/egress.ts';
import { systemClock } from '../lib/clock.ts';
import { NAMES, NO_HOST, OWN_ADDRESSES, OWN_MACHINE, OWN_NETWORK } from './forbidden-hosts.ts';
import { ANYWHERE } from './web-peer.ts';

/** Flips with each look-up. */
const REBINDING = ['93.184.216.34', '127.0.0.1'];
const FORBIDDEN = [...OWN_MACHINE, ...OWN_NETWORK, ...NO_HOST];

let reached: string[] = [];
const note = ({ localAddress = '?', localPort }: Socket): void => {
  reached.push(`${localAddress.replace(/^::ffff:/, '')} ${localPort}`);
};

/** Redirects to what stands behind /to/, encoded. */
const web = createServer(({ url = '' }, response) => {
  const to = /^\/to\/(.*)$/.exec(url)?.[1];
  if (to === undefined) response.end('public');
  // As servers do: the bytes of UTF-8, which Node has as a string of Latin-1.
  else response.writeHead(302, { location: Buffer.from(decodeURIComponent(to)).toString('latin1') }).end();
});
web.on('connection', note);
web.listen(80, '::');
const tls = createTcpServer((socket) => {
  note(socket);
  socket.on('error', () => undefined).end('no TLS');
}).listen(443, '::');
const other = createTcpServer((socket) => {
  note(socket);
  socket.on('error', () => undefined).end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
}).listen(8080, '::');
await Promise.all([web, tls, other].map((server) => once(server, 'listening')));

let flips = 0;
const egress = createEgress({
  clock: systemClock,
  userAgent: 'test',
  rules: () => ANYWHERE,
  ownAddresses: () => OWN_ADDRESSES,
  resolve: async (host) => {
    const address = host === 'rebinding.example' ? REBINDING[flips++ % 2] : NAMES[host];
    if (!address) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    return [{ address, family: address.includes(':') ? 6 : 4 }];
  },
});

async function visit(
  urls: readonly string[],
): Promise<{ readonly reached: readonly string[]; readonly kinds: Record<string, number> }> {
  reached = [];
  const kinds: Record<string, number> = {};
  for (const url of urls) {
    const { kind } = await egress({ tool: 'web_fetch', url, maxBytes: 1_000, timeoutMs: 20_000 }, new AbortController().signal);
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  // What was begun and left would be seen by now.
  await systemClock.sleep(100);
  return { reached, kinds };
}

const spellings = await visit(FORBIDDEN.flatMap((host) => [`http://${host}/`, `https://${host}/`, `http://${host}:8080/`]));
const redirects = await visit(FORBIDDEN.map((host) => `http://example.org/to/${encodeURIComponent(`http://${host}/`)}`));
const rebinding = await visit(Array.from({ length: 20 }, () => 'http://rebinding.example/'));
const open = await visit(['http://example.org/', 'http://93.184.216.34/', 'http://[2606:2800:220:1::1]/']);
// The control: the same listeners see a client that checks nothing and asks the environment for a proxy.
reached = [];
for (const host of ['127.1', '0xa9fea9fe', 'example.org']) await fetch(`http://${host}/`).catch(() => undefined);
const control = { reached };
process.stdout.write(JSON.stringify({ count: FORBIDDEN.length, spellings, redirects, rebinding, open, control }));
process.exit(0);

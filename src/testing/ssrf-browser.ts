/**
 * Runs in a network namespace of its own in which every address leads to listeners of this process. A real
 * browser, which nothing but its flags keeps from that network, opens pages that ask for what is forbidden in
 * every way that a page has. Prints what was connected to, as JSON.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { testBrowsers } from './browsers.ts';
import { NAMES, NO_HOST, OWN_ADDRESSES, OWN_MACHINE, OWN_NETWORK } from './forbidden-hosts.ts';

const REBINDING = ['93.184.216.34', '127.0.0.1'];
const SPELLINGS = [...OWN_MACHINE, ...OWN_NETWORK, ...NO_HOST];
/** Of each kind of address one, for every way that a page has. */
const HOSTS = [
  ...['127.0.0.1', 'localhost', '[::1]', '10.9.9.9', '192.168.1.1', '169.254.169.254', '0x7f.1'],
  ...['[::ffff:10.0.0.1]', 'intranet.corp', 'metadata.google.internal', '198.252.206.1'],
];

let reached: string[] = [];
const note = ({ localAddress = '?', localPort }: Socket): void => {
  reached.push(`${localAddress.replace(/^::ffff:/, '')} ${localPort}`);
};

/** Everything in one page that asks for `host` without being told to. */
function wishes(host: string): string {
  const [http, https, ws] = [`http://${host}/x`, `https://${host}/x`, `ws://${host}/x`];
  const quoted = (html: string): string => html.replaceAll('"', '&quot;');
  return `
    <img src="${http}"><img src="${https}"><script src="${http}"></script><iframe src="${http}"></iframe><object data="${http}"></object>
    <embed src="${http}"><video src="${http}" autoplay></video><audio src="${http}" autoplay></audio><input type=image src="${http}">
    <link rel=stylesheet href="${http}"><style>@import url("${http}"); body { background: url("${http}?bg") }</style>
    <link rel=prefetch href="${http}"><link rel=preconnect href="${http}"><link rel=dns-prefetch href="${http}"><link rel=prerender href="${http}">
    <link rel=modulepreload href="${http}"><link rel=manifest href="${http}"><link rel=icon href="${http}?icon">
    <iframe srcdoc="${quoted(`<meta http-equiv=refresh content="0;url=${http}">`)}"></iframe>
    <iframe srcdoc="${quoted(`<script>location = '${http}'</script>`)}"></iframe>
    <iframe srcdoc="${quoted(`<form method=post action="${http}"></form><script>document.forms[0].submit()</script>`)}"></iframe>
    <iframe src="/to/${encodeURIComponent(http)}"></iframe><img src="/to/${encodeURIComponent(http)}">
    <a id=ping href="/nothing" ping="${http}">x</a>
    <script>
      const quiet = (work) => { try { Promise.resolve(work()).catch(() => {}); } catch { /* refused */ } };
      quiet(() => fetch('${http}', { mode: 'no-cors' }));
      quiet(() => fetch('${https}', { mode: 'no-cors', method: 'POST', body: 'x', keepalive: true }));
      quiet(() => { const ask = new XMLHttpRequest(); ask.open('GET', '${http}'); ask.send(); });
      quiet(() => new WebSocket('${ws}'));
      quiet(() => new WebSocket('wss://${host}/x'));
      quiet(() => new EventSource('${http}'));
      quiet(() => navigator.sendBeacon('${http}', 'x'));
      quiet(() => new Worker(URL.createObjectURL(new Blob(["fetch('${http}', { mode: 'no-cors' })"]))));
      quiet(() => navigator.serviceWorker.register('/worker.js'));
      quiet(() => import('${http}'));
      quiet(() => open('${http}'));
      quiet(() => new WebTransport('https://${host}:443/x'));
      quiet(async () => {
        const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${host}:3478' }, { urls: 'turn:${host}:3478', username: 'u', credential: 'p' }] });
        peer.createDataChannel('x');
        await peer.setLocalDescription(await peer.createOffer());
      });
    </script>`;
}

const PAGES: Readonly<Record<string, () => string>> = {
  '/wishes': () => `<title>wishes</title>${HOSTS.map(wishes).join('\n')}`,
  '/spellings': () =>
    `<title>spellings</title>${SPELLINGS.map((host) => `<img src="http://${host}/x"><img src="https://${host}:8080/x">`).join('\n')}`,
  '/rebinding': () =>
    `<title>rebinding</title>${Array.from({ length: 10 }, (_, at) => `<img src="http://rebinding.example/${at}">`).join('')}`,
};

function answer({ url = '', headers }: IncomingMessage): {
  readonly status: number;
  readonly location?: string;
  readonly body: string;
} {
  if (headers.host?.startsWith('rebinding')) return { status: 200, body: 'x' };
  const to = /^\/to\/(.*)$/.exec(url)?.[1];
  if (to !== undefined) return { status: 302, location: Buffer.from(decodeURIComponent(to)).toString('latin1'), body: '' };
  const top = /^\/top\/(\w+)\/(.*)$/.exec(url);
  if (!top) return { status: 200, body: PAGES[url]?.() ?? 'public' };
  const [, way = '', encoded = ''] = top;
  const target = decodeURIComponent(encoded);
  const bodies: Readonly<Record<string, string>> = {
    meta: `<meta http-equiv=refresh content="0;url=${target}">`,
    script: `<script>location.href = '${target}'</script>`,
    form: `<form method=post action="${target}"></form><script>document.forms[0].submit()</script>`,
  };
  return { status: 200, body: bodies[way] ?? '' };
}

const web = createServer((request, response) => {
  const { status, location, body } = answer(request);
  response.writeHead(status, { 'content-type': 'text/html', ...(location === undefined ? {} : { location }) }).end(body);
});
web.on('connection', note);
web.listen(80, '::');
const rest = [443, 8080, 3478].map((port) =>
  createTcpServer((socket) => {
    note(socket);
    socket.on('error', () => undefined).end();
  }).listen(port, '::'),
);
await Promise.all([web, ...rest].map((server) => once(server, 'listening')));
// Names, STUN, QUIC.
for (const port of [53, 3478, 443]) {
  const udp = createSocket({ type: 'udp6', ipv6Only: false }, () => reached.push(`udp ${port}`));
  udp.bind(port, '::');
  await once(udp, 'listening');
}

let flips = 0;
const connector = {
  ownAddresses: () => OWN_ADDRESSES,
  resolve: async (host: string) => {
    const address = host === 'rebinding.example' ? REBINDING[flips++ % 2] : NAMES[host];
    if (!address) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    return [{ address, family: address.includes(':') ? 6 : 4 }];
  },
};
const stage = testBrowsers({ connector, hasNetwork: true });
const { browsers, logger } = stage;
const browser = browsers.of('s');
const NEVER = new AbortController().signal;

interface Visit {
  readonly reached: readonly string[];
  readonly told: readonly string[];
}

async function visit(urls: readonly string[]): Promise<Visit> {
  reached = [];
  const told: string[] = [];
  for (const url of urls) {
    const outcome = await browser.perform({ action: 'navigate', url }, NEVER);
    // Until what the page began has been tried.
    const looked = await browser.perform(
      { action: 'evaluate', expression: 'new Promise((done) => setTimeout(() => done(document.title), 300))' },
      NEVER,
    );
    told.push(
      outcome.kind === 'failed' ? outcome.reason : [outcome.output, ...outcome.notes].join('\n'),
      looked.kind === 'done' ? looked.output : looked.reason,
    );
  }
  return { reached: [...new Set(reached)].toSorted(), told };
}

const at = 'http://example.org';
const wished = await visit([`${at}/wishes`]);
const clicked = await browser.perform({ action: 'click', selector: '#ping' }, NEVER);
const spellings = await visit([`${at}/spellings`]);
const rebinding = await visit([`${at}/rebinding`]);
const top = await visit([
  `${at}/to/${encodeURIComponent('http://127.0.0.1/')}`,
  `${at}/top/meta/${encodeURIComponent('http://169.254.169.254/')}`,
  `${at}/top/script/${encodeURIComponent('http://intranet.corp/')}`,
  `${at}/top/form/${encodeURIComponent('http://localhost/')}`,
]);
const files = await visit(['file:///etc/passwd', 'data:text/html,x', 'chrome://version/']);
// The control: a client that checks nothing is seen by the same listeners.
reached = [];
for (const host of ['127.1', '0xa9fea9fe', '10.9.9.9']) await fetch(`http://${host}/`).catch(() => undefined);
const control = { reached };
await stage[Symbol.asyncDispose]();
process.stdout.write(
  JSON.stringify({
    count: SPELLINGS.length,
    wished,
    clicked: clicked.kind,
    spellings,
    rebinding,
    top,
    files,
    control,
    log: logger.lines,
  }),
);
process.exit(0);

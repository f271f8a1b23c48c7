// Pages that want to do harm, in the real browser: each costs a failure at most, and the next page is shown.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import type { BrowserOutcome, BrowserRequest } from '../../core/browser.ts';
import { markedWith } from '../../sandbox/kernel-process.ts';
import { type TestBrowsers, testBrowsers } from '../../testing/browsers.ts';
import { until } from '../../testing/fakes.ts';
import { needs } from '../../testing/needs.ts';
import { type WebPeer, webPeer } from '../../testing/web-peer.ts';

const HTML = { 'content-type': 'text/html' };
const PAGES: Readonly<Record<string, string>> = {
  '/plain': '<title>plain</title><p>all is well</p>',
  '/alerts': '<title>alerts</title><script>for (;;) alert("again")</script>',
  '/hog':
    '<title>hog</title><script>const all = []; setInterval(() => { try { all.push(new Uint8Array(2 ** 24).fill(7)); } catch { document.title = "no more"; } }, 5)</script>',
  // Each in a process of its own.
  '/hogs': ['b', 'c', 'd'].map((host) => `<iframe src="http://${host}.example/hog"></iframe>`).join(''),
  '/large': `<title>large</title><script type="application/json">${'ten letter'.repeat(2 ** 20)}</script><p>end</p>`,
  '/noisy':
    '<title>noisy</title><script>addEventListener("beforeunload", (event) => event.preventDefault())</script><button onclick="window.open(\'/plain\'); alert(\'bought\')">x</button><a href=/file download=plan.pdf>y</a><input type=file>',
  '/moves': '<button>look</button><script>setTimeout(() => { location.href = "http://b.example/pay" }, 1500)</script>',
  '/baits': '<script>setTimeout(() => { location.href = "http://b.example/pay" }, 1500)</script>',
  '/pay': '<title>pay</title><button onclick="fetch(`/paid`)">pay</button>',
  // Each way in which a script could learn that it is looked at, and as what.
  '/watches': `<title>watches</title><p id=p>secret words</p><a href=/about>About</a><div style="height:5000px"></div><p id=end>end</p>
    <script>
      const tell = (what) => fetch('/saw-' + what);
      const spy = (owner, name) => {
        const { get, value } = Object.getOwnPropertyDescriptor(owner, name);
        Object.defineProperty(owner, name, { configurable: true, ...(get
          ? { get() { tell(name); return get.call(this); } }
          : { value(...args) { tell(name); return value.apply(this, args); } }) });
      };
      for (const name of ['outerHTML', 'tagName', 'getAttribute', 'querySelectorAll', 'getBoundingClientRect', 'innerHTML'])
        spy(Element.prototype, name);
      for (const name of ['innerText']) spy(HTMLElement.prototype, name);
      for (const name of ['textContent', 'childNodes', 'nodeName']) spy(Node.prototype, name);
      for (const name of ['body', 'title', 'querySelectorAll', 'querySelector', 'fonts', 'documentElement']) spy(Document.prototype, name);
      spy(HTMLAnchorElement.prototype, 'href');
      spy(String.prototype, 'trim');
      for (const name of ['scroll', 'resize', 'focus', 'blur', 'visibilitychange']) addEventListener(name, () => tell(name), true);
      new MutationObserver(() => tell('mutation')).observe(document, { subtree: true, childList: true, attributes: true });
      tell('begun');
    </script>`,
  '/out':
    '<title>out</title><script>const at = (to) => { try { location.href = to } catch { /* refused */ } }; at("file:///etc/passwd"); at("data:text/html,x"); at("mailto:a@b.example"); at("chrome://settings"); print()</script>',
};

let stage: TestBrowsers;
let peer: WebPeer;

beforeAll(async () => {
  peer = await webPeer(({ url = '' }, response) => {
    if (url === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else if (url === '/never') return;
    else if (url === '/file')
      response.writeHead(200, { 'content-type': 'application/pdf', 'content-disposition': 'attachment' }).end('x');
    else if (url === '/slow') response.writeHead(200, HTML).write('<title>slow</title><p>begun</p>');
    else response.writeHead(200, HTML).end(PAGES[url] ?? 'public');
  });
  stage = testBrowsers({ connector: peer.connector });
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await peer[Symbol.asyncDispose]();
});

function needsBrowser(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  needs(context, 'chromium', '--version');
}

const { signal: NEVER } = new AbortController();

async function ask(request: BrowserRequest, session = 'one'): Promise<BrowserOutcome> {
  return await stage.browsers.of(session).perform(request, NEVER);
}

const go = (path: string, session?: string) => ask({ action: 'navigate', url: `http://a.example${path}` }, session);
const saidOf = (outcome: BrowserOutcome): string =>
  outcome.kind === 'failed' ? outcome.reason : [outcome.title, outcome.output, ...outcome.notes].join('\n');

async function isWell(): Promise<void> {
  expect(await go('/plain')).toMatchObject({ kind: 'done', title: 'plain', output: 'HTTP status 200' });
}

test('dialogs without end, a redirect without end and a page that crashes are failures that say what to do', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  expect(await ask({ action: 'get_text' })).toEqual({ kind: 'failed', reason: 'no page is open; navigate first' });
  await isWell();
  const closed = 'and the browser was closed; navigate again';
  expect(saidOf(await go('/alerts'))).toBe(`the page shows one dialog after the other, ${closed}`);
  expect(saidOf(await ask({ action: 'get_text' }))).toBe('no page is open; navigate first');
  expect(saidOf(await go('/loop'))).toBe('the address leads on and on to other addresses');
  expect(saidOf(await ask({ action: 'navigate', url: 'chrome://crash' }))).toContain('ERR_ABORTED');
  expect(saidOf(await ask({ action: 'get_text' }))).toMatch(/navigate (?:again|first)$/);
  await isWell();
});

test('a page of 10 MB is shown in part, and one that takes all memory ends the browser and nothing else', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  expect(saidOf(await go('/large'))).toContain('large\nHTTP status 200');
  const html = saidOf(await ask({ action: 'get_html' }));
  expect(html).toMatch(/ten letter.*\n\[cut at 262144 characters\]$/s);
  expect(html.length).toBeLessThan(263_000);
  expect(saidOf(await ask({ action: 'get_text' }))).toContain('end');
  const long = await ask({ action: 'evaluate', expression: '"x".repeat(2 ** 26)' });
  expect(saidOf(long)).toContain('[cut at 262144 characters]');
  // One process is bounded by the kernel.
  await go('/hog');
  await until(
    'the page gets no more',
    async () => /^no more|navigate (?:again|first)$/.test(saidOf(await ask({ action: 'get_links' }))),
    30_000,
  );
  // All of them are by the driver.
  await go('/hogs');
  await until('the browser is closed', async () => saidOf(await ask({ action: 'get_links' })).includes('navigate'), 60_000);
  await isWell();
});

test('code that never ends, in a page or for one, is given up, and a page that never begins leaves with the call', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  const other = async () => {
    const stop = new AbortController();
    const left = stage.browsers.of('two').perform({ action: 'navigate', url: 'http://a.example/never' }, stop.signal);
    await until('it is asked for', () => peer.seen.some(({ url }) => url === '/never'), 60_000);
    const mark = stage.marks.at(-1) ?? '';
    stop.abort(new Error('stopped'));
    await expect(left).rejects.toThrow('stopped');
    await until('the browser is gone', () => markedWith(mark).length === 0);
    expect(saidOf(await go('/slow', 'two'))).toBe('slow\nHTTP status 200\nThe page was still loading after 15 s.');
  };
  const endless = async () => {
    expect(saidOf(await ask({ action: 'evaluate', expression: '(() => { for (;;); })()' }))).toContain(
      'it took longer than 10 s',
    );
    expect(saidOf(await ask({ action: 'evaluate', expression: 'new Promise(() => {})' }))).toContain('it took longer than 10 s');
    expect(saidOf(await ask({ action: 'get_text' }))).toBe('plain\nall is well');
  };
  await isWell();
  await Promise.all([other(), endless()]);
});

test('windows, dialogs, downloads and files are refused and told, and no page leads out of the web', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  await go('/noisy');
  expect(saidOf(await ask({ action: 'click', selector: 'button' })).split('\n')).toEqual(
    expect.arrayContaining([
      'The page opened a window for http://a.example/plain, which was closed; navigate there if it is wanted.',
      'The page showed a dialog (alert): "bought". It was dismissed.',
    ]),
  );
  // What comes after an action is told with the next one.
  const said = [await ask({ action: 'click', selector: 'a' })];
  await until('the download is told', async () => {
    said.push(await ask({ action: 'get_text' }));
    return said.map(saidOf).join('\n').includes('A download of "plan.pdf" was refused.');
  });
  expect(saidOf(await ask({ action: 'click', selector: 'input' }))).toContain('The page asked for a file, and got none.');
  expect(saidOf(await go('/file'))).toContain('this is a file to be downloaded, not a page');
  await go('/out');
  await sleep(500);
  const left = await ask({ action: 'get_html' });
  expect(left.kind === 'done' ? left.url : left.reason).toMatch(/^http:\/\/a\.example\/out$|^about:blank|no such element/);
  expect(saidOf(left)).not.toContain('root:');
  await isWell();
  expect(saidOf(await ask({ action: 'evaluate', expression: 'navigator.serviceWorker.register("/w.js")' }))).not.toContain(
    'scope',
  );
  await isWell();
});

test('a look at the whole page, and a picture of it, are not seen by the page', { timeout: 120_000 }, async (context) => {
  needsBrowser(context);
  const saw = () => peer.seen.flatMap(({ url = '' }) => (url.startsWith('/saw-') ? [url.slice('/saw-'.length)] : []));
  await go('/watches');
  await until('it watches', () => saw().length > 0);
  expect(saidOf(await ask({ action: 'get_text' }))).toContain('secret words');
  expect(saidOf(await ask({ action: 'get_html' }))).toContain('<p id="end">');
  expect(saidOf(await ask({ action: 'get_links' }))).toContain('http://a.example/about About');
  const shot = await ask({ action: 'screenshot' });
  expect(shot.kind === 'done' && Buffer.from(shot.png ?? '').readUInt32BE(16)).toBe(1280);
  // What it saw before would have come by then.
  expect(saidOf(await ask({ action: 'evaluate', expression: 'tell("asked").then(() => 1)' }))).toContain('1');
  expect(saw()).toEqual(['begun', 'asked']);
  // Its eyes do see.
  expect(saidOf(await ask({ action: 'get_text', selector: '#end' }))).toContain('end');
  await until('it sees a look at one element', () => saw().includes('innerText'));
});

test('a look at one element is at the page that it was allowed for, and is not made on another one', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  const moved = 'the page has moved to http://b.example/pay since; look at it first';
  for (const action of ['get_text', 'get_html', 'find_elements', 'screenshot'] as const) {
    await go('/moves');
    await sleep(2_000);
    expect(saidOf(await ask({ action, selector: 'button' })), action).toBe(moved);
    expect(saidOf(await ask({ action, selector: 'button' })), action).toContain('pay');
  }
});

test('there are two browsers at most: a third one takes the place of the one that rested longest', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  await go('/plain', 'one');
  await go('/plain', 'two');
  await go('/plain', 'three');
  expect(['one', 'two', 'three'].map((session) => stage.browsers.of(session).page)).toEqual([
    undefined,
    'http://a.example/plain',
    'http://a.example/plain',
  ]);
});

test('what was allowed on one page is not done on another one, wherever scripts and actions beside it lead', {
  timeout: 120_000,
}, async (context) => {
  needsBrowser(context);
  const paid = () => peer.seen.some(({ url }) => url === '/paid');
  const click: BrowserRequest = { action: 'click', selector: 'button' };
  const moved = 'the page has moved to http://b.example/pay since; look at it first';
  await go('/moves');
  await until('the page has moved', async () => saidOf(await ask(click)) === moved);
  expect(paid()).toBe(false);
  // The element comes with another page.
  await go('/baits');
  expect(saidOf(await ask(click))).toBe(moved);
  expect(paid()).toBe(false);
  expect(saidOf(await ask({ action: 'evaluate', expression: 'location.host' }))).toContain('b.example');
  // Begun while an action is under way that leads elsewhere.
  await go('/plain');
  const [, late] = await Promise.all([ask({ action: 'navigate', url: 'http://b.example/pay' }), ask(click)]);
  expect(saidOf(late)).toBe(moved);
  expect(paid()).toBe(false);
  await ask(click);
  await until('it is paid', paid);
  expect(stage.browsers.of('one').isPrivate).toBe(true);
  await stage.browsers.of('one').close();
  await go('/plain');
  expect(stage.browsers.of('one').isPrivate).toBe(false);
});

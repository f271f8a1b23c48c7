import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';

/** The program itself, where the one in PATH is a script that reads files which a sandbox does not show. */
const PROGRAMS = ['/usr/lib/chromium/chromium', '/usr/lib64/chromium-browser/chromium-browser', '/usr/bin/chromium'];
const LAUNCH_MS = 45_000;

const FLAGS = [
  // Our sandbox stands in its place: namespaces within it are refused.
  '--no-sandbox',
  // Loopback too; and no name is ever looked up here, only by the proxy.
  ...['--proxy-bypass-list=<-loopback>', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--dns-prefetch-disable'],
  // No way beside the proxy.
  ...[
    '--disable-quic',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  ],
  // Playwright's flag stops what is looked for by the clock, and not what is asked for on demand.
  '--component-updater=url-source=http://update.invalid/',
  // What pages can do without, and what is most often attacked.
  ...['--disable-gpu', '--disable-3d-apis', '--disable-notifications', '--deny-permission-prompts', '--disable-print-preview'],
  ...['--disable-speech-api', '--no-pings', '--disable-domain-reliability', '--disable-client-side-phishing-detection'],
  // One page is shown; processes that wait for others only take memory.
  ...['--renderer-process-limit=4', '--js-flags=--max-old-space-size=512'],
];
/** Of Playwright: what tests need, and what here protects. */
const NOT_WANTED = [
  '--disable-popup-blocking',
  '--disable-ipc-flooding-protection',
  '--enable-unsafe-swiftshader',
  '--disable-hang-monitor',
];

/**
 * A browser whose connections all go to a proxy on this port of 127.0.0.1. `playwright` is the file that its
 * package begins with. Rejects when it does not start.
 */
export async function launch(playwright: string, port: number): Promise<Browser> {
  // By its file: where packages are links, the sandbox shows only what they lead to.
  const { chromium } = ((await import(pathToFileURL(playwright).href)) as { default: typeof import('playwright-core') }).default;
  const executablePath = PROGRAMS.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('chromium is not installed where it is looked for');
  try {
    return await chromium.launch({
      ...{ executablePath, chromiumSandbox: false, timeout: LAUNCH_MS, ignoreDefaultArgs: NOT_WANTED },
      args: [...FLAGS, `--proxy-server=http://127.0.0.1:${port}`],
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message.slice(0, 8_000)}\n`);
    throw new Error('the browser does not start here; the log of the daemon says why', { cause: error });
  }
}

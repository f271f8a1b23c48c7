/** A real browser without a window, driven over its own protocol. Never shipped. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { tempDir, until } from './fakes.ts';

const CHROMIUM = 'chromium';
const END_MS = 5_000;

/** Why there is none here; undefined when there is. */
export function browserMissing(): string | undefined {
  const { status, error } = spawnSync(CHROMIUM, ['--version'], { stdio: 'ignore' });
  return status === 0 ? undefined : `${CHROMIUM} cannot be run: ${error?.message ?? `it ended with ${status}`}`;
}

export interface Browser extends AsyncDisposable {
  /** Value of an expression in the page, which must be JSON. Rejects with what the page threw. */
  evaluate(expression: string): Promise<unknown>;
  /** As a keyboard does, where the focus is. */
  type(text: string): Promise<void>;
  press(key: 'Enter'): Promise<void>;
  resize(width: number, height: number): Promise<void>;
}

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** Opens one page in a browser of its own, with nothing kept. */
export async function openBrowser(url: string): Promise<Browser> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await tempDir());
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
  const child = spawn(CHROMIUM, [...flags, '--remote-debugging-port=0', `--user-data-dir=${dir.path}`, url], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  resources.defer(async () => {
    // Asked first: it ends its own processes, which a killed one would leave to nobody.
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await ended;
    clearTimeout(kill);
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += String(chunk);
  });
  const port = await until('the browser listens', () => /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(log)?.[1], 10_000);
  const target = await until('the page is there', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/json`, { headers: { connection: 'close' } });
    const targets = (await response.json()) as { readonly type: string; readonly webSocketDebuggerUrl: string }[];
    return targets.find(({ type }) => type === 'page');
  });
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  resources.defer(() => socket.terminate());
  await once(socket, 'open');
  const call = caller(socket);
  const kept = resources.move();
  return {
    async evaluate(expression) {
      const { result, exceptionDetails } = await call('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return (result as { readonly value?: unknown }).value;
    },
    type: async (text) => void (await call('Input.insertText', { text })),
    async press(key) {
      const about = { key, code: key, text: '\r', windowsVirtualKeyCode: 13 };
      for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, ...about });
    },
    resize: async (width, height) =>
      void (await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function caller(socket: WebSocket) {
  const waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  socket.on('message', (data) => {
    const { id, result, error } = JSON.parse(String(data)) as Reply;
    if (id === undefined) return;
    if (error) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result ?? {});
    waiting.delete(id);
  });
  let last = 0;
  return async (method: string, params: object) => {
    last += 1;
    const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    waiting.set(last, answer);
    socket.send(JSON.stringify({ id: last, method, params }));
    return await answer.promise;
  };
}

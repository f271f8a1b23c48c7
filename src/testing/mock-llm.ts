/**
 * Starts `@dwmkerr/mock-llm`, an OpenAI chat server of another author than aimock's, in a process of its own:
 * in this one it would print every request. Its command listens on all addresses and does not tell a free
 * port, hence a main of ours.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Answers requests whose path and content match; of several rules the last one wins. */
export interface MockLlmRule {
  /** Regular expression. */
  readonly path: string;
  /** JMESPath over `{body, headers, method, path, query}`. Default: matches all. */
  readonly match?: string;
  /** Matches only the n-th request, from 0; counted per path over the rules that have one. */
  readonly sequence?: number;
  /** `content` is JSON. A stream gets its text in pieces, without calls, and errors as events of a 200. */
  readonly response: { readonly status: number; readonly content: string };
}

export interface MockLlm extends AsyncDisposable {
  /** Origin; the OpenAI base URL is `${url}/v1`. */
  readonly url: string;
}

interface Settings {
  readonly streaming: { readonly chunkSize: number; readonly chunkIntervalMs: number };
  readonly rules: readonly MockLlmRule[];
}

const READY = /^ready (\d+)$/m;

/** Requests that no rule matches get a 404. Pieces of a stream are `chunkSize` characters long. */
export async function startMockLlm(options: { rules: readonly MockLlmRule[]; chunkSize?: number }): Promise<MockLlm> {
  const settings: Settings = { streaming: { chunkSize: options.chunkSize ?? 5, chunkIntervalMs: 1 }, rules: options.rules };
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [self, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let output = '';
  const port = await new Promise<number>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = READY.exec(output)?.[1];
      if (found) resolve(Number(found));
    };
    // Both pipes stay in flowing mode afterwards, or the chatty child would block on a full one.
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`mock-llm ended with ${code}: ${output}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

interface Listening {
  address(): AddressInfo;
}

async function serve(settings: Settings): Promise<void> {
  const { createServer } = await import('@dwmkerr/mock-llm/dist/server.js');
  const app = createServer(settings as Parameters<typeof createServer>[0], '127.0.0.1', 0);
  const server = app.listen(0, '127.0.0.1', () => process.stdout.write(`ready ${(server as Listening).address().port}\n`));
  // The pipe also ends when the parent dies: nothing stays behind.
  process.stdin.resume().once('end', () => process.exit(0));
}

if (import.meta.main) await serve(JSON.parse(process.argv[2] ?? '{}') as Settings);

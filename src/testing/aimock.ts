/** Starts `@copilotkit/aimock`, an emulator of model wires by others, in this process or in its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';

/**
 * A fixture as in aimock's JSON files: `{match, response, latency?, truncateAfterChunks?, ...}`. The first
 * that matches answers.
 */
export type AimockFixture = Readonly<{ match: object; response: object; [option: string]: unknown }>;

interface AimockRequest {
  readonly method: string;
  readonly path: string;
  /** Keys are shown as `[REDACTED]`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly response: { readonly status: number };
}

export interface Aimock extends AsyncDisposable {
  /** Origin; the OpenAI base URL is `${url}/v1`. */
  readonly url: string;
  /** What was asked so far, oldest first. */
  journal(): Promise<readonly AimockRequest[]>;
  /** The next request fails with this status, once. */
  nextError(status: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Requests that no fixture matches fail (strict). Set `latency` next to `truncateAfterChunks`: without it no
 * partial text is sent.
 */
export async function startAimock(options: { fixtures: readonly AimockFixture[]; ownProcess?: boolean }): Promise<Aimock> {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-aimock-'));
  const file = join(dir, 'fixtures.json');
  // A file in both cases: the in-process API refuses fixtures that are broken on purpose.
  await writeFile(file, JSON.stringify({ fixtures: options.fixtures }));
  const server = options.ownProcess ? await startProcess(file) : await startHere(file);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  return {
    url: server.url,
    async journal() {
      const response = await fetch(`${server.url}/__aimock/journal`);
      return (await response.json()) as AimockRequest[];
    },
    async nextError(status) {
      const response = await fetch(`${server.url}/__aimock/error`, { method: 'POST', body: JSON.stringify({ status }) });
      if (!response.ok) throw new Error(`aimock refused the error: ${response.status} ${await response.text()}`);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

async function startHere(file: string): Promise<Running> {
  const mock = new LLMock({ port: 0, strict: true, logLevel: 'silent' });
  mock.loadFixtureFile(file);
  await mock.start();
  let stopped: Promise<void> | undefined;
  return {
    url: mock.url,
    stop() {
      stopped ??= mock.stop();
      return stopped;
    },
  };
}

async function startProcess(file: string): Promise<Running> {
  const cli = join(dirname(fileURLToPath(import.meta.resolve('@copilotkit/aimock'))), 'cli.js');
  const child = spawn(process.execPath, [cli, '-p', '0', '-f', file, '--strict'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  try {
    return { url: await printedUrl(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function printedUrl(child: ChildProcess): Promise<string> {
  let output = '';
  return await new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    };
    // Both pipes stay in flowing mode afterwards, or a chatty child would block on a full one.
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`aimock ended with ${code}: ${output}`)));
  });
}

/** A program of the operator: the MCP SDK's own client, to a real `gatehouse mcp serve`. */
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Progress } from '@modelcontextprotocol/sdk/types.js';
import { programLine } from './child-daemon.ts';

export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
  readonly id?: string | undefined;
  readonly state?: string | undefined;
}

export interface TestClient extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  /** What the program wrote to standard error. */
  stderr(): string;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolAnswer>;
  tools(): Promise<readonly string[]>;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
}

/** Rejects with what the program said when it ends at once. `dir`: as of `startChild`. */
export async function startMcpClient(dir: string, as: string): Promise<TestClient> {
  const line = programLine(dir, 'mcp', 'serve', '--as', as, '--data-dir', join(dir, 'data'));
  const transport = new StdioClientTransport({ ...line, cwd: dir, stderr: 'pipe' });
  let stderr = '';
  transport.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
  try {
    await client.connect(transport);
  } catch (error) {
    await transport.close();
    throw new Error(`the bridge did not start: ${stderr}`, { cause: error });
  }
  return {
    client,
    pid: transport.pid ?? 0,
    stderr: () => stderr,
    async call(name, args = {}, { signal, onprogress } = {}) {
      const options = {
        timeout: 60_000,
        resetTimeoutOnProgress: true,
        ...(signal && { signal }),
        ...(onprogress && { onprogress }),
      };
      const result = await client.callTool({ name, arguments: args }, undefined, options);
      const [content] = result.content as readonly { readonly text: string }[];
      const { 'gatehouse/id': id, 'gatehouse/state': state } = (result._meta ?? {}) as Record<string, string | undefined>;
      return { text: content?.text ?? '', isError: result.isError === true, id, state };
    },
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

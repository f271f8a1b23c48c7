import { z } from 'zod';
import type { McpClientEntry } from '../../../config/sections/mcp-clients.ts';

/** One call of a client. */
export interface ClientCall {
  /** Of `mcp_clients`. */
  readonly client: string;
  /** As they are now. */
  readonly settings: McpClientEntry;
  /** Of this call, where it names no key itself. */
  readonly key: string;
  /** Aborts when the client takes the call back, and when its connection is over. */
  readonly signal: AbortSignal;
  /** Whether the connection is over: who waits is gone, and took nothing back. */
  readonly isGone: () => boolean;
  /** Absent = the client does not want to know. */
  readonly progress?: (message: string) => void;
}

/** What the client is told, beside `id`: of what it asked, by which it can ask again. */
export interface ClientAnswer {
  readonly text: string;
  readonly isError?: boolean;
  readonly id?: string;
  readonly state?: 'answered' | 'failed' | 'cancelled' | 'running' | 'waiting' | 'taken';
}

/** A tool that clients are offered. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Throws `CallRefusal` for what the client can mend. */
  call(args: unknown, call: ClientCall): Promise<ClientAnswer>;
}

/** A failure whose text is written for the client. */
export class CallRefusal extends Error {}

/** A tool whose arguments are checked before `run` sees them. */
export function clientTool<Schema extends z.ZodObject>(
  about: Pick<ClientTool, 'name' | 'description'> & { readonly schema: Schema },
  run: (args: z.output<Schema>, call: ClientCall) => Promise<ClientAnswer>,
): ClientTool {
  const { schema, ...facts } = about;
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' });
  return {
    ...facts,
    parameters,
    async call(args, call) {
      const parsed = schema.safeParse(args ?? {});
      if (parsed.success) return await run(parsed.data, call);
      const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
      throw new CallRefusal(`invalid arguments for ${facts.name}: ${problems.join('; ')}`);
    },
  };
}

/** A name that a client chooses: nothing in it that people do not see. */
export function named(longest: number): z.ZodString {
  return z
    .string()
    .regex(/^\P{C}+$/u, { error: 'must have no control characters' })
    .max(longest);
}

/** Seconds that a call may wait for a run. */
export const waitSecs = z.int().min(0).max(3_600);

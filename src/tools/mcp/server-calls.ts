/** Calls of the tools of one server, and what the model is told of those that fail. */
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { errorText, type GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { Logger } from '../../core/ports.ts';
import type { ToolResult } from '../../core/tool.ts';
import { oneLine } from '../../lib/one-line.ts';
import { type CallOptions, CallRefused, type McpConnection } from './client.ts';
import type { ServerTool } from './offered.ts';
import { failed, resultOf } from './result.ts';

/** Longest error of a server that a model reads. UTF-16 units. */
const MAX_ERROR = 1_000;

export interface ServerCallsOptions {
  readonly server: string;
  readonly entry: McpServerEntry;
  readonly logger: Logger;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

export class ServerCalls {
  readonly #options: ServerCallsOptions;
  #underWay = 0;
  /** What a login did not cover, as it was told last. */
  #toldScope = '';

  constructor(options: ServerCallsOptions) {
    this.#options = options;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Rejects only with the reason of the signal; every other failure is a result that says so. */
  async call(
    connection: McpConnection,
    tool: ServerTool,
    args: unknown,
    asks: Omit<CallOptions, 'timeoutMs'>,
  ): Promise<ToolResult> {
    const { server, entry, redact } = this.#options;
    this.#underWay += 1;
    try {
      const { answer, notes } = await connection.call(tool.name, args, { ...asks, timeoutMs: entry.timeout_secs * 1_000 });
      const result = resultOf(tool, answer, notes);
      return { ...result, output: redact(result.output) };
    } catch (error) {
      if (asks.signal.aborted) throw asks.signal.reason;
      const detail = oneLine(redact(errorText(error)), MAX_ERROR);
      if (error instanceof CallRefused) return failed(`the MCP server ${server} refused the call: ${detail}`);
      if (needsLogin(error)) return this.#refused(error, detail);
      return failed(`the MCP server ${server} gave no answer (${detail}); whether the call took effect is unknown`);
    } finally {
      this.#underWay -= 1;
    }
  }

  /**
   * The server did not act, and only a person can change that: the operator reads how, the model that it is
   * so.
   */
  #refused({ code, hint }: GatehouseError, detail: string): ToolResult {
    const { server, logger } = this.#options;
    if (code === 'GH2305' && this.#toldScope !== detail) logger.warn('mcp.scope', { server, code, detail, hint });
    if (code === 'GH2305') this.#toldScope = detail;
    return failed(`the MCP server ${server} refused the call: ${detail}; the operator has to ${hint}`);
  }
}

/** Whether a person has to log in, or to give the login more, before the server works. */
export function needsLogin(error: unknown): error is GatehouseError {
  return isGatehouseError(error) && (error.code === 'GH2304' || error.code === 'GH2305');
}

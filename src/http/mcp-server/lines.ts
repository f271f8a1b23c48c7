import { isDeep } from '../../lib/json-depth.ts';

/** Of one message, with room for what the bridge adds. */
export const MAX_LINE_BYTES = 1024 * 1024;
/** Far more than any message of the protocol nests. */
const MOST_LEVELS = 64;
const NEWLINE = 0x0a;

export interface LinesOptions {
  readonly maxBytes?: number;
  readonly onLine: (line: string) => void;
  /** Once for each line that is longer: it is passed over, and never held. */
  readonly onTooLong: () => void;
}

/** Cuts a stream into its lines. What is held is never longer than one line may be. */
export class Lines {
  readonly #options: LinesOptions;
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #bytes = 0;
  #isSkipping = false;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? MAX_LINE_BYTES;
  }

  write(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#hold(chunk.subarray(from, end));
      from = end + 1;
      this.#tell();
    }
    this.#hold(chunk.subarray(from));
  }

  #hold(piece: Buffer): void {
    if (this.#isSkipping || piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#bytes <= this.#maxBytes) {
      this.#held.push(piece);
      return;
    }
    this.#isSkipping = true;
    this.#held = [];
    this.#options.onTooLong();
  }

  #tell(): void {
    const [held, isSkipped] = [this.#held, this.#isSkipping];
    this.#held = [];
    this.#bytes = 0;
    this.#isSkipping = false;
    if (isSkipped) return;
    const line = Buffer.concat(held).toString('utf8').trim();
    if (line !== '') this.#options.onLine(line);
  }
}

type Id = string | number;

/** A JSON-RPC message. Requests have `id` and `method`, answers `id` alone, notifications `method` alone. */
export interface RpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: Id;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Codes of JSON-RPC 2.0, and of its range for servers. */
export const RPC = { parse: -32_700, invalid: -32_600, refused: -32_000 } as const;

/** What a line is; `refusal` = no message that can be taken, with the answer to it. */
export type ReadLine =
  | { readonly kind: 'message'; readonly message: RpcMessage }
  | { readonly kind: 'refusal'; readonly answer: object };

/** Reads one line, which is within its limit. Never throws. */
export function readLine(line: string): ReadLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return refusal(null, RPC.parse, 'the line is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refusal(null, RPC.invalid, 'a line is one JSON-RPC message');
  const given: unknown = Reflect.get(value, 'id');
  const id = isId(given) ? given : null;
  if (isDeep(value, MOST_LEVELS)) return refusal(id, RPC.invalid, `the message is nested in more than ${MOST_LEVELS} levels`);
  const { jsonrpc, method, params } = value as Record<string, unknown>;
  const isCall = typeof method === 'string' && (params === undefined || (typeof params === 'object' && params !== null));
  const isAnswer = method === undefined && id !== null && ('result' in value || 'error' in value);
  if (jsonrpc !== '2.0' || !(isCall || isAnswer) || (given !== undefined && id === null))
    return refusal(id, RPC.invalid, 'this is no JSON-RPC 2.0 message');
  return { kind: 'message', message: value as RpcMessage };
}

export function isRequest(message: RpcMessage): message is RpcMessage & { readonly id: Id; readonly method: string } {
  return message.id !== undefined && message.method !== undefined;
}

/** An answer that says that nothing was done. */
export function rpcError(id: Id | null, code: number, message: string, data?: object): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data ? { data } : {}) } };
}

function refusal(id: Id | null, code: number, message: string): ReadLine {
  return { kind: 'refusal', answer: rpcError(id, code, message) };
}

function isId(value: unknown): value is Id {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= 200);
}

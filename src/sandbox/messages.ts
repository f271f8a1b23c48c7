/** What daemon and worker tell each other: one JSON document a line. */
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { SANDBOX_MODES } from './confine.ts';

/** A longer line ends the connection before it is parsed. */
const MAX_FRAME_BYTES = 16 * 1024 ** 2;
/** A program is given no more: a file of the workspace at its longest. In base64 it fits into a line. */
export const MAX_STDIN_BYTES = 10 * 1024 ** 2;
const MAX_OUTPUT_BYTES = 8 * 1024 ** 2;

const paths = z.array(z.string()).max(64);
const confinement = z.strictObject({
  mode: z.enum(SANDBOX_MODES),
  network: z.boolean(),
  readable: paths,
  hidden: paths,
  image: z.string().optional(),
});
const program = z.strictObject({
  argv: z.array(z.string()).min(1).max(4096),
  cwd: z.string(),
  home: z.string().optional(),
  env: z.record(z.string(), z.string()),
  sandbox: z.enum(['tool', 'isolated', 'trusted']),
  readable: paths.optional(),
  network: z.boolean(),
  memoryBytes: z.int().min(1).optional(),
  pids: z.int().min(1).optional(),
});

export const toWorker = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ type: z.literal('run'), id: z.int(), program, confinement },
    stdin: z.base64().optional(),
    timeoutMs: z.int().min(1),
    outputBytes: z.int().min(1).max(MAX_OUTPUT_BYTES),
    /** Which are told as they come. */
    lines: z.enum(['none', 'all', 'progress']),
    /** Whether standard output is told as it comes. */
    output: z.boolean(),
    /** Whether standard input stays open for messages `input`. */
    input: z.boolean(),
  }),
  z.strictObject({ type: z.literal('input'), id: z.int(), bytes: z.base64() }),
  /** It is recorded, and may begin. */
  z.strictObject({ type: z.literal('go'), id: z.int() }),
  z.strictObject({ type: z.literal('stop'), id: z.int() }),
  /** Tries what works where the worker runs. */
  z.strictObject({
    type: z.literal('probe'),
    id: z.int(),
    mode: z.enum(['auto', ...SANDBOX_MODES]),
    confinement: confinement.omit({ mode: true }),
  }),
]);
export type ToWorker = z.output<typeof toWorker>;

const exit = z.strictObject({ code: z.int().nullable(), timedOut: z.boolean(), out: z.string(), err: z.string(), cut: z.int() });

export const fromWorker = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('started'), id: z.int(), pid: z.int().min(2), started: z.string() }),
  z.strictObject({ type: z.literal('line'), id: z.int(), stream: z.enum(['out', 'err']), line: z.string() }),
  /** Of standard output, in base64. */
  z.strictObject({ type: z.literal('output'), id: z.int(), bytes: z.string() }),
  z.strictObject({ type: z.literal('end'), id: z.int(), exit }),
  z.strictObject({
    ...{ type: z.literal('failed'), id: z.int(), message: z.string(), hint: z.string().optional() },
    /** Default: GH2010. */
    code: z.literal('GH2014').optional(),
  }),
  z.strictObject({
    ...{ type: z.literal('probed'), id: z.int() },
    found: z.union([
      z.strictObject({ mode: z.enum(SANDBOX_MODES), programs: z.array(z.string()) }),
      z.strictObject({ problem: z.string(), hint: z.string() }),
    ]),
  }),
]);
export type FromWorker = z.output<typeof fromWorker>;

export function send(stream: Duplex, message: ToWorker | FromWorker): void {
  if (!stream.destroyed && stream.writable) stream.write(`${JSON.stringify(message)}\n`);
}

/**
 * Tells each message. A line that is too long or none of them destroys the stream with the reason: the other
 * side is of another version, or not what it should be.
 */
export function receive<T>(stream: Duplex, schema: z.ZodType<T>, tell: (message: T) => void): void {
  let chunks: Buffer[] = [];
  let length = 0;
  stream.on('data', (data: Buffer) => {
    for (let rest = data; rest.length > 0 && !stream.destroyed; ) {
      const end = rest.indexOf(0x0a);
      const piece = end < 0 ? rest : rest.subarray(0, end);
      rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1);
      length += piece.length;
      if (length > MAX_FRAME_BYTES) {
        stream.destroy(new Error('a message is too long'));
        return;
      }
      chunks.push(piece);
      if (end < 0) continue;
      const message = parse(Buffer.concat(chunks).toString('utf8'), schema);
      [chunks, length] = [[], 0];
      if (message) tell(message);
      else stream.destroy(new Error('a message cannot be understood; both sides must be of one version'));
    }
  });
}

function parse<T>(text: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // the caller ends the connection
  }
}

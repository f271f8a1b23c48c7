// document -> open-document.ts or make-docx.ts in its own process, bounded in memory and time -> text or docx
import { extname, join } from 'node:path';
import { z } from 'zod';
import type { Documents } from '../core/document.ts';
import type { Spawner } from '../core/process.ts';

const program = (name: string): string => join(import.meta.dirname, name + extname(import.meta.filename));
/** They write no file, start no program and load no native code, whatever a document does to a parser. */
const NODE = ['--permission', '--allow-fs-read=*', '--disallow-code-generation-from-strings', '--max-old-space-size=256'];
/** Of all that such a program holds: pictures and packed parts lie beside the heap of Node. */
const MEMORY_BYTES = 1024 ** 3;
const TIMEOUT_MS = 60_000;
/** Of an answer, in UTF-8. A docx comes in base64. */
const MAX_ANSWER_BYTES = 8 * 1024 ** 2;
const TOO_MUCH = 'the document is too large or too entangled';
/** What documents are read and made with; where one is missing, the tools for them are not offered. */
export const DOCUMENT_PACKAGES = ['docx', 'linkedom', 'mammoth', 'node-html-markdown', 'unpdf'];

const text = z.discriminatedUnion('kind', [
  z.strictObject({
    ...{ kind: z.literal('read'), type: z.enum(['pdf', 'docx']), text: z.string(), title: z.string() },
    ...{ pages: z.int().optional(), goOn: z.int().optional(), isComplete: z.boolean() },
  }),
  z.strictObject({ kind: z.literal('failed'), reason: z.string() }),
]);

interface DocumentWorkerOptions {
  readonly spawner: Pick<Spawner, 'run'>;
  /** Key of the run that reads or writes. */
  readonly run: string;
}

interface Work {
  readonly name: string;
  readonly args: readonly string[];
  readonly stdin: string | Uint8Array;
  readonly callId: string;
}

export function documentWorker({ spawner, run }: DocumentWorkerOptions): Documents {
  /** What it printed; undefined = it did not come to its end, or has too much to say. */
  const work = async ({ name, args, stdin, callId }: Work, signal: AbortSignal): Promise<string | undefined> => {
    const exit = await spawner.run(
      {
        argv: [process.execPath, ...NODE, program(name), ...args],
        ...{ cwd: import.meta.dirname, env: {}, sandbox: 'trusted', network: false, owner: { run, callId }, stdin },
        limits: { timeoutMs: TIMEOUT_MS, outputBytes: MAX_ANSWER_BYTES, memoryBytes: MEMORY_BYTES },
      },
      signal,
    );
    return exit.code === 0 && exit.cut === 0 ? exit.out : undefined;
  };
  return {
    async read({ file, callId, ...request }, signal) {
      const args = [JSON.stringify(request)];
      const out = await work({ name: 'open-document', args, stdin: file, callId }, signal);
      return parse(out) ?? { kind: 'failed', reason: `${TOO_MUCH} to be read` };
    },
    async toDocx({ markdown, pictures, callId }, signal) {
      const packed = Object.entries(pictures).map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]);
      const stdin = JSON.stringify({ markdown, pictures: Object.fromEntries(packed) });
      const out = await work({ name: 'make-docx', args: [], stdin, callId }, signal);
      return out
        ? { kind: 'made', file: Buffer.from(out, 'base64') }
        : { kind: 'failed', reason: `${TOO_MUCH} to be made a docx` };
    },
  };
}

function parse(json: string | undefined): z.output<typeof text> | undefined {
  try {
    return json === undefined ? undefined : text.parse(JSON.parse(json));
  } catch {
    return undefined; // the program was ended in the middle of it
  }
}

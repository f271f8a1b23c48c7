// HTML of a stranger -> read-page.ts in a process of its own, bounded in memory and time -> text
import { extname, join } from 'node:path';
import { z } from 'zod';
import type { ReadPage } from '../core/page.ts';
import type { Spawner } from '../core/process.ts';
import { missingPackages } from './installed.ts';

/** Beside this file in the sources, and in what is published. */
const PROGRAM = join(import.meta.dirname, `read-page${extname(import.meta.filename)}`);
/** It writes no file, starts no program and loads no native code, whatever a page does to the parser. */
const NODE = ['--permission', '--allow-fs-read=*', '--disallow-code-generation-from-strings', '--max-old-space-size=192'];
const TIMEOUT_MS = 15_000;
/** Of UTF-16 units; as JSON in UTF-8 it must fit into what a program may be given. */
const MAX_HTML_CHARS = 1024 ** 2;
/** Of an answer, which is JSON in UTF-8. */
const MAX_ANSWER_BYTES = 1024 ** 2;
const TOO_MUCH = 'the page is too large or too entangled to be read';
/** What pages are read with; where one is missing, none is read. */
export const PAGE_PACKAGES = ['@mozilla/readability', 'linkedom', 'node-html-markdown'];

const answer = z.strictObject({ title: z.string(), text: z.string(), isComplete: z.boolean() });

export interface PageReaderOptions {
  readonly spawner: Pick<Spawner, 'run'>;
  /** Key of the run that reads. */
  readonly run: string;
  /** Default: 15 s. */
  readonly timeoutMs?: number;
  /** As `missingPackages` of `PAGE_PACKAGES`. */
  readonly missing?: () => string | undefined;
}

export function pageReader({
  spawner,
  run,
  missing = () => missingPackages(PAGE_PACKAGES),
  timeoutMs = TIMEOUT_MS,
}: PageReaderOptions): ReadPage {
  return async ({ html, url, mode, maxChars, callId, timeoutMs: asked = timeoutMs }, signal) => {
    if (missing() !== undefined) {
      const reason = 'pages of HTML cannot be read here: packages are not installed; the log of the daemon names the command';
      return { kind: 'failed', reason };
    }
    const shown = html.slice(0, MAX_HTML_CHARS).toWellFormed();
    const exit = await spawner.run(
      {
        argv: [process.execPath, ...NODE, PROGRAM],
        ...{ cwd: import.meta.dirname, env: {}, sandbox: 'trusted', network: false, owner: { run, callId } },
        stdin: JSON.stringify({ html: shown, url, mode, maxChars }),
        limits: { timeoutMs: Math.min(asked, timeoutMs), outputBytes: MAX_ANSWER_BYTES },
      },
      signal,
    );
    const read = exit.code === 0 && exit.cut === 0 ? parse(exit.out) : undefined;
    if (!read) return { kind: 'failed', reason: TOO_MUCH };
    return { kind: 'read', ...read, isComplete: read.isComplete && html.length <= MAX_HTML_CHARS };
  };
}

function parse(json: string): z.output<typeof answer> | undefined {
  try {
    return answer.parse(JSON.parse(json));
  } catch {
    return undefined; // the program was ended in the middle of it
  }
}

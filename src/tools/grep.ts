// pattern -> ripgrep -> its JSON lines -> path:line: text
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { RunSpawner } from '../core/process.ts';
import type { ToolContext } from '../core/tool.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { judgeLook } from './look-program.ts';
import { printableName } from './printable-name.ts';

const TIMEOUT_MS = 60_000;
/** What ripgrep may hold to compile a pattern (spec G1). */
const PATTERN_MEMORY = '1M';
const MAX_LINE_CHARS = 500;
const MAX_PATTERN_BYTES = 10_000;
/** Of its messages alone; matches are read line by line. */
const ERROR_BYTES = 4_000;

interface Args {
  readonly pattern: string;
  readonly file_pattern?: string | undefined;
  readonly limit: number;
  readonly context: number;
  readonly ignore_case: boolean;
}

export const grep = defineBoundTool({
  name: 'grep',
  description: 'Search text files of the workspace with a regular expression, without those that .gitignore names.',
  schema: z.strictObject({
    pattern: z.string().min(1),
    file_pattern: z.string().min(1).optional().describe('Such as *.ts'),
    limit: z.int().min(1).max(1_000).default(50),
    context: z.int().min(0).max(20).default(0).describe('Lines around a match'),
    ignore_case: z.boolean().default(false),
  }),
  tags: ['search'],
  effect: 'none',
  // As read_file: what it finds are words of files.
  reads: UNTRUSTED | PRIVATE,
  needs: 'rg',
  bind: ({ spawner }) => (spawner?.programs.has('rg') ? spawner : undefined),
  judge: judgeLook,
  run: (args, call, spawner) => search(args, call, spawner),
});

async function search(args: Args, { callId, workspace: cwd, signal }: ToolContext, spawner: RunSpawner): Promise<string> {
  if (Buffer.byteLength(args.pattern) > MAX_PATTERN_BYTES)
    throw new ToolFailure(`the pattern is longer than ${MAX_PATTERN_BYTES} bytes`);
  if (args.file_pattern?.includes('/')) throw new ToolFailure('file_pattern is for names and holds no /');
  if ([args.pattern, args.file_pattern].some((text) => text?.includes('\0')))
    throw new ToolFailure('a NUL character matches no text');
  const found = new Findings(args.limit);
  const enough = new AbortController();
  const onLine = (stream: 'out' | 'err', line: string): void => {
    if (stream === 'out' && !found.add(line)) enough.abort(ENOUGH);
  };
  const program = { argv: argvOf(args), cwd, callId, network: false, timeoutMs: TIMEOUT_MS, outputBytes: ERROR_BYTES, onLine };
  try {
    const { code, err, timedOut } = await spawner.run(program, AbortSignal.any([signal, enough.signal]));
    if (timedOut) throw new ToolFailure(`the search took longer than ${TIMEOUT_MS / 1_000} s; name a file_pattern`);
    // 2: some file could not be read, or the pattern is none. What was found is told all the same.
    if (code !== 0 && code !== 1 && found.isEmpty) throw new ToolFailure(err.trim().replace(/^rg: /, '') || 'the search failed');
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return found.text();
}

/** Not a failure: the limit is reached, and the rest need not be read. */
const ENOUGH = new Error('the limit of matches is reached');

function argvOf({ pattern, file_pattern: name, context, ignore_case: ignoreCase }: Args): readonly string[] {
  return [
    ...['rg', '--json', '--no-config', '--no-require-git', '--sort=path', `--regex-size-limit=${PATTERN_MEMORY}`],
    // One thread: each would have its own memory, and those of a program are counted.
    ...['--threads=1', '--one-file-system', `--context=${context}`],
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(name === undefined ? [] : [`--glob=${name}`]),
    // By its own flag: a pattern may begin with a dash.
    ...[`--regexp=${pattern}`, '--', './'],
  ];
}

interface RgText {
  readonly text?: string;
  readonly bytes?: string;
}

interface RgLine {
  readonly type: string;
  readonly data?: { readonly path?: RgText; readonly lines?: RgText; readonly line_number?: number | null };
}

class Findings {
  readonly #limit: number;
  readonly #lines: string[] = [];
  #matches = 0;
  #isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** False = there is more than is asked for. */
  add(json: string): boolean {
    if (this.#isCut) return false;
    const { type, data } = parse(json);
    if (type !== 'match' && type !== 'context') return true;
    if (type === 'match' && this.#matches === this.#limit) {
      this.#isCut = true;
      return false;
    }
    if (type === 'match') this.#matches += 1;
    const path = printableName(textOf(data?.path).replace(/^\.\//, ''));
    const line = textOf(data?.lines).replace(/\r?\n$/, '');
    const shown = line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS).toWellFormed()}…` : line;
    const mark = type === 'match' ? ':' : '-';
    this.#lines.push(`${path}${mark}${data?.line_number ?? '?'}${mark} ${shown}`);
    return true;
  }

  text(): string {
    if (this.isEmpty) return 'No matches';
    const more = this.#isCut ? [`[only the first ${this.#limit} matches are shown]`] : [];
    return [...this.#lines, ...more].join('\n');
  }
}

function parse(json: string): RgLine {
  try {
    return JSON.parse(json) as RgLine;
  } catch {
    // A line of more than 64 KiB comes in pieces; the first one begins with its file.
    const path = /^\{"type":"match","data":\{"path":\{"text":("(?:[^"\\]|\\.)*")/.exec(json)?.[1];
    if (path === undefined) return { type: 'rest' };
    return {
      type: 'match',
      data: { path: { text: JSON.parse(path) as string }, lines: { text: '(a line of more than 64 KiB)' } },
    };
  }
}

function textOf(field: RgText | undefined): string {
  return field?.text ?? Buffer.from(field?.bytes ?? '', 'base64').toString('utf8');
}

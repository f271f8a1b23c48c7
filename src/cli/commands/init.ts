import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { configJsonSchema, renderJsonSchema } from '../../../config/json-schema.ts';
import { type Command, mustWriteHere } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { withQuestions } from '../questions.ts';
import { allChannelSettings } from './config.ts';
import { type Answers, askSetup } from './init-questions.ts';

export interface InitOptions {
  readonly defaults?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** Everything in the directory is private to this machine except what describes the setup. */
const GITIGNORE = '*\n!.gitignore\n!config.json\n!config.schema.json\n';

/** Writes ./.gatehouse: config.json, its schema for editors, a .gitignore. Never overwrites unasked. */
export const init: Command<InitOptions> = async (context, { defaults = false, dryRun = false, force = false }) => {
  const { deps, out } = context;
  mustWriteHere(context, 'init');
  const file = join(deps.cwd, '.gatehouse', 'config.json');
  const interactive = deps.stdio.stdin.isTTY === true && deps.stdio.stderr.isTTY === true && !out.json;
  if (!force && !dryRun && (await read(file)) !== undefined) {
    const overwrite =
      interactive && (await withQuestions(deps.stdio, (question) => question(`${file} exists. Replace it? [y/N] `), '--force'));
    if (!overwrite || !/^y(es)?$/i.test(overwrite)) {
      out.fail({
        code: 'GH1005',
        message: `${file} exists and was left as it is`,
        hint: 'use `gatehouse init --force` to replace it',
      });
      return EXIT.refused;
    }
  }
  const answers = interactive && !defaults ? await askSetup(deps) : { channels: [{ type: 'cli' }] };
  const content = renderConfig(answers);
  const files = await filesOf(deps, file, content);
  if (!dryRun) await writeAll(files);
  report(
    out,
    files.map((entry) => entry.path),
    content,
    dryRun,
  );
  return EXIT.ok;
};

function report(out: Output, paths: readonly string[], content: string, dryRun: boolean): void {
  out.document({ dryRun, files: paths, config: JSON.parse(content) });
  if (dryRun) out.data(content.trimEnd());
  for (const path of paths) out.say(dryRun ? `would write ${path}` : `${out.mark('ok', 'stderr')} wrote ${path}`);
  if (!dryRun) out.say('→ gatehouse gateway');
}

/** Writes what `init` writes, with this config; for `setup`. */
export async function writeSetup(deps: CliDeps, file: string, content: string): Promise<void> {
  await writeAll(await filesOf(deps, file, content));
}

interface SetupFile {
  readonly path: string;
  readonly content: string;
}

async function filesOf(deps: CliDeps, file: string, content: string): Promise<readonly SetupFile[]> {
  const schema = renderJsonSchema(configJsonSchema(await allChannelSettings(deps)));
  return [
    { path: file, content },
    { path: join(dirname(file), 'config.schema.json'), content: schema },
    { path: join(dirname(file), '.gitignore'), content: GITIGNORE },
  ];
}

async function writeAll(files: readonly SetupFile[]): Promise<void> {
  for (const { path, content } of files) {
    await mkdir(dirname(path), { recursive: true });
    await replace(path, content);
  }
}

/** The text of a config. `owner`: of section `gateway`. */
export function renderConfig({ channels, owner, ...model }: Answers & { readonly owner?: unknown }): string {
  const gateway = { ...(owner === undefined ? {} : { owner }), channels };
  return `${JSON.stringify({ $schema: './config.schema.json', version: 1, ...model, gateway }, null, 2)}\n`;
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all: a reader (the running daemon) never sees half a file. */
async function replace(path: string, content: string): Promise<void> {
  const temporary = `${path}.new-${process.pid}`;
  try {
    await writeFile(temporary, content, { mode: 0o600 });
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

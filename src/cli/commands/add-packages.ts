// a name -> what it needs, from the list that was published -> shown, licences too -> the operator's npm ->
// node_modules
import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { dataDirError } from '../../journal/data-dir.ts';
import { isErrno } from '../../lib/errno.ts';
import { type LockEntry, lockClosure } from '../../lib/lock-closure.ts';
import { makePath } from '../../lib/make-path.ts';
import { hasPackage, OPTIONAL_PACKAGES, type PackageKind, packagesDir } from '../../lib/optional-packages.ts';
import { packageList } from '../../lib/package-list.ts';
import { printable } from '../../lib/printable.ts';
import type { Command, CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withQuestions } from '../questions.ts';
import { runNpm } from '../run-npm.ts';
import { isYes, mustAsk } from './plugins-add.ts';

export interface AddPackagesOptions {
  readonly kind: PackageKind;
  readonly name: string;
  readonly prefix?: string;
  readonly offline?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `--ignore-scripts`: nothing of a package runs while it is installed; none of these needs it. */
const NPM_ARGS = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev', '--loglevel=notice'];
const STRICT = /GPL/;
/** Of an SPDX expression that leaves the choice, one without it is taken. */
const asksMore = (license = ''): boolean => STRICT.test(license) && license.split(/\bOR\b/).every((one) => STRICT.test(one));
/** In the directory of the packages: what is installed there, so that the next `add` keeps it. */
const RECORD = '.gatehouse.json';
const HINT = 'check that npm is installed and the network works, or give the tarballs with `--offline DIR`; nothing was changed';

type Entries = Readonly<Record<string, LockEntry>>;

/**
 * Installs the packages of one channel, set of tools or provider, with all that they need: exactly the
 * versions of this program's own list, each held to the digest that stands there. What was installed before
 * stays, and on a failure all does.
 */
export const addPackages: Command<AddPackagesOptions> = async (context, options) => {
  const { out } = context;
  const { kind, name, dryRun = false, yes = false } = options;
  const wanted = Object.hasOwn(OPTIONAL_PACKAGES[kind], name) ? OPTIONAL_PACKAGES[kind][name] : undefined;
  if (!wanted) throw unknown(kind, name);
  const dir = targetDir(context, options);
  const finish = (changed: boolean, packages: readonly string[], licences: readonly string[]): number => {
    out.document({ name, dryRun, dir, changed, packages, licences });
    return EXIT.ok;
  };
  if (wanted.every(hasPackage) && options.prefix === undefined) {
    out.data(`${out.mark('ok')} what ${name} needs is installed`);
    return finish(false, [], []);
  }
  const before = await installedIn(dir);
  const roots = [...new Set([...before, ...wanted])].sort();
  const list = packageList(context.deps.packageRoot);
  const fresh = lockClosure(list, wanted);
  const packages = Object.entries(fresh).map(([path, { version }]) => `${nameOf(path)}@${version}`);
  const licences = [...new Set(Object.values(fresh).map(({ license }) => license ?? 'unknown'))].sort();
  for (const one of wanted) out.say(`${dryRun ? 'would install' : 'installing'} ${one}@${fresh[`node_modules/${one}`]?.version}`);
  out.say(
    `${packages.length} packages with all that they need, into ${join(dir, 'node_modules')}; licences: ${licences.join(', ')}`,
  );
  const strict = Object.entries(fresh).filter(([, { license }]) => asksMore(license));
  for (const [path, { license }] of strict)
    out.say(`${out.mark('warn', 'stderr')} ${nameOf(path)} is under ${license}: who passes it on has to keep to that licence`);
  if (dryRun) {
    out.data(`would run \`npm ${NPM_ARGS.join(' ')}\``);
    return finish(false, packages, licences);
  }
  if (strict.length > 0 && !yes && !(await agreed(context))) {
    out.say('nothing was installed');
    return EXIT.failed;
  }
  await install(context, { dir, roots, entries: lockClosure(list, roots), offline: options.offline });
  out.data(`${out.mark('ok')} what ${name} needs is installed in ${join(dir, 'node_modules')}`);
  if (options.prefix !== undefined) out.say(`→ start the daemon with GATEHOUSE_PACKAGES=${dir}`);
  else out.say('→ start the daemon again');
  return finish(true, packages, licences);
};

function unknown(kind: PackageKind, name: string): GatehouseError {
  const names = Object.keys(OPTIONAL_PACKAGES[kind]).join(', ');
  return new GatehouseError('GH1003', `nothing can be installed for ${printable(name.slice(0, 80))}`, {
    hint: `there is: ${names}`,
  });
}

function targetDir({ deps }: CommandContext, { prefix, kind }: AddPackagesOptions): string {
  // Programs that read what strangers send see the program's own directory alone.
  if (prefix !== undefined && kind === 'tools')
    throw new GatehouseError('GH1001', 'packages of tools are installed beside the program only', {
      hint: 'leave out `--prefix`',
    });
  if (prefix !== undefined) return resolve(deps.cwd, prefix);
  return (kind === 'tools' ? undefined : packagesDir()) ?? join(deps.packageRoot, 'dist');
}

async function agreed({ deps }: CommandContext): Promise<boolean> {
  mustAsk(deps.stdio.stdin.isTTY);
  return await withQuestions(deps.stdio, async (question) => isYes(await question('install it? [y/N] ')));
}

async function installedIn(dir: string): Promise<readonly string[]> {
  try {
    const { packages } = JSON.parse(await readFile(join(dir, 'node_modules', RECORD), 'utf8')) as { packages: readonly string[] };
    const known = new Set(Object.values(OPTIONAL_PACKAGES).flatMap((sets) => Object.values(sets).flat()));
    return packages.filter((name) => known.has(name));
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

interface Install {
  readonly dir: string;
  readonly roots: readonly string[];
  readonly entries: Entries;
  readonly offline: string | undefined;
}

async function install({ deps, out }: CommandContext, { dir, roots, entries, offline }: Install): Promise<void> {
  const [fresh, old, modules] = [join(dir, '.packages.new'), join(dir, '.packages.old'), join(dir, 'node_modules')];
  try {
    await makePath(dir);
    for (const left of [fresh, old]) await rm(left, { recursive: true, force: true });
    await makePath(fresh);
    const packages = offline === undefined ? entries : await fromTarballs(entries, resolve(deps.cwd, offline), fresh);
    const dependencies = Object.fromEntries(roots.map((name) => [name, entries[`node_modules/${name}`]?.version]));
    const manifest = { name: 'gatehouse-packages', version: '0.0.0', private: true, dependencies };
    const { private: _private, ...root } = manifest;
    const lock = { ...root, lockfileVersion: 3, requires: true, packages: { '': root, ...packages } };
    await writeFile(join(fresh, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(fresh, 'package-lock.json'), JSON.stringify(lock));
    const args = offline === undefined ? NPM_ARGS : [...NPM_ARGS, '--offline'];
    await runNpm({ args, cwd: fresh, env: deps.env, code: 'GH1106', hint: HINT }, (line) => out.say(`  ${printable(line)}`));
    await writeFile(join(fresh, 'node_modules', RECORD), `${JSON.stringify({ packages: roots })}\n`);
    await rename(modules, old).catch((error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
    });
    await rename(join(fresh, 'node_modules'), modules);
  } catch (error) {
    throw isGatehouseError(error) ? error : unwritable(dir, error);
  } finally {
    for (const left of [fresh, old]) await rm(left, { recursive: true, force: true }).catch(() => undefined);
  }
}

function unwritable(dir: string, error: unknown): GatehouseError {
  const { message } = dataDirError(dir, error);
  const choose = 'or choose a directory with `--prefix DIR`; what was installed before is as it was';
  const hint = isErrno(error, 'EACCES', 'EPERM')
    ? `run the command as the user that installed gatehouse (\`sudo\`), ${choose}`
    : isErrno(error, 'ENOSPC', 'EDQUOT')
      ? `free some space there, ${choose}`
      : isErrno(error, 'EROFS')
        ? `mount it so that it can be written, ${choose}`
        : `mend what the message names, ${choose}`;
  return new GatehouseError('GH1106', message, { hint, cause: error });
}

/**
 * The same entries, each leading to its tarball. Rejects with GH1106 that names a file with another digest,
 * or what is missing.
 */
async function fromTarballs(entries: Entries, from: string, to: string): Promise<Entries> {
  const files = new Map<string, string>();
  const there = await readdir(from).catch((error: unknown) => {
    throw new GatehouseError('GH1106', `${from} cannot be read: ${errorText(error)}`, {
      hint: 'name the directory with the tarballs after `--offline`; nothing was changed',
      cause: error,
    });
  });
  const names = there.filter((name) => name.endsWith('.tgz'));
  for (const name of names) {
    const digest = createHash('sha512')
      .update(await readFile(join(from, name)))
      .digest('base64');
    files.set(`sha512-${digest}`, name);
  }
  const found: Record<string, LockEntry> = {};
  for (const [path, entry] of Object.entries(entries)) {
    const file = files.get(entry.integrity ?? '');
    const usual = `${nameOf(path).replace('@', '').replace('/', '-')}-${entry.version}.tgz`;
    if (file === undefined && names.includes(usual))
      throw new GatehouseError('GH1106', `${join(from, usual)} is not the package that this version of gatehouse knows`, {
        hint: `fetch it again with \`npm pack ${nameOf(path)}@${entry.version}\`; nothing was changed`,
      });
    if (file === undefined && entry.optional !== true)
      throw new GatehouseError('GH1106', `${from} has no ${usual}`, {
        hint: `fetch it with \`npm pack ${nameOf(path)}@${entry.version}\`; nothing was changed`,
      });
    // A copy: what npm reads is what was checked here, and npm checks the digest again.
    if (file !== undefined) await copyFile(join(from, file), join(to, usual));
    found[path] = file === undefined ? entry : { ...entry, resolved: `file:${usual}` };
  }
  return found;
}

/** Of a path in a lock. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

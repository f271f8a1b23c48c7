// npm run test:package: what `npm pack` makes, installed as an operator does it. Needs the npm cache that
// `npm ci` filled.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type LockFile, lockClosure } from '../../src/lib/lock-closure.ts';
import { OPTIONAL_PACKAGES } from '../../src/lib/optional-packages.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAX_MB = 100;
const GATEWAY_MS = 8_000;
const PERMISSIVE = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Unlicense',
  'BlueOak-1.0.0',
  'PSF-2.0',
  'Python-2.0',
];
const work = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
try {
  check();
} finally {
  rmSync(work, { recursive: true, force: true });
}

function check(): void {
  const packed = run('npm', ['pack', '--silent', '--pack-destination', work], ROOT).trim().split('\n').at(-1) ?? '';
  const app = join(work, 'app');
  run('mkdir', [app]);
  writeFileSync(join(app, 'package.json'), '{"name":"app","version":"1.0.0","private":true}');
  const flags = ['--omit=dev', '--omit=optional', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  run('npm', ['install', ...flags, join(work, packed)], app);
  const home = join(app, 'node_modules/gatehouse');
  const megabytes = Number(run('du', ['-sm', app]).split('\t')[0]);
  assert.ok(megabytes <= MAX_MB, `the installation takes ${megabytes} MB`);
  say(`installed: ${megabytes} MB`);
  checkTree(home);
  checkLinks(home);
  const main = join(home, 'dist/src/cli/main.js');
  const env = { PATH: process.env['PATH'], HOME: work };
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  assert.equal(run(process.execPath, [main, '--version'], work, env).trim(), version);
  const demo = spawnSync(process.execPath, [main, 'gateway'], { cwd: work, env, input: 'hello\n', encoding: 'utf8' });
  assert.match(demo.stdout, /\[demo\]/, demo.stderr);
  say('the version and an answer of the demo');
  checkWhatsApp(main, env);
}

/**
 * The shrinkwrap has the default tree alone, and nothing of it is under a licence that asks for more than its
 * notice.
 */
function checkTree(home: string): void {
  const { packages } = JSON.parse(readFileSync(join(home, 'npm-shrinkwrap.json'), 'utf8')) as LockFile;
  const paths = Object.keys(packages).filter((path) => path !== '');
  for (const path of paths) {
    const { license = 'none', integrity } = packages[path] ?? {};
    assert.ok(PERMISSIVE.includes(license), `${path} is under ${license}`);
    assert.match(integrity ?? '', /^sha512-/, path);
  }
  const optional = Object.values(OPTIONAL_PACKAGES).flatMap((sets) => Object.values(sets).flat());
  assert.deepEqual(
    optional.filter((name) => `node_modules/${name}` in packages),
    [],
  );
  const list = JSON.parse(readFileSync(join(home, 'dist/optional-packages.json'), 'utf8')) as LockFile;
  for (const [channel, names] of Object.entries({ ...OPTIONAL_PACKAGES.channels, ...OPTIONAL_PACKAGES.models })) {
    const strict = Object.values(lockClosure(list, names)).filter(({ license }) => /^A?GPL/.test(license ?? ''));
    assert.equal(strict.length > 0, channel === 'whatsapp', `${channel}: GPL`);
  }
  say(`${paths.length} packages in the shrinkwrap, all under permissive licences; GPL for WhatsApp alone`);
}

function checkLinks(home: string): void {
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.md') && !file.includes('node_modules'),
  );
  const broken = files.flatMap((file) => {
    const links = [...readFileSync(join(home, file), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to);
    const relative = links.filter((to) => !/^[a-z]+:/.test(to));
    return relative.filter((to) => !existsSync(join(home, dirname(file), to))).map((to) => `${file}: ${to}`);
  });
  assert.deepEqual(broken, []);
  for (const file of ['systemd/gatehouse.service', 'Dockerfile', 'compose.yaml', 'docker/tools-seccomp.json', 'docs/install.md'])
    assert.ok(existsSync(join(home, file)), file);
  say('every relative link of the pages leads somewhere; units and Docker files are there');
}

function checkWhatsApp(main: string, env: NodeJS.ProcessEnv): void {
  const config = join(work, 'config.json');
  writeFileSync(config, JSON.stringify({ gateway: { channels: [{ type: 'cli' }, { type: 'whatsapp' }] } }));
  const data = ['--config', config, '--data-dir', join(work, 'data')];
  // With a channel that waits for the operator the daemon goes on after the end of its input: it is ended by
  // SIGTERM.
  const options = { cwd: work, env, input: 'hi\n', encoding: 'utf8', timeout: GATEWAY_MS } as const;
  const gateway = () => spawnSync(process.execPath, [main, ...data, 'gateway'], options);
  const without = gateway();
  assert.match(without.stderr, /gatehouse channels add whatsapp/);
  assert.match(without.stdout, /\[demo\]/, 'the other channel goes on');
  const tarballs = join(work, 'tarballs');
  run('mkdir', [tarballs]);
  const list = JSON.parse(readFileSync(join(ROOT, 'dist/optional-packages.json'), 'utf8')) as LockFile;
  const wanted = Object.entries(lockClosure(list, OPTIONAL_PACKAGES.channels['whatsapp'] ?? []))
    .filter(([, { optional }]) => optional !== true)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`);
  run(
    'npm',
    ['pack', '--silent', '--prefer-offline', '--ignore-scripts', '--pack-destination', tarballs, ...new Set(wanted)],
    work,
  );
  const add = ['channels', 'add', 'whatsapp', '--offline', tarballs, '--yes', '--json'];
  const one = join(tarballs, readdirSync(tarballs).find((name) => name.startsWith('libsignal-')) ?? '');
  const good = readFileSync(one);
  writeFileSync(one, Buffer.concat([good, Buffer.from([0])]));
  const refused = spawnSync(process.execPath, [main, ...add], { cwd: work, env, encoding: 'utf8' });
  assert.equal(refused.status, 1, refused.stdout + refused.stderr);
  assert.ok(refused.stdout.includes(one), 'the file is named');
  writeFileSync(one, good);
  const added = spawnSync(process.execPath, [main, ...add], { cwd: work, env, encoding: 'utf8' });
  assert.equal(added.status, 0, added.stdout + added.stderr);
  const after = gateway();
  assert.doesNotMatch(after.stderr, /channels add/);
  assert.doesNotMatch(after.stderr, /ERR_MODULE_NOT_FOUND/);
  assert.match(after.stderr, /channels login whatsapp/, 'the channel runs and wants its login');
  say('channels add whatsapp --offline: refused with a wrong digest, installed with the right one, and the channel starts');
}

function run(command: string, args: readonly string[], cwd = ROOT, env = process.env): string {
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function say(text: string): void {
  process.stdout.write(`✓ ${text}\n`);
}

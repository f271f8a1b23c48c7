// npm pack and npm publish run this before and after: npm-shrinkwrap.json, the default tree of
// package-lock.json and nothing else.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockFile, lockClosure } from '../../src/lib/lock-closure.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILE = join(ROOT, 'npm-shrinkwrap.json');

if (process.argv.includes('--remove')) rmSync(FILE, { force: true });
else writeFileSync(FILE, shrinkwrap());

function shrinkwrap(): string {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
  const { name, version, license, dependencies, peerDependencies, peerDependenciesMeta, bin, engines } = read('package.json') as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly [key: string]: unknown;
  };
  const root = { name, version, license, dependencies, bin, engines, peerDependencies, peerDependenciesMeta };
  const packages = { '': root, ...lockClosure(read('package-lock.json') as LockFile, Object.keys(dependencies)) };
  return `${JSON.stringify({ name, version, lockfileVersion: 3, requires: true, packages }, null, 2)}\n`;
}

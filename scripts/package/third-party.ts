// npm run generate:third-party: THIRD-PARTY.md, which names what the package installs and under which
// licence. The licence texts come with the packages, in their own directories.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockFile, lockClosure } from '../../src/lib/lock-closure.ts';
import { OPTIONAL_PACKAGES } from '../../src/lib/optional-packages.ts';

const ROOT = join(import.meta.dirname, '../..');

export function thirdParty(): string {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
  const { dependencies } = read('package.json') as { readonly dependencies: Readonly<Record<string, string>> };
  const lock = read('package-lock.json') as LockFile;
  const optional = Object.entries(OPTIONAL_PACKAGES).flatMap(([kind, sets]) =>
    Object.entries(sets).map(([set, names]) => `\n## With \`${kind}\`: ${set}\n\n${table(lockClosure(lock, names))}`),
  );
  return `# Software of others

Generated from \`package-lock.json\` by \`npm run generate:third-party\`. Each package brings the text of its licence in its own directory of
\`node_modules\`. Gatehouse itself is under the MIT licence ([LICENSE](LICENSE)).

What is under \`GPL\` or \`LGPL\` is never installed by default: an operator installs it, with \`gatehouse channels add\` and its siblings.

## Always installed

${table(lockClosure(lock, Object.keys(dependencies)))}${optional.join('')}`;
}

function table(packages: LockFile['packages']): string {
  const rows = Object.entries(packages).map(([path, { version = '', license = '' }]) => {
    return `| ${path.slice(path.lastIndexOf('node_modules/') + 13)} | ${version} | ${license} |`;
  });
  return `| package | version | licence |\n|---|---|---|\n${[...new Set(rows)].toSorted().join('\n')}\n`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'THIRD-PARTY.md'), thirdParty());

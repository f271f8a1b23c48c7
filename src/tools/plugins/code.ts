/** A plugin as its files say it is. */
import { GatehouseError } from '../../core/errors.ts';
import { MANIFEST, type Manifest, parseManifest } from './manifest.ts';
import { type CopyOptions, readTree, type Tree } from './tree.ts';

export interface PluginCode {
  readonly manifest: Manifest;
  /** Of every file, the manifest among them: what an approval is for. */
  readonly digest: string;
  /** Path of the executable, relative to the directory. Absent = it has no tools. */
  readonly executable?: string;
  readonly files: number;
  readonly bytes: number;
}

/** As `readTree`; rejects with GH2401 also where the files are not those of a plugin. */
export async function readPlugin(root: string, options: CopyOptions = {}): Promise<PluginCode> {
  return judgeTree(await readTree(root, options));
}

function judgeTree({ files, digest, manifest: bytes }: Tree): PluginCode {
  if (!bytes) throw refused(`it has no ${MANIFEST}`);
  const manifest = parseManifest(bytes);
  const { name, tools, sha256 } = manifest;
  const find = (path: string) => files.find((file) => file.path === path);
  const executable = find(name) ?? find('main');
  if (tools.length > 0 && !executable) throw refused(`it has tools, and no executable called ${name} or main`);
  if (sha256 !== undefined && executable?.sha256 !== sha256)
    throw refused('the executable is not the one whose sha256 its manifest names');
  const commands = [
    ...Object.values(manifest.mcp_servers).flatMap(({ command }) => (command === undefined ? [] : [command])),
    ...manifest.hooks.map(({ command }) => command[0] ?? ''),
  ].map((command) => command.slice('./'.length));
  for (const path of [...(tools.length > 0 && executable ? [executable.path] : []), ...commands]) {
    const file = find(path);
    if (!file) throw refused(`its file ${path} is missing`);
    if (!file.executable) throw refused(`its file ${path} may not be run: \`chmod +x ${path}\``);
  }
  return {
    ...{ manifest, digest, files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) },
    ...(tools.length > 0 && executable ? { executable: executable.path } : {}),
  };
}

function refused(what: string): GatehouseError {
  return new GatehouseError('GH2401', `the plugin is refused: ${what}`);
}

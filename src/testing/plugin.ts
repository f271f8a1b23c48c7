/** Plugins that tests make. Never shipped. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface MadePlugin {
  readonly name: string;
  /** Of the executable, `main`. */
  readonly script: string;
  /** Laid over the manifest. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Further files by their path; those that begin with `#!` may be run. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A tool without arguments to speak of. */
export function toolNamed(name: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    name,
    description: `Does ${name}.`,
    input_schema: { type: 'object', properties: { text: { type: 'string' } } },
    ...more,
  };
}

/** Writes a plugin with the tool `hello` into `<parent>/<name>`; returns that. */
export async function makePlugin(parent: string, { name, script, manifest, files = {} }: MadePlugin): Promise<string> {
  const directory = join(parent, name);
  const body = { name, version: '1.0.0', description: 'A plugin of a test.', tools: [toolNamed('hello')], ...manifest };
  const all = { 'plugin.json': JSON.stringify(body), main: script, ...files };
  for (const [path, text] of Object.entries(all)) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    if (text.startsWith('#!')) await chmod(file, 0o755);
  }
  return directory;
}

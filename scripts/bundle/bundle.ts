/**
 * Puts the program together into a few files: half the time of a start went into finding and linking 700
 * modules, ours and those of zod. What is loaded on demand stays apart: commands, channels, and the SDKs,
 * which are imported from where they are installed. The only file that loads the bundler, and only where it
 * is used.
 */
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

export const ROOT = join(import.meta.dirname, '../..');

/** What is put together: our own modules, and zod's. */
const INSIDE = /^[./]|^zod(\/|$)/;
/** What a gateway loads at its start, with all that these import, becomes one file. */
const STARTS = /\/(src\/(cli\/(run-process|groups\/main|commands\/gateway)|app\/run-gateway)|sessions\/jsonl-store)\.ts$/;
/** Runs in a process of its own and needs little. */
const FILE_CHECK = /\/src\/journal\/file-check\.ts$/;
/** What every command loads, and what those load that read the config or the journal: a person waits for them. */
const COMMAND_LINE = /\/src\/cli\/run-process\.ts$/;
const READERS = /\/src\/cli\/(context|daemon-status|read-journal|commands\/(completion|logs|status|trace|why))\.ts$/;
const CONFIG = /\/config\/load\.ts$/;
const JOURNAL = /\/src\/journal\/open\.ts$/;
const KIT = /\/channels\/kit\//;
const CHUNKS = 'chunks';

export interface BundleOptions {
  /** Files of the checkout by the name of what is made of them, which has no ending. */
  readonly entries: Readonly<Record<string, string>>;
  /** Where the files go. */
  readonly dir: string;
  /** With the dot: `.js`. */
  readonly ending: '.js' | '.mjs';
  /**
   * What `import.meta` tells a module of its place: that of its source, for a bundle that is used beside its
   * sources, or the place that it would have below `dir`, for one that is used without them.
   */
  readonly places: 'source' | 'output';
}

/** Rejects when a source has an error, and where the bundler is not installed. */
export async function bundle(options: BundleOptions): Promise<void> {
  const { entries, dir, ending, places } = options;
  const { rolldown } = await import('rolldown');
  const transform = (code: string, id: string): string | undefined =>
    code.includes('import.meta.') ? withPlace(code, places === 'source' ? sourceOf(id) : outputOf(id)) : undefined;
  const made = await rolldown({
    input: entries,
    cwd: ROOT,
    platform: 'node',
    external: (id: string) => !INSIDE.test(id),
    plugins: [{ name: 'place', transform }],
    // Of imports on demand that save nothing here, because something else imports the same at once.
    checks: { ineffectiveDynamicImport: false },
  });
  await made.write({
    dir,
    format: 'esm',
    entryFileNames: `[name]${ending}`,
    chunkFileNames: `${CHUNKS}/[name]-[hash]${ending}`,
    codeSplitting: {
      includeDependenciesRecursively: true,
      groups: [
        { name: 'file-check', test: FILE_CHECK, priority: 3 },
        { name: 'cli', test: COMMAND_LINE, priority: 2 },
        { name: 'readers', test: READERS, priority: 1 },
        { name: 'config', test: CONFIG, priority: 1 },
        { name: 'journal', test: JOURNAL, priority: 1 },
        { name: 'gateway', test: STARTS },
        { name: 'kit', test: KIT },
      ],
    },
  });
  await made.close();
  await copyFile(join(ROOT, 'node_modules/zod/LICENSE'), join(dir, 'LICENSE-zod.txt'));
}

interface Place {
  readonly url: string;
  readonly dirname: string;
  readonly filename: string;
}

/** Expressions that take the place of `import.meta.url` and the others in a module. */
function withPlace(code: string, place: Place): string {
  return code
    .replaceAll('import.meta.dirname', place.dirname)
    .replaceAll('import.meta.filename', place.filename)
    .replaceAll('import.meta.url', place.url);
}

function sourceOf(id: string): Place {
  const [filename, directory, url] = [id, dirname(id), pathToFileURL(id).href].map((text) => JSON.stringify(text));
  return { filename: filename ?? '', dirname: directory ?? '', url: url ?? '' };
}

/** From a chunk, which lies one directory below the output, to where the module's own file would be. */
function outputOf(id: string): Place {
  const directory = relative(ROOT, dirname(id));
  const file = `${directory}/${basename(id, '.ts')}.js`;
  const path = (to: string): string =>
    `process.getBuiltinModule("node:path").join(import.meta.dirname, "..", ${JSON.stringify(to)})`;
  return {
    filename: path(file),
    dirname: path(directory),
    url: `new URL(${JSON.stringify(`../${file}`)}, import.meta.url).href`,
  };
}

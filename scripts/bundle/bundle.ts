/**
 * Puts the program together into a few files: half the time of a start went into finding and linking 700
 * modules, ours and those of a few packages. What is loaded on demand stays apart: commands, channels, and
 * the SDKs, which are imported from where they are installed. The only file that loads the bundler, and only
 * where it is used.
 */
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'rolldown';

export const ROOT = join(import.meta.dirname, '../..');

/** Small packages that every start needs, with theirs. To find a file costs as much as to read it. */
const PACKAGES = [
  ...['zod', 'commander', 'pino', '@pinojs/redact', 'atomic-sleep', 'on-exit-leak-free', 'pino-abstract-transport'],
  ...['pino-std-serializers', 'process-warning', 'quick-format-unescaped', 'real-require', 'safe-stable-stringify'],
  ...['sonic-boom', 'thread-stream'],
];
/** What is put together: our own modules, and those of these packages. */
const INSIDE = new RegExp(`^[./]|^(?:${PACKAGES.join('|')})(?:/|$)`);
/** What a gateway loads at its start, with all that these import, becomes one file. */
const STARTS = /\/(src\/(cli\/(run-process|groups\/main|commands\/gateway)|app\/run-gateway)|sessions\/jsonl-store)\.ts$/;
/** Runs in a process of its own and needs little. */
const FILE_CHECK = /\/src\/journal\/file-check\.ts$/;
/** What every command loads, and what those load that read config or journal: people wait for them. */
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
    // The bundler's own parts have no file.
    code.includes('import.meta.') && !id.startsWith('\0')
      ? withPlace(code, places === 'source' ? sourceOf(id) : outputOf(id))
      : undefined;
  const made = await rolldown({
    input: entries,
    cwd: ROOT,
    platform: 'node',
    external: (id: string) => !INSIDE.test(id) && !WITH_LATE_PARTS.includes(id) && !id.startsWith(EARLY),
    plugins: [{ name: 'place', transform }, withoutLateParts()],
    // Of imports on demand that save nothing here, because something else imports the same at once.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await made.write({
    dir,
    format: 'esm',
    entryFileNames: `[name]${ending}`,
    chunkFileNames: `${CHUNKS}/[name]-[hash]${ending}`,
    // A sixth of the text, which every start reads. Those on licences stay.
    comments: { jsdoc: false },
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
  const chunks = output.filter((part) => part.type === 'chunk');
  for (const { fileName, code } of chunks) await writeFile(join(dir, fileName), inAscii(code));
  await copyLicenses(
    chunks.flatMap(({ moduleIds }) => moduleIds),
    dir,
  );
}

/** Each package of which something is inside keeps its licence beside it. */
async function copyLicenses(modules: readonly string[], dir: string): Promise<void> {
  const names = new Set(modules.flatMap((id) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []));
  for (const name of names) {
    const place = join(ROOT, 'node_modules', name);
    const file = (await readdir(place)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    await copyFile(join(place, file), join(dir, `LICENSE-${name.replace('/', '-')}.txt`));
  }
}

/** Of Node's own modules, those of whose parts some are loaded when they are first read. */
const WITH_LATE_PARTS = ['node:http'];
const EARLY = '\0early:';

/**
 * Imports these modules without their late parts. An `import` reads every part to make its names: of
 * `node:http` that loads all of undici for `WebSocket`, which takes a start 15 ms. A module that asks for
 * such a part stops the build. Who loads a package with an undici of its own calls `loadNodeFetch` first.
 */
function withoutLateParts(): Plugin {
  return {
    name: 'without-late-parts',
    resolveId: (id) => (WITH_LATE_PARTS.includes(id) ? `${EARLY}${id}` : null),
    load(id) {
      if (!id.startsWith(EARLY)) return null;
      const name = id.slice(EARLY.length);
      const parts = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name) as object));
      const early = parts.flatMap(([part, { get }]) => (get === undefined ? [part] : []));
      return [
        `const all = process.getBuiltinModule('${name}');`,
        'export default all;',
        `export const { ${early.join(', ')} } = all;`,
      ].join('\n');
    },
  };
}

/** Not ASCII. */
const WIDE = /[^\p{ASCII}]/gu;
/** Of patterns, where the escape means the same, a bracket or a backslash comes first. */
const RAW_TEXT = /String\.raw`[^`\\[]*[^\p{ASCII}]/u;
/** Behind a backslash that is none itself, an escape would be two characters. */
const ESCAPED = /(?<!\\)(?:\\\\)*\\[^\p{ASCII}]/u;

/**
 * A single character beyond Latin-1 makes V8 keep the whole file with two bytes for each, 2 MB more at rest.
 * The sources have such characters in strings, templates and patterns alone, where the escape means the same.
 */
function inAscii(code: string): string {
  const wrong = (RAW_TEXT.exec(code) ?? ESCAPED.exec(code))?.[0];
  if (wrong !== undefined) throw new Error(`an escape would mean something else in ${wrong}`);
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return code.replaceAll(WIDE, (character) =>
    Array.from({ length: character.length }, (_, n) => escaped(character.charAt(n))).join(''),
  );
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

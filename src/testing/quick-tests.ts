/** Which tests need neither a process nor a peer: `npm run test:quick` runs those. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** A helper or a test that imports one of these starts a process or listens on a port. */
const OUTSIDE =
  /^(node:(child_process|worker_threads|cluster|net|tls|https?|http2|dgram)|ws|smtp-server|oidc-provider|@openclaw\/|@copilotkit\/)/;
const IMPORT = /^(?:import|export)\s(?!type\b)(?:[^'";]*?\sfrom\s)?'([^']+)'|\bimport\((['"`])(.+?)\2\)/gm;

/** A test that names it starts Node, whatever it imports. */
const NODE = 'process.execPath';

/**
 * Paths of the test files under `root` that reach nothing outside, by their imports. A file does if it
 * imports a module of `OUTSIDE`; a test does if it is such a file, tests one, names `NODE`, or reaches one of
 * src/testing or src/simulator over any number of imports. Names of files decide nothing but
 * `*.e2e.test.ts`, so a new file is sorted rightly by itself.
 */
export function quickTests(root: string): readonly string[] {
  const graph = new ImportGraph(root);
  const files = globSync('{src,channels,config,sessions,bench}/**/*.test.ts', { cwd: root });
  return files.filter((file) => !file.endsWith('.e2e.test.ts') && graph.isQuick(file)).sort();
}

interface Imports {
  readonly outside: boolean;
  /** Relative to the root. */
  readonly files: readonly string[];
}

class ImportGraph {
  readonly #root: string;
  readonly #read = new Map<string, Imports>();

  constructor(root: string) {
    this.#root = root;
  }

  isQuick(test: string): boolean {
    const { files } = this.#of(test);
    if ([test, ...files].some((file) => this.#of(file).outside)) return false;
    const reached = new Set([test]);
    for (const file of reached) {
      if (/^src\/(testing|simulator)\//.test(file) && this.#of(file).outside) return false;
      for (const next of this.#of(file).files) reached.add(next);
    }
    return true;
  }

  #of(file: string): Imports {
    const known = this.#read.get(file);
    if (known) return known;
    const text = readFileSync(join(this.#root, file), 'utf8');
    const names = [...text.matchAll(IMPORT)].map((found) => found[1] ?? found[3] ?? '');
    const files = names
      .filter((name) => name.startsWith('.') && /\.m?[tj]s$/.test(name))
      .map((name) => relative(this.#root, join(this.#root, dirname(file), name)))
      .filter((name) => existsSync(join(this.#root, name)));
    // What a name is put together to at run time is not known here.
    const startsNode = file.endsWith('.test.ts') && text.includes(NODE);
    const outside = startsNode || names.some((name) => OUTSIDE.test(name) || name.includes('${'));
    const imports = { outside, files };
    this.#read.set(file, imports);
    return imports;
  }
}

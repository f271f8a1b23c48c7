/**
 * Loaded with `node --import` before the daemon of a sweep. Keeps in the file `SWEEP_RESOLVED` where each
 * import leads: a search of the file system for each of 600 modules, which costs a fifth of a start. A start
 * that ends in order adds to the file what it had to look up. Nothing else differs: the same files run, under
 * the same names. One file serves one checkout and one channel, and no longer than a sweep.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** By the module that imports, then by the words of the import. */
type Resolved = Record<string, Record<string, { readonly url: string; readonly format?: string | null }>>;

// Taken before `kill-points.ts` wraps them: what is written here is no point.
const write = writeFileSync;
const file = process.env['SWEEP_RESOLVED'] ?? '';
const known = read();
const found: Resolved = {};

function read(): Resolved {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Resolved;
  } catch {
    return {}; // the first start, or one after a kill in the middle of writing
  }
}

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? '';
    // `require` may lead to another file.
    const isImport = context.conditions.includes('import');
    const kept = isImport ? known[parent]?.[specifier] : undefined;
    if (kept) return { ...kept, shortCircuit: true };
    const { url, format } = next(specifier, context);
    if (isImport) {
      found[parent] ??= { ...known[parent] };
      found[parent][specifier] = { url, ...(format === undefined ? {} : { format }) };
    }
    return { url, format };
  },
});

process.once('exit', () => {
  if (Object.keys(found).length > 0) write(file, JSON.stringify({ ...known, ...found }));
});

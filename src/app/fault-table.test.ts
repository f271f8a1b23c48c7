import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';

const ROOT = packageRoot();

function range(letter: string, from: number, to = from): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${letter}${from + index}`);
}

/** The faults and attacks that are defended against so far. */
const NUMBERS = [
  ...[range('F', 1, 29), range('F', 34, 38), range('F', 40, 42), range('F', 48)],
  ...[range('A', 1, 5), range('A', 20, 21), range('A', 23), range('A', 29), range('A', 37), range('A', 46), range('A', 48)],
].flat();

/** Every line of a test file that states a title: of a test, of a group, or of a case in a table. */
function titleLines(): readonly string[] {
  const files = ['src', 'channels', 'config', 'sessions'].flatMap((dir) =>
    readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.test\.ts$|(^|\/)contract\.ts$/.test(name))
      .map((name) => join(ROOT, dir, name)),
  );
  return files
    .filter((file) => file !== import.meta.filename)
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => /^\s*(?:(?:it|test|describe)\b.*\(|\[)?\s*['"`].*\b[FA]\d+\b/.test(line));
}

interface Row {
  readonly number: string | undefined;
  readonly file: string;
  readonly title: string;
}

function rows(): readonly Row[] {
  const page = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8');
  return [...page.matchAll(/^\| (?:([FA]\d+) \|)?.*\| `([^`]+)`: (.+) \|$/gm)].map(([, number, file = '', title = '']) => ({
    number,
    file,
    title,
  }));
}

const LINES = titleLines();
const ROWS = rows();

test.each(NUMBERS)('%s occurs in a test title and has a row in docs/faults.md', (number) => {
  expect(LINES.filter((line) => new RegExp(`\\b${number}\\b`).test(line))).not.toEqual([]);
  expect(ROWS.filter((row) => row.number === number)).not.toEqual([]);
});

test('every row names a test that exists, and its number is part of the title', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(NUMBERS.length);
  for (const { number, file, title } of ROWS) {
    expect([file, readFileSync(join(ROOT, file), 'utf8')]).toEqual([file, expect.stringContaining(title)]);
    if (number) expect(title).toMatch(new RegExp(`\\b${number}\\b`));
  }
});

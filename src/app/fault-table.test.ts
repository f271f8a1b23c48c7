import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { packageRoot } from '../lib/package-info.ts';
import { FORGETFUL, PLATFORMS } from '../simulator/platforms/index.ts';

const ROOT = packageRoot();

function range(letter: string, from: number, to = from): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${letter}${from + index}`);
}

/** The faults and attacks that are defended against so far. */
const NUMBERS = [
  ...[range('F', 1, 42), range('F', 44), range('F', 46, 48)],
  ...[range('A', 1, 11), range('A', 13, 32), range('A', 34, 39), range('A', 45, 48)],
].flat();

/** What depends on the platform: each channel has its own test for it, or a reason why it cannot happen. */
const PER_CHANNEL = [
  ...[range('F', 33, 39), range('A', 1, 13), range('A', 23), range('A', 31, 32), range('A', 37), range('A', 45)],
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
    .filter((line) => /^\s*(?:(?:it|test\w*|describe)\b.*\(|\[)?\s*['"`].*\b[FA]\d+\b/.test(line));
}

interface Row {
  readonly number: string | undefined;
  /** The channels it is about, in their section; elsewhere what happens, which is not looked at. */
  readonly about: readonly string[];
  readonly file: string;
  readonly title: string;
}

const PAGE = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8');

function rows(page: string): readonly Row[] {
  return [...page.matchAll(/^\| (?:([FA]\d+) \|)?(.*)\| `([^`]+)`: (.+) \|$/gm)].map(
    ([, number, about = '', file = '', title = '']) => ({ number, about: about.trim().split(', '), file, title }),
  );
}

const LINES = titleLines();
const ROWS = rows(PAGE);

test.each(NUMBERS)('%s occurs in a test title and has a row in docs/faults.md', (number) => {
  expect(LINES.filter((line) => new RegExp(`\\b${number}\\b`).test(line))).not.toEqual([]);
  expect(ROWS.filter((row) => row.number === number)).not.toEqual([]);
});

test('every row names a test that exists, and its number is part of the title', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(NUMBERS.length);
  for (const { number, file, title } of [...ROWS, ...CHANNEL_ROWS]) {
    expect([file, readFileSync(join(ROOT, file), 'utf8')]).toEqual([file, expect.stringContaining(title)]);
    if (number) expect(title).toMatch(new RegExp(`\\b${number}\\b`));
  }
});

/** A channel that was added later brings its rows in its own folder. */
const OWN_PAGES = Object.keys(CHANNELS)
  .map((type) => join(ROOT, 'channels', type, 'faults.md'))
  .filter((file) => existsSync(file));
const SECTION = [
  PAGE.slice(PAGE.indexOf('## Channel by channel'), PAGE.indexOf('## Bad input')),
  ...OWN_PAGES.map((file) => readFileSync(file, 'utf8')),
].join('\n');
const CHANNEL_ROWS = rows(SECTION);
const EXCUSES = [...SECTION.matchAll(/^\| ([FA]\d+) \| (.+) \| does not apply: .{10,} \|$/gm)].map(([, number, about = '']) => ({
  number,
  about: about.split(', '),
}));

test.each(PER_CHANNEL)('%s has a test, or else a reason, for each channel', (number) => {
  const named = (list: readonly { number: string | undefined; about: readonly string[] }[]): Set<string> =>
    new Set(list.filter((row) => row.number === number).flatMap(({ about }) => about));
  const [tested, excused] = [named(CHANNEL_ROWS), named(EXCUSES)];
  expect([...tested, ...excused].sort()).toEqual(Object.keys(CHANNELS).sort());
});

test('a channel whose row names its contract plays that case, and a test of its own lies in its folder', () => {
  for (const { about, file, title } of CHANNEL_ROWS) {
    const isShared = about.length > 1 || !file.startsWith('channels/') || file === 'channels/contract.ts';
    if (!isShared) expect(file).toMatch(new RegExp(`^channels/${about[0]}/((in|out|wire)/)?[^/]+$`));
    if (file === 'src/app/channel-attacks.e2e.test.ts')
      expect(Object.keys({ ...PLATFORMS, ...FORGETFUL })).toEqual(expect.arrayContaining([...about]));
    if (file !== 'channels/contract.ts') continue;
    for (const channel of about) {
      const suite = readFileSync(join(ROOT, 'channels', channel, 'contract.test.ts'), 'utf8');
      expect([channel, suite.includes('channelContract('), suite.includes(title)]).toEqual([channel, true, false]);
    }
  }
});

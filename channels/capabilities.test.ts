// Each channel of the registry is a column, each capability a row: all are played against the platform's
// peer, then printed as one table.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isFullLoad } from '../src/testing/full-load.ts';
import { CAPABILITIES, type CapabilityCases, capabilityTable } from './capabilities.ts';
import { CHANNELS } from './registry.ts';

/** `channels/<type>/capability-cases.ts` of each, with the one export `cases`. */
const loaded = await Promise.all(
  Object.keys(CHANNELS).map(async (type): Promise<[string, CapabilityCases]> => {
    const { cases } = (await import(`./${type}/capability-cases.ts`)) as { cases?: CapabilityCases };
    if (!cases) throw new Error(`channels/${type}/capability-cases.ts exports no "cases"`);
    return [type, cases];
  }),
);

const table = new Map<string, Map<string, string>>();

afterAll(() => {
  const names = [...table.keys()].filter((name) => table.get(name)?.size);
  if (names.length === 0) return; // only the table of README.md was asked for
  const lines = CAPABILITIES.map((row) => [row, ...names.map((name) => table.get(name)?.get(row) ?? 'FAIL')]);
  process.stdout.write(`${['capability', ...names].join(' | ')}\n${lines.map((line) => line.join(' | ')).join('\n')}\n`);
});

test('the table in README.md is the one that is played', async () => {
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const fresh = readme.replace(
    /(<!-- capabilities -->\n)[\s\S]*(<!-- \/capabilities -->)/,
    (_all, from: string, to: string) => `${from}${capabilityTable(Object.fromEntries(loaded))}\n${to}`,
  );
  // `npm run generate` writes it.
  await expect(fresh).toMatchFileSnapshot('./README.md');
});

test('each feature of one platform in README.md has its key in the settings of its channel, and a test that exists', async () => {
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| .+ \| (\w+) \| (.+) \| `(\S+\.test\.ts)`: (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(9);
  for (const [, channel = '', keys = '', file = '', title = ''] of rows) {
    const source = await readFile(join(import.meta.dirname, channel, 'settings.ts'), 'utf8');
    for (const [, key] of keys.matchAll(/`(\w+)`/g))
      expect([channel, source]).toEqual([channel, expect.stringContaining(`${key}:`)]);
    const suite = await readFile(join(import.meta.dirname, '..', file), 'utf8');
    expect([file, suite]).toEqual([file, expect.stringContaining(title)]);
  }
});

test('a capability has one name', () => {
  expect(new Set(CAPABILITIES).size).toBe(CAPABILITIES.length);
});

for (const [name, { missing }] of loaded) {
  if (missing === undefined) continue;
  if (process.env['CI']) throw new Error(`${name}: ${missing}`);
  process.stderr.write(`capabilities of ${name} skipped: ${missing}\n`);
}

const channels = loaded.filter(([, { missing }]) => missing === undefined);

describe.each(channels.map(([name, cases], n) => [name, cases, n] as const))('%s', (name, cases, n) => {
  afterAll(() => cases.close?.());
  const column = new Map<string, string>();
  table.set(name, column);
  for (const [at, row] of CAPABILITIES.entries()) {
    const play = cases[row];
    if (typeof play === 'string') {
      test(`${row}: n/a, ${play}`, () => {
        expect(play.length).toBeGreaterThan(10);
        column.set(row, 'n/a');
      });
    } else {
      // Each has an adapter and a peer of its own, and most of the time waits for one. A sample plays a third
      // of the rows on each channel, and of three neighbours each row on one.
      const isPlayed = isFullLoad() || (n + at) % 3 === 0;
      if (!isPlayed) column.set(row, 'not played');
      (isPlayed ? test.concurrent : test.concurrent.skip)(row, async () => {
        await play();
        column.set(row, 'pass');
      });
    }
  }
});

// One column per channel, one row per capability: played against each platform's peer, then printed as one table.
import { afterAll, describe, expect, test } from 'vitest';
import { CAPABILITIES, type CapabilityCases } from './capabilities.ts';

/** The one line a channel adds here. */
const CHANNELS: Readonly<Record<string, () => Promise<CapabilityCases>>> = {
  slack: async () => (await import('./slack/capability-cases.ts')).cases,
};

const table = new Map<string, Map<string, string>>();

afterAll(() => {
  const names = Object.keys(CHANNELS);
  const lines = CAPABILITIES.map((row) => [row, ...names.map((name) => table.get(name)?.get(row) ?? 'FAIL')]);
  process.stdout.write(`${['capability', ...names].join(' | ')}\n${lines.map((line) => line.join(' | ')).join('\n')}\n`);
});

test('a capability has one name', () => {
  expect(new Set(CAPABILITIES).size).toBe(CAPABILITIES.length);
});

describe.each(Object.entries(CHANNELS))('%s', async (name, load) => {
  const cases = await load();
  const column = new Map<string, string>();
  table.set(name, column);
  for (const row of CAPABILITIES) {
    const play = cases[row];
    if (typeof play === 'string') {
      test(`${row}: n/a, ${play}`, () => {
        expect(play.length).toBeGreaterThan(10);
        column.set(row, 'n/a');
      });
    } else {
      test(row, async () => {
        await play();
        column.set(row, 'pass');
      });
    }
  }
});

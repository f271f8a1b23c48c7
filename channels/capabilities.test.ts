// One column per channel, one row per capability: played against each platform's peer, then printed as one table.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mailServersMissing } from '../src/testing/mail-servers.ts';
import { CAPABILITIES, type CapabilityCases, capabilityTable } from './capabilities.ts';

/** The one line a channel adds here. */
const CHANNELS: Readonly<Record<string, () => Promise<CapabilityCases>>> = {
  cli: async () => (await import('./cli/capability-cases.ts')).cliCases,
  discord: async () => (await import('./discord/capability-cases.ts')).discordCases,
  email: async () => (await import('./email/capability-cases.ts')).emailCases,
  feishu: async () => (await import('./feishu/capability-cases.ts')).feishuCases,
  telegram: async () => (await import('./telegram/capability-cases.ts')).telegramCases,
  whatsapp: async () => (await import('./whatsapp/capability-cases.ts')).whatsAppCases,
  wecom: async () => (await import('./wecom/capability-cases.ts')).cases,
  twilio: async () => (await import('./twilio/capability-cases.ts')).cases,
  slack: async () => (await import('./slack/capability-cases.ts')).cases,
};

const table = new Map<string, Map<string, string>>();

afterAll(() => {
  const names = PLAYED.map(([name]) => name);
  const lines = CAPABILITIES.map((row) => [row, ...names.map((name) => table.get(name)?.get(row) ?? 'FAIL')]);
  process.stdout.write(`${['capability', ...names].join(' | ')}\n${lines.map((line) => line.join(' | ')).join('\n')}\n`);
});

test('the table in README.md is the one that is played', async () => {
  const loaded = await Promise.all(Object.entries(CHANNELS).map(async ([name, load]) => [name, await load()] as const));
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const table = capabilityTable(Object.fromEntries(loaded));
  const fresh = readme.replace(
    /(<!-- capabilities -->\n)[\s\S]*(<!-- \/capabilities -->)/,
    (_all, from: string, to: string) => `${from}${table}\n${to}`,
  );
  // `npm run generate:channels` writes it.
  await expect(fresh).toMatchFileSnapshot('./README.md');
});

test('a capability has one name', () => {
  expect(new Set(CAPABILITIES).size).toBe(CAPABILITIES.length);
});

/** Channels whose peer is a program that may not be installed, with the reason. */
const MISSING: Readonly<Record<string, string | undefined>> = { email: mailServersMissing() };
for (const [name, reason] of Object.entries(MISSING)) {
  if (reason === undefined) continue;
  if (process.env['CI']) throw new Error(`${name}: ${reason}`);
  process.stderr.write(`capabilities of ${name} skipped: ${reason}\n`);
}
const PLAYED = Object.entries(CHANNELS).filter(([name]) => MISSING[name] === undefined);

describe.each(PLAYED)('%s', async (name, load) => {
  const cases = await load();
  afterAll(() => cases.close?.());
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
      // Each has an adapter and a peer of its own, and most of the time waits for one.
      test.concurrent(row, async () => {
        await play();
        column.set(row, 'pass');
      });
    }
  }
});

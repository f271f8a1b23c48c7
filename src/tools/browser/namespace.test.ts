import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageRoot } from '../../lib/package-info.ts';
import { needs } from '../../testing/needs.ts';

/** Every address of both families is one of this namespace. */
const SETUP = 'ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo';
const PUBLIC = '93.184.216.34 80';

interface Visit {
  readonly reached: readonly string[];
  readonly told: readonly string[];
}

test('A14 A15 A16 A17 A18 A19 a page that asks for what is forbidden, in every way that pages have, connects to nothing', async (context) => {
  needs(context, 'unshare', '-rn', 'sh', '-c', SETUP);
  needs(context, 'chromium', '--version');
  const program = join(packageRoot(), 'src/testing/ssrf-browser.ts');
  const shell = `${SETUP} && exec "$0" "$1"`;
  const { stdout } = await promisify(execFile)('unshare', ['-rn', 'sh', '-c', shell, process.execPath, program], {
    // A proxy of the environment would be asked for everything.
    env: {
      PATH: process.env['PATH'],
      http_proxy: 'http://10.9.9.9:8080',
      https_proxy: 'http://10.9.9.9:8080',
      no_proxy: '127.0.0.1',
    },
    timeout: 150_000,
    maxBuffer: 16 * 1024 ** 2,
  });
  const seen = JSON.parse(stdout) as {
    readonly count: number;
    readonly clicked: string;
    readonly control: { readonly reached: readonly string[] };
    readonly log: readonly unknown[];
  } & Readonly<Record<'wished' | 'spellings' | 'rebinding' | 'top' | 'files', Visit>>;
  expect(seen.count).toBeGreaterThanOrEqual(120);
  const { wished, spellings, rebinding, top, files } = seen;
  // Not even names were looked up beside the proxy, and nothing came by UDP.
  for (const { reached } of [wished, spellings, rebinding, top]) expect(reached).toEqual([PUBLIC]);
  expect(files.reached).toEqual([]);
  // The pages were really shown, and what they asked for was really refused.
  expect([wished, spellings, rebinding].map(({ told }) => told[1])).toEqual(['"wishes"', '"spellings"', '"rebinding"']);
  for (const { told } of [wished, spellings, rebinding, top]) expect(told[0]).toContain('refused: it leads to');
  expect(seen.clicked).toBe('done');
  expect(files.told.filter((text) => text.includes('by http: and https: alone'))).toHaveLength(3);
  expect(seen.log).toEqual([]);
  expect(seen.control.reached).toEqual(['127.0.0.1 80', '169.254.169.254 80', '10.9.9.9 80']);
}, 180_000);

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { needs } from '../testing/needs.ts';

/** Every address of both families is one of this namespace. */
const SETUP = 'ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo';
const PUBLIC = '93.184.216.34 80';

interface Visit {
  readonly reached: readonly string[];
  readonly kinds: Readonly<Record<string, number>>;
}

test('A14 A15 A16 A17 A18 in a namespace where every address listens, none but the public ones is connected to', async (context) => {
  needs(context, 'unshare', '-rn', 'sh', '-c', SETUP);
  const program = join(packageRoot(), 'src/testing/ssrf-namespace.ts');
  const proxy = 'http://10.9.9.9:8080';
  // A proxy of the environment would be asked for everything, and would ask for us.
  const env = {
    NODE_USE_ENV_PROXY: '1',
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    no_proxy: '127.0.0.1,169.254.169.254',
  };
  const shell = `${SETUP} && exec "$0" "$1"`;
  const { stdout } = await promisify(execFile)('unshare', ['-rn', 'sh', '-c', shell, process.execPath, program], {
    env: { PATH: process.env['PATH'], ...env },
    timeout: 120_000,
  });
  const seen = JSON.parse(stdout) as { readonly count: number } & Readonly<
    Record<'spellings' | 'redirects' | 'rebinding' | 'open', Visit>
  > & {
      readonly control: { readonly reached: readonly string[] };
    };
  expect(seen.count).toBeGreaterThanOrEqual(120);
  expect(seen.spellings).toEqual({ reached: [], kinds: { refused: seen.count * 3 } });
  expect(seen.redirects).toEqual({ reached: Array.from({ length: seen.count }, () => PUBLIC), kinds: { refused: seen.count } });
  expect(seen.rebinding).toEqual({ reached: Array.from({ length: 10 }, () => PUBLIC), kinds: { answer: 10, refused: 10 } });
  expect(seen.open).toEqual({ reached: [PUBLIC, PUBLIC, '2606:2800:220:1::1 80'], kinds: { answer: 3 } });
  expect(seen.control.reached).toEqual(['127.0.0.1 80', '169.254.169.254 80', '10.9.9.9 8080']);
}, 180_000);

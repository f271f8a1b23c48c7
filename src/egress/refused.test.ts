import { describe, expect, test } from 'vitest';
import { NAMES, NO_HOST, OWN_ADDRESSES, OWN_MACHINE, OWN_NETWORK } from '../testing/forbidden-hosts.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { createEgress } from './egress.ts';
import { isPublicAddress } from './public-address.ts';

const RULES = { allowDomains: [], denyDomains: [], privateOrigins: [] };

/** An egress that connects nowhere, and remembers to where it would have. */
function watched() {
  const dialled: string[] = [];
  const egress = createEgress({
    clock: new SteadyClock(),
    userAgent: 'test',
    rules: () => RULES,
    ownAddresses: () => OWN_ADDRESSES,
    resolve: async (host) => {
      const address = NAMES[host];
      if (address === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
      return address === '' ? [] : [{ address, family: address.includes(':') ? 6 : 4 }];
    },
    dial: (_to, addresses) => {
      dialled.push(...addresses.map(({ address }) => address));
      throw new Error('stop here');
    },
  });
  const get = (url: string) => egress({ tool: 'web_fetch', url, maxBytes: 10, timeoutMs: 10_000 }, new AbortController().signal);
  return { dialled, get };
}

describe('A14 A15 A16 no spelling of a host leads to this machine or its network', () => {
  test('there are at least 120 of them', () => {
    expect(OWN_MACHINE.length + OWN_NETWORK.length + NO_HOST.length).toBeGreaterThanOrEqual(120);
  });

  test.each([...OWN_MACHINE, ...OWN_NETWORK, ...NO_HOST])('A14 A15 A16 %j is refused', async (host) => {
    const { get, dialled } = watched();
    for (const url of [`http://${host}/x`, `https://${host}/x`, `http://${host}:8080/`]) {
      expect({ url, ...(await get(url)) }).toMatchObject({
        kind: 'refused',
        reason: expect.stringMatching(/public|this machine|valid address/),
      });
    }
    expect(dialled).toEqual([]);
  });
});

test.each([
  ['ftp://example.org/', 'ftp: is not fetched'],
  ['file:///etc/passwd', 'file: is not fetched'],
  ['data:text/html,x', 'data: is not fetched'],
  ['javascript:alert(1)', 'javascript: is not fetched'],
  ['gopher://example.org:70/_x', 'gopher: is not fetched'],
  ['blob:https://example.org/x', 'blob: is not fetched'],
  ['//example.org/', 'no valid address'],
  ['example.org', 'no valid address'],
  ['http://user@example.org/', 'user name or password'],
  ['http://example.org:x@127.0.0.1/', 'user name or password'],
  ['http://127.0.0.1\\@example.org/', 'not public'],
  ['http://example.org:25/', 'port 25'],
  ['http://example.org:6667/', 'port 6667'],
  [`http://example.org/${'a'.repeat(8_192)}`, 'longer than 8192'],
])('A15 %s is refused', async (url, reason) => {
  const { get, dialled } = watched();
  expect(await get(url)).toEqual({ kind: 'refused', reason: expect.stringContaining(reason) });
  expect(dialled).toEqual([]);
});

test('a name without an address, and one that does not exist, are not connected to', async () => {
  const { get, dialled } = watched();
  expect(await get('http://empty.example.org/')).toEqual({ kind: 'failed', reason: 'the name has no address' });
  expect(await get('http://nowhere.example.org/')).toEqual({ kind: 'failed', reason: 'there is no such host' });
  expect(dialled).toEqual([]);
});

test.each([
  'http://example.org',
  'https://WWW.EXAMPLE.ORG./',
  'http://93.184.216.34',
  'http://[2606:2800:220:1::1]/',
  'http://example.org:8080/',
])('%s is let through', async (url) => {
  const { get, dialled } = watched();
  expect(await get(url)).toEqual({ kind: 'failed', reason: 'stop here' });
  expect(dialled).toHaveLength(1);
});

test.each(['', 'x', '1.2.3', '93.184.216.34%lo', '2606:2800::1%eth0', '1.2.3.4.5'])('%j is no public address', (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

test.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '198.20.0.1', '192.0.1.1', '223.255.255.255', '2600::1', '2a00:1450:4001::1'])(
  '%s is a public address',
  (text) => {
    expect(isPublicAddress(text)).toBe(true);
  },
);

import { expect, test } from 'vitest';
import { mailAddresses } from './mail-addresses.ts';

const only = (...to: readonly string[]) => mailAddresses({ to, cc: [] }).to;

test.each([
  ['ada@example.org', 'ada@example.org'],
  ["o'neil+a.b_c@sub.example.org", "o'neil+a.b_c@sub.example.org"],
  ['Ada@Example.ORG', 'Ada@example.org'],
  ['ada@münchen.de', 'ada@xn--mnchen-3ya.de'],
  // Cyrillic letters that look like Latin ones are seen for what they are.
  ['ada@\u0430pple.com', 'ada@xn--pple-43d.com'],
])('%s is written to as %s', (given, wire) => {
  expect(only(given)).toEqual([wire]);
});

test.each([
  '',
  'ada',
  '@example.org',
  'ada@',
  'ada@example',
  'ada@127.0.0.1',
  'ada@[127.0.0.1]',
  'ada@-example.org',
  'ada@example..org',
  'ada@ex ample.org',
  'ada@exa%6dple.org',
  '.ada@example.org',
  'a..da@example.org',
  'ada.@example.org',
  'ada@example.org, eve@evil.test',
  'ada@example.org;eve@evil.test',
  'ada@example.org\r\nBcc: eve@evil.test',
  'ada@example.org\nBcc: eve@evil.test',
  'ada\u0000@example.org',
  'ada\u200b@example.org',
  'ада@example.org',
  'Ada <ada@example.org>',
  '<ada@example.org>',
  '"ada"@example.org',
  'ada(comment)@example.org',
  '@evil.test:ada@example.org',
  'friends: ada@example.org;',
  'ada\uff20example.org',
  `${'a'.repeat(65)}@example.org`,
  `ada@${'a'.repeat(64)}.org`,
  `ada@${'a.'.repeat(130)}org`,
])('%j is no bare address', (given) => {
  expect(() => only(given)).toThrow('is not a bare mail address');
});

test('an address that comes twice, in whatever case, gets one mail, and is named where it came first', () => {
  const { to, cc } = mailAddresses({ to: ['ada@example.org', 'ADA@example.org'], cc: ['ben@example.org', 'Ada@EXAMPLE.org'] });
  expect([to, cc]).toEqual([['ada@example.org'], ['ben@example.org']]);
});

test('ten people are written to, and not eleven, of both lists together', () => {
  const people = Array.from({ length: 11 }, (_, n) => `p${n}@example.org`);
  expect(mailAddresses({ to: people.slice(0, 6), cc: people.slice(6, 10) }).cc).toHaveLength(4);
  expect(() => mailAddresses({ to: people.slice(0, 6), cc: people.slice(6) })).toThrow('at most 10 people');
});

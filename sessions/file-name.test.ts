import { expect, test } from 'vitest';
import { decodeName, encodeName, fnv1a64, keyOfNames, legacyPath, sessionStem, userDirectory } from './file-name.ts';

test('letters, digits, _ and - stay, every other byte becomes %XX in upper case', () => {
  expect(encodeName('aZ09_-')).toBe('aZ09_-');
  expect(encodeName('_main:telegram:-100')).toBe('_main%3Atelegram%3A-100');
  expect(encodeName('../é😀\0')).toBe('%2E%2E%2F%C3%A9%F0%9F%98%80%00');
});

test('FNV-1a 64 gives the published values', () => {
  // http://www.isthe.com/chongo/tech/comp/fnv/: test vectors
  expect(fnv1a64(Buffer.from(''))).toBe('CBF29CE484222325');
  expect(fnv1a64(Buffer.from('a'))).toBe('AF63DC4C8601EC8C');
  expect(fnv1a64(Buffer.from('foobar'))).toBe('85944171F73967E8');
});

test('a name is cut at 183 characters when bytes are left, and ends in the hash of the whole', () => {
  expect(encodeName('x'.repeat(183))).toBe('x'.repeat(183));
  expect(encodeName('x'.repeat(184))).toBe(`${'x'.repeat(183)}_${fnv1a64(Buffer.from('x'.repeat(184)))}`);
  expect(encodeName(`${'x'.repeat(182)}/`)).toBe(`${'x'.repeat(182)}%2F`);
  const longest = encodeName('é'.repeat(500));
  expect(longest).toMatch(/^(%[0-9A-F]{2})+_[0-9A-F]{16}$/);
  expect(`${longest}.quarantine.jsonl`.length).toBeLessThan(255);
});

test('files lie where the spec says', () => {
  expect(sessionStem('/d', '_main:cli:me')).toBe('/d/users/_main%3Acli%3Ame/sessions/default');
  expect(sessionStem('/d', '_main:cli:me#work')).toBe('/d/users/_main%3Acli%3Ame/sessions/work');
  expect(sessionStem('/d', '_main:cli:me#thread:7#x')).toBe('/d/users/_main%3Acli%3Ame/sessions/thread%3A7%23x');
  expect(userDirectory('/d', '_main:cli:me#work')).toBe('/d/users/_main%3Acli%3Ame');
  expect(legacyPath('/d', '_main:cli:me#work')).toBe('/d/sessions/_main%3Acli%3Ame%23work.jsonl');
});

test('a place gives its key back unless the name was cut', () => {
  for (const key of ['_main:cli:me', 'a#b', 'a#', 'a#default', 'a#b#c', 'ü/..\\%23', '#x']) {
    const [, user = '', , session = ''] = sessionStem('', key).split('/');
    expect(keyOfNames(user, session)).toBe(key);
  }
  expect(decodeName(encodeName('x'.repeat(300)))).toBeUndefined();
  expect(decodeName('%zz')).toBeUndefined();
  expect(decodeName('%FF')).toBeUndefined();
});

test('A37 200,000 random keys, near and far from each other, take 200,000 places', () => {
  let seed = 42;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const alphabet = 'aA0_-%#:/. é2F3\u0000';
  const prefix = 'p'.repeat(178);
  const keys = new Set<string>();
  while (keys.size < 200_000) {
    const length = 1 + random(12);
    let tail = '';
    for (let at = 0; at < length; at += 1) tail += alphabet[random(alphabet.length)];
    // Every 20th is long enough to be cut, with all the differences behind the cut.
    keys.add(keys.size % 20 === 0 ? prefix + tail + tail : tail);
  }
  const places = new Set([...keys].map((key) => sessionStem('', key)));
  expect(places.size).toBe(keys.size);
});

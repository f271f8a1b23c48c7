import { expect, test } from 'vitest';
import { misleads } from './link-label.ts';

test.each([
  ['https://bank.example.com', 'https://evil.example.net/login'],
  ['Log in at www.bank.com today', 'https://evil.net'],
  ['bank.com', 'https://bank.com.evil.net/'],
  ['https://bank.com', 'https://bank.com@evil.net'],
  ['bank.com', 'javascript:alert(1)'],
  ['http://bücher.de', 'https://bucher.de'],
])('a label that names another address misleads: %s -> %s', (label, url) => {
  expect(misleads(label, url)).toBe(true);
});

test.each([
  ['the manual', 'https://example.org/manual'],
  ['example.org', 'https://www.example.org/a'],
  ['www.example.org', 'https://example.org'],
  ['https://example.org/x', 'https://example.org/y'],
  ['Node.js', 'https://nodejs.org'],
  ['main.py: line 3', 'https://git.example.org/main.py'],
  ['ada@example.org', 'mailto:ada@example.org'],
  ['bücher.de', 'https://xn--bcher-kva.de/'],
])('a label that is no address, or the same one, does not: %s -> %s', (label, url) => {
  expect(misleads(label, url)).toBe(false);
});

import { expect, test } from 'vitest';
import { readChoice } from './choices.ts';

const CHOICES = [
  { label: 'Yes, do it', value: 'yes' },
  { label: '3', value: 'three' },
  { label: 'Später', value: 'later' },
];

test.each([
  ['1', 'yes'],
  ['1.', 'yes'],
  [' 2) ', 'three'],
  ['yes,  DO it', 'yes'],
  ['YES', 'yes'],
  ['spa\u0308ter', 'later'],
  ['3', 'three'],
  ['4', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['do it', undefined],
  ['', undefined],
])('%j names %j', (text, value) => {
  expect(readChoice(text, CHOICES)?.value).toBe(value);
});

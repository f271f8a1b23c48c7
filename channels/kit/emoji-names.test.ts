import { expect, test } from 'vitest';
import { emojiNames } from './emoji-names.ts';

const { nameOf, emojiOf } = emojiNames({ '👍': '+1', '❤️': 'Heart' }, { thumbsup: '+1' });

test('a character has its name whatever its colour and its selector', () => {
  expect([nameOf('👍'), nameOf('👍🏽'), nameOf('❤'), nameOf('❤️')]).toEqual(['+1', '+1', 'Heart', 'Heart']);
  expect([nameOf('🦖'), nameOf('')]).toEqual([undefined, undefined]);
});

test('a name has its character in any case and under its other names; one without stays a name', () => {
  expect([emojiOf('+1'), emojiOf('thumbsup'), emojiOf('HEART'), emojiOf('party'), emojiOf('')]).toEqual([
    '👍',
    '👍',
    '❤️',
    ':party:',
    '',
  ]);
});

test('a name that every object has is a name like any other', () => {
  expect([emojiOf('constructor'), emojiOf('__proto__'), nameOf('toString')]).toEqual([':constructor:', ':__proto__:', undefined]);
});

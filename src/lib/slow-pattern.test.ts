import { expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { isSlowPattern, testWithin } from './slow-pattern.ts';

const pattern = (text: string) => new RegExp(text, 'iu');

test.each([
  '(a+)+$',
  '(a|a)*$',
  '(a|aa)+$',
  '(.*a){20}',
  '\\d+\\d+\\d+$',
  '(.+)+$',
  '(\\w+\\s*)+:',
  '^(\\w+)*$',
  '([a-z]+)*[0-9]$',
  '(x+x+)+y',
  '(?:a?){25}a{25}b',
  '^hello (a+)+$',
  'robot(?=(a+)+$)',
  '(?<name>[^b]+)*b$',
  '(\\p{L}+\\p{L}*)+!$',
  '(.*)(.*)(.*)(.*)x$',
  '(foo|foo)+bar',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(\\u{1F916}+)+$',
  '\\s*\\s*\\s*\\s*robot',
  '((ab)*)*c',
  '(?:[\\w-]+\\.?)+@',
])('%s is slow', (text) => expect(isSlowPattern(pattern(text))).toBe(true));

test.each([
  'robot',
  '\\brobot\\b',
  '^robot\\b',
  '^(hey|hi|hello),? robot\\b',
  'robot[,:!?]',
  '.*robot.*',
  'robot.*(help|please)',
  '(robot|bot|assistant)s?',
  '@?gate\\s*house',
  '^\\s*robot\\s*$',
  '\\b(robo|bo)t\\b',
  '^(?:ok|okay|hey)\\s+robot\\b',
  'r[o0]b[o0]t',
  '\\p{L}*bot\\b',
  '🤖',
  '\\u{1F916}',
  '(?<!\\w)robot(?!\\w)',
  '^!\\w+',
  '^/(ask|bot)(\\s|$)',
  'робот|机器人|ロボット',
  '\\d{4}-\\d{2}-\\d{2}',
  '^(hi|hey)( there)? robot',
  '(?:^|\\s)robot(?:$|[\\s.,!?])',
  '[a-z]+bot',
  '(?:\\s+\\w+)*,? robot\\b',
  'robot\\??$',
  'frage an (den )?roboter:.+',
  '(ha)+ robot',
  '\\bjarvis\\b.{0,40}\\bplease\\b',
  '^.{0,20}robot',
])('%s is not slow', (text) => expect(isSlowPattern(pattern(text))).toBe(false));

test('a match that takes too long is broken off, and the next one is none the worse', () => {
  const bomb = pattern('(a+)+$');
  const since = cpuMs();
  expect(testWithin(bomb, `${'a'.repeat(40)}!`, 50)).toBeUndefined();
  expect(cpuMs() - since).toBeLessThan(400);
  expect([testWithin(bomb, 'aaa', 50), testWithin(bomb, 'b!', 50)]).toEqual([true, false]);
});

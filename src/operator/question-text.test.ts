import { expect, test } from 'vitest';
import type { Question } from '../core/wait.ts';
import { answerOf, choicesOf, isForSession, isVerdict, textOf } from './question-text.ts';

const GRANT = { principal: 'test:ann', session: 's', tool: 'shell', rule: 'git status in .', digest: 'd' };
const ONCE: Question = { text: 'May I?', answer: 'approve', to: 'owner', by: [], expiresAt: 600_000 };
const RULED: Question = { ...ONCE, grant: GRANT };

test('a question with a rule offers a yes for the session beside yes and no', () => {
  expect(choicesOf(ONCE, 'ABCDEF').map(({ label }) => label)).toEqual(['Allow', 'Deny']);
  expect(choicesOf(RULED, 'ABCDEF')).toEqual([
    { label: 'Allow', value: '/allow ABCDEF' },
    { label: 'Deny', value: '/deny ABCDEF' },
    { label: 'Allow for this session', value: '/allow ABCDEF session' },
  ]);
  expect(textOf(RULED, 'ABCDEF', 0)).toContain('`/allow ABCDEF` (`/allow ABCDEF session` for the session) or `/deny ABCDEF`');
});

test.each([
  ['allow', 'allow', false],
  ['1', 'allow', false],
  ['deny', 'deny', false],
  ['3', 'allow', true],
  ['Allow for this session', 'allow', true],
  ['allow session', 'allow', true],
  ['/allow session', 'allow', true],
  ['allow everything', undefined, false],
])('%j says %s; for the session: %s', (words, verdict, session) => {
  expect([answerOf(RULED, words)?.output, isForSession(RULED, words)]).toEqual([verdict, session]);
});

test.each(['3', 'Allow for this session', 'allow session'])('%j answers no question without a rule', (words) => {
  expect([answerOf(ONCE, words), isForSession(ONCE, words)]).toEqual([undefined, false]);
});

test('the words for the session are taken: the agent cannot offer them as choices of its own', () => {
  expect(['Allow', 'allow for this session'].map(isVerdict)).toEqual([true, true]);
});

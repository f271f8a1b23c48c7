import { expect, test } from 'vitest';
import { toAnswers } from './answers.ts';

const QUESTIONS = ['plain 1', 'long 2', 'tool 3'];
const at = 0;

test('the chat tells whose answer it is where each person asks one question', () => {
  const seen = [2, 0, 2].map((person, n) => ({ person, text: `part ${n}`, at }));
  expect(toAnswers(seen, QUESTIONS)).toEqual([['part 1'], [], ['part 0', 'part 2']]);
});

test('one person who asks them all is answered by number, in messages and in lines', () => {
  const say = (texts: readonly string[]) => texts.map((text) => ({ person: 0, text, at }));
  const messages = say(['answer 1', 'answer 2\n\nmuch', 'and more', 'answer 3']);
  expect(toAnswers(messages, QUESTIONS, 1)).toEqual([['answer 1'], ['answer 2\n\nmuch\nand more'], ['answer 3']]);
  const lines = say(['answer 2', 'much', 'answer 12', 'answer 1']);
  expect(toAnswers(lines, QUESTIONS, 1)).toEqual([['answer 1'], ['answer 2\nmuch\nanswer 12'], []]);
});

test('an answer that comes again shows as one text more', () => {
  const seen = ['answer 1', 'answer 2', 'answer 1'].map((text) => ({ person: 0, text, at }));
  expect(toAnswers(seen, QUESTIONS, 1)).toEqual([['answer 1', 'answer 1'], ['answer 2'], []]);
});

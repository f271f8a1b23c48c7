import { expect, test } from 'vitest';
import { FAILURE_KINDS } from '../testing/scripted-model.ts';
import { createFailure } from './failure.ts';
import { failureText } from './failure-text.ts';
import { AnswerAssembly } from './protocols/answer-assembly.ts';

test('A48 the text for the chat holds the code and nothing of message or hint', () => {
  for (const kind of FAILURE_KINDS) {
    const failure = createFailure(kind, { message: '/home/op/canary sk-canary', hint: 'canary in base_url http://10.0.0.1' });
    const text = failureText(failure);
    expect(text).toContain(`(${failure.code})`);
    expect(text).not.toMatch(/canary|http|\/home/);
    expect(text.length).toBeLessThan(160);
  }
});

test('F24 a rate limit says when to ask again', () => {
  const text = (retryAfterMs: number | undefined) => failureText(createFailure('rate-limit', { message: 'x', retryAfterMs }));
  expect(text(12_300)).toContain('in 13 s');
  expect(text(600_000)).toContain('in 10 min');
  expect(text(7_200_000)).toContain('in 2 h');
  expect(text(undefined)).toContain('in a minute');
});

test('an answer that thinking left no room for names the level of thinking, and not other words', () => {
  const assembly = new AnswerAssembly({ provider: 'p', model: 'm', inputTokens: 1 });
  assembly.add({ reasoning: 'hm', finish: 'length' });
  const last = assembly.end().at(-1);
  if (last?.type !== 'failed') throw new Error(`it ended with ${last?.type}`);
  expect(last.failure).toMatchObject({ kind: 'empty', retryable: false });
  expect(failureText(last.failure)).toBe(
    'The AI model ran out of room while thinking. Please ask a shorter question, or write /think low first. (GH2119)',
  );
});

test('to the operator an answer that is none names the address as its cause', () => {
  expect(createFailure('malformed', { message: '' }).hint).toContain('base_url');
});

import { expect, test } from 'vitest';
import { failureOfErrorObject, failureOfStatus } from './http-failure.ts';

test('F28 of an error body of many megabytes only the beginning is searched for secrets and for its meaning', () => {
  const searched: number[] = [];
  const redact = (text: string): string => {
    searched.push(text.length);
    return text;
  };
  const context = { provider: 'p', model: 'm', redact, now: 0 };
  const long = `prompt is too long: ${'ab12 \n'.repeat(1_000_000)}`;
  expect(failureOfStatus(400, long, undefined, context).kind).toBe('context-length');
  expect(failureOfErrorObject({ message: long, code: long, type: long }, context).kind).toBe('context-length');
  expect(searched).toHaveLength(2);
  expect(Math.max(...searched)).toBeLessThanOrEqual(64_000);
});

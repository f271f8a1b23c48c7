import { expect, test } from 'vitest';
import { Secrets } from './secrets.ts';

test('a value that is shown anyway is read, and is kept out of no text', () => {
  const secrets = new Secrets({ LOGIN: 'Agent@example.com', PASSWORD: 'agent@example.com!' });
  expect(secrets.secret('LOGIN', ['agent@example.com'])).toBe('Agent@example.com');
  expect(secrets.secret('PASSWORD', ['agent@example.com'])).toBe('agent@example.com!');
  expect(secrets.all()).toEqual(['agent@example.com!']);
});

test('what one reader shows is a secret all the same when another reads it as one', () => {
  const secrets = new Secrets({ LOGIN: 'agent', PASSWORD: 'agent' });
  secrets.secret('LOGIN', ['agent']);
  secrets.secret('PASSWORD');
  expect(secrets.all()).toEqual(['agent']);
});

test('a variable that is not set is named', () => {
  expect(() => new Secrets({}).secret('LOGIN')).toThrow('environment variable LOGIN is not set');
});

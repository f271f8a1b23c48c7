import { describe, expect, test } from 'vitest';
import type { FailureKind } from '../../core/model.ts';
import { createFailure, type FailureDetails } from '../failure.ts';
import { failureOfStatus } from '../protocols/http-failure.ts';
import { isFailoverWorthy, isModelFault } from './failover.ts';

const failure = (kind: FailureKind, details: Partial<FailureDetails> = {}) => createFailure(kind, { message: kind, ...details });
const context = { provider: 'p', model: 'm', redact: (text: string) => text, now: 0 };
const refused = (status: number, error: unknown) => failureOfStatus(status, error, undefined, context);

describe('isFailoverWorthy (spec B3)', () => {
  test.each(['rate-limit', 'overloaded', 'server', 'network', 'malformed', 'empty'] as const)(
    'everything that is retried is worth a failover: %s',
    (kind) => expect(isFailoverWorthy(failure(kind))).toBe(true),
  );

  test.each(['auth', 'payment', 'timeout', 'budget', 'content-filter'] as const)('and so is %s, which is not retried', (kind) =>
    expect(isFailoverWorthy(failure(kind))).toBe(true),
  );

  test.each(['aborted', 'bad-request', 'context-length'] as const)(
    '%s is the doing of the request and stays where it is',
    (kind) => expect(isFailoverWorthy(failure(kind))).toBe(false),
  );

  test.each([200, 302])('a page or a redirect where the API should be, status %i, says nothing of the request', (status) => {
    const page = failure('bad-request', { status });
    expect([isFailoverWorthy(page), isModelFault(page)]).toEqual([true, true]);
  });

  test.each([
    [401, { message: 'no' }, true],
    [403, { message: 'no' }, true],
    [400, { message: 'messages.2: text content blocks must not be empty' }, true],
    [400, { message: 'reasoning_content is missing in message 2' }, true],
    [400, { message: 'API key not valid. Please pass a valid API key.' }, true],
    [400, { message: "Invalid value: 'x'.", code: 'invalid_value' }, true],
    [400, { message: 'invalid_value' }, true],
    [400, { message: 'tools.0.name: too long' }, false],
    [404, { message: 'The model m does not exist' }, true],
    [410, { message: 'gone' }, true],
    [422, { message: 'unprocessable' }, false],
    [400, { message: 'upstream connection refused' }, true],
  ] as const)('status %i with %j: %s', (status, error, worthy) => expect(isFailoverWorthy(refused(status, error))).toBe(worthy));
});

describe('isModelFault', () => {
  test.each(['aborted', 'bad-request', 'context-length', 'content-filter', 'budget'] as const)(
    'F21 %s says nothing of the model, so one bad session cannot cool it down for the others',
    (kind) => expect(isModelFault(failure(kind))).toBe(false),
  );

  test('a history that one provider refuses is worth a failover but not held against it', () => {
    const picky = refused(400, { message: 'content must not be empty' });
    expect([isFailoverWorthy(picky), isModelFault(picky)]).toEqual([true, false]);
  });

  test('F26 a refused key, an empty account and a withdrawn model are held against it', () => {
    for (const status of [401, 402, 404]) expect(isModelFault(refused(status, { message: 'no' }))).toBe(true);
  });
});

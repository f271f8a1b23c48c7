import { describe, expect, test } from 'vitest';
import { createHttpFetch } from '../../lib/http-fetch.ts';
import { startModelServer } from '../../testing/model-server.ts';
import { failureOfConnection, failureOfErrorObject, failureOfStatus } from './http-failure.ts';

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

test('the repair of a refused key is a command that can be typed, and a name that does not resolve may want a proxy', () => {
  const context = { provider: 'anthropic', model: 'm', redact: (text: string) => text, now: 0 };
  expect(failureOfStatus(401, {}, undefined, context).hint).toContain('`gatehouse auth set-key anthropic`');
  const error = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ENOTFOUND' }) });
  expect(failureOfConnection(error, 'https://a', context).hint).toContain('NODE_USE_ENV_PROXY=1');
});

describe('a connection that can never come to an answer is not tried again', () => {
  const context = { provider: 'p', model: 'm', redact: (text: string) => text, now: 0 };

  test('https:// to a server without TLS is no matter of certificates', async () => {
    await using server = await startModelServer();
    const address = server.url.replace('http:', 'https:');
    const error: unknown = await createHttpFetch(5_000)(address, {}).catch((thrown: unknown) => thrown);
    expect(failureOfConnection(error, address, context)).toMatchObject({
      message: `p at ${address} cannot be reached (ERR_SSL_WRONG_VERSION_NUMBER)`,
      hint: 'the server does not speak TLS as https:// demands: write http:// in base_url, or check its port',
      retryable: false,
    });
  });

  test('control: a port that nothing listens on is tried again', () => {
    const error = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
    expect(failureOfConnection(error, 'http://a', context)).toMatchObject({ retryable: true });
  });

  test('control: a certificate that is not trusted stays one', () => {
    const error = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }) });
    expect(failureOfConnection(error, 'https://a', context)).toMatchObject({
      message: 'p at https://a cannot be trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
      retryable: false,
    });
  });
});

import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import type { ModelEvent } from '../core/model.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { withRenewedKey } from './renewed-key.ts';

const REQUEST = { messages: [], tools: [] } as never;

async function failureOf(error: Error) {
  const create = () => ({ ...scriptedModel(() => 'answer'), warm: async () => undefined });
  const model = withRenewedKey('key', () => Promise.reject(error), create);
  const events: ModelEvent[] = [];
  for await (const event of model.call(REQUEST, new AbortController().signal)) events.push(event);
  return events;
}

test('a login that cannot be renewed for now is a trouble of the network, which is tried again', async () => {
  const error = new GatehouseError('GH2203', 'the login of openai expired and could not be renewed: it did not answer in time');
  expect(await failureOf(error)).toMatchObject([
    {
      type: 'failed',
      failure: { kind: 'network', retryable: true, message: expect.stringContaining(error.message), hint: error.hint },
    },
  ]);
});

test('a login that has ended asks for a new one', async () => {
  const error = new GatehouseError('GH2202', 'the login of openai expired', { hint: 'run `gatehouse auth login openai`' });
  expect(await failureOf(error)).toMatchObject([
    {
      type: 'failed',
      failure: { kind: 'auth', retryable: false, message: expect.stringContaining(error.message), hint: error.hint },
    },
  ]);
});

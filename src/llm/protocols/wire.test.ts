import { expect, test } from 'vitest';
import { collect, modelRequest } from '../contract.ts';
import { type Assembly, callWire } from './wire.ts';
import { wireOptions } from './wire-contract.ts';

test('nothing is yielded after an abort, not even what came before a broken chunk of the same piece of bytes', async () => {
  const stop = new AbortController();
  const assembly: Assembly = {
    add(chunk) {
      if (chunk === 1) return { events: [{ type: 'text', text: 'late' }], progress: true };
      stop.abort(new Error('stopped'));
      throw new Error('broken');
    },
    ...{ finished: false, looping: false, usage: undefined, end: () => [] },
  };
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: 1\n\ndata: 2\n\n');
  }
  const wire = { assembly: () => assembly, open: async () => ({ body: body() }) };
  const events = await collect(callWire(wireOptions('http://model.test'), modelRequest('hi'), stop.signal, wire));
  expect(events).toMatchObject([{ type: 'failed', failure: { kind: 'aborted' } }]);
});

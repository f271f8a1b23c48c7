import { FakeClock } from '../src/testing/fakes.ts';
import { sessionStoreContract } from './contract.ts';
import { createMemoryStore } from './memory-store.ts';

sessionStoreContract('memory', async () => ({
  store: createMemoryStore({ clock: new FakeClock() }),
  [Symbol.asyncDispose]: async () => undefined,
}));

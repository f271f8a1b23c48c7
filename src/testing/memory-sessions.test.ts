import { sessionStoreContract } from '../../sessions/contract.ts';
import { FakeClock } from './fakes.ts';
import { createMemoryStore } from './memory-sessions.ts';

sessionStoreContract('memory', async () => ({
  store: createMemoryStore({ clock: new FakeClock() }),
  [Symbol.asyncDispose]: async () => undefined,
}));

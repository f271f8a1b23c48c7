import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { sessionStoreContract } from './contract.ts';
import { openJsonlStore } from './jsonl-store.ts';

sessionStoreContract('jsonl', async () => {
  const dir = await tempDir();
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  return { store, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
});

import { enqueueContract } from '../journal/enqueue-contract.ts';
import { FakeClock } from './fakes.ts';
import { MemoryJournal } from './memory-journal.ts';

enqueueContract('memory journal', async () => {
  const journal = new MemoryJournal(new FakeClock());
  return { journal, restart: async () => journal.crash(), [Symbol.asyncDispose]: async () => undefined };
});

import { remainsOf } from '../runs/remains.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import type { JournalHarness } from '../testing/journal-harness.ts';
import { journalContract } from './contract.ts';
import { enqueueContract } from './enqueue-contract.ts';
import { type OpenedJournal, openJournal } from './open.ts';

journalContract('SQLite journal', async (): Promise<JournalHarness> => {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened: OpenedJournal[] = [];
  const remains = remainsOf({ clock, isCommand: () => false });
  return {
    clock,
    async open(options = {}) {
      const next = await openJournal({ dir: dir.path, clock, remains, ...options });
      opened.push(next);
      return next.journal;
    },
    async prune() {
      await opened.at(-1)?.prune();
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
});

enqueueContract('SQLite journal', async () => {
  const dir = await tempDir();
  const clock = new FakeClock();
  // The killed one is left open and idle, as a killed process leaves it.
  const first = await openJournal({ dir: dir.path, clock });
  const opened = [first];
  return {
    journal: first.journal,
    async restart() {
      const next = await openJournal({ dir: dir.path, clock });
      opened.push(next);
      return next.journal;
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
});

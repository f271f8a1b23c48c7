/** The command line on a real journal in a directory of its own. */
import { join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import { openJournal } from '../journal/open.ts';
import { FakeCli } from './fake-cli.ts';
import { type FakeClock, tempDir } from './fakes.ts';

export interface CliOnJournal extends AsyncDisposable {
  readonly clock: FakeClock;
  run: FakeCli['run'];
  /** How many events commands asked the record for at once. */
  readonly asked: number[];
  /** Writes to the journal, as the daemon does beside the command. */
  fill(write: (journal: Journal, clock: FakeClock) => Promise<void>): Promise<void>;
  /** The next look of a running command at the record fails. */
  interrupt(): void;
}

export async function cliOnJournal(): Promise<CliOnJournal> {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { clock } = cli;
  const data = join(dir.path, 'real');
  let interrupted = false;
  const asked: number[] = [];
  cli.openJournal = async () => {
    const opened = await openJournal({ dir: data, clock });
    const { record } = opened.journal;
    const { after, before } = record;
    const stopped = new GatehouseError('GH1004', 'interrupted');
    Object.assign(record, {
      after: async (...args: Parameters<typeof after>) => {
        asked.push(args[1].limit);
        return interrupted ? Promise.reject(stopped) : after(...args);
      },
      before: async (...args: Parameters<typeof before>) => {
        asked.push(args[1]);
        return before(...args);
      },
    });
    return opened;
  };
  return {
    clock,
    asked,
    run: (...argv) => cli.run(...argv),
    async fill(write) {
      await cli.haveJournal();
      await using opened = await openJournal({ dir: data, clock });
      await write(opened.journal, clock);
    },
    interrupt() {
      interrupted = true;
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

// The real daemon with three additions a sweep needs: a channel with every guarantee, a tool that must not
// run twice, and, on request, one of the journals below, each of which breaks one promise.
// Arguments: CONFIG DATA_DIR VARIANT COUNT_FILE
import { loadConfig } from '../../../config/load.ts';
import { runGateway } from '../../app/run-gateway.ts';
import type { Journal } from '../../core/journal.ts';
import type { Admission } from '../../core/run.ts';
import { endWithReader, faultParts, withTools } from '../fault-parts.ts';

const [file = '', dataDir = '', variant = 'none', countFile = ''] = process.argv.slice(2);

/** Known-bad designs: a sweep that does not catch them proves nothing. */
const VARIANTS: Readonly<Record<string, (journal: Journal) => Journal>> = {
  /** Acknowledges first and commits when it gets round to it: loses what was acknowledged. */
  'ack-first': (journal) => {
    const listeners: (() => void)[] = [];
    const look = () => listeners.map((listener) => listener());
    return override(journal, {
      onOutsideChange: (listener) => {
        listeners.push(listener);
      },
      accept: async (batch, cursor) => {
        setTimeout(() => void journal.accept(batch, cursor).then(look), 30);
        return batch.map(() => ({ kind: 'duplicate' }));
      },
    });
  },
  /**
   * Takes the answer of a person in one commit and ends the wait in the next: a kill between leaves a run
   * that waits for ever.
   */
  'two-commits': (journal) =>
    override(journal, {
      accept: async (batch, cursor) => {
        const settled = batch.flatMap((one) => (one.kind === 'answer' && one.settles ? [one.settles.settled] : []));
        const accepted = await journal.accept(batch.map(withoutSettling), cursor);
        setTimeout(() => {
          for (const one of settled) void journal.commit([{ kind: 'settle', settled: one }]);
        }, 30);
        return accepted;
      },
    }),
  /** Knows nothing of the processes that an earlier start left. */
  'no-reap': (journal) => override(journal, { processes: { left: async () => [] } }),
  /** Sends before there is a SENDING row: a kill before SENT sends again. */
  'send-first': (journal) =>
    override(journal, {
      sending: async () => true,
      settle: async (seq, settlement) => {
        await journal.sending(seq);
        await journal.settle(seq, settlement);
      },
    }),
};

function withoutSettling(admission: Admission): Admission {
  if (admission.kind !== 'answer') return admission;
  const { settles: _, ...rest } = admission;
  return rest;
}

function override(journal: Journal, methods: Partial<Journal>): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

endWithReader();
const { registry, extraTools } = faultParts(countFile);
const config = await loadConfig({
  file,
  cwd: dataDir,
  home: dataDir,
  env: process.env,
  channelTypes: Object.keys(registry),
  channelSettings: async (type) => (await Reflect.get(registry, type)?.())?.settings,
});
const wrapJournal = VARIANTS[variant];
const code = await runGateway({
  config: withTools(config),
  dataDir,
  stdio: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  env: process.env,
  requireModel: true,
  verbose: false,
  registry,
  extraTools,
  ...(wrapJournal ? { wrapJournal } : {}),
});
process.exit(code);

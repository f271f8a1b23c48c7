// The real daemon with three additions a sweep needs: a channel with every guarantee, a tool that must not run twice, and, on
// request, one of two journals that break the order of the sync points. Arguments: CONFIG DATA_DIR VARIANT COUNT_FILE
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { CHANNELS } from '../../../channels/registry.ts';
import { loadConfig } from '../../../config/load.ts';
import type { Registry } from '../../app/channels.ts';
import { runGateway } from '../../app/run-gateway.ts';
import type { Journal } from '../../core/journal.ts';
import { defineTool } from '../../tools/define.ts';
import { doubleChannel } from '../double-channel.ts';

const [file = '', dataDir = '', variant = 'none', countFile = ''] = process.argv.slice(2);

const count = defineTool({
  name: 'count',
  description: 'Counts n.',
  schema: z.strictObject({ n: z.number() }),
  tags: [],
  readOnly: false,
  outputBytes: 1_000,
  run: async ({ n }) => {
    await appendFile(countFile, `${n}\n`);
    return `counted ${n}`;
  },
});

/** Known-bad designs: a sweep that does not catch them proves nothing. */
const VARIANTS: Readonly<Record<string, (journal: Journal) => Journal>> = {
  /** Acknowledges first and commits when it gets round to it: loses what was acknowledged. */
  'ack-first': (journal) => {
    let look = (): void => undefined;
    return override(journal, {
      onOutsideChange: (listener) => {
        look = listener;
      },
      accept: async (batch, cursor) => {
        setTimeout(() => void journal.accept(batch, cursor).then(look), 30);
        return batch.map(() => ({ kind: 'duplicate' }));
      },
    });
  },
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

function override(journal: Journal, methods: Partial<Journal>): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const registry: Registry = { ...CHANNELS, double: async () => doubleChannel };
const config = await loadConfig({
  file,
  cwd: dataDir,
  home: dataDir,
  env: process.env,
  channelTypes: Object.keys(registry),
  channelSettings: async (type) => (await registry[type]?.())?.settings,
});
const wrapJournal = VARIANTS[variant];
const code = await runGateway({
  config,
  dataDir,
  stdio: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  env: process.env,
  requireModel: true,
  verbose: false,
  registry,
  extraTools: [count],
  ...(wrapJournal ? { wrapJournal } : {}),
});
process.exit(code);

// The real daemon that kills itself at one named instant, and has a tool whose runs are counted.
// Arguments: CONFIG DATA_DIR KILL_AT COUNT_FILE (`none` = no kill; else as in `ChildOptions.killAt`)
import { loadConfig } from '../../config/load.ts';
import { runGateway } from '../app/run-gateway.ts';
import type { Journal } from '../core/journal.ts';
import { endWithReader, faultParts, withTools } from './fault-parts.ts';

const [file = '', dataDir = '', killAt = 'none', countFile = ''] = process.argv.slice(2);
const [place = '', moment = '', times = '1'] = killAt.split(':');
let left = Number(times);

/** SIGKILL to oneself takes effect before the call returns; the promise is for the type only. */
async function maybeDie(at: string, when: 'before' | 'after'): Promise<void> {
  if (at !== place || when !== moment) return;
  left -= 1;
  if (left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
}

function dying(journal: Journal): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== place) return value.bind(target);
      return async (...args: unknown[]) => {
        await maybeDie(place, 'before');
        const result: unknown = await value.apply(target, args);
        await maybeDie(place, 'after');
        return result;
      };
    },
  });
}

endWithReader();
const { registry, extraTools } = faultParts(countFile, (when) => maybeDie('tool', when));
const config = await loadConfig({
  file,
  cwd: dataDir,
  home: dataDir,
  env: process.env,
  channelTypes: Object.keys(registry),
  channelSettings: async (type) => (await Reflect.get(registry, type)?.())?.settings,
});
process.exit(
  await runGateway({
    config: withTools(config),
    dataDir,
    stdio: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
    env: process.env,
    requireModel: false,
    verbose: false,
    registry,
    extraTools,
    wrapJournal: dying,
  }),
);

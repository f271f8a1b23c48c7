import { homedir } from 'node:os';
import { CHANNELS } from '../../channels/registry.ts';
import { GatehouseError } from '../core/errors.ts';
import { systemClock } from '../lib/clock.ts';
import { packageRoot, packageVersion } from '../lib/package-info.ts';
import type { CliDeps } from './deps.ts';

/** The real collaborators of this process. Heavy parts are imported by the command that needs them. */
export function processDeps(): CliDeps {
  return {
    stdio: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    clock: systemClock,
    version: packageVersion(),
    packageRoot: packageRoot(),
    channelTypes: Object.keys(CHANNELS),
    channelSettings: async (type) => (await CHANNELS[type]?.())?.settings,
    runGateway: absent('the gateway'),
    runChat: absent('the chat'),
    openJournal: absent('the journal'),
  };
}

/** A part that this build leaves out: asking for it is answered in one line. */
function absent(part: string): () => Promise<never> {
  return () => Promise.reject(new GatehouseError('GH1004', `${part} is not part of this build`));
}

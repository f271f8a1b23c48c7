import { homedir } from 'node:os';
import { CHANNELS } from '../../channels/registry.ts';
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
    runGateway: async (options) => (await import('../app/run-gateway.ts')).runGateway(options),
    runChat: async (options) => (await import('../app/run-chat.ts')).runChat(options),
    openJournal: async (options) => (await import('../journal/open.ts')).openJournal(options),
  };
}

/** What a daemon to be killed has in addition: a channel to a platform of ours, a tool with counted runs. */
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { CHANNELS } from '../../channels/registry.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { RunOptions } from '../app/run-options.ts';
import { defineTool } from '../tools/define.ts';
import { doubleChannel } from './double/channel.ts';
import { waitingTools } from './waiting-tools.ts';

/** Called around what a kill could interrupt; it may never return. */
export type Instant = (when: 'before' | 'after') => Promise<void>;

/** The tool `count` writes a line into `countFile` per run. */
export function faultParts(countFile: string, tool: Instant = async () => undefined) {
  const count = defineTool({
    name: 'count',
    description: 'Counts n.',
    schema: z.strictObject({ n: z.number() }),
    tags: [],
    effect: 'outside',
    // The people of these platforms are guests, who change nothing; here it is the crash that counts.
    act: 'none',
    outputBytes: 1_000,
    run: async ({ n }) => {
      await tool('before');
      await appendFile(countFile, `${n}\n`);
      await tool('after');
      return `counted ${n}`;
    },
  });
  const registry = { ...CHANNELS, double: async () => doubleChannel };
  return { registry, extraTools: [() => [count], waitingTools] } as const satisfies Pick<RunOptions, 'registry' | 'extraTools'>;
}

/** The config with the tools above open to all who are let in. */
export function withTools(loaded: LoadedConfig): LoadedConfig {
  const { config } = loaded;
  return { ...loaded, config: { ...config, tool_policy: { ...config.tool_policy, members: ['*'], guests: ['*'] } } };
}

/**
 * Ends the process once nothing reads its log: the process that started it is gone. Each line would fail,
 * and the failure would be logged.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(1));
}

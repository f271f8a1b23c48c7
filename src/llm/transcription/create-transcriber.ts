import type { Transcriber } from '../../core/media-models.ts';
import type { Clock } from '../../core/ports.ts';
import { type CommandTranscriberOptions, createCommandTranscriber } from './command-transcriber.ts';
import { createOpenAiTranscriber, type OpenAiTranscriberOptions } from './openai-transcriber.ts';

type Shared = 'clock' | 'random' | 'fetch' | 'onUsage';

/** The config's `transcription` section and what this machine offers. */
export type TranscriberOptions =
  | ({ readonly kind: 'openai' } & Omit<OpenAiTranscriberOptions, Shared | 'provider'>)
  | ({ readonly kind: 'command' } & Omit<CommandTranscriberOptions, 'clock'>);

export interface TranscriberDeps extends Pick<OpenAiTranscriberOptions, 'random' | 'fetch' | 'onUsage'> {
  readonly clock: Clock;
}

/** Connects and starts nothing before the first recording. Throws GH2114 for a command that cannot work. */
export function createTranscriber(options: TranscriberOptions, deps: TranscriberDeps): Transcriber {
  if (options.kind === 'command') return createCommandTranscriber({ ...options, clock: deps.clock });
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  return createOpenAiTranscriber({ ...options, ...deps, baseUrl, provider: providerOf(baseUrl) });
}

/** For ids and the ledger: `groq` for api.groq.com, else the name of the host. */
function providerOf(baseUrl: string): string {
  const host = URL.parse(baseUrl)?.hostname ?? 'unknown';
  return /^api\.([a-z0-9-]+)\.com$/.exec(host)?.[1] ?? host;
}

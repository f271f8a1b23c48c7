import type { LoadedConfig } from '../../config/load.ts';
import { GatehouseError } from '../core/errors.ts';
import type { UsageEntry } from '../core/journal.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { isLoopback } from '../llm/catalog/price.ts';
import type { Budget } from '../llm/money/budget.ts';
import { createPaidTranscriber } from '../llm/money/paid-transcriber.ts';
import { createTranscriber } from '../llm/transcription/create-transcriber.ts';

type Section = NonNullable<LoadedConfig['config']['transcription']>;

/** The transcriber for one turn: what it costs is booked on that turn's session and sender. */
export type TranscriberFor = (context: ModelCallContext) => Transcriber;

export interface SpeechOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value of a variable; it is kept out of every output from then on. Throws GH1103 when it is not set. */
  readonly secret: (variable: string) => string;
  readonly budget: Budget;
  readonly clock: Clock;
  /** For the ledger; must not throw. */
  readonly onSpent: (entry: UsageEntry) => void;
}

/** Connects nothing. Throws GH1103 without the key of a remote server, GH2114 for a command that cannot work. */
export function createSpeech(section: Section, options: SpeechOptions): TranscriberFor {
  const { env, secret, budget, clock, onSpent } = options;
  if (section.kind === 'command') {
    // One for all turns: it bounds how many programs run at once.
    const home = env['HOME'];
    const shared = createTranscriber(
      { kind: 'command', command: section.command, ...(env['PATH'] ? { path: env['PATH'] } : {}), ...(home ? { home } : {}) },
      { clock, random: Math.random },
    );
    return () => shared;
  }
  const { base_url: baseUrl, model, api_key_env, language, price_per_minute } = section;
  const own = isLoopback(baseUrl);
  if (!own && new URL(baseUrl).protocol !== 'https:') {
    throw new GatehouseError(
      'GH1101',
      'transcription.base_url must be https: recordings and the key would be readable on the way',
      {
        hint: 'use an https:// address, or a server on this machine',
      },
    );
  }
  const apiKey = own && !env[api_key_env] ? undefined : secret(api_key_env);
  const settings = {
    ...({ kind: 'openai', baseUrl, model } as const),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(language === undefined ? {} : { language }),
  };
  const usdPerMinute = price_per_minute ?? (own ? 0 : null);
  return (context) =>
    createPaidTranscriber((onUsage) => createTranscriber(settings, { clock, random: Math.random, onUsage }), {
      ...{ context, budget, usdPerMinute, clock, onSpent },
    });
}

import type { LoadedConfig } from '../../config/load.ts';
import type { UsageEntry } from '../core/ledger.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { Budget } from '../llm/money/budget.ts';
import { createPaidTranscriber } from '../llm/money/paid-transcriber.ts';
import { resolveKey } from '../llm/providers/key.ts';
import { createTranscriber } from '../llm/transcription/create-transcriber.ts';
import { speechServerOf } from '../llm/transcription/speech-server.ts';
import { currentLogin, type Login } from './current-login.ts';

type Section = NonNullable<LoadedConfig['config']['transcription']>;

/** The transcriber for one turn: what it costs is booked on that turn's session and sender. */
export type TranscriberFor = (context: ModelCallContext) => Transcriber;

export interface SpeechOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * The value of a variable; it is kept out of every output from then on. Throws GH1103 when it is not set.
   */
  readonly secret: (variable: string) => string;
  readonly login: Login;
  readonly budget: Budget;
  readonly clock: Clock;
  /** For the ledger; must not throw. */
  readonly onSpent: (entry: UsageEntry) => void;
}

/** For a stored login to be renewed. ms. */
const LOGIN_MS = 20_000;

/**
 * Connects nothing. Rejects with GH1101 for a remote address without TLS, GH1103 without the key of a remote
 * server, GH2114 for a command that cannot work.
 */
export async function createSpeech(section: Section, options: SpeechOptions): Promise<TranscriberFor> {
  const { env, secret, login, budget, clock, onSpent } = options;
  const deps = { clock, random: Math.random };
  if (section.kind === 'command') {
    // One for all turns: it bounds how many programs run at once.
    const home = env['HOME'];
    const shared = createTranscriber(
      { kind: 'command', command: section.command, ...(env['PATH'] ? { path: env['PATH'] } : {}), ...(home ? { home } : {}) },
      deps,
    );
    return () => shared;
  }
  const { base_url: baseUrl, model, language, price_per_minute } = section;
  const server = speechServerOf(section);
  const storedKey = (provider: string): Promise<string | undefined> => login(provider, AbortSignal.timeout(LOGIN_MS));
  const key = await resolveKey(server, { env, storedKey });
  const isLogin = key?.from === 'login';
  if (key && !isLogin) secret(key.from);
  const usdPerMinute = price_per_minute ?? (server.own ? 0 : null);
  const paid = (apiKey: string | undefined, context: ModelCallContext): Transcriber => {
    const settings = {
      ...({ kind: 'openai', baseUrl, model } as const),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(language === undefined ? {} : { language }),
    };
    return createPaidTranscriber((onUsage) => createTranscriber(settings, { ...deps, onUsage }), {
      ...{ context, budget, usdPerMinute, clock, onSpent },
    });
  };
  if (!isLogin) return (context) => paid(key?.value(), context);
  // A login is renewed while the daemon runs.
  return (context) => ({
    id: paid(undefined, context).id,
    transcribe: async (file, signal) => await paid(await currentLogin(server, login, signal), context).transcribe(file, signal),
  });
}

/** The OpenAI transcription wire: OpenAI, Groq, and own servers (whisper.cpp, faster-whisper, vLLM). */
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { AudioFile, Transcriber } from '../../core/media-models.ts';
import { type Endpoint, malformedAnswer, nothingCame, postJson } from '../post-json.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';
import { type Audio, readAudio } from './read-audio.ts';

/** What one transcription cost, for the ledger. */
export interface TranscriptionUsage {
  readonly provider: string;
  readonly model: string;
  /** Of sound; null where the server does not say. */
  readonly seconds: number | null;
}

export interface OpenAiTranscriberOptions extends Omit<Endpoint, 'timeoutMs'> {
  /** ISO 639-1. Default: found by the model. */
  readonly language?: string;
  /** With all retries. Default 60 s (spec I3). */
  readonly timeoutMs?: number;
  /** Called once per answer; must not throw. */
  readonly onUsage?: (usage: TranscriptionUsage) => void;
}

export const TRANSCRIPTION_TIMEOUT_MS = 60_000;
/** Two hours of speech are 100 kB of text, and fifty times that in the segments of `verbose_json`. */
const MAX_ANSWER_BYTES = 8_000_000;

/** `baseUrl` holds the version segment: `https://api.groq.com/openai/v1`. */
export function createOpenAiTranscriber(options: OpenAiTranscriberOptions): Transcriber {
  const { provider, model } = options;
  const id = `${provider}/${model}`;
  const endpoint: Endpoint = { ...options, timeoutMs: options.timeoutMs ?? TRANSCRIPTION_TIMEOUT_MS };
  return {
    id,
    async transcribe(file, signal) {
      signal.throwIfAborted();
      const audio = await readFor(file, signal);
      try {
        return await ask(endpoint, options, audio, signal);
      } catch (error) {
        throw nothingCame('GH2114', `${id} transcribed nothing`, error);
      }
    },
  };
}

async function readFor(file: AudioFile, signal: AbortSignal): Promise<Audio> {
  let audio: Audio;
  try {
    audio = await readAudio(file, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH2114', `the recording cannot be read: ${errorText(error)}`, { cause: error });
  }
  if (audio.format.remote) return audio;
  throw new GatehouseError('GH2114', `${audio.format.mime} is not taken by transcription servers`, {
    hint: 'send it as ogg, mp3, m4a, wav, webm or flac',
  });
}

async function ask(endpoint: Endpoint, options: OpenAiTranscriberOptions, audio: Audio, signal: AbortSignal): Promise<string> {
  const { provider, model, language } = options;
  const answer = await postJson(
    endpoint,
    {
      path: '/audio/transcriptions',
      isBilled: true,
      body: () => {
        const form = new FormData();
        form.set('model', model);
        form.set('response_format', responseFormat(model));
        form.set('temperature', '0');
        if (language !== undefined) form.set('language', language);
        // Servers go by the extension. The sender's own name stays here.
        form.set('file', new Blob([new Uint8Array(audio.bytes)], { type: audio.format.mime }), `audio.${audio.format.extension}`);
        return form;
      },
      maxAnswerBytes: MAX_ANSWER_BYTES,
    },
    signal,
  );
  const { text, duration, usage } = asRecord(answer);
  const seconds = Number(duration ?? asRecord(usage)['seconds'] ?? Number.NaN);
  options.onUsage?.({ provider, model, seconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : null });
  if (typeof text !== 'string') throw malformedAnswer(provider, 'no text');
  return text.trim();
}

/** The verbose form alone says how long the sound was, which sets the price. Only Whisper has it. */
function responseFormat(model: string): 'verbose_json' | 'json' {
  return /whisper/i.test(model) ? 'verbose_json' : 'json';
}

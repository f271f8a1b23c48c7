import type { Embedder } from '../../core/media-models.ts';
import type { Clock } from '../../core/ports.ts';
import { createGeminiEmbedder } from './gemini-embedder.ts';
import { createLocalEmbedder } from './local-embedder.ts';
import { createOllamaEmbedder } from './ollama-embedder.ts';
import { createOpenAiEmbedder } from './openai-embedder.ts';
import type { EmbeddingUsage } from './remote-embedder.ts';

export interface EmbedderOptions {
  readonly provider: 'openai' | 'gemini' | 'ollama' | 'local';
  /** Defaults: text-embedding-3-small, gemini-embedding-001, nomic-embed-text. */
  readonly model?: string;
  /** Default: the provider's own. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly dimensions?: number;
  /** Most texts of one request, where an OpenAI-compatible server takes fewer than 100. */
  readonly maxTexts?: number;
  /** One request with its retries. Default 60 s. */
  readonly timeoutMs?: number;
  /** `<data dir>/packages`, for the local one. */
  readonly packagesDir: string;
  readonly onUsage?: (usage: EmbeddingUsage) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fetch?: typeof fetch;
}

const TIMEOUT_MS = 60_000;

const REMOTE = {
  openai: { create: createOpenAiEmbedder, model: 'text-embedding-3-small', baseUrl: 'https://api.openai.com/v1' },
  gemini: {
    create: createGeminiEmbedder,
    model: 'gemini-embedding-001',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  },
  ollama: { create: createOllamaEmbedder, model: 'nomic-embed-text', baseUrl: 'http://127.0.0.1:11434' },
} as const;

/** The embedder of the config's `embedding` section. Connects nothing and loads nothing before the first call. */
export function createEmbedder(options: EmbedderOptions): Embedder {
  const { provider, baseUrl, packagesDir, ...rest } = options;
  if (provider === 'local') return createLocalEmbedder({ packagesDir });
  const remote = REMOTE[provider];
  return remote.create({
    ...rest,
    provider,
    model: options.model ?? remote.model,
    baseUrl: (baseUrl ?? remote.baseUrl).replace(/\/+$/, ''),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  });
}

import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';

/** A base address without user info: a key in a URL would end up in logs and errors. */
export const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((value) => !/^https?:\/\/[^/]*@/i.test(value), { error: 'must not hold a user name or password; use api_key_env' });

/** As providers write the whole address of a call in their examples. */
const CALL = /\/(?:(?:chat\/)?completions|responses|messages|embeddings|audio\/transcriptions)\/?$/i;
/** Of a model API. */
export const modelUrl = baseUrl.refine((value) => !CALL.test(value), {
  error: 'must end before the name of the call, which is added: https://host/v1',
});

const usdPerMillion = z.number().min(0);

/** Facts about a model that its name does not tell. Each overrides what the catalog says. */
export const modelHints = z
  .strictObject({
    context_window: z.int().min(1024).optional().describe('Tokens the model can take in and put out together.'),
    max_output_tokens: z.int().min(1).optional().describe('Most tokens the model can put out.'),
    vision: z.boolean().optional().describe('Whether the model sees pictures.'),
    tools: z.boolean().optional().describe('Whether the model calls tools.'),
    price: z
      .strictObject({
        in: usdPerMillion.describe('USD per million tokens in.'),
        out: usdPerMillion.describe('USD per million tokens out.'),
        cached: usdPerMillion.optional().describe('USD per million cached tokens in.'),
        cache_write: usdPerMillion.optional().describe('USD per million tokens written to a cache.'),
      })
      .optional()
      .describe('What the model costs. 0 is for servers of your own.'),
  })
  .describe('Overrides for a model that the catalog does not know or knows wrongly.');

/** The wire of a server whose provider speaks more than one. */
export const apiType = z.enum(['openai', 'responses', 'anthropic']);

/** Spec B5. Times in the unit of their names. */
export const adaptiveRouting = z
  .strictObject({
    enabled: z.boolean().default(true).describe('False: the models are tried in the order of the config.'),
    mode: z
      .enum(['off', 'lane', 'hedge'])
      .default('lane')
      .describe(
        'off: first model that works. lane: the best by speed, errors, order and cost. hedge: two at once, the first answer wins.',
      ),
    failure_threshold: z.int().min(1).max(100).default(2).describe('Failures in a row after which a model is left alone.'),
    probe_probability: z
      .number()
      .min(0)
      .max(1)
      .default(0.1)
      .describe('Share of calls that try a model not used for a while (lane).'),
    probe_interval_secs: z.int().min(1).default(60).describe('How long a model is left alone before one call tries it again.'),
    weight_latency: z.number().min(0).default(0.3).describe('Weight of speed, in tokens a second.'),
    weight_error: z.number().min(0).default(0.3).describe('Weight of failures.'),
    weight_priority: z.number().min(0).default(0.2).describe('Weight of the order in the config.'),
    weight_cost: z.number().min(0).default(0.2).describe('Weight of the price.'),
  })
  .describe('How calls are spread over the main model and fallback_models.');

const usd = z.number().min(0).optional();

/** Limits on spending: reserved before a call, so that they are never passed by more than one call. */
export const budgetSection = z
  .strictObject({
    daily_usd: usd.describe('All calls of a day together, midnight to midnight in the time zone of the daemon.'),
    session_usd: usd.describe('Each session, a day.'),
    sender_usd: usd.describe('Each sender, a day.'),
    job_usd: usd.describe('Each run of a scheduled job.'),
    allow_unknown_price: z.boolean().default(false).describe('Call models whose price nobody knows although a limit is set.'),
    steps: z
      .array(z.enum(['cheaper', 'no-tools', 'ask', 'stop']))
      .default(['cheaper', 'no-tools', 'ask', 'stop'])
      .describe(
        'What is tried, in order, when a call does not fit: a cheaper model (without it no other model is asked), a call without tools, asking the owner, stopping.',
      ),
  })
  .describe('Limits on spending in USD. None by default, but 2 USD a day for a key found in the environment without a config.');

/** Its user is the memory, which comes later; `gatehouse models test` tries it today. */
export const embeddingSection = z
  .strictObject({
    provider: z.enum(['openai', 'gemini', 'ollama', 'local']).describe('Who embeds. local: after `gatehouse models add-local`.'),
    model: z.string().min(1).optional().describe("Model name. Default: the provider's usual one."),
    base_url: modelUrl.optional().describe('Address of the provider.'),
    api_key_env: environmentName.optional().describe('Name of the environment variable that holds the key.'),
  })
  .describe('Model that turns text into vectors. Nothing uses it yet but `gatehouse models test`.');

export const transcriptionSection = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('openai').describe('A server that speaks the OpenAI transcription wire, such as Groq.'),
      base_url: modelUrl.default('https://api.groq.com/openai/v1').describe('Address of the server.'),
      model: z.string().min(1).default('whisper-large-v3').describe('Model name.'),
      api_key_env: environmentName
        .optional()
        .describe("Name of the environment variable that holds the key. Default: the provider's own, at its own address only."),
      language: z.string().length(2).optional().describe('Language spoken (ISO 639-1). Default: found by the model.'),
      price_per_minute: z.number().min(0).optional().describe('USD per minute of sound.'),
    }),
    z.strictObject({
      kind: z.literal('command').describe('A program on this machine. Its standard output is the text.'),
      command: z
        .array(z.string().min(1))
        .min(1)
        .describe(
          'Program and arguments, never run by a shell. {wav} stands for a 16 kHz mono WAV file, {file} for the file as it came.',
        ),
    }),
  ])
  .describe('Voice notes become text with this. Without it the agent is told only that a voice note came.');

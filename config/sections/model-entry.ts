import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';
import { apiType, modelHints, modelUrl } from './model.ts';

/** They carry keys, or belong to the transport. */
const REFUSED_HEADERS =
  /^(?:authorization|proxy-.*|cookie2?|.*api-?key|.*(?:token|secret|password).*|accept|host|connection|content-(?:type|length|encoding)|transfer-encoding|user-agent|x-amz-.*)$/i;

/** What a request is made of: each is Gatehouse's own to say, and limits on spending rest on some of them. */
const REFUSED_FIELDS =
  /^(?:model|messages|input|contents|system|systemInstruction|instructions|tools|stream|store|n|max_(?:completion_|output_)?tokens|generationConfig)$/;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name' })
  .refine((name) => !REFUSED_HEADERS.test(name), {
    error: 'is not for extra_headers; name the variable of a key in api_key_env',
  });

const fieldName = z
  .string()
  .min(1)
  .refine((name) => !REFUSED_FIELDS.test(name), { error: 'is set by Gatehouse and cannot be in extra_body' });

/**
 * How one model is reached, beside its provider and name. The same keys at the top and in each further model.
 */
export const reach = {
  base_url: modelUrl.optional().describe('Address of the provider, for a proxy or a local server.'),
  api_key_env: environmentName
    .optional()
    .describe("Name of the environment variable that holds the key. Default: the provider's usual name."),
  api_key_envs: z
    .array(environmentName)
    .min(1)
    .max(16)
    .optional()
    .describe(
      'Names of the variables of several keys, after that of api_key_env. When a key is refused or at its limit the next one is used.',
    ),
  api_type: apiType.optional().describe('Wire to speak. Default: what the provider speaks.'),
  model_hints: modelHints.optional(),
  extra_headers: z
    .record(headerName, z.string().max(1_000))
    .optional()
    .describe('Headers sent with every request to this model. Not for keys.'),
  extra_body: z
    .record(fieldName, z.json())
    .optional()
    .describe('Fields laid over the body of every request to this model, for what only its provider knows.'),
};

/** One more model beside the main one. */
const furtherModel = {
  provider: z.string().min(1).describe('Model provider.'),
  model: z.string().min(1).optional().describe("Model name. Default: the provider's own choice."),
  ...reach,
};

export const fallbackModel = z.strictObject(furtherModel);

/** Spec B6 names these `sub_providers`. */
export const namedModels = z
  .record(
    z.string().regex(/^(?!default$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/i, {
      error: 'must be letters, digits, ".", "-" or "_", at most 64, and not "default"',
    }),
    z.strictObject({
      ...furtherModel,
      description: z.string().max(200).optional().describe('What the model is for; shown by /model.'),
    }),
  )
  .default({})
  .describe(
    'Further models by a name of your own, for /model, channels, senders and purposes. The main model stands by for each.',
  );

export const thinkingLevel = z.enum(['off', 'low', 'medium', 'high', 'auto']);

/** Calls that are not answers to messages. */
export const purposes = z
  .strictObject({
    summary: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Name in "models" of the model that sums up saved pages (the tool synthesize_research). Default: the one that answers the chat.',
      ),
    job: z.string().min(1).optional().describe('Name in "models" of the model that works on scheduled jobs.'),
  })
  .default({})
  .describe('Models for other work than answering messages. Default: the main model.');

import { z } from 'zod';

/**
 * The name of an environment variable. The message never repeats the value: the usual mistake is to paste the key itself.
 */
export const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
  error: 'must be the name of an environment variable, not the secret itself',
});

/** Facts about a model that its name does not tell. Each overrides what the provider's table says. */
export const modelHints = z
  .strictObject({
    context_window: z.int().min(1024).optional().describe('Tokens the model can take in and put out together.'),
  })
  .describe('Overrides for a model that the built-in table does not know or knows wrongly.');

/** A base address without user info: a key in a URL would end up in logs and errors. */
export const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((value) => !/^https?:\/\/[^/]*@/i.test(value), { error: 'must not hold a user name or password; use api_key_env' });

import { z } from 'zod';
import { GatehouseError } from '../core/errors.ts';

const NOT_THE_SECRET = 'must be the name of an environment variable, not the secret itself';
const WITH_SIGN = 'must be the name of an environment variable, written without the $';
/** As a shell has a variable. */
const SHELL_FORM = /^\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Letters and digits mixed: longer than any word of a name. A digit or two at the end number a variable. */
const MIXED = 16;
/** Small and capital letters mixed, without a digit. */
const MIXED_CASE = 24;

/**
 * The name of an environment variable that holds a secret, for every key of the config that ends in `_env`.
 * The usual mistake is to paste the secret itself, and many secrets have the form of a name (32 hex digits
 * that begin with a letter): what is as random as a secret is refused. The message never repeats the value.
 */
export const environmentName = z
  .string()
  .regex(NAME, { error: ({ input }) => (SHELL_FORM.test(String(input)) ? WITH_SIGN : NOT_THE_SECRET) })
  .refine((text) => !holdsSecret(text), { error: NOT_THE_SECRET });

export function isEnvironmentName(text: string): boolean {
  return NAME.test(text) && !holdsSecret(text);
}

/**
 * GH1103 for a variable that is not set. Names it when it is in capitals, as names are; else shows its
 * beginning alone, because it may be a password that was pasted in place of a name.
 */
export function unsetVariable(name: string): GatehouseError {
  const isPlain = /^[A-Z_][A-Z0-9_]*$/.test(name);
  const shown = isPlain ? name : `${name.slice(0, 2)}… (${name.length} characters)`;
  return new GatehouseError('GH1103', `environment variable ${shown} is not set`, {
    hint: isPlain ? `export ${name}=…` : 'export it, or write its name where the config has something else',
  });
}

function holdsSecret(text: string): boolean {
  return text.split('_').some(isRandom);
}

function isRandom(part: string): boolean {
  const word = part.replace(/\d{1,2}$/, '');
  if (part.length >= MIXED && /\d/.test(word) && /[A-Za-z]/.test(word)) return true;
  return word.length >= MIXED_CASE && /[a-z]/.test(word) && /[A-Z]/.test(word);
}

/** What people paste beside a key. */

export const NO_TOKEN = 'is empty or holds characters that no key has';

/**
 * What is wrong with the form of a key, as the end of a sentence; undefined where nothing is. Says nothing of
 * the key. Called before a key is stored, and before one of the environment is sent: a header cannot carry
 * other characters, and a provider answers the others like a key that it does not know.
 */
export function keyFlaw(key: string): string | undefined {
  if (/^bearer\s/i.test(key)) return 'has "Bearer" before it';
  if (!/^[\x21-\x7e]+$/.test(key)) return NO_TOKEN;
  if (/^(["'`]).*\1$/.test(key)) return 'has quotes around it';
  if (/^[A-Z][A-Z0-9_]+=./.test(key)) return 'has the name of a variable before it';
  return undefined;
}

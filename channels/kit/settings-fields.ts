/** Settings that most channels have. Each is described in the words of its platform. */
import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';

/** The name of an environment variable that holds a secret. */
export function envName(byDefault: string, description: string) {
  return environmentName.default(byDefault).describe(description);
}

/** The address of a platform's API. */
export function apiRoot(byDefault: string, description: string) {
  return address().default(byDefault).describe(description);
}

/** An address of HTTP. */
export function address() {
  return z.url({ protocol: /^https?$/ });
}

export function flag(byDefault: boolean, description: string) {
  return z.boolean().default(byDefault).describe(description);
}

/** A whole number between two, such as seconds. */
export function wholeNumber(least: number, most: number, byDefault: number, description: string) {
  return z.int().min(least).max(most).default(byDefault).describe(description);
}

/** `send_timeout_secs`: for one call. */
export function sendTimeout(description: string) {
  return wholeNumber(1, 300, 30, description);
}

/** `upload_timeout_secs`: for the same with a file. */
export function uploadTimeout(description = 'The same for a message that carries a file.') {
  return wholeNumber(1, 480, 120, description);
}

/** `download_timeout_secs`. */
export function downloadTimeout(byDefault: number) {
  return wholeNumber(1, 480, byDefault, 'Longest time to fetch one file that a person sent.');
}

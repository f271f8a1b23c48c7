import { GatehouseError } from '../core/errors.ts';

/** The number that an option was given. Throws GH1001 for what is no whole number above 0. */
export function countOf(option: string, value: string): number {
  const count = /^[1-9]\d{0,11}$/.test(value) ? Number(value) : undefined;
  if (count === undefined)
    throw new GatehouseError('GH1001', `${option} is no whole number above 0`, { hint: `such as ${option} 20` });
  return count;
}

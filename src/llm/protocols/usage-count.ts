/** A token count as a provider reports it. Anything but a whole number from 0 on is none: one such row would spoil every sum of the ledger. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** `1 call`, `2 calls`: of a noun that takes an s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

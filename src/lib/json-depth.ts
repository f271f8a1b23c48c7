/** Far more than people and models nest, and far less than what JSON.stringify needs the whole stack for. */
const MOST_LEVELS = 200;

/** Whether JSON is nested so deeply that it can be parsed, but not written again on any stack. */
export function isDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeep(member, levels - 1));
}

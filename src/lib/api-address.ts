/**
 * The address of an API in the one way of writing by which two of them are compared: host in lower case, no
 * port that is the usual one, no slash at the end. What is no address stays as it is.
 */
export function comparableAddress(address: unknown): unknown {
  if (typeof address !== 'string' || !URL.canParse(address)) return address;
  return new URL(address).href.replace(/\/+$/, '');
}

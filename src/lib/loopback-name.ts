/** Host of a URL, as the parser of URLs spells it: this machine, by an address or by its name. */
export function isLoopbackName(hostname: string): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/.test(hostname);
}

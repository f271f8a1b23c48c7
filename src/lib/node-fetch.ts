/**
 * Loads Node's own undici, the library behind `fetch`. Of several in one process the first that is loaded
 * makes the dispatcher that all of them use: with that of a package, of another version, no `fetch` succeeds.
 * To be called before a package that brings one is imported (discord.js, Slack's socket client).
 */
export function loadNodeFetch(): void {
  // The first look at it loads it.
  void globalThis.Headers;
}

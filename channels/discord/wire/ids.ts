/** The platform's ids, and the arithmetic of them. */

const SNOWFLAKE = /^[1-9]\d{14,19}$/;

/** An id of the platform. Whatever else stands there must not become part of a route. */
export function snowflake(value: unknown): string | undefined {
  return typeof value === 'string' && SNOWFLAKE.test(value) ? value : undefined;
}

/** Throws on anything but an id: a message without one cannot be recognised when it comes again. */
export function requireId(value: unknown, what: string): string {
  const id = snowflake(value);
  if (id === undefined) throw new Error(`the ${what} is no id of Discord`);
  return id;
}

/** Whether a socket can be opened to it: the SDK throws at nobody when it cannot. */
export function isGatewayUrl(value: unknown): value is string {
  return typeof value === 'string' && /^wss?:\/\//.test(value) && !value.includes('#') && URL.canParse(value);
}

/** First millisecond of 2015 (https://discord.com/developers/docs/reference#snowflakes). */
const EPOCH_MS = 1_420_070_400_000;
/** From here on an id has the 15 digits by which one is recognised. */
const FIRST_MS = 24_000_000;

/** When an id was made, in ms since 1970. Ids rise with time, over all of Discord. */
export function timeOf(id: string): number {
  return Number(BigInt(id) >> 22n) + EPOCH_MS;
}

/** The smallest id that can be made at a time; of a time before the first hours of 2015, that of then. */
export function idAt(ms: number): string {
  return String(BigInt(Math.max(FIRST_MS, Math.round(ms) - EPOCH_MS)) << 22n);
}

export function compareIds(a: string, b: string): number {
  return a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length;
}

export function laterId(a: string, b: string): string {
  return compareIds(a, b) < 0 ? b : a;
}

/** A route without what follows a webhook or an interaction: a token that may write in the bot's name. */
export function publicRoute(route: string): string {
  return route.replace(/^(\/(?:webhooks|interactions)\/\d+\/)[^/]+/, '$1[token]');
}

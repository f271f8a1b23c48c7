import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

/** The operator's word on where a tool may go. Domains hold for their subdomains. */
export interface EgressRules {
  /** Empty: every domain. */
  readonly allowDomains: readonly string[];
  /** Goes before `allowDomains`. */
  readonly denyDomains: readonly string[];
  /** Origins that are reached though their address is not public, such as `http://wiki.lan:8080`. */
  readonly privateOrigins: readonly string[];
}

export interface Destination {
  readonly url: URL;
  readonly isTls: boolean;
  /** As it is looked up and connected to: no brackets, no dot at the end. */
  readonly host: string;
  readonly port: number;
  /** The operator named this origin, so that its address may be any. */
  readonly mayBePrivate: boolean;
}

export type Checked = { readonly kind: 'fine'; readonly to: Destination } | { readonly kind: 'refused'; readonly reason: string };

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;
const MAX_URL_CHARS = 8_192;

/**
 * Ports on which servers of other protocols take the lines of an HTTP request for commands of theirs; those
 * that browsers refuse (Fetch standard, "bad port").
 */
const BAD_PORTS = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111],
  ...[
    113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554,
  ],
  ...[556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666],
  ...[6667, 6668, 6669, 6679, 6697, 10080],
]);

/**
 * Reads an address in the way in which it will be connected to, so that every spelling of a host is judged as
 * the same host. `base` is the page that redirects there.
 */
export function checkDestination(text: string, rules: EgressRules, from?: Destination): Checked {
  if (text.length > MAX_URL_CHARS) return refusal(`the address is longer than ${MAX_URL_CHARS} characters`);
  const url = URL.parse(text, from?.url.href);
  if (!url) return refusal('this is no valid address; give a whole one, such as https://example.org/page');
  const { protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return refusal(`${protocol} is not fetched; only http: and https: are`);
  if (url.username !== '' || url.password !== '') return refusal('an address with a user name or password in it is not fetched');
  const host = hostOf(url);
  const port = url.port === '' ? DEFAULT_PORTS[protocol] : Number(url.port);
  if (host === '') return refusal('the address names no host');
  if (BAD_PORTS.has(port)) return refusal(`port ${port} belongs to another protocol`);
  const listed = rules.privateOrigins.some((origin) => URL.parse(origin)?.origin === url.origin);
  // A page elsewhere must not lead into the operator's network, though the model itself may ask for it.
  const mayBePrivate = listed && (from === undefined || from.url.origin === url.origin);
  if (!mayBePrivate && isOwnName(host)) return refusal('it leads to this machine');
  const reason = redirectProblem(protocol, port, from) ?? domainProblem(host, rules);
  if (reason !== undefined) return refusal(reason);
  url.hash = '';
  return { kind: 'fine', to: { url, isTls: protocol === 'https:', host, port, mayBePrivate } };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/(?<!\.)\.+$/, '');
}

function isOwnName(host: string): boolean {
  return isIP(host) === 0 && /(?:^|\.)localhost$/i.test(host);
}

function redirectProblem(protocol: string, port: number, from: Destination | undefined): string | undefined {
  if (!from) return undefined;
  if (from.isTls && protocol === 'http:') return 'it is a redirect from https: to http:';
  const isUsual = port === 80 || port === 443 || port === from.port;
  return isUsual ? undefined : `it is a redirect to port ${port}`;
}

function domainProblem(host: string, { allowDomains, denyDomains }: EgressRules): string | undefined {
  if (denyDomains.some((domain) => isWithin(host, domain))) return 'the operator does not allow this domain';
  if (allowDomains.length === 0 || allowDomains.some((domain) => isWithin(host, domain))) return undefined;
  return 'the operator allows some domains only, and this is none of them';
}

function isWithin(host: string, domain: string): boolean {
  const name = canonicalDomain(domain);
  return host === name || (isIP(name) === 0 && host.endsWith(`.${name}`));
}

/** '' for what is no domain; that fits no host, since a host is never empty and never ends in a dot. */
function canonicalDomain(domain: string): string {
  return domainToASCII(domain.replace(/^\*?\./, '').replace(/(?<!\.)\.+$/, ''));
}

function refusal(reason: string): Checked {
  return { kind: 'refused', reason };
}

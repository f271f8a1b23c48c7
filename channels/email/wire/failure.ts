/** What went wrong with a mail server, in words an operator can act on. Pure. */
import { errorText, type GatehouseError, isGatehouseError } from '../../../src/core/errors.ts';
import type { Credentials } from './credentials.ts';

export interface ServerFault {
  readonly code: 'GH1501' | 'GH1502';
  /** A sentence and the way out; no secret. */
  readonly detail: string;
  /** Only the operator can mend it: trying again changes nothing. */
  readonly permanent: boolean;
  /** No server was asked: there was no login to show to it. It is over once any server took one. */
  readonly withoutLogin?: true;
}

const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its TLS certificate has expired: renew it on the server',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet: check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another name: set the host to a name in the certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed: set `tls_ca_file` to it',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate comes from a private authority: set `tls_ca_file` to that authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate comes from an unknown authority: set `tls_ca_file`',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate comes from an unknown authority: set `tls_ca_file`',
};
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: check host and port',
  ENOTFOUND: 'the host name does not exist: check it',
  EAI_AGAIN: 'the host name cannot be resolved now: check DNS',
  ETIMEDOUT: 'it did not answer in time: check host, port and firewall',
  CONNECT_TIMEOUT: 'it did not answer in time: check host, port and firewall',
  GREETING_TIMEOUT: 'it accepted the connection and stayed silent: check that port and TLS mode fit together',
  UPGRADE_TIMEOUT: 'the TLS upgrade did not finish: check port and TLS mode',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port: check port and TLS mode',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port: check port and TLS mode',
  ETLS: 'it offers no TLS (STARTTLS) on this port: check port and TLS mode',
};

/**
 * `server` names it for the reader: `IMAP server mail.example.com:993`. `credentials`: those that were shown
 * to it.
 */
export function describeFault(server: string, error: unknown, credentials: Pick<Credentials, 'advice' | 'redact'>): ServerFault {
  const withoutLogin = isGatehouseError(error) ? loginFault(error) : undefined;
  if (withoutLogin) return withoutLogin;
  if (isAuthFailure(error)) {
    return { code: 'GH1501', detail: `the ${server} refused the credentials: ${credentials.advice}`, permanent: true };
  }
  for (const code of errorCodes(error)) {
    const certificate = CERTIFICATES[code];
    if (certificate !== undefined)
      return { code: 'GH1502', detail: `the ${server} cannot be trusted: ${certificate}`, permanent: true };
  }
  for (const code of errorCodes(error)) {
    const network = NETWORK[code];
    if (network !== undefined) return { code: 'GH1502', detail: `the ${server} cannot be reached: ${network}`, permanent: false };
  }
  return {
    code: 'GH1502',
    detail: `the connection to the ${server} failed: ${faultWords(error, credentials)}`,
    permanent: false,
  };
}

function loginFault({ code, message, hint }: GatehouseError): ServerFault | undefined {
  if (code === 'GH2203') return { code: 'GH1502', detail: message, permanent: false, withoutLogin: true };
  if (code !== 'GH2202') return undefined;
  return { code: 'GH1501', detail: `${message}: ${hint}`, permanent: true, withoutLogin: true };
}

/**
 * The reason that the server gave, where it gave one: imapflow's own message says no more than that a command
 * failed. `credentials`: those that were shown to it.
 */
export function faultWords(error: unknown, credentials: Pick<Credentials, 'redact'>): string {
  const { responseText } = fields(error);
  return serverWords(
    typeof responseText === 'string' && responseText.trim() !== '' ? responseText : errorText(error),
    credentials,
  );
}

/** What a server said, without the login that it was shown: a cut token is not recognised any more. */
export function serverWords(words: string, { redact }: Pick<Credentials, 'redact'>): string {
  return redact(words).slice(0, 300);
}

/** RFC 5530; ALERT (RFC 3501 section 7.1) says nothing but that a person should read the words. */
const CREDENTIAL_CODES = new Set<unknown>(['AUTHENTICATIONFAILED', 'AUTHORIZATIONFAILED', 'EXPIRED', 'ALERT', undefined]);
/** How servers without these codes say that they take no login now: Gmail, Yahoo, Exchange, dovecot. */
const NOT_NOW =
  /too many|limit|unavailable|temporar|try again|try later|\blater\b|busy|exceeded|overload|internal|time-?out|timed out|maximum/i;

/**
 * A refusal of user name or password. A server that takes no login now does not refuse them, although
 * imapflow calls every NO to LOGIN a failed authentication.
 */
export function isAuthFailure(error: unknown): boolean {
  const { authenticationFailed, serverResponseCode, responseText, code, responseCode } = fields(error);
  if (authenticationFailed === true)
    return CREDENTIAL_CODES.has(serverResponseCode) && !(typeof responseText === 'string' && NOT_NOW.test(responseText));
  return code === 'EAUTH' && (typeof responseCode !== 'number' || responseCode >= 500);
}

function errorCodes(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 4; depth += 1) {
    const { originalCode, code, cause, _err: inner } = fields(at);
    for (const entry of [originalCode, code]) if (typeof entry === 'string') codes.push(entry);
    at = cause ?? inner;
  }
  return codes;
}

function fields(error: unknown): Record<string, unknown> {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
}

/**
 * A token server with the addresses, words and rules of Microsoft Entra, for mail by OAuth2. Never shipped.
 * Strict as RFC 6749, 7636,
 * 7662 and 8628, and as https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code say.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkRedirect, checkScopes, ENTRA_CLIENT, RESOURCE, Refusal, readForm, required } from './entra-forms.ts';
import { EntraTokens } from './entra-tokens.ts';

export const ENTRA_TENANT = 'contoso.onmicrosoft.com';

export interface EntraOptions {
  /** Epoch ms; default: real time. */
  readonly now?: () => number;
  /** The client is a confidential one: without this secret no token is given. */
  readonly clientSecret?: string;
}

export interface GivenTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

interface Device {
  readonly scopes: readonly string[];
  readonly userCode: string;
  readonly expiresAt: number;
  intervalMs: number;
  polledAt: number;
  /** Undefined while the person did nothing. */
  user: string | undefined;
  declined: boolean;
}

export class EntraServer implements AsyncDisposable {
  readonly tokens: EntraTokens;
  /** `POST /token grant_type` of each request, in order. */
  readonly requests: string[] = [];
  deviceCodeSeconds = 900;
  /** Answers the token endpoint in place of the server, while set. */
  interfere: { readonly status: number; readonly body: string } | undefined;
  /** The code that the person has to enter. */
  userCode = '';
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #options: EntraOptions;
  readonly #devices = new Map<string, Device>();
  readonly #codes = new Map<string, { scopes: readonly string[]; redirect: string; challenge: string; user: string }>();

  private constructor(options: EntraOptions) {
    this.#options = options;
    this.tokens = new EntraTokens(() => this.#now());
  }

  static async start(options: EntraOptions = {}): Promise<EntraServer> {
    const server = new EntraServer(options);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get issuer(): string {
    return `${this.origin}/${ENTRA_TENANT}/v2.0`;
  }

  /** RFC 7662; for the mail servers. */
  get introspectionUrl(): string {
    return `${this.origin}/introspect`;
  }

  /** The person enters the code and agrees as this user, or declines. */
  decide(user: string | undefined): void {
    const device = [...this.#devices.values()].find(({ userCode }) => userCode === this.userCode);
    if (!device) throw new Error('no code was given');
    device.user = user;
    device.declined = user === undefined;
  }

  /**
   * The person follows the address in a browser and agrees; resolves with the page where the browser ends.
   */
  async browse(address: string, user: string): Promise<Response> {
    const url = new URL(address);
    url.searchParams.set('test_user', user);
    return await fetch(url);
  }

  /** Tokens as a login gives them. */
  give(user: string): GivenTokens {
    const scopes = [`${RESOURCE}IMAP.AccessAsUser.All`, `${RESOURCE}SMTP.Send`, 'offline_access'];
    const { access_token: accessToken, refresh_token: refreshToken = '' } = this.tokens.give(user, scopes);
    return { accessToken, refreshToken, expiresAt: this.#now() + this.tokens.accessTokenSeconds * 1_000 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.origin);
    try {
      const body = await this.#route(request, url);
      if (body instanceof URL) return void response.writeHead(302, { location: body.href }).end();
      send(response, 200, JSON.stringify(body));
    } catch (error) {
      if (error instanceof Refusal) return send(response, error.status, JSON.stringify(error));
      send(response, 500, JSON.stringify({ error: 'server_error', error_description: String(error) }));
    }
  }

  async #route(request: IncomingMessage, url: URL): Promise<unknown> {
    const base = `/${ENTRA_TENANT}`;
    if (url.pathname === `${base}/v2.0/.well-known/openid-configuration`) return this.#metadata();
    if (url.pathname === `${base}/oauth2/v2.0/authorize`) return this.#authorize(url.searchParams);
    const form = await readForm(request, url);
    this.requests.push(`${url.pathname.split('/').at(-1)} ${form.get('grant_type') ?? ''}`.trim());
    if (url.pathname === '/introspect') return this.tokens.introspect(required(form, 'token'));
    this.#checkClient(form);
    if (url.pathname === `${base}/oauth2/v2.0/devicecode`) return this.#devicecode(form);
    if (url.pathname !== `${base}/oauth2/v2.0/token`) throw new Refusal('invalid_request', 'nothing here', 404);
    if (this.interfere) throw new Interference(this.interfere);
    return this.#token(form);
  }

  #metadata(): Record<string, unknown> {
    const base = `${this.origin}/${ENTRA_TENANT}/oauth2/v2.0`;
    return {
      issuer: this.issuer,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      device_authorization_endpoint: `${base}/devicecode`,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
      response_types_supported: ['code'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
      jwks_uri: `${this.origin}/${ENTRA_TENANT}/discovery/v2.0/keys`,
    };
  }

  #checkClient(form: URLSearchParams): void {
    if (required(form, 'client_id') !== ENTRA_CLIENT) {
      throw new Refusal('unauthorized_client', 'AADSTS700016: Application was not found in the directory.');
    }
    const [wanted, given] = [this.#options.clientSecret, form.get('client_secret') ?? undefined];
    if (wanted === given) return;
    const words = wanted === undefined ? 'AADSTS700025: Client is public' : 'AADSTS7000215: Invalid client secret provided.';
    throw new Refusal('invalid_client', words, 401);
  }

  #devicecode(form: URLSearchParams): Record<string, unknown> {
    const scopes = checkScopes(required(form, 'scope'));
    const code = this.tokens.secret();
    this.userCode = randomBytes(4).toString('hex').toUpperCase();
    const expiresAt = this.#now() + this.deviceCodeSeconds * 1_000;
    const polled = { intervalMs: 5_000, polledAt: this.#now(), user: undefined, declined: false };
    this.#devices.set(code, { scopes, userCode: this.userCode, expiresAt, ...polled });
    return {
      device_code: code,
      user_code: this.userCode,
      verification_uri: 'https://www.microsoft.com/link',
      expires_in: this.deviceCodeSeconds,
      interval: 5,
      message: `To sign in, use a web browser to open the page https://www.microsoft.com/link and enter the code ${this.userCode}.`,
    };
  }

  /** A person who agrees at once. */
  #authorize(asked: URLSearchParams): URL {
    if (required(asked, 'client_id') !== ENTRA_CLIENT) throw new Refusal('unauthorized_client', 'AADSTS700016');
    const redirect = checkRedirect(required(asked, 'redirect_uri'));
    if (required(asked, 'response_type') !== 'code') throw new Refusal('unsupported_response_type', 'AADSTS700054');
    if (asked.get('code_challenge_method') !== 'S256') throw new Refusal('invalid_request', 'PKCE with S256 is required');
    const code = this.tokens.secret();
    const kept = { redirect: redirect.href, challenge: required(asked, 'code_challenge'), user: required(asked, 'test_user') };
    this.#codes.set(code, { scopes: checkScopes(required(asked, 'scope')), ...kept });
    redirect.searchParams.set('code', code);
    redirect.searchParams.set('state', required(asked, 'state'));
    return redirect;
  }

  #token(form: URLSearchParams): Record<string, unknown> {
    switch (required(form, 'grant_type')) {
      case 'urn:ietf:params:oauth:grant-type:device_code':
        return this.#deviceGrant(required(form, 'device_code'));
      case 'authorization_code':
        return this.#codeGrant(form);
      case 'refresh_token':
        return this.tokens.renew(required(form, 'refresh_token'));
      default:
        throw new Refusal('unsupported_grant_type', 'AADSTS70003: The app requested an unsupported grant type.');
    }
  }

  #deviceGrant(code: string): Record<string, unknown> {
    const device = this.#devices.get(code);
    if (!device) throw new Refusal('bad_verification_code', 'AADSTS70018: the code was not recognised');
    const now = this.#now();
    if (now >= device.expiresAt) throw new Refusal('expired_token', 'AADSTS70020: The provided value for device_code expired.');
    // RFC 8628 3.5
    const early = now - device.polledAt < device.intervalMs;
    device.polledAt = now;
    if (early) {
      device.intervalMs += 5_000;
      throw new Refusal('slow_down', 'the client polls too often');
    }
    if (device.declined) throw new Refusal('authorization_declined', 'AADSTS70017: the person declined');
    if (device.user === undefined) throw new Refusal('authorization_pending', 'AADSTS70016: The user must input their code.');
    this.#devices.delete(code);
    return this.tokens.give(device.user, device.scopes);
  }

  #codeGrant(form: URLSearchParams): Record<string, unknown> {
    const code = required(form, 'code');
    const kept = this.#codes.get(code);
    // RFC 6749 4.1.2: one use
    this.#codes.delete(code);
    const challenge = createHash('sha256').update(required(form, 'code_verifier')).digest('base64url');
    if (kept?.redirect !== required(form, 'redirect_uri') || kept.challenge !== challenge) {
      throw new Refusal('invalid_grant', 'AADSTS501481: code, redirect URI or verifier do not fit together');
    }
    return this.tokens.give(kept.user, kept.scopes);
  }
}

class Interference extends Refusal {
  readonly #body: string;

  constructor({ status, body }: { readonly status: number; readonly body: string }) {
    super('interfered', body, status);
    this.#body = body;
  }

  override toJSON(): Record<string, unknown> {
    return JSON.parse(this.#body) as Record<string, unknown>;
  }
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' }).end(body);
}

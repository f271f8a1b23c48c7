/** A real OpenID provider on 127.0.0.1, and the browser in which somebody logs in there. Never shipped. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Configuration, Provider } from 'oidc-provider';

export const CLIENT_ID = 'gatehouse-test';

export interface OidcServer extends AsyncDisposable {
  readonly issuer: string;
  /** Method and path of every request, in order. */
  readonly requests: string[];
  /** Bodies of every answer of the token endpoint: what a canary test looks for elsewhere. */
  readonly tokens: Record<string, unknown>[];
  /** Answer of the token endpoint in place of the provider's, while set. */
  interfere: { status: number; body: string } | undefined;
  /** Whether it gave this access token, and would still take it. */
  knows(token: string): Promise<boolean>;
}

export interface OidcServerOptions {
  readonly accessTokenSeconds?: number;
  readonly deviceCodeSeconds?: number;
  /**
   * Scopes of the resource servers that it gives tokens for (RFC 8707); clients register themselves then (RFC
   * 7591).
   */
  readonly resourceScopes?: string;
}

export async function startOidcServer(options: OidcServerOptions = {}): Promise<OidcServer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = quietly(() => new Provider(issuer, configuration(options)));
  const state: Pick<OidcServer, 'requests' | 'tokens' | 'interfere'> = { requests: [], tokens: [], interfere: undefined };
  provider.use(async (context, next) => {
    await next();
    if (context.path === '/token') state.tokens.push(context.body as Record<string, unknown>);
  });
  const handle = provider.callback();
  server.on('request', (request, response) => {
    const path = new URL(request.url ?? '', issuer).pathname;
    state.requests.push(`${request.method} ${path}`);
    if (path !== '/token' || !result.interfere) return void handle(request, response);
    const { status, body } = result.interfere;
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  const result: OidcServer = Object.assign(state, {
    issuer,
    knows: async (token: string) => (await provider.AccessToken.find(token)) !== undefined,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  });
  return result;
}

function configuration({ accessTokenSeconds = 3600, deviceCodeSeconds = 600, resourceScopes }: OidcServerOptions): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        // A native client may come back on any port (RFC 8252 7.3).
        redirect_uris: ['http://127.0.0.1/auth/callback'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true, ...PAGES },
      ...(resourceScopes === undefined ? {} : resourceFeatures(resourceScopes, accessTokenSeconds)),
    },
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    findAccount: async (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    rotateRefreshToken: true,
    ttl: {
      AccessToken: accessTokenSeconds,
      DeviceCode: deviceCodeSeconds,
      RefreshToken: 86_400,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 86_400,
    },
  };
}

function resourceFeatures(scope: string, accessTokenTTL: number): Configuration['features'] {
  return {
    registration: { enabled: true },
    revocation: { enabled: true, allowedPolicy: async () => true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: async () => ({ scope, accessTokenFormat: 'opaque', accessTokenTTL }),
    },
  };
}

/** The forms alone; the pages it has by itself say on the console that they are not meant to stay. */
const PAGES = {
  userCodeInputSource: async (context: { body: unknown }, form: string) => void Object.assign(context, { body: form }),
  userCodeConfirmSource: async (context: { body: unknown }, form: string) => void Object.assign(context, { body: form }),
  successSource: async (context: { body: unknown }) => void Object.assign(context, { body: 'done' }),
};

/** It warns on the console about what only matters on a public server. */
function quietly<T>(make: () => T): T {
  const { info, warn } = console;
  console.info = console.warn = () => undefined;
  try {
    return make();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** What a person does in a browser: follows redirects, keeps cookies, fills in the one form of each page. */
export class FormBrowser {
  readonly #cookies = new Map<string, string>();

  /** Logs in and agrees (or not) from this address on; resolves with the last page. */
  async logIn(address: string, choice: 'agree' | 'refuse' = 'agree'): Promise<{ url: string; status: number; text: string }> {
    let page = await this.#open(address);
    for (let step = 0; step < 12; step += 1) {
      const form = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(page.text);
      if (!form?.[1] || form[2] === undefined) return page;
      if (choice === 'refuse' && /value="consent"/.test(form[2])) {
        const abort = /href="([^"]+\/abort)"/.exec(page.text)?.[1];
        if (abort === undefined) throw new Error(`nothing to refuse on ${page.url}`);
        return await this.#open(new URL(abort, page.url).href);
      }
      page = await this.#open(new URL(form[1], page.url).href, fields(form[2]));
    }
    throw new Error(`the forms do not end: ${page.url}`);
  }

  async #open(address: string, body?: URLSearchParams): Promise<{ url: string; status: number; text: string }> {
    let [url, form] = [address, body];
    for (let hop = 0; hop < 12; hop += 1) {
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const request = form === undefined ? {} : { method: 'POST', body: form };
      const response = await fetch(url, { ...request, redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) this.#keep(line);
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null) return { url, status: response.status, text };
      [url, form] = [new URL(location, url).href, undefined];
    }
    throw new Error(`too many redirects: ${url}`);
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const at = pair.indexOf('=');
    const value = pair.slice(at + 1);
    if (value === '') this.#cookies.delete(pair.slice(0, at));
    else this.#cookies.set(pair.slice(0, at), value);
  }
}

function fields(html: string): URLSearchParams {
  const form = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) form.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? 'somebody');
  }
  return form;
}

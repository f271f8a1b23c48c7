/** The tokens of `entra-server.ts`: who got which, and which still count. Never shipped. */
import { randomBytes } from 'node:crypto';
import { ENTRA_CLIENT, RESOURCE, Refusal } from './entra-forms.ts';

interface Access {
  readonly user: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number;
}

interface Refresh {
  readonly user: string;
  readonly scopes: readonly string[];
  used: boolean;
}

export class EntraTokens {
  /** Every token and code that was given: what must stand nowhere else. */
  readonly secrets: string[] = [];
  accessTokenSeconds = 3600;
  /**
   * RFC 9700 4.14.2: a refresh token that comes a second time ends the login. Microsoft lets the old one
   * live.
   */
  strictRotation = false;
  readonly #now: () => number;
  readonly #access = new Map<string, Access>();
  readonly #refresh = new Map<string, Refresh>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** As long as those of Microsoft. */
  secret(): string {
    const secret = randomBytes(900).toString('base64url');
    this.secrets.push(secret);
    return secret;
  }

  give(user: string, scopes: readonly string[]) {
    const [access, refresh] = [this.secret(), this.secret()];
    this.#access.set(access, { user, scopes, expiresAt: this.#now() + this.accessTokenSeconds * 1_000 });
    const lasting = scopes.includes('offline_access');
    if (lasting) this.#refresh.set(refresh, { user, scopes, used: false });
    const granted = scopes.filter((scope) => scope.startsWith(RESOURCE)).join(' ');
    return {
      ...{ token_type: 'Bearer', scope: granted, expires_in: this.accessTokenSeconds, access_token: access },
      ...(lasting ? { refresh_token: refresh } : {}),
    };
  }

  /** RFC 6749 6. */
  renew(token: string) {
    const login = this.#refresh.get(token);
    if (login?.used && this.strictRotation) this.revoke();
    if (!login || (login.used && this.strictRotation)) {
      throw new Refusal('invalid_grant', `AADSTS50173: The provided grant ${token} has expired due to it being revoked.`);
    }
    login.used = true;
    return this.give(login.user, login.scopes);
  }

  /** RFC 7662. */
  introspect(token: string): Record<string, unknown> {
    const access = this.#access.get(token);
    if (!access || access.expiresAt <= this.#now()) return { active: false };
    const exp = Math.floor(access.expiresAt / 1_000);
    return { active: true, username: access.user, client_id: ENTRA_CLIENT, scope: access.scopes.join(' '), exp };
  }

  revoke(): void {
    this.#refresh.clear();
    this.#access.clear();
  }

  endAccess(): void {
    this.#access.clear();
  }
}

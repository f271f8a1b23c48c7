import { join } from 'node:path';
import { errorText, GatehouseError } from '../../core/errors.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import { lockFile } from '../file-lock.ts';
import { KeyedMutex } from '../keyed-mutex.ts';
import { settledOrAborted, type TimeLimit, timeLimit } from '../time-limit.ts';
import { AuthFile } from './auth-file.ts';
import { type AuthMethod, areTokens, type Credential, flawOf, fromStored, isProviderName, toStored } from './credential.ts';
import type { Renewal, RenewOptions } from './oauth.ts';

/** An access token is renewed this long before it expires, so that none expires on its way. */
const RENEW_BEFORE_MS = 60_000;
/** An issuer that is down must not delay every model call. */
const RENEW_AGAIN_AFTER_MS = 30_000;
/** How many tokens are kept out of texts: enough for every login, and its last renewals. */
const MAX_SECRETS = 200;
/** Longest time one renewal takes, the wait for another process's renewal included. */
const RENEW_LIMIT_MS = 20_000;

export interface AuthStoreOptions {
  /** The data directory; the file is `auth.json` in it. Made by the first write. */
  readonly dir: string;
  readonly clock: Clock;
  /** Gets one line per login that cannot be renewed. */
  readonly log?: Logger;
  /** Default: the refresh token grant at the issuer that is stored with the login. */
  readonly renew?: (options: RenewOptions) => Promise<Renewal>;
  /** What a person runs to log in again. Default: `gatehouse auth login` with the provider. */
  readonly loginCommand?: string;
}

/** `renewable`: expired or about to, and a refresh token is there. */
export type LoginState = 'usable' | 'renewable' | 'expired';

export interface LoginSummary {
  readonly provider: string;
  readonly authMethod: AuthMethod;
  readonly state: LoginState;
  /** Epoch ms; undefined = does not expire by itself. */
  readonly expiresAt: number | undefined;
  readonly issuer: string | undefined;
  readonly renews: boolean;
}

/** Does no I/O before the first call. */
export const openAuthStore = (options: AuthStoreOptions): AuthStore => new AuthStore(options);

interface FailedRenewal {
  /** Another one is tried at once. */
  readonly refreshToken: string;
  readonly reason: string;
  /** Refused by the issuer: trying again is of no use. */
  readonly final: boolean;
  /** Monotonic ms. */
  readonly at: number;
}

/** Logins by provider (spec L1). GH2202: its file cannot be trusted. GH1202: it cannot be written. */
export class AuthStore implements AsyncDisposable {
  readonly path: string;
  readonly #file: AuthFile;
  readonly #options: AuthStoreOptions;
  readonly #mutex = new KeyedMutex();
  readonly #renewals = new Map<string, Promise<Credential | undefined>>();
  readonly #failed = new Map<string, FailedRenewal>();
  /** Renewed but not on disk (it was full): the refresh token of the file is used up. */
  readonly #unsaved = new Map<string, { readonly replaces: string; readonly credential: Credential; triedAt: number }>();
  /** By provider: an access token that was refused although it had time left. */
  readonly #refused = new Map<string, string>();
  readonly #secrets = new Set<string>();

  constructor(options: AuthStoreOptions) {
    this.#options = options;
    this.#file = new AuthFile(join(options.dir, 'auth.json'));
    this.path = this.#file.path;
  }

  /**
   * The access token (or key) to send now, renewed where that is due; undefined = there is no login. Rejects
   * when the login expired and is not renewed, since another key may charge another account: with GH2202
   * where only a new login helps, with GH2203 where the same call may succeed later.
   */
  async get(provider: string, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    const credential = await this.#read(provider);
    void this.#saveLate(provider, RENEW_AGAIN_AFTER_MS);
    if (!credential || !this.#isDue(credential)) return credential?.accessToken;
    const renewed = canRenew(credential) && this.#mayTry(credential) ? await this.#renewed(provider, signal) : credential;
    if (!renewed || this.#isUsable(renewed)) return renewed?.accessToken;
    const failure = this.#failed.get(provider);
    const ended = this.#expiresIn(renewed) > 0 ? 'was refused' : 'expired';
    const message = `the login of ${provider} ${failure ? `${ended} and could not be renewed: ${failure.reason}` : ended}`;
    if (failure?.final === false) throw new GatehouseError('GH2203', message);
    throw new GatehouseError('GH2202', message, { hint: `run \`${this.#loginCommand(provider)}\`` });
  }

  /** The service refused this access token before its time: the next `get` renews it. */
  refuse(provider: string, accessToken: string): void {
    this.#refused.set(provider, accessToken);
  }

  /** Stores or replaces one login; every other entry stays, also one that another process wrote meanwhile. */
  async set(credential: Credential, signal: AbortSignal): Promise<void> {
    const { provider } = credential;
    if (!isProviderName(provider)) {
      throw new GatehouseError('GH2201', 'a provider name is 1 to 64 characters: a-z, 0-9, dot, dash and underscore', {
        hint: 'use the name of the config, such as openai',
      });
    }
    const flaw = flawOf(credential);
    if (flaw !== undefined) {
      throw new GatehouseError('GH2201', `the key of ${provider} ${flaw}`, {
        hint: 'paste the key alone: no quotes around it, no spaces or line breaks in it',
      });
    }
    this.#remember(credential);
    await this.#change(signal, async () => {
      await this.#save(credential);
      this.#failed.delete(provider);
    });
  }

  /** Resolves with whether there was one. */
  async remove(provider: string, signal: AbortSignal): Promise<boolean> {
    // A command that finds nothing must not make a data directory.
    if (!(await this.#read(provider))) return false;
    return await this.#change(signal, async () => {
      const document = await this.#file.read();
      if (!document || !Object.hasOwn(document.credentials, provider)) return false;
      const { [provider]: _gone, ...credentials } = document.credentials;
      await this.#file.write({ ...document, credentials });
      this.#unsaved.delete(provider);
      return true;
    });
  }

  /** By provider name. */
  async list(): Promise<readonly LoginSummary[]> {
    const document = await this.#file.read();
    const logins = Object.entries(document?.credentials ?? {}).map((entry) => this.#summary(fromStored(...entry)));
    return logins.sort((a, b) => (a.provider < b.provider ? -1 : 1));
  }

  /** The newest tokens that this store has seen, for a redactor only. */
  secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** Waits for a renewal under way: its rotated refresh token must reach the disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#renewals.values());
    for (const provider of [...this.#unsaved.keys()]) await this.#saveLate(provider);
  }

  #summary(login: Credential): LoginSummary {
    const { provider, authMethod, expiresAt, issuer } = login;
    const renews = canRenew(login);
    const state = !this.#isDue(login) || (!renews && this.#isUsable(login)) ? 'usable' : renews ? 'renewable' : 'expired';
    return { provider, authMethod, state, expiresAt, issuer, renews };
  }

  async #read(provider: string): Promise<Credential | undefined> {
    const credentials = (await this.#file.read())?.credentials;
    const stored = credentials && Object.hasOwn(credentials, provider) ? credentials[provider] : undefined;
    if (!stored) return undefined;
    const credential = fromStored(provider, stored);
    const unsaved = this.#unsaved.get(provider);
    this.#remember(credential);
    return unsaved?.replaces === credential.accessToken ? unsaved.credential : credential;
  }

  #remember({ accessToken, refreshToken, binding }: Credential): void {
    for (const secret of [accessToken, refreshToken, binding?.['client_secret']]) if (secret) this.#secrets.add(secret);
    // The oldest first: a token that is renewed every hour must not fill the memory.
    for (const old of this.#secrets) {
      if (this.#secrets.size <= MAX_SECRETS) return;
      this.#secrets.delete(old);
    }
  }

  #expiresIn({ expiresAt }: Credential): number {
    return expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - this.#options.clock.now();
  }

  #isDue(credential: Credential): boolean {
    return this.#expiresIn(credential) <= RENEW_BEFORE_MS || !this.#isUsable(credential);
  }

  #isUsable(credential: Credential): boolean {
    return this.#expiresIn(credential) > 0 && this.#refused.get(credential.provider) !== credential.accessToken;
  }

  #loginCommand(provider: string): string {
    return this.#options.loginCommand ?? `gatehouse auth login ${provider}`;
  }

  #mayTry({ provider, refreshToken }: Credential): boolean {
    const failed = this.#failed.get(provider);
    if (!failed || failed.refreshToken !== refreshToken) return true;
    return !failed.final && this.#options.clock.monotonic() - failed.at >= RENEW_AGAIN_AFTER_MS;
  }

  /** One renewal per provider at a time. The store owns it: it goes on when its callers give up. */
  #renewed(provider: string, signal: AbortSignal): Promise<Credential | undefined> {
    const running = this.#renewals.get(provider) ?? this.#renew(provider).finally(() => this.#renewals.delete(provider));
    this.#renewals.set(provider, running);
    return settledOrAborted(running, signal);
  }

  /** Resolves with the login as it is then: the old one when it could not be renewed. */
  async #renew(provider: string): Promise<Credential | undefined> {
    const { clock, renew = renewAtIssuer } = this.#options;
    using limit = renewLimit(clock);
    // The network call is made under the lock: two processes must never send the same refresh token, because
    // issuers that rotate them take its second use for theft and end the login (RFC 9700 4.14.2).
    return await this.#change(limit.signal, async () => {
      const credential = await this.#read(provider);
      if (!credential || !this.#isDue(credential) || !canRenew(credential)) return credential;
      const { issuer, clientId, refreshToken, binding } = credential;
      const outcome = await renew({ issuer, clientId, refreshToken, binding, clock, signal: limit.signal });
      if (!outcome.ok) return this.#failedToRenew(credential, outcome.reason, outcome.final);
      // In the file, one entry that cannot be read would cost every other login.
      if (!areTokens(outcome.tokens)) return this.#failedToRenew(credential, 'the issuer sent what is no token', false);
      this.#failed.delete(provider);
      // The old time says nothing of a new token, and RFC 6749 5.1 lets the issuer name none.
      return await this.#keep(credential, { ...credential, expiresAt: undefined, ...outcome.tokens });
    }).catch(async (error: unknown) => {
      const credential = await this.#read(provider);
      return credential && this.#failedToRenew(credential, errorText(error), false);
    });
  }

  #failedToRenew(credential: Credential, reason: string, final: boolean): Credential {
    const { provider, refreshToken = '' } = credential;
    if (this.#failed.get(provider)?.refreshToken !== refreshToken) {
      this.#options.log?.warn('auth.renewal', { provider, reason, hint: this.#loginCommand(provider) });
    }
    this.#failed.set(provider, { refreshToken, reason, final, at: this.#options.clock.monotonic() });
    return credential;
  }

  async #keep(old: Credential, renewed: Credential): Promise<Credential> {
    this.#remember(renewed);
    const unsaved = this.#unsaved.get(old.provider);
    const replaces = unsaved?.credential === old ? unsaved.replaces : old.accessToken;
    this.#unsaved.set(old.provider, { replaces, credential: renewed, triedAt: this.#options.clock.monotonic() });
    await this.#save(renewed).catch((error: unknown) =>
      this.#options.log?.error('auth.unsaved', { provider: old.provider, reason: errorText(error) }),
    );
    return renewed;
  }

  /** There may be room by now; a restart would send the used refresh token of the file. Never rejects. */
  async #saveLate(provider: string, afterMs = 0): Promise<void> {
    const { clock } = this.#options;
    const late = this.#unsaved.get(provider);
    if (!late || clock.monotonic() - late.triedAt < afterMs) return;
    late.triedAt = clock.monotonic();
    using limit = renewLimit(clock);
    const save = async () => (await this.#read(provider)) === late.credential && (await this.#save(late.credential));
    await this.#change(limit.signal, save).catch(() => undefined);
  }

  /** Within `#change` only. */
  async #save(credential: Credential): Promise<void> {
    const document = (await this.#file.read()) ?? { version: 1 as const, credentials: {} };
    const { provider } = credential;
    const credentials = { ...document.credentials, [provider]: toStored(credential) };
    await this.#file.write({ ...document, credentials });
    this.#unsaved.delete(provider);
  }

  /** Runs `work` while nothing else, in this process or another, changes the file. */
  #change<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(this.path, async () => {
      signal.throwIfAborted();
      await this.#file.makeDirectory();
      const { dir, clock } = this.#options;
      using _lock = await lockFile(join(dir, 'auth.lock'), { clock, signal }).catch((error: unknown) => {
        throw signal.aborted ? signal.reason : this.#file.unwritable(error);
      });
      return await work();
    });
  }
}

function renewLimit(clock: Clock): TimeLimit {
  return timeLimit(clock, RENEW_LIMIT_MS, () => new GatehouseError('GH2202', 'the issuer did not answer in time'));
}

type Renewable = Credential & { readonly refreshToken: string; readonly issuer: string; readonly clientId: string };

function canRenew(credential: Credential): credential is Renewable {
  return credential.refreshToken !== undefined && credential.issuer !== undefined && credential.clientId !== undefined;
}

async function renewAtIssuer(options: RenewOptions): Promise<Renewal> {
  return await (await import('./oauth.ts')).renewTokens(options);
}

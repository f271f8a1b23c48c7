/** What a mail server is shown to let us in: a password, or an access token that is renewed. */
import { GatehouseError } from '../../../src/core/errors.ts';
import type { AuthStore } from '../../../src/lib/auth/store.ts';
import { createRedactor } from '../../../src/lib/redact.ts';

/** One login. Holds a secret: never logged, never part of an error. */
export type Login =
  | { readonly user: string; readonly password: string }
  | { readonly user: string; readonly accessToken: string };

export interface Credentials extends AsyncDisposable {
  /**
   * The login to send now. Rejects with GH2202 where a person has to log in, with GH2203 where the same call
   * may succeed later.
   */
  current(signal: AbortSignal): Promise<Login>;
  /**
   * Another one to try at once after a server refused `login`; undefined = there is none. Rejects as
   * `current`.
   */
  another(login: Login, signal: AbortSignal): Promise<Login | undefined>;
  /** What to check where a server refuses the login; the end of a sentence. */
  readonly advice: string;
  /** Takes every token out of what a server said. */
  redact(text: string): string;
}

/** The name of the mailbox's login in its own store. */
export const STORED_AS = 'mailbox';

/** The password is a secret of the environment, which the logger knows: there is nothing to redact here. */
export function passwordCredentials(user: string, password: string): Credentials {
  return {
    current: async () => ({ user, password }),
    another: async () => undefined,
    advice: 'check user name and password (many providers want an app password)',
    redact: (text) => text,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

export interface TokenOptions {
  readonly user: string;
  readonly store: AuthStore;
  /** What a person runs to log in. */
  readonly loginCommand: string;
}

/** The access token of the store. It is renewed before it expires, and once when a server refuses it. */
export function tokenCredentials({ user, store, loginCommand }: TokenOptions): Credentials {
  const redact = createRedactor(() => store.secrets());
  const current = async (signal: AbortSignal): Promise<Login> => {
    const accessToken = await store.get(STORED_AS, signal);
    if (accessToken !== undefined) return { user, accessToken };
    throw new GatehouseError('GH2202', 'this mailbox was not logged in to', { hint: `run \`${loginCommand}\`` });
  };
  return {
    current,
    async another(login, signal) {
      if (!('accessToken' in login)) return undefined;
      store.refuse(STORED_AS, login.accessToken);
      return await current(signal);
    },
    advice: `check that ${user} is who logged in and that its mailbox allows IMAP and SMTP AUTH, else run \`${loginCommand}\``,
    redact,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

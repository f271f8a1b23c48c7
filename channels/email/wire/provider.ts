/** Where a mailbox is logged in to by OAuth2, and what for. Pure, but for the secret of the client. */
import type { ReadSecret } from '../../../src/core/channel.ts';
import type { EmailSettings } from '../settings.ts';
import { KNOWN_ISSUERS, MICROSOFT } from './issuers.ts';

type OAuthSettings = NonNullable<EmailSettings['oauth']>;

export interface MailProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** Further parameters of the authorization request; the device code flow has none. */
  readonly parameters: Readonly<Record<string, string>> | undefined;
}

export function mailProvider(oauth: OAuthSettings, secret: ReadSecret): MailProvider {
  const { tenant, issuer, client_id: clientId, client_secret_env: variable } = oauth;
  const preset = tenant === undefined ? KNOWN_ISSUERS[issuer ?? ''] : MICROSOFT;
  return {
    // The tenant in its path is what makes it another issuer; its discovery document lies below it.
    issuer: issuer ?? `https://login.microsoftonline.com/${tenant}/v2.0`,
    clientId,
    clientSecret: variable === undefined ? undefined : secret(variable),
    scopes: oauth.scopes ?? preset?.scopes ?? [],
    parameters: preset?.parameters,
  };
}

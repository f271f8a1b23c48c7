/** Providers that want something else than OpenID Connect says. Data. */

interface Preset {
  readonly scopes: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * https://learn.microsoft.com/en-us/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth
 * No `prompt`: who is asked for a consent that the administrator gave already may not be able to give it.
 */
export const MICROSOFT: Preset = {
  scopes: ['https://outlook.office.com/IMAP.AccessAsUser.All', 'https://outlook.office.com/SMTP.Send', 'offline_access'],
  parameters: {},
};
/** By issuer. */
export const KNOWN_ISSUERS: Readonly<Record<string, Preset>> = {
  // Scope: https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
  // Parameters: https://developers.google.com/identity/protocols/oauth2/web-server (unverified)
  'https://accounts.google.com': {
    scopes: ['https://mail.google.com/'],
    parameters: { access_type: 'offline', prompt: 'consent' },
  },
};

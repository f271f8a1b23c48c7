/** Logs in to the mailbox by OAuth2 and keeps its tokens. */
import type { ChannelDeps, LoginUi } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { loginWithBrowser, loginWithDeviceCode, type Tokens } from '../../src/lib/auth/oauth.ts';
import { timeLimit } from '../../src/lib/time-limit.ts';
import type { EmailSettings } from './settings.ts';
import { mailAccess } from './wire/access.ts';
import { ImapSession } from './wire/client.ts';
import { STORED_AS } from './wire/credentials.ts';
import { describeFault } from './wire/failure.ts';
import { openLoginStore } from './wire/login-store.ts';
import { type MailProvider, mailProvider } from './wire/provider.ts';

/** The login is stored by then: a server that is slow or away must not hold the command for long. */
const CHECK_MS = 30_000;

/**
 * Shows where the person logs in, waits for it, stores the tokens, and tries them on the IMAP server. Rejects
 * with GH1101 for a mailbox with a password, and with GH2201 where the login failed; nothing is stored then.
 */
export async function login(settings: EmailSettings, deps: ChannelDeps, ui: LoginUi, signal: AbortSignal): Promise<void> {
  if (settings.oauth === undefined) throw passwordOnly();
  const provider = mailProvider(settings.oauth, deps.secret);
  const tokens = await obtain(settings.oauth, provider, { deps, ui, signal });
  if (tokens.refreshToken === undefined) {
    throw new GatehouseError('GH2201', 'the provider gave no refresh token: the login would end within hours', {
      hint: 'let `oauth.scopes` hold `offline_access`, or what your provider has for it',
    });
  }
  const { issuer, clientId } = provider;
  await using store = openLoginStore(deps, provider);
  const authMethod = settings.oauth.login === 'browser' ? 'oauth' : 'device_code';
  await store.set({ provider: STORED_AS, authMethod, issuer, clientId, ...tokens }, signal);
  ui.say('The login is stored. Trying it on the IMAP server …');
  ui.say(await tryLogin(settings, deps, signal));
}

export function passwordOnly(): GatehouseError {
  return new GatehouseError('GH1101', 'this mailbox is read with a password', {
    hint: 'set `oauth` in its settings to log in by OAuth2: see channels/email/README.md',
  });
}

async function obtain(
  { login: way, redirect_port: port }: NonNullable<EmailSettings['oauth']>,
  provider: MailProvider,
  { deps, ui, signal }: { readonly deps: ChannelDeps; readonly ui: LoginUi; readonly signal: AbortSignal },
): Promise<Tokens> {
  const options = { ...provider, clock: deps.clock, signal };
  if (way === 'device') {
    return await loginWithDeviceCode({
      ...options,
      show: ({ url, userCode }) =>
        ui.say(`Open ${url} on any device, enter this code, and log in as the mailbox:\n\n  ${userCode}\n`),
    });
  }
  return await loginWithBrowser({
    ...options,
    port,
    show: (url) => ui.say(`Open this address in a browser on this machine, and log in as the mailbox:\n\n${url}\n`),
  });
}

async function tryLogin(settings: EmailSettings, deps: ChannelDeps, signal: AbortSignal): Promise<string> {
  const access = await mailAccess(settings, deps);
  await using credentials = access.credentials;
  const { host, port } = access.imap;
  const late = () => new GatehouseError('GH1502', 'it did not answer in time');
  using limit = timeLimit(deps.clock, CHECK_MS, late, signal);
  try {
    const imap = { place: access.imap, credentials };
    await using _session = await ImapSession.logIn(imap, { mailbox: settings.mailbox, readOnly: true, signal: limit.signal });
    return `The IMAP server ${host}:${port} takes it.`;
  } catch (error) {
    signal.throwIfAborted();
    const fault = describeFault(`IMAP server ${host}:${port}`, error, credentials);
    return `It does not work there yet: ${fault.detail}.`;
  }
}

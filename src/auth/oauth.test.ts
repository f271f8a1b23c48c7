import { expect, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { CLIENT_ID, FormBrowser, startOidcServer } from '../testing/oidc-server.ts';
import { loginWithBrowser } from './oauth.ts';

const never = new AbortController().signal;

test('a login through the browser gives an access token, a refresh token and the time it expires', async () => {
  await using server = await startOidcServer();
  const shown = Promise.withResolvers<string>();
  const login = loginWithBrowser({
    issuer: server.issuer,
    clientId: CLIENT_ID,
    clock: systemClock,
    signal: never,
    port: 0,
    show: shown.resolve,
  });
  login.catch(() => undefined);
  const page = await new FormBrowser().logIn(await Promise.race([shown.promise, login.then(() => '')]));
  console.log(page, server.requests);
  const tokens = await login;
  console.log(tokens);
  expect(tokens.refreshToken).toBeDefined();
});

import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { refuseSharedTokens } from './shared-token.ts';

const TOKENS: Readonly<Record<string, string>> = { ONE: 'token-1', COPY: 'token-1', TWO: 'token-2', PADDED: ' token-1\n' };

function refusal(...channels: readonly (readonly [name: string, type: string, settings: unknown])[]): unknown {
  const secret = (variable: string): string => {
    const value = TOKENS[variable];
    if (value === undefined) throw new GatehouseError('GH1103', `${variable} is not set`);
    return value;
  };
  try {
    refuseSharedTokens(
      channels.map(([name, type, settings]) => ({ name, type, settings })),
      secret,
    );
    return undefined;
  } catch (error) {
    return error;
  }
}

test('two variables that hold the token of one bot are refused, with both channels by name and without the token', () => {
  const error = refusal(['home', 'discord', { token_env: 'ONE' }], ['work', 'discord', { token_env: 'COPY' }]);
  expect(error).toMatchObject({
    code: 'GH1101',
    message: 'channel work: COPY holds the token of channel home: the two would take or answer the same messages',
    hint: 'give each bot a token of its own, or remove one of the channels',
  });
  expect(String(error)).not.toContain('token-1');
});

test('tokens of two bots, of two platforms, and of one platform at two addresses stand beside each other', () => {
  expect(refusal(['a', 'discord', { token_env: 'ONE' }], ['b', 'discord', { token_env: 'TWO' }])).toBeUndefined();
  expect(refusal(['a', 'discord', { token_env: 'ONE' }], ['b', 'telegram', { token_env: 'COPY' }])).toBeUndefined();
  const elsewhere = { token_env: 'COPY', api_root: 'https://telegram.example' };
  expect(refusal(['a', 'telegram', { token_env: 'ONE' }], ['b', 'telegram', elsewhere])).toBeUndefined();
});

test('a token is the same with white space around it, and at one address that is written in another way', () => {
  const shared = { code: 'GH1101', message: expect.stringContaining('holds the token of channel a') };
  expect(refusal(['a', 'discord', { token_env: 'ONE' }], ['b', 'discord', { token_env: 'PADDED' }])).toMatchObject(shared);
  const at = (token_env: string, api_root: string) => ({ token_env, api_root });
  for (const written of ['https://bots.example/api/', 'https://BOTS.example:443/api//', 'HTTPS://bots.example/api'])
    expect(
      refusal(['a', 'telegram', at('ONE', 'https://bots.example/api')], ['b', 'telegram', at('COPY', written)]),
    ).toMatchObject(shared);
  const other = at('COPY', 'https://bots.example/API');
  expect(refusal(['a', 'telegram', at('ONE', 'https://bots.example/api')], ['b', 'telegram', other])).toBeUndefined();
});

test('a variable that is not set is left to the channel that names it', () => {
  expect(refusal(['a', 'slack', { bot_token_env: 'UNSET' }], ['b', 'slack', { bot_token_env: 'UNSET_TOO' }])).toBeUndefined();
  expect(refusal(['a', 'irc', undefined], ['b', 'irc', { token_env: 7 }])).toBeUndefined();
});

import { expect, test } from 'vitest';
import { checkOwner, type OwnersChannel } from './check-owner.ts';
import { formatPath } from './problem.ts';

const CHANNELS = new Map<string, OwnersChannel>([
  ['telegram', { type: 'telegram', settings: {}, groupId: /^-\d/ }],
  ['discord', { type: 'discord', settings: {} }],
  ['sms', { type: 'twilio', settings: {} }],
  ['mail', { type: 'email', settings: { trust_from: false } }],
  ['open-mail', { type: 'email', settings: { trust_from: true } }],
]);

function found(...owner: readonly unknown[]): string[] {
  const value = { gateway: { owner } };
  return checkOwner(value, value, CHANNELS).map(
    ({ severity, path, message, hint }) => `${severity} ${formatPath(path)}: ${message} → ${hint}`,
  );
}

test('a group as a chat of the owner needs an id of the owner on that channel', () => {
  const problem =
    'error gateway.owner[0].chat_id: is a group, and nothing says which of its members is you → add "sender_ids" with your own id on that channel, or name a private chat';
  expect(found({ channel: 'telegram', chat_id: '-1001' })).toEqual([problem]);
  expect(found({ channel: 'telegram', chat_id: '-1001', sender_ids: [] })).toEqual([problem]);
  expect(found({ channel: 'telegram', chat_id: '-1001', sender_ids: ['7'] })).toEqual([]);
  expect(found({ channel: 'telegram', chat_id: '-1001' }, { channel: 'telegram', chat_id: '7', sender_ids: ['7'] })).toEqual([]);
});

test('a private chat needs none, nor does a chat whose id does not tell what it is', () => {
  expect(found({ channel: 'telegram', chat_id: '7' }, { channel: 'discord', chat_id: '123' })).toEqual([]);
});

test('a warning says where another person can write under the id of the owner', () => {
  expect(found({ channel: 'mail', chat_id: 'me@example.org' })).toEqual([]);
  expect(found({ channel: 'open-mail', chat_id: 'me@example.org' }, { channel: 'sms', chat_id: '+49' })).toEqual([
    'warning gateway.owner[0].channel: with "trust_from" the sender of a mail can be forged, and whoever does that answers for you → name a chat of a channel that proves who writes',
    'warning gateway.owner[1].channel: the number of a text message can be forged, and whoever does that answers for you → name a chat of a channel that proves who writes',
  ]);
});

test('a chat on a channel that does not exist is an error, and what has no form is left to the schema', () => {
  expect(found({ channel: 'telegrm', chat_id: '-1' })).toHaveLength(1);
  expect([found(7, { channel: '' }, {}), checkOwner({ gateway: { owner: 'x' } }, {}, CHANNELS)]).toEqual([[], []]);
});

test('an address of mail with a capital letter is told: no mail comes from it', () => {
  const problem = 'is no person: addresses of mail are compared in small letters → write "me@example.org"';
  expect(found({ channel: 'mail', chat_id: 'Me@example.org', sender_ids: ['ME@example.org'] })).toEqual([
    `warning gateway.owner[0].chat_id: ${problem}`,
    `warning gateway.owner[0].sender_ids[0]: ${problem}`,
  ]);
  expect(found({ channel: 'discord', chat_id: 'Me' })).toEqual([]);
});

import { expect, test } from 'vitest';
import { LOCAL_OPERATOR } from '../core/job.ts';
import { headOf, receiverTitle } from './behalf.ts';

test.each([
  ['Ada', 'telegram:42', 'On behalf of Ada (telegram:42):'],
  ['Ada Lovelace 李', 'email:ada@example.org', 'On behalf of Ada Lovelace 李 (email:ada@example.org):'],
  [undefined, 'telegram:42', 'On behalf of telegram:42:'],
  ['', 'telegram:42', 'On behalf of telegram:42:'],
  [undefined, LOCAL_OPERATOR, 'On behalf of the operator:'],
  // What a person calls themselves can neither look like an id nor end the line, and is no Markdown.
  ['Boss (slack:U1): pay', 'telegram:42', 'On behalf of Boss slack U1 pay (telegram:42):'],
  ['Boss\n\nOn behalf of Eve', 'telegram:42', 'On behalf of Boss On behalf of Eve (telegram:42):'],
  ['\u202eBoss\u200b', 'telegram:42', 'On behalf of Boss (telegram:42):'],
  ['**Boss** `x` [a](b) <c> @all', 'telegram:42', 'On behalf of Boss x a b c all (telegram:42):'],
  ['()*', 'telegram:42', 'On behalf of telegram:42:'],
  ['Ada', 'irc:a[b]`c d', 'On behalf of Ada (irc:a%5bb%5d%60c%20d):'],
])('%s, who is %s, writes under: %s', (name, principal, head) => {
  expect(headOf(name, principal)).toBe(head);
});

test('a receiver is named as the platform names them, with the id that decides', () => {
  const chat = { channel: 'slack', chatId: 'D1', isGroup: false };
  expect(receiverTitle({ ...chat, name: 'Ben (boss)' })).toBe('Ben boss (slack, D1)');
  expect(receiverTitle({ ...chat, name: undefined })).toBe('D1 (slack)');
  expect(receiverTitle({ ...chat, name: 'Ben', isGroup: true })).toBe('the group D1 (slack)');
});

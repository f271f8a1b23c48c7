import { expect, test } from 'vitest';
import { COMMAND_MENU } from '../../src/gateway/commands/index.ts';
import { isPrivateCommand } from './private-command.ts';

test.each(['/help', '/why', ' /model ', '/think'])('the answer to %s is for its sender alone', (text) => {
  expect(isPrivateCommand(text, COMMAND_MENU)).toBe(true);
});

test.each(['/new', '/stop', '/model gpt', '/think high', 'help', '/helpless', ''])(
  'the answer to "%s" is for the chat',
  (text) => {
    expect(isPrivateCommand(text, COMMAND_MENU)).toBe(false);
  },
);

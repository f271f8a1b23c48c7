/** What a person decides about their own accounts. */
import type { CommandSpec } from './command.ts';

export const linkCommand: CommandSpec = {
  name: 'link',
  args: '[code]',
  summary: 'link this account with another one of yours: shows a code, which you then send from there',
  isPrivate: true,
  read: (words) => {
    const [code] = words;
    return words.length > 1 ? undefined : { kind: 'personal', what: 'link', ...(code === undefined ? {} : { code }) };
  },
};

export const unlinkCommand: CommandSpec = {
  name: 'unlink',
  summary: 'take a link of this account back',
  isPrivate: true,
  read: (words) => (words.length === 0 ? { kind: 'personal', what: 'unlink' } : undefined),
};

export const forgetCommand: CommandSpec = {
  name: 'forget',
  args: 'me',
  summary: 'ask the owner to erase all that is kept of you',
  isPrivate: true,
  read: (words) => (words.length === 1 && words[0]?.toLowerCase() === 'me' ? { kind: 'personal', what: 'forget' } : undefined),
};

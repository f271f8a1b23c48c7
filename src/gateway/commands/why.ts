import type { CommandSpec } from './command.ts';

export const whyCommand: CommandSpec = {
  name: 'why',
  summary: 'why your last message got the answer it got, or none; as a reply, why that message did',
  isPrivate: true,
  read: (words) => (words.length === 0 ? { kind: 'why' } : undefined),
};

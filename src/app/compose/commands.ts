// what commands of the chat work on that are answered when they are received
import type { PromptPorts } from '../../gateway/commands/command.ts';
import type { TurnParts } from './runner.ts';

export function composeCommands({ base, operator, transcripts, parts }: TurnParts): PromptPorts {
  const { channels, journal } = base;
  return {
    ...{ transcripts, chats: journal.chats },
    buttons: (channel) => channels.channels.get(channel)?.buttons ?? false,
    answer: (message, text, choices) => parts(message, text, [], choices),
    mayChange(message) {
      const admins = channels.rules(message.channel)?.group_admins ?? [];
      return !message.isGroup || admins.includes(message.senderId) || operator.owner.isOwnersId(message);
    },
  };
}

// what commands of the chat work on that are answered when they are received
import type { PromptPorts } from '../../gateway/commands/command.ts';
import { mayChangeIn, type TurnParts } from './runner.ts';

export function composeCommands(turn: TurnParts): PromptPorts {
  const { base, transcripts, parts } = turn;
  const { channels, journal } = base;
  return {
    ...{ transcripts, chats: journal.chats },
    buttons: (channel) => channels.channels.get(channel)?.buttons ?? false,
    answer: (message, text, choices) => parts(message, text, [], choices),
    mayChange: mayChangeIn(turn),
  };
}

// what commands of the chat work on that are answered when they are received
import { MOST_TOPICS } from '../../core/chats.ts';
import { errorText } from '../../core/errors.ts';
import type { ChatRow } from '../../core/run.ts';
import type { PromptPorts } from '../../gateway/commands/command.ts';
import type { Choices } from '../../runs/choices.ts';
import { provenOwner } from './operator.ts';
import type { QueueParts } from './queue.ts';
import { mayChangeIn, type TurnParts } from './runner.ts';
import { taskBook } from './tasks.ts';
import { toolSettingsOf } from './tool-settings.ts';

/** Spec A6: the topics of a chat, beside the chat itself. */
const MOST_BUTTONS = MOST_TOPICS + 1;
/** Waiting requests that are counted. */
const MOST_PARKED = 100;

export function composeCommands(
  turn: TurnParts,
  choices: Pick<Choices, 'inForce'>,
  standing: PromptPorts['standing'],
  queue: Pick<QueueParts, 'book'>,
): PromptPorts {
  const { base, parts, operator, models } = turn;
  const { channels, journal, live, options } = base;
  return {
    ...{ chats: journal.chats, transcripts: readable(turn) },
    buttons(name) {
      const channel = channels.channels.get(name);
      return channel?.buttons ? (channel.limits.buttons?.choices ?? MOST_BUTTONS) : 0;
    },
    answer: (message, text, some) => parts(message, text, [], some),
    mayChange: mayChangeIn(turn),
    isOwner: provenOwner(operator, channels),
    mayShowThinking: () => live().gateway.show_thinking,
    statusLine: (channel) => channels.rules(channel)?.status_line === true,
    work: async (lane, session) => ({
      active: journal.load('lane', lane).messages,
      parked: (await journal.waits.parked(session, MOST_PARKED)).length,
    }),
    async modelLine(message, session) {
      const row: ChatRow = {
        ...{ seq: 0, key: message.id, profile: 'session', lane: '', session, source: { kind: 'chat' }, message },
        authority: { principal: '', role: 'guest', mode: 'read-only', policies: [] },
        ...{ attempts: 0, acceptedAt: 0, generation: 0 },
      };
      const { entry, from, thinking = live().thinking } = await choices.inForce(row);
      return `Model: ${entry?.model.id ?? models().model.id}, ${from}. Thinking: ${thinking}.`;
    },
    router: () => models().router,
    queue: queue.book,
    toolSettings: toolSettingsOf(options),
    ...{ tasks: taskBook(base), standing },
  };
}

/** A session that cannot be read must not keep the channel from what comes behind the command. */
function readable({ base: { options }, transcripts }: TurnParts): PromptPorts['transcripts'] {
  const tell = (error: unknown): void => options.logger.warn('session.unread', { detail: errorText(error) });
  return {
    load: (session, newest) =>
      transcripts.load(session, newest).catch((error: unknown) => {
        tell(error);
        return [];
      }),
    title: (session) =>
      transcripts
        .title(session)
        .catch(tell)
        .then((title) => title ?? undefined),
  };
}

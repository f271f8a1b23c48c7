/**
 * Other apps and workflows that the operator lets call the agent, and the end of a talk between machines
 * (https://docs.slack.dev/reference/events/message/bot_message).
 */
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { wordsOfBlocks } from './block-words.ts';
import { isShared } from './inbound-content.ts';
import { type InboundContext, isHome, teamOf } from './inbound-fields.ts';

/** Messages of one bot in a row, in one conversation, that are answered with no person in between. */
export const MOST_IN_A_ROW = 5;
/** Conversations in which bots are counted. */
const MAX_CHATS = 1_000;
/** Of one message. */
const MAX_ATTACHMENTS = 20;

export function isBot(message: JsonObject): boolean {
  return message['subtype'] === 'bot_message' || str(message['bot_id']) !== undefined || message['user'] === 'USLACKBOT';
}

/**
 * The id by which the author is on the list; undefined for all others, and for bots of other workspaces,
 * whose ids may be the same.
 */
export function listedBot(message: JsonObject, { allowedBots, me }: InboundContext): string | undefined {
  if (!isBot(message) || !isHome(teamOf(message), me)) return undefined;
  const ids = [str(message['bot_id']), str(message['app_id']), str(obj(message['bot_profile'])['app_id']), str(message['user'])];
  return ids.find((id) => id !== undefined && allowedBots.has(id));
}

/**
 * What a bot says: alerts often stand in blocks or attachments alone. As the platform writes it, entities and
 * mentions included. Messages that it shares are not its own words: `notesOf` tells them.
 */
export function wordsOfBot(message: JsonObject): string {
  const text = str(message['text']) ?? '';
  if (text.trim() !== '') return text;
  const blocks = wordsOfBlocks(message['blocks']);
  const attachments = list(message['attachments'])
    .slice(0, MAX_ATTACHMENTS)
    .map(obj)
    .filter((one) => !isShared(one))
    .flatMap((one) => {
      const said = [str(one['pretext']), str(one['title']), str(one['text']), wordsOfBlocks(one['blocks'])];
      const lines = said.filter(Boolean);
      return lines.length > 0 ? lines : [str(one['fallback'])];
    });
  return [blocks, ...attachments].filter(Boolean).join('\n');
}

/**
 * Two programs that answer each other would go on for ever. Counted since the start; the first person who
 * writes begins anew.
 */
export class BotTurns {
  readonly #bots: ReadonlySet<string>;
  /** Conversation -> bot -> its messages since a person wrote. */
  readonly #turns = new RecentMap<Map<string, number>>(MAX_CHATS);

  constructor(bots: ReadonlySet<string>) {
    this.#bots = bots;
  }

  /** The message, refused where it is one too many. */
  judge(message: InboundMessage): InboundMessage {
    const { chatId, senderId, refusal, kind } = message;
    if (refusal !== undefined || kind !== 'message' || this.#bots.size === 0) return message;
    if (!this.#bots.has(senderId)) {
      this.#turns.delete(chatId);
      return message;
    }
    const turns = this.#turns.get(chatId) ?? new Map<string, number>();
    const count = (turns.get(senderId) ?? 0) + 1;
    this.#turns.set(chatId, turns.set(senderId, count));
    return count > MOST_IN_A_ROW ? { ...message, refusal: 'loop-cap' } : message;
  }
}

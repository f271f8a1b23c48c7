// /forget me in a private chat -> a question to the owner -> the journal does what its answer says, in the
//   commit of the answer (journal/forget.ts)
import { FORGET } from '../core/erasure.ts';
import { principalOf } from '../core/ids.ts';
import type { Address, InboundMessage, Json } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { PersonRef } from '../core/people.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolResult } from '../core/tool.ts';
import type { StoredWait } from '../core/wait.ts';
import { personShown } from './behalf.ts';
import type { PersonalAnswer } from './linking.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
const DENIED: ToolResult = { ok: true, output: 'deny' };

/** What the question is about: what becomes of it is written without asking any other part of the program. */
export interface Forgetting {
  readonly who: PersonRef;
  readonly stoppedMark: string;
  /** What the person is told, by what the owner says. */
  readonly allow: readonly NewPart[];
  readonly deny: readonly NewPart[];
}

export interface ForgettingOptions {
  readonly ask: (question: {
    readonly id: string;
    readonly text: string;
    readonly expiresAt: number;
    readonly late: ToolResult;
    readonly about: Json;
  }) => Promise<StoredWait | undefined>;
  readonly open: () => Promise<readonly StoredWait[]>;
  readonly parts: (to: Address & { readonly id: string }, text: string) => readonly NewPart[];
  readonly stoppedMark: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** Asks once; a second wish while the first is open adds nothing. */
export async function forgetAnswer(message: InboundMessage, options: ForgettingOptions): Promise<PersonalAnswer> {
  if (message.isGroup) return { text: 'This works in a private chat with me only.' };
  const { channel, account, chatId, senderId, senderName } = message;
  const who = { channel, senderId };
  const id = `${FORGET}${message.id}`;
  const open = (await options.open()).filter((wait) => wait.id.startsWith(FORGET));
  const isAsked = open.some(({ id: other, question }) => other !== id && isAbout(question?.about, who));
  if (isAsked) return { text: 'The owner was asked already, and has not answered yet.' };
  const tell = (what: string, text: string) => options.parts({ id: `${id}/${what}`, channel, account, chatId }, text);
  const about: Forgetting = {
    who,
    stoppedMark: options.stoppedMark,
    allow: tell('allow', 'The owner agreed: all that I keep of you is being erased. Your next message is that of a stranger.'),
    deny: tell('deny', 'The owner did not agree to erase what I keep of you. Ask them why.'),
  };
  const shown = personShown(senderName, principalOf(who));
  const text = `May all that is kept of ${shown} be erased, on all their linked accounts? It cannot be taken back. What it is about shows \`gatehouse people erase ${principalOf(who)} --dry-run\`.`;
  const asked = await options.ask({
    id,
    text,
    expiresAt: options.clock.now() + WEEK_MS,
    late: DENIED,
    about: about as unknown as Json,
  });
  if (!asked) return { text: 'The owner cannot be asked right now. Tell them yourself, or try again later.' };
  return { text: 'I asked the owner whether all that I keep of you may be erased. I will tell you what they say.' };
}

function isAbout(about: Json | undefined, { channel, senderId }: PersonRef): boolean {
  const { who } = (about ?? {}) as { readonly who?: PersonRef };
  return who?.channel === channel && who.senderId === senderId;
}

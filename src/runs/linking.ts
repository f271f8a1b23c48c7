// /link, /link CODE, /unlink in a private chat -> what is answered, and what is written with the answer

import type { Role } from '../core/authority.ts';
import { type LinkOffer, linkWait, type PersonalWrite } from '../core/erasure.ts';
import { principalOf } from '../core/ids.ts';
import type { Address, InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { People, PersonRef } from '../core/people.ts';
import type { Clock } from '../core/ports.ts';
import type { Settled, Waits } from '../core/wait.ts';
import { personShown } from './behalf.ts';

const LIFE_MS = 600_000;
const PRIVATE_ONLY = 'This works in a private chat with me only.';
const HIDDEN = '******';

/**
 * What one of these commands comes to. `settled`: the code is used up with it, or else nothing is written.
 */
export interface PersonalAnswer {
  readonly text: string;
  /** What stays of the text once it is sent. */
  readonly keptAs?: string;
  readonly writes?: readonly PersonalWrite[];
  readonly settled?: Settled;
}

export interface LinkingOptions {
  readonly people: Pick<People, 'idsOf' | 'links' | 'mayTryLink'>;
  readonly waits: Pick<Waits, 'find'>;
  readonly isOwner: (who: PersonRef) => boolean;
  readonly roleOf: (message: InboundMessage) => Promise<Role>;
  /** Whether what is written there is surely of the person whose it seems to be. */
  readonly provesSender: (channel: string) => boolean;
  readonly newCode: () => string;
  readonly parts: (to: Address & { readonly id: string }, text: string) => readonly NewPart[];
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * A code is shown on one account and typed on another: whoever can do both is one person. It holds for ten
 * minutes and works once. Both accounts are told with whom they were linked.
 */
export async function linkAnswer(
  message: InboundMessage,
  code: string | undefined,
  options: LinkingOptions,
): Promise<PersonalAnswer> {
  const refusal = await refusalOf(message, options);
  if (refusal !== undefined) return { text: refusal };
  return code === undefined ? offered(message, options) : await typed(message, code.toUpperCase(), options);
}

async function refusalOf(message: InboundMessage, { provesSender, roleOf }: LinkingOptions): Promise<string | undefined> {
  if (message.isGroup) return PRIVATE_ONLY;
  // Who can write under the id of another could give them away with a code of their own.
  if (!provesSender(message.channel) || (await roleOf(message)) === 'guest')
    return 'This account cannot be linked by a code, because it is not certain who writes there. The operator can link it: `gatehouse people link`.';
  return undefined;
}

function offered(message: InboundMessage, { newCode, clock }: LinkingOptions): PersonalAnswer {
  const code = newCode();
  const { channel, account, chatId, senderId, senderName: name } = message;
  const offer: LinkOffer = { channel, senderId, name, chat: { channel, account, chatId } };
  const text = `Send this to me from your other account within ten minutes: \`/link ${code}\`\nGive it to no one: an account that sends it is taken for you. It shares your spending limits, and can have all that I keep of you erased.`;
  return {
    text,
    keptAs: text.replaceAll(code, HIDDEN),
    writes: [{ kind: 'link-code', code, offer, due: clock.now() + LIFE_MS }],
  };
}

async function typed(message: InboundMessage, code: string, options: LinkingOptions): Promise<PersonalAnswer> {
  const { people, waits, clock } = options;
  const { channel, senderId, senderName } = message;
  const who = { channel, senderId };
  if (!(await people.mayTryLink(who))) return { text: 'Too many wrong codes. Try again in an hour.' };
  const wait = await waits.find(linkWait(code));
  const offer = wait?.isOpen && (wait.due ?? 0) > clock.now() ? (JSON.parse(wait.about ?? 'null') as LinkOffer | null) : null;
  if (!offer)
    return {
      text: 'This code is not valid. Send `/link` from your other account for a new one.',
      writes: [{ kind: 'link-miss', who }],
    };
  if (principalOf(offer) === principalOf(who)) return { text: 'Send the code from your other account, not from this one.' };
  const [ours, theirs] = [await people.idsOf(who), await people.idsOf(offer)];
  if (ours.some((one) => principalOf(one) === principalOf(offer))) return { text: 'These accounts are linked already.' };
  // A link raises no role, and so joins no owner with a person who is none.
  if (new Set([...ours, ...theirs].map(options.isOwner)).size > 1)
    return {
      text: 'One of these accounts is the owner’s and the other is not. The owner can link them: `gatehouse people link`.',
    };
  const end = { ...who, name: senderName };
  const notice = `This account was linked with ${shown(end)}: the two are one person to me now. If that was not you, send \`/unlink\` at once.`;
  return {
    text: `This account is linked with ${shown(offer)} now: you share spending limits, being found by name, and what is exported and erased; no history and no rights. \`/unlink\` takes it back.`,
    settled: { wait: linkWait(code), value: { ok: true, output: 'linked' }, by: principalOf(who) },
    writes: [
      { kind: 'link', of: [offer, end], by: principalOf(who) },
      ...options.parts({ id: `link/${message.id}`, ...offer.chat }, notice).map((part) => ({ kind: 'part', part }) as const),
    ],
  };
}

/** As other chats read who wrote to them: `Ada (telegram:42)`. */
function shown(who: PersonRef & { readonly name: string }): string {
  return personShown(who.name, principalOf(who));
}

export async function unlinkAnswer(message: InboundMessage, { people }: LinkingOptions): Promise<PersonalAnswer> {
  if (message.isGroup) return { text: PRIVATE_ONLY };
  const { channel, senderId } = message;
  const who = { channel, senderId };
  if ((await people.idsOf(who)).length === 1) return { text: 'This account is linked with no other.' };
  return { text: 'This account is linked with no other any more.', writes: [{ kind: 'unlink', who, by: principalOf(who) }] };
}

import { laneKey, sessionKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { PairingStore } from '../core/pairing.ts';
import type { Clock } from '../core/ports.ts';
import type { During } from '../core/queueing.ts';
import type { Admission } from '../core/run.ts';
import type { StoredWait } from '../core/wait.ts';
import type { Decision } from '../operator/approvals.ts';
import type { Standing } from '../operator/authority.ts';
import { codeParts } from '../operator/pairing-text.ts';
import { overText } from '../operator/question-text.ts';
import { withQuoted } from '../operator/quoted.ts';
import type { PersonalAnswer } from '../runs/linking.ts';
import { stopOf } from '../runs/stop.ts';
import { type AccessRules, decideAccess } from './access.ts';
import type { PersonalCommand, PlaceOfMessage, PromptPorts } from './commands/command.ts';
import { answerPrompt, commandOf, isPrompt } from './commands/index.ts';

export interface AdmitOptions {
  readonly rules: (channel: string) => AccessRules;
  readonly pairing: PairingStore;
  readonly clock: Clock;
  /**
   * The answer to a question of ours; absent = no person is asked. Undefined = the message is no such thing.
   */
  readonly decide?: (message: InboundMessage) => Promise<Decision | undefined>;
  /** Who the message speaks for, and what it brings in. Absent: a member, and nothing. */
  readonly standing?: (message: InboundMessage) => Promise<Standing>;
  /** The first account used under this channel name; see `sessionKey`. Absent, or undefined: this one. */
  readonly firstAccount?: (channel: string) => Promise<string | undefined>;
  /** Whether the operator wrote it under an id of theirs. */
  readonly isOwner: (message: InboundMessage) => boolean;
  /** What `/why` says to this message. */
  readonly why: (message: InboundMessage) => Promise<string>;
  /** What `/link`, `/unlink` and `/forget me` come to. Absent: they are words for the agent. */
  readonly personal?: (message: InboundMessage, command: PersonalCommand) => Promise<PersonalAnswer>;
  /** What commands work on that are answered when they are received. */
  readonly commands: PromptPorts;
  /** What the message does to work of its lane. Absent, or undefined: it waits. */
  readonly during?: (message: InboundMessage) => Promise<During | undefined>;
  /** Turns a sentence of ours into parts for the chat the message came from. */
  readonly answer: (message: InboundMessage, text: string) => readonly NewPart[];
}

/**
 * Step two of a message's way: refused with a reason, answered at once, or let into its lane. Decides only;
 * the journal's commit makes it true, and nothing is acted on before that.
 */
export async function admit(message: InboundMessage, options: AdmitOptions): Promise<Admission> {
  const judged = await judge(message, options);
  if (judged.kind === 'refuse') return judged;
  // What is answered at once is stored with its message, as what is let in.
  const admission = { ...judged, message: await withQuoted(judged.message, options.rules(message.channel), options.pairing) };
  if (!options.standing) return admission;
  if (admission.kind === 'admit') return { ...admission, ...(await options.standing(admission.message)) };
  const { settles, outcome } = admission;
  // Words of a guest stay words of a guest when they answer a question. A yes or no is none of theirs.
  if (!settles || outcome !== 'answer') return admission;
  const { taint } = await options.standing(message);
  const { settled } = settles;
  return { ...admission, settles: { ...settles, settled: { ...settled, taint: taint | (settled.taint ?? 0) } } };
}

async function judge(message: InboundMessage, options: AdmitOptions): Promise<Admission> {
  const access = await decideAccess(message, options.rules(message.channel), options.pairing, options.clock);
  const place = { lane: laneKey(message), session: sessionKey(message, await options.firstAccount?.(message.channel)) };
  if (access.kind === 'refused') {
    const answered = access.reason === 'not-mentioned' ? await answerOfQuestion(message, place, options, true) : undefined;
    return answered ?? { kind: 'refuse', message, reason: access.reason };
  }
  if (access.kind === 'pair') {
    // Not one word of a stranger is kept (attack A1): only who asked, which the pairing request holds anyway.
    // What an adapter needs for a reply in place may be such words too (the subject of a mail), so the code
    // goes out as a message of its own.
    const { replyTo: _quoted, replyContext: _context, ...rest } = message;
    const stripped: InboundMessage = { ...rest, text: '', media: [] };
    return {
      kind: 'answer',
      message: stripped,
      ...place,
      outcome: 'pairing',
      isStranger: true,
      parts: codeParts(access.code, (text) => options.answer(stripped, text)),
    };
  }
  // What it says is not known before the commit: recordings are fetched and paid for after it, once.
  if (access.kind === 'overheard') return { kind: 'admit', message: { ...message, overheard: true }, ...place };
  if (access.kind === 'correction')
    return { kind: 'admit', message: correctionOf(message), ...place, onlyCorrects: 'not-mentioned' };
  if (message.kind === 'reaction') return { kind: 'refuse', message, reason: 'reaction' };
  const command = commandOf(message);
  // Also as a correction: what it corrects is in this lane. Other commands that correct what waits are read
  // in their turn.
  if (command?.kind === 'stop' && message.kind !== 'delete') return stopOf(message, command, place, options);
  if (message.kind !== 'message') return { kind: 'admit', message, ...place };
  if (command?.kind === 'help' || command?.kind === 'why') {
    const text = command.kind === 'help' ? command.answer : await options.why(message);
    return { kind: 'answer', message, ...place, outcome: command.kind, parts: options.answer(message, text) };
  }
  if (command?.kind === 'personal' && options.personal)
    return personalAdmission(message, await options.personal(message, command), { ...place, outcome: command.what }, options);
  // A task reads what it is a reply to.
  const read = command?.kind === 'task' ? await withQuoted(message, options.rules(message.channel), options.pairing) : message;
  const prompted = isPrompt(command) ? await answerPrompt(command, read, place, options.commands) : undefined;
  if (prompted) return { kind: 'answer', message, ...place, ...prompted };
  const answered = await answerOfQuestion(message, place, options);
  if (answered) return answered;
  const during = command ? undefined : await options.during?.(message);
  return { kind: 'admit', message, ...place, ...(during ? { during } : {}) };
}

/**
 * `isUncalled`: nothing addresses the agent but that it asked; what may be another bot's is not for us then.
 * A question for words takes the next message, but no command. Undefined: the message answers none.
 */
async function answerOfQuestion(message: InboundMessage, place: PlaceOfMessage, options: AdmitOptions, isUncalled = false) {
  if (message.kind !== 'message' || commandOf(message)) return undefined;
  const decision = await options.decide?.(message);
  if (!decision || (isUncalled && decision.isStray)) return undefined;
  const { outcome, answer, settled } = decision;
  const settles = settled ? { settles: { settled, over: (wait: StoredWait) => options.answer(message, overText(wait)) } } : {};
  return { kind: 'answer', message, ...place, outcome, parts: options.answer(message, answer), ...settles } as const;
}

function personalAdmission(
  message: InboundMessage,
  { text, keptAs, writes, settled }: PersonalAnswer,
  place: PlaceOfMessage & { readonly outcome: string },
  { answer }: AdmitOptions,
): Admission {
  const parts = answer(message, text).map((row) => (keptAs === undefined ? row : { ...row, part: { ...row.part, keptAs } }));
  const over = (): readonly NewPart[] => answer(message, 'This code was used already, or is over.');
  return {
    ...{ kind: 'answer', message, ...place, parts },
    ...(writes ? { writes } : {}),
    ...(settled ? { settles: { settled, over } } : {}),
  };
}

/**
 * Whether `admit` will answer or refuse each of these and let none into a lane. Changes nothing: access is
 * not looked at, so that no stranger gets a code from a batch that is not accepted.
 */
export async function areAnsweredAtOnce(
  batch: readonly InboundMessage[],
  options: Pick<AdmitOptions, 'decide'>,
): Promise<boolean> {
  for (const message of batch) if (!(await isAnsweredAtOnce(message, options))) return false;
  return true;
}

async function isAnsweredAtOnce(message: InboundMessage, { decide }: Pick<AdmitOptions, 'decide'>): Promise<boolean> {
  // A voice note under these words may be overheard.
  if (message.kind !== 'message' || message.media.length > 0) return false;
  const command = commandOf(message);
  // Words that look like a button may be words for the agent.
  const isAnswer =
    ['stop', 'help', 'why'].includes(command?.kind ?? '') || (isPrompt(command) && !['task', 'pick'].includes(command.kind));
  return isAnswer || (!command && (await decide?.(message)) !== undefined);
}

/** Who makes an abort word of a message takes it back. */
function correctionOf(message: InboundMessage): InboundMessage {
  return commandOf(message)?.kind === 'stop' ? { ...message, kind: 'delete', text: '', media: [] } : message;
}

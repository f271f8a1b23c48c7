// a run asks -> code, chat and parts, to be written by the commit that parks it
import type { Channel } from '../core/channel.ts';
import { chatKey, sentForId } from '../core/ids.ts';
import type { Address } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import { type Asked, postId, type Question, reminderId, type StoredWait } from '../core/wait.ts';
import { planBelow } from '../delivery/plan-below.ts';
import type { Approvals } from './approvals.ts';
import type { Owner } from './owner.ts';
import { choicesOf, reminderOf, textOf, withHead } from './question-text.ts';

export interface RunQuestionsOptions {
  readonly approvals: Pick<Approvals, 'freeCode' | 'mayAsk' | 'countAsked' | 'postOptions'>;
  readonly owner: Pick<Owner, 'prepare'>;
  readonly channel: (name: string) => Channel | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** A question that is nowhere before its run has parked. */
export interface PlacedQuestion {
  readonly asked: Asked;
  /** To be called once the run has. */
  onDisk(): void;
}

/** Parts that are nowhere before they are committed. */
export interface Reminder {
  readonly parts: readonly NewPart[];
  /** To be called once they are. */
  onDisk(): void;
}

/** Questions that runs ask. */
export class RunQuestions {
  readonly #options: RunQuestionsOptions;

  constructor(options: RunQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Makes the question of a wait ready. Undefined when it cannot be asked: there is no such channel, it has
   * another account by now, or too much was asked there within an hour. Rejects as the journal does.
   */
  async place(question: Question, wait: { readonly id: string; readonly run: string }): Promise<PlacedQuestion | undefined> {
    const { approvals } = this.#options;
    const { to } = question;
    const person = personOf(question);
    const code = await approvals.freeCode();
    if (!approvals.mayAsk(person)) return undefined;
    const placed = to === 'owner' ? this.#toOwner(question, wait.id, code) : this.#inChat(question, to, { ...wait, code });
    if (placed) approvals.countAsked(person);
    return placed;
  }

  /**
   * A question that is open, put once more. Its keys follow from the question, so that it is one reminder
   * however often it is made ready. Undefined when it cannot be put anywhere now.
   */
  remind({ id, callId, code = '', question }: StoredWait): Reminder | undefined {
    if (!question) return undefined;
    const { to } = question;
    const run = id.slice(0, -callId.length - 1);
    const { approvals, owner, clock } = this.#options;
    const text = reminderOf(question, code, clock.now());
    if (to !== 'owner')
      return { parts: this.#parts({ ...question, to }, text, { id: reminderId(id), run, code }), onDisk: () => undefined };
    const { expiresInMs, choices = [] } = approvals.postOptions(id, question, code);
    return owner.prepare(`${postId(code)}/reminder`, withHead(question, text), { expiresInMs, choices });
  }

  #toOwner(question: Question, id: string, code: string): PlacedQuestion | undefined {
    const { approvals, owner, clock } = this.#options;
    const text = withHead(question, textOf(question, code, clock.now()));
    const ready = owner.prepare(postId(code), text, approvals.postOptions(id, question, code));
    return ready && { asked: { code, chat: ready.chat, parts: ready.parts }, onDisk: ready.onDisk };
  }

  #inChat(question: Question, to: Address, place: Place): PlacedQuestion | undefined {
    // Of another account its parts would wait, and the run for an answer that no person can give.
    if (this.#options.channel(to.channel)?.account !== to.account) return undefined;
    const { code } = place;
    const parts = this.#parts({ ...question, to }, textOf(question, code, this.#options.clock.now()), place);
    return { asked: { code, chat: chatKey(to), parts }, onDisk: () => undefined };
  }

  #parts(question: ToChat, text: string, { id, run, code }: Place): readonly NewPart[] {
    const { channel: find, clock } = this.#options;
    const { to, onBehalf, expiresAt } = question;
    const channel = find(to.channel);
    const now = clock.now();
    const sentFor = onBehalf?.sentFor;
    const planned = planBelow(onBehalf?.head ?? '', {
      ...{ message: { ...to, id: sentFor ? sentForId(id) : id }, text, files: [], choices: choicesOf(question, code) },
      ...{ buttons: channel?.buttons ?? false, limits: channel?.limits, now, expiresInMs: expiresAt - now },
    });
    // It belongs to what the run says; its key is its own.
    return planned.map(({ part, ...row }) => ({ ...row, part: { ...part, messageId: run, ...(sentFor ? { sentFor } : {}) } }));
  }
}

type ToChat = Omit<Question, 'to'> & { readonly to: Address };

interface Place {
  /** The keys of the parts are made of it. */
  readonly id: string;
  /** Key of the run that asks. */
  readonly run: string;
  readonly code: string;
}

/** Whom the hourly number of questions counts for. */
function personOf({ to, by }: Question): string {
  const [one, ...more] = by;
  if (to === 'owner') return to;
  return one !== undefined && more.length === 0 ? one : chatKey(to);
}

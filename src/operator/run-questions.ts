// a run asks -> code, chat and parts, to be written by the commit that parks it
import type { Channel } from '../core/channel.ts';
import { chatKey } from '../core/ids.ts';
import type { Address } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { Asked, Question } from '../core/wait.ts';
import { planParts } from '../delivery/plan.ts';
import type { Approvals } from './approvals.ts';
import type { Owner } from './owner.ts';
import { choicesOf, postId, textOf } from './question-text.ts';

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

/** Questions that runs ask. */
export class RunQuestions {
  readonly #options: RunQuestionsOptions;

  constructor(options: RunQuestionsOptions) {
    this.#options = options;
  }

  /**
   * Makes the question of a wait ready. Undefined when it cannot be asked: there is no such channel, or too
   * much was asked there within an hour. Rejects as the journal does.
   */
  async place(question: Question, wait: { readonly id: string; readonly run: string }): Promise<PlacedQuestion | undefined> {
    const { approvals } = this.#options;
    const { to } = question;
    const place = to === 'owner' ? to : chatKey(to);
    const code = await approvals.freeCode();
    if (!approvals.mayAsk(place)) return undefined;
    const placed = to === 'owner' ? this.#toOwner(question, wait.id, code) : this.#inChat(question, to, { ...wait, code });
    if (placed) approvals.countAsked(place);
    return placed;
  }

  #toOwner(question: Question, id: string, code: string): PlacedQuestion | undefined {
    const { approvals, owner, clock } = this.#options;
    const ready = owner.prepare(postId(code), textOf(question, code, clock.now()), approvals.postOptions(id, question, code));
    return ready && { asked: { code, chat: ready.chat, parts: ready.parts }, onDisk: ready.onDisk };
  }

  #inChat(
    question: Question,
    to: Address,
    { id, run, code }: { readonly id: string; readonly run: string; readonly code: string },
  ): PlacedQuestion | undefined {
    const { channel: find, clock } = this.#options;
    const channel = find(to.channel);
    if (!channel) return undefined;
    const now = clock.now();
    const planned = planParts({
      ...{ message: { ...to, id }, text: textOf(question, code, now), files: [], choices: choicesOf(question, code) },
      ...{ buttons: channel.buttons ?? false, limits: channel.limits, now, expiresInMs: question.expiresAt - now },
    });
    // It belongs to what the run says; its key is its own.
    const parts = planned.map(({ part, ...row }) => ({ ...row, part: { ...part, messageId: run } }));
    return { asked: { code, chat: chatKey(to), parts }, onDisk: () => undefined };
  }
}

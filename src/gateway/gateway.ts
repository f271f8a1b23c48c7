// THE MAP of a message's way: receive -> admit -> (commit 1) -> lane -> prepare -> turn -> (commit 4) ->
//   delivery
import type { InboundBus } from '../bus/inbound-bus.ts';
import { UNTRUSTED } from '../core/authority.ts';
import type { ChannelHost, Receipt } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import { chatKey, messageKey } from '../core/ids.ts';
import type { Journal, Recovery } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { People } from '../core/people.ts';
import type { Clock } from '../core/ports.ts';
import { STEERED } from '../core/queueing.ts';
import { type Accepted, type Admission, decidedOf, type EndedRun, targetOf } from '../core/run.ts';
import type { Delivery } from '../delivery/deliver.ts';
import type { Floods } from '../operator/floods.ts';
import type { Runner } from '../runs/runner.ts';
import { topicHolding } from '../runs/topic-output.ts';
import type { Transcripts } from '../runs/transcripts.ts';
import { type AdmitOptions, admit, areAnsweredAtOnce } from './admit.ts';
import type { Backlog, Taken } from './backlog.ts';
import { changesWhatFollows, commandOf } from './commands/index.ts';
import type { Lanes } from './lanes.ts';

/** How long a channel waits before it offers a batch again that found the journal full. */
const BUSY_RETRY_MS = 1_000;

export interface GatewayOptions {
  readonly journal: Journal;
  readonly bus: InboundBus;
  readonly lanes: Lanes;
  readonly runner: Runner;
  readonly transcripts: Transcripts;
  readonly delivery: Delivery;
  readonly admission: AdmitOptions;
  readonly backlog: Backlog;
  readonly floods: Floods;
  readonly people: Pick<People, 'audit'>;
  /** Something was written with an answer: links may be others now. */
  readonly wrote: () => void;
  /** The session begins anew, or is gone: what is kept of it beside its lines is to be closed, or removed. */
  readonly onCut: (session: string, isGone: boolean) => void;
  /** Runs may have ended without a turn: what only they needed may go. */
  readonly onEnded: () => void;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What the journal is asked to accept, with the background it would carry off. */
interface Offer {
  readonly admission: Admission;
  readonly background?: Taken;
}

export class Gateway {
  readonly #options: GatewayOptions;
  /** Number of the newest decision about people that was looked at. */
  #decided = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /**
   * Step 1: a channel's batch. Resolves `accepted` only when it is on disk; the channel acknowledges after
   * that.
   */
  readonly receive = async (
    source: { readonly channel: string; readonly account: string },
    batch: readonly InboundMessage[],
    cursor?: string,
  ): Promise<Receipt> => {
    // What stands behind a command that changes the conversation or begins a task is judged by what it
    // changed.
    const at = batch.findIndex((message, n) => n < batch.length - 1 && changesWhatFollows(commandOf(message)));
    if (at < 0) return await this.#receive(source, batch, cursor);
    const receipt = await this.#receive(source, batch.slice(0, at + 1));
    return receipt.kind === 'busy' ? receipt : await this.receive(source, batch.slice(at + 1), cursor);
  };

  async #receive(
    source: { readonly channel: string; readonly account: string },
    batch: readonly InboundMessage[],
    cursor?: string,
  ): Promise<Receipt> {
    const { journal, admission, floods } = this.#options;
    // What is answered at once adds nothing that waits, and may be what ends the flood.
    if (floods.isFull(batch) && !(await areAnsweredAtOnce(batch, admission)))
      return { kind: 'busy', retryAfterMs: BUSY_RETRY_MS };
    for (const message of batch) this.#note(message, { type: 'received' });

    const offers: Offer[] = [];
    let accepted: readonly Accepted[] | undefined;
    let isBegun = false;
    // Step 3: to the lanes.
    const begin = (results: readonly Accepted[]): void => {
      isBegun = true;
      for (const [index, offer] of offers.entries()) this.#dispatch(offer, results[index]);
    };
    try {
      // Step 2: access, mention rule, commands. Nothing is acted on before the commit.
      for (const message of batch) offers.push(this.#offer(message, floods.judge(await admit(message, admission))));

      // Commit 1: rows, refusals, immediate answers and the cursor, all or nothing.
      const admissions = offers.map((offer) => offer.admission);
      accepted = await journal.accept(admissions, cursor === undefined ? undefined : { ...source, value: cursor }, begin);
    } catch (error) {
      for (const { background } of offers) background?.giveBack();
      throw error;
    } finally {
      floods.entered(
        offers.map((offer) => offer.admission),
        accepted !== undefined,
      );
    }
    if (!isBegun) begin(accepted);
    for (const [index, { admission }] of offers.entries()) this.#answered(decidedOf(admission, accepted[index]), accepted[index]);
    return { kind: 'accepted' };
  }

  /** Before channels start: what earlier processes left behind goes on where it stopped. */
  async recover(recovery: Recovery): Promise<void> {
    await this.#options.transcripts.flush();
    await this.#options.delivery.recover(recovery.sending, recovery.outboxLanes, recovery.left);
    this.#options.lanes.fetch(recovery.lanes);
  }

  /** Another process changed the journal (`dead replay`, `people block`): look at what it did. */
  async look(): Promise<void> {
    await this.#forgetShutOut();
    await this.#options.lanes.abortCancelled();
    // What it ended leaves lines, which the next turn of that session is given.
    await this.#options.transcripts.flush();
    const { lanes, outboxLanes } = await this.#options.journal.work();
    this.#options.lanes.fetch(lanes);
    for (const { lane } of outboxLanes) this.#options.delivery.poke(lane);
    this.#options.onEnded();
  }

  /** A person is erased: what they said in groups goes with no message any more, and their turns end. */
  async forgetPerson(principals: readonly string[], until: number): Promise<void> {
    for (const principal of principals) this.#options.backlog.forget(principal, until);
    await this.#options.lanes.abortCancelled();
  }

  /** What a person said in groups before they were shut out goes with no message any more. */
  async #forgetShutOut(): Promise<void> {
    for (const { seq, kind, subject, at } of await this.#options.people.audit({ after: this.#decided })) {
      if (kind === 'person.blocked' || kind === 'person.revoked') this.#options.backlog.forget(subject, at);
      this.#decided = seq;
    }
  }

  /** Resolves when every accepted message has its outcome and every answer left or is parked. */
  async idle(): Promise<void> {
    await this.#options.lanes.idle();
    await this.#options.delivery.idle();
  }

  /** As `idle`, and what follows from answers is done: for a process that ends with the last one. */
  async done(): Promise<void> {
    await this.idle();
    await this.#options.runner.summarised();
  }

  /**
   * Channels have stopped receiving: turns stop at their next step and go on at the next start, answers under
   * way are finished.
   */
  async stop(limits: { readonly turnsMs: number; readonly deliveryMs: number }): Promise<void> {
    this.#options.runner.stopAtNextStep();
    await this.#options.lanes.stop(limits.turnsMs);
    await this.#options.delivery.drain(limits.deliveryMs);
  }

  /**
   * Takes to the backlog what is background, and from it what belongs to this message. Before the commit, so
   * that the next message of the batch, and of one that is received meanwhile, finds it; a batch that is
   * offered again changes nothing there.
   */
  #offer(message: InboundMessage, admission: Admission): Offer {
    const { backlog } = this.#options;
    if (admission.kind === 'refuse') {
      if (admission.reason === 'not-mentioned' || admission.reason === 'reaction') backlog.note(message);
      return { admission };
    }
    if (message.kind === 'delete' || (admission.kind === 'admit' && admission.onlyCorrects)) backlog.note(message);
    else if (message.kind === 'edit') backlog.drop(message);
    // One that may not address the agent must not take the background of the next that does.
    if (message.kind !== 'message' || admission.kind !== 'admit' || admission.message.overheard) return { admission };
    const background = backlog.take(message);
    if (!background) return { admission };
    const taint = (admission.taint ?? 0) | UNTRUSTED;
    return { admission: { ...admission, taint, message: { ...admission.message, background: background.lines } }, background };
  }

  #dispatch({ admission: offered, background }: Offer, accepted: Accepted | undefined): void {
    const admission = decidedOf(offered, accepted);
    const { message } = admission;
    this.#keepBackground(message, background, accepted);
    if (accepted?.kind === 'new') {
      this.#note(message, { type: 'admitted', lane: accepted.row.lane });
      this.#options.transcripts.ended(accepted.interrupted ?? []);
      this.#options.bus.publish(accepted.row);
    } else if (accepted?.kind === 'steered') {
      this.#note(message, { type: 'finished', outcome: accepted.outcome, ms: 0 });
    } else if (admission.kind === 'refuse') {
      this.#note(message, { type: 'dropped', reason: admission.reason });
    } else if (accepted?.kind === 'answered' && admission.kind === 'answer') {
      // Before the lane goes on: its next turn is given what these leave.
      this.#options.transcripts.ended(accepted.cancelled);
      for (const { session, line } of accepted.cuts ?? []) this.#options.transcripts.committed(session, [line]);
    } else if (admission.kind === 'admit' && admission.onlyCorrects && accepted?.kind === 'refused') {
      this.#note(message, { type: 'dropped', reason: admission.onlyCorrects });
    } else {
      this.#note(message, { type: 'dropped', reason: accepted?.kind ?? 'refused' });
    }
  }

  /** Called once the batch is on disk: delivers immediate answers and aborts turns that a person ended. */
  #answered(admission: Admission, accepted: Accepted | undefined): void {
    const { runner, lanes, delivery } = this.#options;
    if (accepted?.kind === 'amended' && admission.message.kind === 'delete' && !accepted.goesOn) lanes.drop(accepted.row);
    if (accepted?.kind === 'steered') runner.noted(accepted.outcome.slice(STEERED.length));
    if (accepted?.kind === 'new') {
      const { beside } = accepted.row.message;
      if (beside) runner.noted(beside);
      for (const [lane, seqs] of seqsByLane(accepted.interrupted ?? [])) lanes.abort(lane, seqs, 'newer');
    }
    if (accepted?.kind !== 'answered' || admission.kind !== 'answer') return;
    const { message } = admission;
    const stopped = seqsByLane(accepted.cancelled);
    for (const [lane, seqs] of stopped) lanes.abort(lane, seqs);
    if (stopped.length > 0) this.#options.onEnded();
    const { writes = [] } = admission;
    if (writes.length > 0) this.#options.wrote();
    for (const { session, line, isInUse = false } of accepted.cuts ?? [])
      this.#options.onCut(session, line.cut?.gone === true && !isInUse);
    if (admission.topic && 'to' in admission.topic) this.#hideOthers(message, admission.topic.to);
    const parts = [...admission.parts, ...writes.flatMap((write) => (write.kind === 'part' ? [write.part] : []))];
    const told = [...(admission.partsAfter ? [admission.lane] : []), ...parts.map((part) => part.lane)];
    for (const lane of new Set([...told, ...stopped.map(([lane]) => lane)])) delivery.poke(lane);
    this.#note(admission.message, { type: 'finished', outcome: admission.outcome, ms: 0 });
  }

  /** Of the chat, what is written in other topics is held from now on. */
  #hideOthers(message: InboundMessage, active: string): void {
    this.#options.delivery.hide((row) => {
      const topic = topicHolding(row);
      const target = targetOf(row);
      return topic !== undefined && topic !== active && target !== undefined && chatKey(target) === chatKey(message);
    });
  }

  /** What a message took stays with it until its turn ended, and comes back when a person ends it before. */
  #keepBackground(message: InboundMessage, background: Taken | undefined, accepted: Accepted | undefined): void {
    const { backlog } = this.#options;
    if (accepted?.kind !== 'new' && accepted?.kind !== 'steered') background?.giveBack();
    else if (background && accepted.kind === 'new') backlog.hold(accepted.row, background);
    // Where the model had answered, the session has the message with what it took.
    const cancelled =
      accepted?.kind === 'answered' ? accepted.cancelled : accepted?.kind === 'new' ? (accepted.interrupted ?? []) : [];
    for (const { row, hasSteps } of cancelled) if (!hasSteps) backlog.giveBackOf(row.key);
    const { channel, account, targetId } = message;
    const isTakenBack = accepted?.kind === 'amended' && message.kind === 'delete' && !accepted.goesOn;
    if (isTakenBack && targetId !== undefined) backlog.giveBackOf(messageKey({ channel, account, platformId: targetId }));
  }

  #note(
    message: InboundMessage,
    event:
      | { type: 'received' }
      | { type: 'admitted'; lane: string }
      | { type: 'dropped'; reason: string }
      | { type: 'finished'; outcome: string; ms: number },
  ): void {
    this.#options.emit({ ...event, at: this.#options.clock.now(), messageId: message.id, channel: message.channel });
  }
}

function seqsByLane(ended: readonly EndedRun[]): readonly (readonly [string, ReadonlySet<number>])[] {
  const lanes = Map.groupBy(ended, ({ row }) => row.lane);
  return [...lanes].map(([lane, runs]) => [lane, new Set(runs.map(({ row }) => row.seq))]);
}

/** What one channel sees of the gateway. */
export function channelHost(
  gateway: Gateway,
  journal: Journal,
  source: { readonly channel: string; readonly account: string },
  report: Pick<ChannelHost, 'health' | 'ended'>,
): ChannelHost {
  return {
    receive: (batch, cursor) => gateway.receive(source, batch, cursor),
    cursor: () => journal.cursor(source.channel, source.account),
    health: report.health,
    ended: report.ended,
  };
}

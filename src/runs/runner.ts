// claimed row -> prepare -> session -> agent -> commit 4 (lines + parts + DONE in one transaction)
import { runAgent } from '../agent/run.ts';
import { isAwaited, isBackground } from '../core/awaited.ts';
import { jobOf } from '../core/child.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { FailureKind } from '../core/model.ts';
import { INTERRUPTED } from '../core/queueing.ts';
import { channelOf, type RunRow, targetOf } from '../core/run.ts';
import type { AgentResult } from '../core/turn.ts';
import { type AnswerPlace, INTERRUPTED_MARK } from '../delivery/answer-place.ts';
import { failureText } from '../llm/failure-text.ts';
import { accessOf } from './access.ts';
import { AnsweredBy, withExtras } from './answer-extras.ts';
import { DelayNotice } from './delay-notice.ts';
import { withTools } from './end-texts.ts';
import { type End, type Ended, kindsOf, onlyWords, resultOf, withNotice, withTaint } from './ended.ts';
import { type Finish, RunStopped } from './finish.ts';
import { endOf } from './job-end.ts';
import { LearntWindows } from './learnt-windows.ts';
import { askMessageIn, tellMessageOut } from './message-hooks.ts';
import { NotedRuns } from './noted-runs.ts';
import { placeWaits } from './parking.ts';
import { type Prepared, startsWithCall } from './prepare.ts';
import { prepareRun } from './prepare-run.ts';
import { limitsOfRun } from './profile.ts';
import { progressAtEnd } from './progress.ts';
import { inputLine } from './remains.ts';
import { tellFailed, watchInput } from './run-events.ts';
import type { RunnerOptions } from './runner-options.ts';
import { StepWrites } from './step-writes.ts';
import { withChildren } from './sub-agent-result.ts';
import { endParts, Progress, taskPrompt } from './task-run.ts';
import { usedBelow } from './token-shares.ts';
import { type Told, toldTo } from './told.ts';
import { sessionWorkspace } from './workspace.ts';

/** The model had nothing to say (F29): to ask the same again is the person's choice, not a repair. */
const ANSWERED_WITH_NOTHING: readonly FailureKind[] = ['empty', 'content-filter'];

/** One attempt at a run. */
interface Running {
  readonly row: RunRow;
  /** The claim is on disk, and what an earlier attempt showed is known. */
  readonly ready: Promise<unknown>;
  readonly writes: StepWrites;
}

/** Runs whatever began work. One instance for the daemon; it keeps no state of a run. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #windows: LearntWindows;
  #stopping = false;
  readonly #noted: NotedRuns;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#windows = new LearntWindows(options.clock);
    this.#noted = new NotedRuns(options.journal);
  }

  /** Shutdown began: every running turn stops after the step it is recording, and its row is NEW again. */
  stopAtNextStep(): void {
    this.#stopping = true;
  }

  /** As `Compaction.idle`. */
  async summarised(): Promise<void> {
    await this.#options.compaction.idle();
  }

  /** The run of this key, if it runs, has a note more on disk. */
  readonly noted = (key: string): void => this.#noted.noted(key);

  /**
   * One turn until its outcome is known; what it returns commits it. Both reject only when the journal could
   * not be written (nothing was committed then): every other failure is an outcome, with a notice in the
   * chat.
   */
  async run(row: RunRow, signal: AbortSignal, durable: Promise<unknown>): Promise<Finish | undefined> {
    const { clock, emit } = this.#options;
    const started = clock.monotonic();
    const { key: messageId } = row;
    this.#noted.begin(messageId);
    const channel = channelOf(row);
    const at = clock.now();
    emit({ type: 'started', at, messageId, session: row.session, channel, attempt: row.attempts, waitedMs: at - row.acceptedAt });
    const place = this.#options.answers.answer(row);
    const writes = new StepWrites(row, signal, this.#options);
    try {
      const ready = Promise.all([durable, place.open()]);
      ready.catch(() => undefined); // seen below
      if (!startsWithCall(row)) await ready;
      const result = await this.#result({ row, writes, ready }, signal);
      if (!result) return undefined;
      await ready;
      const placed = await withChildren(row, { ...result, ...(await place.of(result)) }, this.#options, signal);
      return async () => {
        // A failed step is on disk before what came of it. One that is not judged yet shares the transaction.
        await writes.settled();
        await this.#finish(row, placed, started, place);
        await writes.settled();
      };
    } finally {
      place.end();
      this.#noted.end(messageId);
    }
  }

  async #finish(row: RunRow, result: Ended, started: number, place: AnswerPlace): Promise<void> {
    const { clock, emit, journal, transcripts, onParts } = this.#options;
    const ms = clock.monotonic() - started;
    // The stop has ended the row already, and has written its lines.
    const isCancelled = result.outcome === 'cancelled' || result.outcome === INTERRUPTED;
    const seen = (session: string): void => {
      // In the order of the commits: another one may begin the session anew.
      transcripts.committed(session, result.lines);
      onParts(result.parts);
    };
    const committed = !isCancelled && (await journal.finish({ ...result, ms }, seen));
    if (!committed) await place.abandon(result.outcome === INTERRUPTED ? INTERRUPTED_MARK : undefined);
    if (committed) {
      if (result.outcome === 'answered') this.#options.onAnswered?.(row, ms);
      result.onDisk?.();
      tellMessageOut(row, result, this.#options.hooks);
      if (row.profile === 'session' && result.lines.length > 0) this.#options.compaction.after(row, result.lines.length);
      if (!result.waits) await progressAtEnd(row, this.#options);
    } else if (!isCancelled) return; // fenced: another process owns the row and reports its end
    const about = { at: clock.now(), messageId: row.key, session: row.session, channel: channelOf(row), ms };
    if (result.waits) emit({ ...about, type: 'parked', waits: result.waits.length, kinds: kindsOf(result.waits) });
    else {
      emit({ ...about, type: 'finished', outcome: result.outcome });
      this.#options.onEnded?.(row);
    }
  }

  async #result(running: Running, signal: AbortSignal): Promise<Ended | undefined> {
    const { row } = running;
    try {
      return await this.#outcome(running, signal);
    } catch (error) {
      if (isGatehouseError(error) && (error.code === 'GH1301' || error.code === 'GH1302')) throw error;
      if (signal.aborted) return await this.#stopped(row, signal);
      const code = isGatehouseError(error) ? error.code : 'GH2003';
      tellFailed(row, { code, detail: errorText(error) }, this.#options);
      const { lines, tools } = this.#options.remains(row, await this.#options.journal.steps(row.seq));
      const text = `⚠️ I could not answer this: something failed inside the gateway (${code}). Your message is kept; its owner can run it again.`;
      return this.#done(row, { state: 'DEAD', outcome: `failed:${code}`, text: withTools(text, tools), lines });
    }
  }

  async #outcome(running: Running, signal: AbortSignal): Promise<Ended | undefined> {
    const { row, ready } = running;
    const end = (await this.#options.instead(row, ready, signal)) ?? (await askMessageIn(row, this.#options, signal));
    if (end) return this.#done(row, end);

    const target = targetOf(row);
    using _typing = target && isAwaited(row) ? this.#options.typing(target) : undefined;
    const workspace = sessionWorkspace(this.#options.dataDir, row.workspace ?? row.session);
    const prepared = await prepareRun(row, workspace, this.#options, signal);
    if ('refused' in prepared) return this.#done(row, prepared.refused);
    const told = await toldTo(row, this.#options, signal);
    const result = await this.#runAgent(running, { ...prepared, ...told, workspace }, signal);
    const { ownSession } = told;
    const at = ownSession === undefined ? await this.#moved(row) : { ...row, session: ownSession };
    const ended = await this.#conclude(at, result, { signal, told });
    const own = ended && { ...withTaint(ended, result.taint), notes: result.notes };
    return own && (ownSession === undefined ? own : { ...own, session: ownSession });
  }

  /** Its session may have been begun anew while it ran: then it ends in what that was. */
  async #moved(row: RunRow): Promise<RunRow> {
    const session = await this.#options.journal.sessionOf(row);
    return session === undefined || session === row.session ? row : { ...row, session };
  }

  async #conclude(
    row: RunRow,
    result: AgentResult,
    { signal, told }: { readonly signal: AbortSignal; readonly told: Told },
  ): Promise<Ended | undefined> {
    const { outcome, files, choices } = result;
    const beside = row.message?.beside;
    const lines = beside === undefined ? result.lines : onlyWords(result.lines, beside);
    switch (outcome.kind) {
      case 'parked': {
        const { questions } = this.#options;
        const placed = await placeWaits(row, outcome.waits, { questions, taint: result.taint });
        const { historyTo } = told;
        return { ...this.#done(row, { state: 'PARKED', outcome: 'parked' }), ...placed, historyTo };
      }
      case 'answered':
        return this.#done(row, {
          ...{ state: 'DONE', outcome: 'answered', files, choices, lines },
          text: await this.#noted.marked(row, outcome.text),
        });
      case 'limit':
        return this.#done(row, { state: 'DONE', outcome: `limit:${outcome.limit}`, text: outcome.text, files, lines });
      case 'failed': {
        const { kind, code } = outcome.failure;
        const { tools } = this.#options.remains(row, await this.#options.journal.steps(row.seq));
        const end = { outcome: `failed:${code}`, text: withTools(failureText(outcome.failure), tools), lines };
        // What is run again attaches its files then.
        const isOver = ANSWERED_WITH_NOTHING.includes(kind);
        return this.#done(row, isOver ? { ...end, state: 'DONE', files } : { ...end, state: 'DEAD' });
      }
      case 'aborted':
        return await this.#stopped(row, signal);
    }
  }

  /**
   * After /stop the row is DONE already. After a shutdown it is NEW again with its steps, for the next start.
   */
  async #stopped(row: RunRow, signal: AbortSignal): Promise<Ended | undefined> {
    const by = signal.reason instanceof RunStopped ? signal.reason.by : undefined;
    if (by === 'user' || by === 'newer')
      return this.#done(row, { state: 'DONE', outcome: by === 'user' ? 'cancelled' : INTERRUPTED });
    await this.#options.journal.release(row.seq, row.generation);
    return undefined;
  }

  #done(row: RunRow, end: End): Ended {
    const own = endOf(row, end);
    const { state, outcome, text, lines = [] } = own;
    const parts = endParts(row, own, this.#options);
    const ended = { seq: row.seq, generation: row.generation, state, outcome, lines, parts };
    const isRead = row.source.kind === 'run' || row.source.kind === 'api' || row.profile === 'task';
    return isRead && text !== undefined ? { ...ended, result: resultOf(own, text) } : ended;
  }

  async #runAgent(
    { row, writes, ready }: Running,
    turn: Prepared & Told & { readonly workspace: string },
    signal: AbortSignal,
  ): Promise<AgentResult> {
    const { journal, clock, limits, tellsDelays } = this.#options;
    const { key } = row;
    const channel = channelOf(row);
    const job = jobOf(row);
    const target = targetOf(row);
    const ended = new AbortController();
    const delay = target && isAwaited(row) && tellsDelays(channel) ? new DelayNotice(target, this.#options) : undefined;
    const recorded = await journal.steps(row.seq);
    const begun = clock.monotonic();
    const answered = new AnsweredBy(recorded);
    this.#noted.found(key, recorded);
    const chosen = await this.#options.choices.of(row);
    const input = inputLine(row, { opening: turn.opening, content: taskPrompt(row, turn.text), media: turn.media });
    const own = limitsOfRun(row, limits);
    const progress = new Progress(row, own, recorded);
    if (recorded.length === 0) watchInput(row, input.content, this.#options);
    await using held = new AsyncDisposableStack();
    const result = await runAgent({
      runId: key,
      system: this.#options.system(),
      ...{ history: turn.history, settled: turn.settled, notes: turn.notes, ranMs: row.ranMs ?? 0 },
      ...{ input, notice: turn.notice },
      tools: this.#options.tools(row, turn.taint, held),
      access: accessOf(row, turn, this.#options),
      hooks: this.#options.hooks,
      ...chosen,
      summaries: this.#options.models(row),
      windows: this.#windows.current(),
      limits: own,
      usedBelow: async () => usedBelow(await journal.children.tokens(row)),
      ...(isBackground(row) ? { keepsTools: true as const } : {}),
      steps: {
        recorded,
        record: async (step, usage) => {
          const taint = turn.taint | (step.taint ?? 0);
          answered.add(usage);
          if (!(await writes.write(progress.with(taint === 0 ? step : { ...step, taint }), usage)))
            ended.abort(new RunStopped('fenced'));
          else if (this.#stopping && step.state === 'DONE') ended.abort(new RunStopped('shutdown'));
          ended.signal.throwIfAborted();
        },
        notes: () => this.#noted.newOf(row),
      },
      workspace: turn.workspace,
      session: row.session,
      channel,
      principal: row.authority.principal,
      ...(job === undefined ? {} : { job }),
      queuedMs: clock.now() - row.acceptedAt,
      emit: delay?.emit ?? this.#options.emit,
      ...{ clock, ready },
      signal: AbortSignal.any([signal, ended.signal]),
    });
    await delay?.settled();
    const spent = { answered, model: chosen.model.id, ms: (row.ranMs ?? 0) + clock.monotonic() - begun };
    return await withExtras(withNotice(result, turn.notice), row, { extras: this.#options.extras, spent, signal });
  }
}

/**
 * The agent loop: check limits -> repair and trim the history -> model -> tools -> again, until the model
 * ends its turn. Every model answer and tool call is a durable step before the next thing happens, so a later
 * attempt continues where a crash cut this one off (design.md 3, commits 2 and 3). The final answer is
 * durable together with the turn's end.
 */
import type { Choice } from '../core/message.ts';
import type { Image, ModelFailure, ModelRequest } from '../core/model.ts';
import type { SessionMessage, ToolCall } from '../core/session.ts';
import type { AttachedFile } from '../core/tool.ts';
import type { AgentOutcome, AgentResult, AgentRun } from '../core/turn.ts';
import type { NewWait } from '../core/wait.ts';
import { estimateRequestTokens } from '../llm/tokens.ts';
import { type AgentEmit, agentEmit } from './agent-emit.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { callWithHooks } from './hooks.ts';
import { endText, type LimitKind, notRunText, systemWith } from './limits.ts';
import { LOOP_WARNING, LoopDetector } from './loop-detection.ts';
import { callerOf, callModel, emptyFailure, failureTitle, isEmpty, toolCallsOf, usageEntry } from './model-call.ts';
import { offered } from './offered.ts';
import { callWithinWindow } from './overflow.ts';
import { loadImages, withImageNotes } from './read-images.ts';
import { repairHistory } from './repair.ts';
import { Replay, toolsOfFirstStep } from './replay.ts';
import { Steering } from './steering.ts';
import { encodeAnswer, type StoredAnswer, storedInput } from './stored-steps.ts';
import { TokenBudget } from './token-budget.ts';
import { ownCalls, runToolCalls } from './tool-calls.ts';
import { ToolShelf } from './tool-shelf.ts';
import { toolSignature } from './tool-signature.ts';
import { trimHistory } from './trim.ts';
import { answerLine, resultLine, turnLine } from './turn-lines.ts';
import { modelWait, verdictOf, waitsOf, withNotes } from './waiting.ts';
import { WorkingMessages } from './working-messages.ts';

/** Waits before the second, third and fourth try of a call that came back empty (spec B7). ms. */
const EMPTY_WAITS_MS = [1_000, 2_000, 4_000];
/** Stands below an answer that the output limit cut. */
const CUT_MARK = '[The answer was cut here: it reached the output limit of the model. Write "continue" for the rest.]';

/**
 * Runs one turn. Provider failures, limits and aborts are outcomes. Rejects only when a step could not be
 * made durable (the journal's error): nothing that needed it was started, and the run may be tried again.
 */
export async function runAgent(run: AgentRun): Promise<AgentResult> {
  const wallClockMs = Math.max(0, run.limits.wallClockMs - (run.ranMs ?? 0));
  using deadline = startDeadline({ ...run.limits, wallClockMs }, run.clock);
  // `await`, else the deadline would be disposed of before the run began to wait for anything.
  return await new AgentLoop(run, deadline).run();
}

/** An answer to go on with, or the end of the turn. */
type Next = { readonly kind: 'answer'; readonly stored: StoredAnswer } | { readonly kind: 'end'; readonly outcome: AgentOutcome };

class AgentLoop {
  readonly #run: AgentRun;
  readonly #emit: AgentEmit;
  readonly #replay: Replay;
  readonly #working: WorkingMessages;
  readonly #steering: Steering;
  readonly #deadline: Deadline;
  readonly #signal: AbortSignal;
  readonly #detector = new LoopDetector();
  readonly #shelf: ToolShelf;
  readonly #lines: SessionMessage[];
  readonly #files: AttachedFile[] = [];
  #choices: readonly Choice[] = [];
  readonly #toolsRun: string[] = [];
  /** By the id of their line; read once, when the next call is really made. */
  readonly #images = new Map<string, readonly Image[]>();
  readonly #budget: TokenBudget;
  #iterations = 0;
  /** How many lines there were at the first call that was really made. */
  #resumedAt: number | undefined;
  #warned = false;
  /** Bits of what it has read by now. */
  #taint: number;

  constructor(run: AgentRun, deadline: Deadline) {
    this.#replay = new Replay(run.steps.recorded);
    const tools = toolsOfFirstStep(run.tools, this.#replay);
    this.#shelf = new ToolShelf(offered({ ...run, tools }));
    this.#run = { ...run, tools: [...tools, ...this.#shelf.own] };
    this.#taint = run.access.taint | this.#replay.taint;
    this.#budget = new TokenBudget(run);
    this.#emit = agentEmit(run);
    this.#working = new WorkingMessages(run, this.#replay);
    this.#steering = new Steering(run, this.#replay);
    this.#deadline = deadline;
    this.#signal = AbortSignal.any([run.signal, deadline.signal]);
    this.#lines = [this.#replay.inputOf(run.input)];
  }

  async run(): Promise<AgentResult> {
    let outcome: AgentOutcome | undefined;
    try {
      while (outcome === undefined) outcome = await this.#iterate();
    } catch (error) {
      // A fenced step log rejects with the abort's reason; anything else is the caller's to see.
      if (!this.#run.signal.aborted) throw error;
      outcome = { kind: 'aborted' };
    }
    this.#close(outcome);
    const lines = outcome.kind === 'aborted' || outcome.kind === 'parked' ? [] : this.#lines;
    return {
      ...{ outcome: this.#steering.ended(outcome), lines, files: this.#files, choices: this.#choices },
      ...{ usage: this.#budget.own, taint: this.#taint, iterations: this.#iterations, notes: this.#steering.seen },
    };
  }

  async #iterate(): Promise<AgentOutcome | undefined> {
    if (this.#run.signal.aborted) return { kind: 'aborted' };
    const limit = await this.#reachedLimit();
    if (limit) return this.#limited(limit);
    this.#iterations += 1;
    this.#deadline.step();
    const next = await this.#nextAnswer();
    if (next.kind === 'end') return next.outcome;
    // The answer is on disk; a stop that came meanwhile still wins over showing it.
    if (this.#run.signal.aborted) return { kind: 'aborted' };
    const { answer } = next.stored;
    const calls = toolCallsOf(answer);
    if (calls.length === 0) {
      this.#lines.push(answerLine(this.#run.runId, this.#iterations, next.stored, []));
      const text = answer.stop === 'length' ? `${answer.text}\n\n${CUT_MARK}` : answer.text;
      return (await this.#steering.goesOn(text)) ? undefined : { kind: 'answered', text };
    }
    return this.#runTools(next.stored, calls);
  }

  async #reachedLimit(): Promise<LimitKind | undefined> {
    if (this.#iterations >= this.#run.limits.maxIterations) return 'iterations';
    if (await this.#budget.isUsedUp({ isReplaying: this.#replay.hasAnswer })) return 'tokens';
    return this.#deadline.over;
  }

  #limited(limit: LimitKind): AgentOutcome {
    const progress = { modelCalls: this.#iterations, tools: this.#toolsRun, lines: this.#lines };
    return { kind: 'limit', limit, text: endText(limit, this.#run.limits, progress) };
  }

  /** The recorded answer or a new one, asked for again while it comes back with nothing. */
  async #nextAnswer(): Promise<Next> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#answerOnce();
      if (answer.kind !== 'empty') return answer;
      const waitMs = EMPTY_WAITS_MS[attempt];
      if (waitMs === undefined) return this.#ended(answer.failure);
      this.#emit({ type: 'model.restart', reason: 'empty' });
      if (!answer.replayed) await this.#sleep(waitMs);
      if (this.#signal.aborted) return this.#ended(answer.failure);
    }
  }

  async #answerOnce(): Promise<Next | { readonly kind: 'empty'; readonly failure: ModelFailure; readonly replayed: boolean }> {
    const recorded = this.#replay.nextAnswer();
    this.#taint |= await this.#steering.read(recorded, this.#lines);
    const stored = recorded ?? (await this.#callModel());
    if ('wait' in stored) return this.#parked([stored.wait]);
    if ('failure' in stored) {
      const { failure } = stored;
      // The one call that a person let pass a limit has been made, and was billed.
      const isAllowed = verdictOf(this.#run, this.#replay.n).verdict === 'allow';
      if (failure.kind === 'empty' && failure.retryable && !isAllowed) return { kind: 'empty', failure, replayed: false };
      return this.#ended(failure);
    }
    this.#budget.add(stored.answer.usage);
    if (!isEmpty(stored.answer)) return { kind: 'answer', stored };
    const failure = emptyFailure(stored.answer);
    // A cut or withheld answer ends the same way when it is asked for again, and is paid for again.
    return failure.kind === 'empty' ? { kind: 'empty', failure, replayed: recorded !== undefined } : this.#ended(failure);
  }

  /** One real call. Its answer and usage are durable before a tool runs or another call is made for it. */
  async #callModel(): Promise<StoredAnswer | { readonly failure: ModelFailure } | { readonly wait: NewWait }> {
    const { model, clock, steps, ready } = this.#run;
    this.#resumedAt ??= this.#lines.length;
    await loadImages(this.#images, this.#lines, { workspace: this.#run.workspace, emit: this.#emit, signal: this.#signal });
    await this.#working.update(this.#messages(), this.#signal);
    const call = { model, iteration: this.#iterations, emit: this.#emit, clock, signal: this.#signal, ready };
    const about = {
      iteration: this.#iterations,
      messages: this.#run.history.length + this.#lines.length,
      spent: this.#budget.own,
    };
    const outcome = await callWithHooks(this.#run, about, this.#signal, () =>
      callWithinWindow(this.#run, this.#request, (request) => callModel({ ...call, request })),
    );
    if (outcome.kind === 'failed') return { failure: outcome.failure };
    if (outcome.kind === 'wait') return { wait: { ...outcome.wait, callId: modelWait(this.#replay.n) } };
    const own = ownCalls(outcome.answer, this.#run, this.#iterations);
    const stored = { ...own, notes: this.#steering.seen, at: clock.now() };
    const n = this.#replay.takeN();
    const value = encodeAnswer(stored, n === 0 ? storedInput(this.#run) : undefined);
    const step = { n, kind: 'model', state: 'DONE', value } as const;
    const recorded = model.demo ? steps.record(step) : steps.record(step, usageEntry(this.#run, n, stored));
    if (this.#run.signal.aborted || isEmpty(stored.answer) || toolCallsOf(stored.answer).length > 0) await recorded;
    // Only the commit of the turn follows a final answer, in one transaction: `StepLog` sees to a failure.
    else recorded.catch(() => undefined);
    return stored;
  }

  /**
   * Pictures of earlier turns are named in their text, where a tool can find them; sent again, each would
   * cost its price again.
   */
  readonly #request = (window: number): ModelRequest => {
    const run = this.#run;
    const images = new Map([...this.#images].filter(([, shown]) => shown.length > 0));
    const beside = {
      tools: this.#shelf
        .described(this.#iterations)
        .map(({ name, description, parameters }) => ({ name, description, parameters })),
      ...(images.size === 0 ? {} : { images }),
    };
    const room = window - estimateRequestTokens({ messages: [], ...beside });
    const text = systemWith(run.system, run.limits, { modelCalls: this.#iterations, spent: this.#budget.spent });
    const system = this.#line('system', 'system', text, Date.parse(run.input.timestamp));
    const lines = withImageNotes(this.#working.of(this.#messages()), this.#images);
    const history = repairHistory([system, ...lines]);
    return {
      messages: trimHistory(history, Math.max(room, window / 2)),
      ...beside,
      ...(run.thinking === undefined ? {} : { thinking: run.thinking }),
      mayWait: verdictOf(run, this.#replay.n),
      context: { ...callerOf(run), queuedMs: run.queuedMs },
    };
  };

  #messages(): readonly SessionMessage[] {
    return [...this.#run.history, ...withNotes(this.#run, this.#lines, this.#resumedAt ?? 0)];
  }

  async #runTools(asked: StoredAnswer, calls: readonly ToolCall[]): Promise<AgentOutcome | undefined> {
    const repeating = this.#detector.observe(calls.map(toolSignature));
    if (repeating && this.#warned) {
      if (asked.answer.text.trim() !== '') this.#lines.push(answerLine(this.#run.runId, this.#iterations, asked, []));
      return this.#limited('loop');
    }
    const model = `${asked.answer.provider}/${asked.answer.model}`;
    const beside = { model, taint: this.#taint };
    const batch = { run: this.#run, replay: this.#replay, emit: this.#emit, signal: this.#signal, ...beside };
    this.#shelf.used(calls, this.#iterations);
    const results = await runToolCalls(calls, { ...batch, skipped: asked.skipped ?? 0 });
    for (const { taint = 0 } of results) this.#taint |= taint;
    const waits = waitsOf(this.#run, calls, results);
    if (waits.length > 0) return this.#parked(waits).outcome;
    this.#lines.push(answerLine(this.#run.runId, this.#iterations, asked, calls));
    for (const [i, call] of calls.entries()) {
      const stored = results[i];
      if (!stored) throw new Error('a tool call came back without a result');
      this.#toolsRun.push(call.name);
      const { output, files = [], choices = this.#choices } = stored.result;
      this.#files.push(...files);
      this.#choices = choices;
      const isLast = asked.notRun !== undefined && i === calls.length - 1;
      const told = isLast ? `${output}\n${notRunText(asked.notRun, this.#run.limits)}` : output;
      const result = { ...stored.result, output: told };
      this.#lines.push(resultLine(this.#run.runId, this.#iterations, i, call, { result, at: stored.at }));
    }
    if (repeating) {
      this.#warned = true;
      this.#lines.push(this.#line(`w${this.#iterations}`, 'system', LOOP_WARNING, asked.at));
    }
    return undefined;
  }

  /** Who was told to stop does not wait. */
  #parked(waits: readonly NewWait[]): Extract<Next, { kind: 'end' }> {
    return { kind: 'end', outcome: this.#run.signal.aborted ? { kind: 'aborted' } : { kind: 'parked', waits } };
  }

  /** The run's own abort and its deadline both reach the model as an abort; only here they part again. */
  #ended(failure: ModelFailure): Extract<Next, { kind: 'end' }> {
    if (this.#run.signal.aborted) return { kind: 'end', outcome: { kind: 'aborted' } };
    if (this.#deadline.over) return { kind: 'end', outcome: this.#limited(this.#deadline.over) };
    return { kind: 'end', outcome: { kind: 'failed', failure } };
  }

  /** Returns early on an abort; the caller looks at the signal. */
  async #sleep(ms: number): Promise<void> {
    try {
      await this.#run.clock.sleep(ms, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }

  /** An assistant line ends every turn: some providers refuse a tool result before the next user message. */
  #close(outcome: AgentOutcome): void {
    if (outcome.kind !== 'limit' && outcome.kind !== 'failed') return;
    const text = outcome.kind === 'limit' ? outcome.text : `[no answer: ${failureTitle(outcome.failure)}]`;
    this.#lines.push(this.#line('end', 'assistant', text, this.#run.clock.now()));
  }

  #line(suffix: string, role: SessionMessage['role'], content: string, at: number): SessionMessage {
    return turnLine(this.#run.runId, suffix, role, content, at);
  }
}

import { callKey } from '../core/call-key.ts';
import { shortHash } from '../core/ids.ts';
import type { ModelAnswer } from '../core/model.ts';
import type { ToolCall } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import type { Tool } from '../core/tool.ts';
import { canonicalName } from '../core/tool-groups.ts';
import type { AgentRun } from '../core/turn.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { settleOrLeave } from '../lib/settle-or-leave.ts';
import { parseArguments, runTool } from '../tools/run.ts';
import type { AgentEmit } from './agent-emit.ts';
import { type Gate, gateCall, mayStillRun } from './approve.ts';
import { guardResult } from './guard.ts';
import { holdWorkspace } from './hold-workspace.ts';
import { askBeforeCall, tellAfterCall } from './hooks.ts';
import { offered, usable } from './offered.ts';
import type { Replay } from './replay.ts';
import { encodeCall, type StoredAnswer, type StoredCall } from './stored-steps.ts';
import { argsHash, toolSignature } from './tool-signature.ts';
import { NOT_RUN, UNKNOWN } from './turn-lines.ts';
import { goingOn, mayRunAgain, mayWait, settledResult } from './waiting.ts';

export interface ToolBatch {
  readonly run: AgentRun;
  readonly replay: Replay;
  readonly emit: AgentEmit;
  /** As `GatedCall`: who asked for the calls, and what the run had read when they were asked for. */
  readonly model: string;
  readonly taint: number;
  /** So many of the last calls are not run: see `StoredAnswer.skipped`. */
  readonly skipped: number;
  /** The run's signal or its deadline, whichever comes first. */
  readonly signal: AbortSignal;
}

/** The calls of one answer together: those that are not made because an earlier one is alone of its kind. */
interface Batch extends ToolBatch {
  readonly refused: ReadonlyMap<ToolCall, string>;
}

/** Calls of one answer that are looked at: more is a broken model. */
const MOST_CALLS = 1_000;
/** Longest echo of a tool name that the model made up. */
const NAME_CHARS = 100;

/**
 * The answer with calls that have ids of our own, the same on every attempt: providers repeat theirs over
 * turns, and a recorded step is found by its id. The same call asked for twice in one answer runs once (spec
 * C3). Of what remains, calls beyond `limits.callsRun` are answered as skipped, and those beyond
 * `limits.maxToolCalls` are only counted, and the provider's state goes with them: it speaks of all calls,
 * and a provider would refuse it. The provider's ids are kept for when the answer goes back to it.
 */
export function ownCalls(
  answer: ModelAnswer,
  { runId, limits }: AgentRun,
  iteration: number,
): Pick<StoredAnswer, 'answer' | 'notRun' | 'skipped'> {
  const { providerState: _state, ...stateless } = answer;
  if (answer.toolCalls.length === 0) return { answer };
  const same = [...Map.groupBy(answer.toolCalls.slice(0, MOST_CALLS), toolSignature).values()];
  const kept = same.slice(0, limits.maxToolCalls);
  const notRun = same.length - kept.length + Math.max(0, answer.toolCalls.length - MOST_CALLS);
  const { callsRun = kept.length } = limits;
  const skipped = kept.length > callsRun ? { skipped: kept.length - callsRun } : {};
  const prefix = `call_${shortHash(runId)}_${iteration}`;
  const toolCalls = kept.flatMap((calls, i) => {
    const [call] = calls;
    if (!call) return [];
    return [{ id: `${prefix}_${i}`, name: call.name, arguments: call.arguments, provider_ids: calls.map(({ id }) => id) }];
  });
  return notRun > 0
    ? { answer: { ...stateless, toolCalls }, notRun, ...skipped }
    : { answer: { ...answer, toolCalls }, ...skipped };
}

/**
 * Runs the calls of one answer, `limits.toolsAtOnce` at a time, and waits for all. Results come in the order
 * of the calls, one each. Rejects only when the step log does (with the calls still running told to stop
 * first); after the run's own abort even that is a result.
 */
export async function runToolCalls(calls: readonly ToolCall[], batch: ToolBatch): Promise<readonly StoredCall[]> {
  const failing = new AbortController();
  const queue = new BoundedQueue(batch.run.limits.toolsAtOnce);
  const own = calls.map((call) => underOwnName(call, batch.run.tools));
  const refused = beyondFirst(own, batch.run.tools);
  const stoppable = { ...batch, refused, signal: AbortSignal.any([batch.signal, failing.signal]) };
  const { callsRun = calls.length } = batch.run.limits;
  const ran = calls.length - batch.skipped;
  const settled = await Promise.allSettled(
    own.map((call, i) =>
      queue.run(async () => {
        if (i >= ran) return notEnded(batch, skippedText(callsRun), 'not-run');
        try {
          return await runCall(call, stoppable);
        } catch (error) {
          failing.abort(error);
          throw error;
        }
      }),
    ),
  );
  return settled.map((result) => {
    if (result.status === 'fulfilled') return result.value;
    if (!batch.run.signal.aborted) throw result.reason;
    return notEnded(batch, UNKNOWN, 'unknown');
  });
}

/** Spec P12. Not recorded: the answer says how many were skipped. */
function skippedText(callsRun: number): string {
  return `Error: skipped: too many calls in one answer, only the first ${callsRun} ran. Ask again for this one if it is still needed.`;
}

/** Hooks, policies and people know a tool by one name, whichever it was called by. */
function underOwnName(call: ToolCall, tools: readonly Tool[]): ToolCall {
  const name = canonicalName(call.name);
  const isAlias = name !== call.name && tools.every((tool) => tool.name !== call.name);
  return isAlias && tools.some((tool) => tool.name === name) ? { ...call, name } : call;
}

/** See `Tool.single`. A function of the answer alone: a later attempt refuses the same calls. */
function beyondFirst(calls: readonly ToolCall[], tools: readonly Tool[]): ReadonlyMap<ToolCall, string> {
  const refused = new Map<ToolCall, string>();
  const seen = new Set<string>();
  for (const call of calls) {
    const { single } = tools.find(({ name }) => name === call.name) ?? {};
    const parsed = parseArguments(call.name, call.arguments);
    if (!single || !parsed.ok || !single.of(parsed.args)) continue;
    if (seen.has(call.name)) refused.set(call, `Error: ${single.refusal}.`);
    seen.add(call.name);
  }
  return refused;
}

async function runCall(call: ToolCall, batch: Batch): Promise<StoredCall> {
  const { run, replay, emit, signal } = batch;
  const hash = argsHash(call);
  const recorded = replay.tool(call.id, hash);
  if (recorded?.done) return recorded.done;
  const tool = run.tools.find(({ name }) => name === call.name);
  const step = { n: recorded?.n ?? replay.takeN(), kind: 'tool', callId: call.id, argsHash: hash } as const;
  const waitedFor = recorded && tool && settledResult(run, call, tool);
  if (waitedFor) {
    const stored = { result: waitedFor, at: run.clock.now(), ...(tool.reads ? { taint: tool.reads } : {}) };
    // The wait is on disk with its value: nothing has to wait for this one, which `StepLog` sees to.
    recordDone(call, { ...step, endedAt: stored.at }, stored, batch).catch(() => undefined);
    return stored;
  }
  const going = recorded && tool && goingOn(run, call, tool);
  if (recorded && !going && !(tool && mayRunAgain(tool))) return await unknown(call, step, batch);
  if (!tool) return recordDone(call, step, notEnded(batch, unknownTool(call.name, offered(run)), 'not-run'), batch);
  const refusal = batch.refused.get(call);
  if (refusal !== undefined) return recordDone(call, { ...step, effect: 'none' }, notEnded(batch, refusal, 'not-run'), batch);
  using hold = await holdWorkspace(tool, call, batch);
  const { call: final, gate } = hold.late ?? (await gateFinal(call, recorded, { ...batch, tool }));
  // An earlier attempt may have run it: STARTED stays, and a turn that is resumed decides anew.
  const mayHaveRun = recorded !== undefined && !recorded.hasNoEffect;
  if (signal.aborted) return mayHaveRun ? notEnded(batch, UNKNOWN, 'unknown') : notEnded(batch, NOT_RUN, 'not-run');
  if (gate.kind === 'changed' || (gate.kind === 'refused' && going)) return await unknown(call, step, batch);
  // What goes on in this process was allowed when it began; to begin anew it would need a yes.
  if (gate.kind !== 'run' && !going) return await stopped(gate, call, step, { ...batch, tool });
  const approvedBy = gate.kind === 'run' ? gate.approvedBy : undefined;
  const allowed = approvedBy === undefined ? {} : { approvedBy };
  // Again where it has become more than what was recorded: an effect, or one that a person allowed since.
  const isMore = approvedBy !== undefined || (recorded?.hasNoEffect === true && tool.effect !== 'none');
  if (!recorded || isMore) {
    const began = { tool: tool.name, effect: tool.effect, ...(recorded ? {} : { startedAt: run.clock.now() }) };
    const value = { callId: call.id, name: call.name, ...(final === call ? {} : { replaced: final.arguments }) };
    await run.steps.record({ ...step, ...began, ...allowed, state: 'STARTED', value });
  }
  // Aborted while STARTED was being written: DONE follows, else a resumed turn would have to call it unknown.
  if (signal.aborted) {
    if (mayHaveRun) return notEnded(batch, UNKNOWN, 'unknown');
    const notRun = notEnded(batch, NOT_RUN, 'not-run');
    return recordDone(call, { ...step, effect: 'none', endedAt: notRun.at }, notRun, batch);
  }
  const went = going && (await execute(going.tool, final, batch));
  if (going?.lost() === 'unknown' || (gate.kind === 'ask' && going?.lost() !== undefined))
    return await unknown(call, step, batch);
  const result = went && going?.lost() === undefined ? went : await execute(tool, final, batch);
  // Left behind still running: STARTED without DONE is the truth about it.
  if (result === 'left') {
    emit({ type: 'tool.unknown', tool: call.name, callId: call.id });
    return notEnded(batch, UNKNOWN, 'unknown');
  }
  // STARTED stays: the result is what the wait comes to.
  if (result.result.wait) return result;
  return recordDone(call, { ...step, endedAt: result.at }, result, batch);
}

/** A call that began, and of which nothing more can be known. */
async function unknown(call: ToolCall, step: Omit<StepRecord, 'state'>, batch: ToolBatch): Promise<StoredCall> {
  batch.emit({ type: 'tool.unknown', tool: call.name, callId: call.id });
  return await recordDone(call, step, notEnded(batch, UNKNOWN, 'unknown'), batch);
}

/**
 * The call as it would run, perhaps changed by a hook, and whether it may. After a crash no hook is asked.
 */
async function gateFinal(
  call: ToolCall,
  recorded: ReturnType<Replay['tool']>,
  batch: ToolBatch & { readonly tool: Tool },
): Promise<{ readonly call: ToolCall; readonly gate: Gate }> {
  if (recorded) {
    const final = recorded.replaced === undefined ? call : { ...call, arguments: recorded.replaced };
    const gated = { ...batch, call: final };
    return { call: final, gate: recorded.hasNoEffect ? await gateCall(gated) : await mayStillRun(gated) };
  }
  const { run, signal } = batch;
  const answer = await askBeforeCall(run, call, signal);
  if (answer?.kind === 'deny') {
    const { reason, key } = answer;
    return { call, gate: { kind: 'refused', output: `[HOOK DENIED] ${reason}`, reason: `a hook said: ${reason}`, key } };
  }
  const final = answer?.kind === 'replace' ? { ...call, arguments: answer.args } : call;
  return { call: final, gate: await gateCall({ ...batch, call: final }) };
}

/** A call that does not begin: refused for good, or before a person has said yes. */
async function stopped(
  { kind, ...gate }: Exclude<Gate, { readonly kind: 'run' | 'changed' }>,
  call: ToolCall,
  step: Omit<StepRecord, 'state'>,
  batch: ToolBatch & { readonly tool: Tool },
): Promise<StoredCall> {
  const { reason, key } = gate;
  const about = { tool: batch.tool.name, callId: call.id, reason, ...(key === undefined ? {} : { key }) };
  if ('wait' in gate) {
    batch.emit({ type: 'tool.asked', ...about });
    return { result: { ok: false, output: '', wait: gate.wait }, needsYes: true, at: batch.run.clock.now() };
  }
  batch.emit({ type: 'tool.denied', ...about });
  return await recordDone(call, { ...step, effect: 'none' }, notEnded(batch, gate.output, 'not-run'), batch);
}

async function execute(tool: Tool, call: ToolCall, batch: ToolBatch): Promise<StoredCall | 'left'> {
  const { run, emit, signal } = batch;
  const startedAt = run.clock.monotonic();
  emit({ type: 'tool.started', tool: call.name, callId: call.id });
  const context = {
    callId: call.id,
    idempotencyKey: callKey(run.runId, call.id),
    workspace: run.workspace,
    clock: run.clock,
    taint: batch.taint,
    mayUse: () => usable(run, batch.model),
    progress: (text: string) => emit({ type: 'tool.progress', tool: call.name, callId: call.id, text }),
    signal,
  };
  const work = runTool(tool, call.arguments, context, { timeoutMs: run.limits.toolTimeoutMs, clock: run.clock });
  const settled = await settleOrLeave(work, signal, run.clock);
  if (settled === 'left') return 'left';
  // Before it is recorded: a later attempt is given what this one was.
  const result = guardResult(mayWait(tool, settled.value), { tool: call.name, callId: call.id }, emit);
  const ms = run.clock.monotonic() - startedAt;
  emit({ type: 'tool.done', tool: call.name, callId: call.id, ok: result.ok, ms });
  tellAfterCall(run, call, result, ms);
  const taint = (tool.reads ?? 0) | (result.taint ?? 0);
  return { result, at: run.clock.now(), ...(taint === 0 ? {} : { taint }) };
}

async function recordDone(
  call: ToolCall,
  step: Omit<StepRecord, 'state'>,
  stored: StoredCall,
  batch: ToolBatch,
): Promise<StoredCall> {
  const brought = stored.taint === undefined ? {} : { taint: stored.taint };
  await batch.run.steps.record({ ...step, ...brought, state: 'DONE', value: encodeCall(call, stored) });
  return stored;
}

function notEnded({ run }: ToolBatch, output: string, ended: StoredCall['ended']): StoredCall {
  return { result: { ok: false, output }, ...(ended ? { ended } : {}), at: run.clock.now() };
}

function unknownTool(name: string, tools: readonly Tool[]): string {
  const known = tools.map((tool) => tool.name).join(', ');
  return `Error: unknown tool ${name.slice(0, NAME_CHARS)}. Available: ${known === '' ? 'none' : known}`;
}

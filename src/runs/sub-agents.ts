// what a tool asks for -> limits of tree, conversation and answer -> the run of a sub-agent
import type { Authority } from '../core/authority.ts';
import type { Commits } from '../core/commit.ts';
import { childSession, sessionOfArchive } from '../core/ids.ts';
import type { NewRun, Report } from '../core/new-run.ts';
import { type RunRow, targetOf } from '../core/run.ts';
import type { Children, PlannedSubAgent, SubAgentCall, SubAgentRequest, SubAgents } from '../core/sub-agents.ts';
import type { RouterEntry } from '../llm/routing/provider-router.ts';
import { childOf, homeOf } from './child-run.ts';
import type { Choices } from './choices.ts';

/** What the config allows. */
export interface SubAgentLimits {
  /** Not over at the same time, of one conversation. */
  readonly atOnce: number;
  /** In all, by one request and what it leads to. */
  readonly ofTree: number;
  /** That these may use together; 0 = as many as they want. */
  readonly tokensOfTree: number;
}

export interface SubAgentsOptions {
  readonly journal: Commits & { readonly children: Children };
  readonly limits: () => SubAgentLimits;
  /** Which tool begins those that have sessions of their own with MCP servers. */
  readonly ownMcp: (tool: 'spawn' | 'dispatch_subagent') => boolean;
  readonly choices: Pick<Choices, 'inForce'>;
  readonly findModel: (name: string) => RouterEntry | undefined;
}

/** P12: what is beyond is not begun. */
const OF_ONE_ANSWER = 5;
/** R27: none of these, whichever type it is of. */
const NEVER = ['spawn', 'dispatch_subagent', 'start_task', 'ask_human'];

/** Of one attempt at a run. */
export class RunSubAgents implements SubAgents {
  readonly #row: RunRow;
  readonly #options: SubAgentsOptions;
  /** How many calls of each answer asked for one. */
  readonly #ofAnswer = new Map<string, number>();
  /** To be written when the run parks. */
  #planned = { count: 0, tokens: 0 };

  constructor(row: RunRow, options: SubAgentsOptions) {
    this.#row = row;
    this.#options = options;
  }

  async plan(request: SubAgentRequest, call: SubAgentCall, by: 'spawn' | 'dispatch_subagent'): Promise<PlannedSubAgent> {
    if (this.#row.profile === 'subagent') return refused('it is not available to sub-agents');
    const limits = this.#options.limits();
    const answer = answerOf(call.callId);
    const nth = (this.#ofAnswer.get(answer) ?? 0) + 1;
    this.#ofAnswer.set(answer, nth);
    if (nth > OF_ONE_ANSWER)
      return refused(`one answer may begin at most ${OF_ONE_ANSWER} sub-agents; this one may be begun by a later answer`);
    const { findModel, choices, journal } = this.#options;
    const named = request.model === undefined ? undefined : findModel(request.model);
    if (request.model !== undefined && !named) return refused(`no model is called ${JSON.stringify(request.model)}`);
    const model = named ?? (await choices.inForce(this.#row)).entry;
    const counts = await journal.children.counts(this.#row.key, this.#session);
    // Nothing is awaited from here on: calls side by side count each other.
    const { count, tokens } = this.#planned;
    if (counts.open + count >= limits.atOnce)
      return refused(`${limits.atOnce} sub-agents of this conversation are at work, which is the limit; wait for one of them`);
    if (counts.ofTree + count >= limits.ofTree)
      return refused(`this request has begun ${limits.ofTree} sub-agents, which is the limit; do the rest yourself`);
    const maxTokens = shareOf(limits, counts.tokensOfTree + tokens, request.maxTokens);
    if (maxTokens === undefined) return refused('the tokens of this request’s sub-agents are used up; do the rest yourself');
    if (!request.isBackground) this.#planned = { count: count + 1, tokens: tokens + maxTokens };
    const run = this.#runOf({ ...request, maxTokens }, call, model?.key, this.#options.ownMcp(by));
    return { kind: 'run', run: childOf(this.#row, run, call.taint ?? 0) };
  }

  /** Of its conversation, which may have begun anew since. */
  get #session(): string {
    return sessionOfArchive(this.#row.session);
  }

  async begin(run: NewRun): Promise<boolean> {
    const { seq, generation } = this.#row;
    return await this.#options.journal.commit([{ kind: 'run', run }], { seq, generation });
  }

  #runOf(
    { task, context, label, allow, deny, maxIterations, maxTokens, isBackground }: SubAgentRequest,
    { callId, idempotencyKey, mayUse }: SubAgentCall,
    model: string | undefined,
    ownMcp: boolean,
  ): NewRun {
    const own = childSession(this.#session, callId);
    const limits = {
      ...(maxIterations === undefined ? {} : { maxIterations }),
      ...(maxTokens ? { maxTokens } : {}),
    };
    return {
      key: idempotencyKey,
      source: { kind: 'run', parent: this.#row.key, callId },
      ...{ profile: 'subagent', lane: own, session: own },
      prompt: {
        text: promptText(task, context),
        task,
        ...{ media: [], at: new Date(this.#row.acceptedAt).toISOString(), limits },
        ...(model === undefined ? {} : { model }),
        child: { label, ...(ownMcp ? { ownMcp: true } : {}), ...(isBackground ? { report: this.#report() } : {}) },
      },
      authority: narrowedTo(this.#row.authority, { mayUse: mayUse?.(), allow, deny }),
    };
  }

  #report(): Report {
    const { authority, acceptedAt: since } = this.#row;
    const replyTo = targetOf(this.#row) && homeOf(this.#row);
    // Behind the messages of its conversation, also where the run itself is beside their order.
    const lane = this.#row.lane.replace(/##\d+$/, '');
    return { lane, session: this.#session, authority, since, ...(replyTo ? { replyTo } : {}) };
  }
}

/** Ids of the calls of one answer differ in their last part alone. */
export function answerOf(callId: string): string {
  return callId.slice(0, callId.lastIndexOf('_'));
}

function refused(reason: string): PlannedSubAgent {
  return { kind: 'refused', reason };
}

/** Without a wish, an equal share of what the tree may use. Undefined = nothing is left. */
function shareOf({ tokensOfTree, ofTree }: SubAgentLimits, used: number, asked = 0): number | undefined {
  if (tokensOfTree === 0) return asked;
  const left = tokensOfTree - used;
  const share = Math.max(1, Math.floor(tokensOfTree / ofTree));
  return left <= 0 ? undefined : Math.min(left, asked || share);
}

interface Narrow {
  readonly mayUse: readonly string[] | undefined;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/**
 * The tools that the run had when it asked, by name: what comes later, or is judged by the channel or the
 * model, is never more than that. Then what was asked for, and what no sub-agent has.
 */
function narrowedTo(authority: Authority, { mayUse, allow, deny }: Narrow): Authority {
  const had = mayUse ? [{ allow: mayUse, deny: [] }] : [];
  const type = { allow, deny: [...deny, ...NEVER], because: 'it is not available to sub-agents' };
  return { ...authority, policies: [...authority.policies, ...had, type] };
}

function promptText(task: string, context: string | undefined): string {
  const head =
    'You are a sub-agent: another agent has given you this task. Do it alone and do only this; nobody can be asked. ' +
    'Your last message is your result, so put all of it there, and say what is missing.';
  return [`[${head}]`, task, ...(context === undefined ? [] : [`Context:\n${context}`])].join('\n\n');
}

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
import { leftToGive, type Shares, shareOf } from './token-shares.ts';

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
  /** Tokens that this run may use, with its sub-agents; 0 = as many as it wants. */
  readonly maxTokens: (row: RunRow) => number;
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
  /** Budgets by key. Their rows may not be there yet: what a run waits for is written when it parks. */
  readonly #planned = new Map<string, number>();
  /** Keys of those in the background that are on disk. */
  readonly #begun = new Set<string>();

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
    const known = [...this.#planned.keys(), call.idempotencyKey];
    const counts = await journal.children.counts(this.#row.key, this.#session, known);
    const run = await this.#ownTokens(call.idempotencyKey);
    // Nothing is awaited from here on: calls side by side count each other.
    const count = this.#planned.size;
    if (counts.open + count - this.#begun.size >= limits.atOnce)
      return refused(`${limits.atOnce} sub-agents of this conversation are at work, which is the limit; wait for one of them`);
    if (counts.ofTree + count >= limits.ofTree)
      return refused(`this request has begun ${limits.ofTree} sub-agents, which is the limit; do the rest yourself`);
    const planned = [...this.#planned.values()].reduce((sum, tokens) => sum + tokens, 0);
    const tree = { most: limits.tokensOfTree, count: limits.ofTree, used: counts.tokensOfTree + planned };
    const share = shareOf({ asked: request.maxTokens ?? 0, tree, ...run?.() });
    if ('usedUp' in share) return refused(USED_UP[share.usedUp]);
    this.#planned.set(call.idempotencyKey, share.maxTokens);
    const child = this.#runOf({ ...request, ...share }, call, model?.key, this.#options.ownMcp(by));
    return { kind: 'run', run: childOf(this.#row, child, call.taint ?? 0) };
  }

  /**
   * Of the run itself, at the time it is called: what is planned meanwhile counts. Undefined = it has no
   * limit.
   */
  async #ownTokens(key: string): Promise<(() => Pick<Shares, 'run'>) | undefined> {
    const most = this.#options.maxTokens(this.#row);
    if (most === 0) return undefined;
    const use = await this.#options.journal.children.tokens(this.#row);
    return () => ({ run: { most, left: leftToGive(most, use, this.#planned, key) } });
  }

  /** Of its conversation, which may have begun anew since. */
  get #session(): string {
    return sessionOfArchive(this.#row.session);
  }

  async begin(run: NewRun): Promise<boolean> {
    const { seq, generation } = this.#row;
    const isBegun = await this.#options.journal.commit([{ kind: 'run', run }], { seq, generation });
    this.#begun.add(run.key);
    return isBegun;
  }

  #runOf(
    { task, context, instructions, label, allow, deny, isBackground, ...asked }: SubAgentRequest,
    { callId, idempotencyKey, mayUse }: SubAgentCall,
    model: string | undefined,
    ownMcp: boolean,
  ): NewRun {
    const own = childSession(this.#session, callId);
    const { maxIterations, maxTokens, contextWindow } = asked;
    const limits = {
      ...(maxIterations === undefined ? {} : { maxIterations }),
      ...(maxTokens ? { maxTokens } : {}),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
    return {
      key: idempotencyKey,
      source: { kind: 'run', parent: this.#row.key, callId },
      ...{ profile: 'subagent', lane: own, session: own },
      prompt: {
        text: promptText(task, context, instructions),
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
    const most = this.#options.maxTokens(this.#row);
    const bounds = most === 0 ? {} : { maxTokens: most };
    return { lane, session: this.#session, authority, since, ...bounds, ...(replyTo ? { replyTo } : {}) };
  }
}

/** Ids of the calls of one answer differ in their last part alone. */
export function answerOf(callId: string): string {
  return callId.slice(0, callId.lastIndexOf('_'));
}

function refused(reason: string): PlannedSubAgent {
  return { kind: 'refused', reason };
}

const USED_UP: Readonly<Record<'run' | 'request', string>> = {
  run: 'the tokens of this task are used up or given to sub-agents; answer with what you have',
  request: 'the tokens of this request’s sub-agents are used up; do the rest yourself',
};

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
  // Of a policy an empty list allows all.
  const had = mayUse ? [{ allow: mayUse, deny: mayUse.length === 0 ? ['*'] : [] }] : [];
  const type = { allow, deny: [...deny, ...NEVER], because: 'it is not available to sub-agents' };
  return { ...authority, policies: [...authority.policies, ...had, type] };
}

function promptText(task: string, context: string | undefined, instructions: string | undefined): string {
  const head =
    'You are a sub-agent: another agent has given you this task. Do it alone and do only this; nobody can be asked. ' +
    'Your last message is your result, so put all of it there, and say what is missing.';
  const how = instructions === undefined ? [] : [`How to work:\n${instructions}`];
  return [`[${head}]`, ...how, task, ...(context === undefined ? [] : [`Context:\n${context}`])].join('\n\n');
}

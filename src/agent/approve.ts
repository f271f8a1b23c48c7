// call -> policy -> runs, is refused, or waits for a person before it begins
import { createHash } from 'node:crypto';
import { errorText } from '../core/errors.ts';
import type { Verdict } from '../core/policy.ts';
import type { ToolCall } from '../core/session.ts';
import type { ApprovalFacts, Tool } from '../core/tool.ts';
import type { AgentRun, CallVerdict } from '../core/turn.ts';
import type { Question, SessionGrant, Wanted } from '../core/wait.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { spellOut } from '../lib/spell-out.ts';
import { failureText } from '../tools/define.ts';
import { parseArguments, withoutPaths } from '../tools/run.ts';

/** How long a person may take; nothing is held meanwhile. */
const ANSWER_MS = 24 * 3_600_000;
/** What is longer is not read in a chat, so it is not approved there (decisions.md). UTF-16 units. */
const CHAT_CHARS = 1_000;
const RULE_CHARS = 300;
/** The principal of the command line: no chat has it. */
const CLI_ONLY = ['cli'];

export interface GatedCall {
  readonly run: AgentRun;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** As `PolicyRun.model`: the one that asked for the call. */
  readonly model: string;
  /** Bits of all that the run has read. */
  readonly taint: number;
  readonly signal: AbortSignal;
}

export type Gate =
  /** `approvedBy`: id of the wait or grant that allows it. */
  | { readonly kind: 'run'; readonly approvedBy?: string }
  | { readonly kind: 'refused'; readonly output: string; readonly reason: string; readonly key?: string }
  /** Begun, perhaps with its effect, and not to run again: policy, person or what was allowed changed. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'ask'; readonly wait: Wanted; readonly reason: string; readonly key?: string };

/** The id of the wait for a yes, beside that of the call itself. */
export function approvalId(callId: string): string {
  return `${callId}!`;
}

/**
 * Decides on a call that has not begun. Never rejects. What a person allowed is compared
 * with what would run now: where it differs, they are asked anew.
 */
export async function gateCall(gated: GatedCall): Promise<Gate> {
  const { run, call, tool, model, taint } = gated;
  const parsed = parseArguments(tool.name, call.arguments);
  // It never reaches the tool: `runTool` answers it.
  if (!parsed.ok) return { kind: 'run' };
  const { policy, authority } = run.access;
  const verdict = policy.decide({ tool, args: parsed.args, taint }, { authority, channel: run.channel, model });
  if (verdict.kind === 'allow') return { kind: 'run' };
  if (verdict.kind === 'deny') return refused(tool, verdict);
  const facts = await factsOf(gated, parsed.args);
  if ('problem' in facts) return refused(tool, { reason: facts.problem });
  const digest = digestOf(tool, parsed.args, facts);
  const said = run.access.verdicts.get(approvalId(call.id));
  if (said && (said.digest === digest || !said.isAllowed)) return said.isAllowed ? approved(said) : refusedByPerson(tool, said);
  const grant = grantOf(gated, facts);
  const allowed = grant && (await run.access.granted(grant));
  if (allowed !== undefined) return { kind: 'run', approvedBy: allowed };
  const asked = { digest, shown: shownOf(parsed.args, facts), ...(grant ? { grant } : {}) };
  return { kind: 'ask', wait: questionOf(gated, verdict, asked), ...becauseOf(verdict) };
}

/**
 * Decides on a call that began before a crash and may have had its effect. One without an effect is decided
 * as one that has not begun. Where it may not run again its outcome is unknown, and never "refused".
 */
export async function mayStillRun(gated: GatedCall): Promise<Gate> {
  const { run, call, tool, model, taint } = gated;
  const parsed = parseArguments(tool.name, call.arguments);
  if (!parsed.ok) return { kind: 'run' };
  const { policy, authority, verdicts } = run.access;
  const verdict = policy.decide({ tool, args: parsed.args, taint }, { authority, channel: run.channel, model });
  const said = verdicts.get(approvalId(call.id));
  if (verdict.kind === 'deny' || said?.isAllowed === false) return { kind: 'changed' };
  if (said) {
    const facts = await factsOf(gated, parsed.args);
    return !('problem' in facts) && digestOf(tool, parsed.args, facts) === said.digest ? approved(said) : { kind: 'changed' };
  }
  if (verdict.kind === 'allow') return { kind: 'run' };
  const gate = await gateCall(gated);
  return gate.kind === 'refused' ? { kind: 'changed' } : gate;
}

function approved({ wait }: CallVerdict): Gate {
  return { kind: 'run', approvedBy: wait };
}

function refusedByPerson({ name }: Tool, { text }: CallVerdict): Gate {
  const reason = text === 'deny' ? 'a person said no' : text.replace(/^Error: /, '');
  return { kind: 'refused', reason, output: `Error: ${name} was not allowed: ${reason}. Do not try it in another way.` };
}

function refused({ name }: Tool, { reason, key }: { readonly reason: string; readonly key?: string }): Gate {
  return { kind: 'refused', output: `Error: ${name} is not allowed: ${reason}.`, reason, ...(key === undefined ? {} : { key }) };
}

function becauseOf({ reason, key }: Verdict): { readonly reason: string; readonly key?: string } {
  return { reason, ...(key === undefined ? {} : { key }) };
}

/** None = the arguments are all there is. */
async function factsOf(
  { run, tool, signal }: GatedCall,
  args: unknown,
): Promise<Partial<ApprovalFacts> | { readonly problem: string }> {
  try {
    return (await tool.approval?.(args, { workspace: run.workspace, signal })) ?? {};
  } catch (error) {
    const detail = (): string => withoutPaths(errorText(error), run.workspace);
    return { problem: failureText(error) ?? `what it would do could not be read (${detail()})` };
  }
}

/** Of exactly what a yes allows. */
function digestOf({ name }: Tool, args: unknown, { digest }: Partial<ApprovalFacts>): string {
  return createHash('sha256')
    .update(canonicalJson({ tool: name, args, facts: digest ?? null }))
    .digest('hex');
}

/** None where the tool has no rule, or one that is too long to be read in a chat. */
function grantOf({ run, tool, taint }: GatedCall, { rule }: Partial<ApprovalFacts>): SessionGrant | undefined {
  if (rule === undefined || rule.length > RULE_CHARS) return undefined;
  const { principal } = run.access.authority;
  const { session } = run;
  const of = { principal, session, tool: tool.name, rule };
  const digest = createHash('sha256')
    .update(canonicalJson({ ...of, taint }))
    .digest('hex');
  return { ...of, digest };
}

function shownOf(args: unknown, { shown }: Partial<ApprovalFacts>): string {
  const facts = shown === undefined ? [] : shown.split('\n').map((line) => spellOut(line).slice(1, -1));
  return [spellOut(args), ...facts].join('\n');
}

function questionOf(
  { run, tool }: GatedCall,
  verdict: Extract<Verdict, { readonly kind: 'ask' }>,
  { digest, shown, grant }: { readonly digest: string; readonly shown: string; readonly grant?: SessionGrant },
): Wanted {
  const { authority, asks, asker } = run.access;
  const isLong = shown.length > CHAT_CHARS;
  const block = `\`\`\`\n${shown}\n\`\`\``;
  const head = `🔐 May I use ${tool.name}? For ${authority.principal}: ${verdict.reason}.${asker === undefined ? '' : `\n${asker}.`}`;
  const long = `It has ${shown.length} characters, too many to check in a chat: read it with \`gatehouse questions list\`, and answer it there.`;
  const toPerson = verdict.by === 'requester' ? asks : undefined;
  const about: Question = {
    text: `${head}\n${isLong ? long : block}\n${grant ? `For this session it would be: ${spellOut(grant.rule)}\n` : ''}`,
    answer: 'approve',
    to: toPerson ?? 'owner',
    by: isLong ? CLI_ONLY : toPerson ? [authority.principal] : [],
    digest,
    ...(grant ? { grant } : {}),
    ...(isLong ? { whole: shown } : {}),
    expiresAt: run.clock.now() + ANSWER_MS,
  };
  return { kind: 'person', about, due: about.expiresAt, late: { ok: false, output: 'Error: no answer came in time' } };
}

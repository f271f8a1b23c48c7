import type { UsageEntry } from '../core/ledger.ts';
import type { OutboundFile } from '../core/message.ts';
import type { SessionMessage } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import type { Tool, ToolContext, ToolResult } from '../core/tool.ts';
import type { AgentRun, StepLog, ToolAccess } from '../core/turn.ts';
import { profiles } from '../runs/profile.ts';
import { FakeClock, recordEvents } from './fakes.ts';
import { scriptedModel } from './scripted-model.ts';

/** Steps in memory. `writes` holds every record in order, as a journal would have synced them by then. */
export class MemoryStepLog implements StepLog {
  readonly recorded: readonly StepRecord[];
  readonly writes: StepRecord[] = [];
  readonly usage: UsageEntry[] = [];
  /** Set to make the next writes reject. */
  failWith: (() => unknown) | undefined;

  constructor(recorded: readonly StepRecord[] = []) {
    // As a journal would hand them back: nothing but JSON survives.
    this.recorded = JSON.parse(JSON.stringify(recorded));
  }

  async record(step: StepRecord, usage?: UsageEntry): Promise<void> {
    if (this.failWith) throw this.failWith();
    await Promise.resolve();
    this.writes.push(step);
    if (usage && !this.usage.some(({ id }) => id === usage.id)) this.usage.push(usage);
  }
}

/** A tool that counts its runs; `run` may be replaced by what the test is about. */
export function countingTool(override: Partial<Tool> = {}): Tool & { runs: number; contexts: ToolContext[] } {
  const tool: Tool & { runs: number; contexts: ToolContext[] } = {
    name: 'echo',
    description: 'Repeats its arguments.',
    parameters: { type: 'object', properties: {} },
    tags: [],
    effect: 'outside',
    outputBytes: 50_000,
    ...override,
    runs: 0,
    contexts: [],
    async run(args: unknown, context: ToolContext): Promise<ToolResult> {
      tool.runs += 1;
      tool.contexts.push(context);
      return override.run ? override.run(args, context) : { ok: true, output: `echo ${JSON.stringify(args)}` };
    },
  };
  return tool;
}

export function line(role: SessionMessage['role'], content: string, override: Partial<SessionMessage> = {}): SessionMessage {
  return { id: `${role}-${content.slice(0, 8)}`, role, content, timestamp: '2026-01-01T00:00:00.000Z', ...override };
}

/** A file as the gateway's copy would describe it. */
export function outboundFile(name: string): OutboundFile {
  return { path: `/outbox/${name}`, name, mime: 'text/plain', kind: 'document', bytes: 3 };
}

/** Everything is allowed to the owner, unless the test says otherwise. */
export function anyAccess(override: Partial<ToolAccess> = {}): ToolAccess {
  const allowed = { kind: 'allow', reason: 'in tests' } as const;
  return {
    policy: { offered: (tools) => tools, decide: () => allowed },
    authority: { principal: 'test:user-1', role: 'owner', mode: 'full', policies: [] },
    ...{ taint: 0, verdicts: new Map(), granted: async () => undefined },
    ...override,
  };
}

export interface TestRun extends AgentRun {
  readonly clock: FakeClock;
  readonly steps: MemoryStepLog;
  readonly events: ReturnType<typeof recordEvents>['events'];
}

/** A run with every field set; override what the test is about. */
export function agentRun(override: Partial<AgentRun> & { clock?: FakeClock; steps?: MemoryStepLog } = {}): TestRun {
  const { emit, events } = recordEvents();
  return {
    runId: 'test/bot/m-1',
    system: 'You are a test.',
    history: [],
    input: line('user', 'please work', { id: 'test/bot/m-1' }),
    tools: [],
    access: anyAccess(),
    model: scriptedModel(['done']),
    limits: profiles({ maxOutputTokens: 4096 }).session,
    workspace: '/workspace',
    session: '_main:test:chat-1',
    channel: 'test',
    principal: 'test:user-1',
    queuedMs: 0,
    emit,
    signal: new AbortController().signal,
    events,
    ...override,
    clock: override.clock ?? new FakeClock(),
    steps: override.steps ?? new MemoryStepLog(),
  };
}

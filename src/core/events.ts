/** One record from which logs, status, typing, trace and metrics all come (decision D10). */
import type { ChannelHealth } from './channel.ts';

export interface EventBase {
  /** Epoch ms. */
  readonly at: number;
  /** Key of the run, or of the message, that it is about. Absent = it is about none. */
  readonly messageId?: string;
  readonly session?: string;
  readonly channel?: string;
}

export type RunEvent = EventBase &
  (
    | { readonly type: 'received' }
    | { readonly type: 'admitted'; readonly lane: string }
    /** `chat`: as `chatKey`, of what has no session. */
    | { readonly type: 'dropped'; readonly reason: string; readonly chat?: string }
    | { readonly type: 'queued'; readonly lane: string; readonly depth: number }
    | { readonly type: 'started'; readonly attempt: number; readonly waitedMs: number }
    | { readonly type: 'model.started'; readonly model: string; readonly iteration: number }
    | { readonly type: 'model.text'; readonly text: string }
    | { readonly type: 'model.restart'; readonly reason: string }
    /** A model failed or was too slow, and another takes over. */
    | { readonly type: 'model.switched'; readonly from: string; readonly to: string; readonly reason: string }
    /** The call waits this long before it goes on, because the provider asked for it. */
    | { readonly type: 'model.waiting'; readonly reason: string; readonly waitMs: number }
    /**
     * A limit on spending was met: what was done about it (`cheaper`, `no-tools`, `asked`, `allowed`,
     * `stopped`).
     */
    | {
        readonly type: 'budget';
        readonly limit: string;
        readonly step: string;
        readonly spentUsd: number;
        readonly limitUsd: number;
        /** The model whose unknown price no limit can count; absent: the limit itself was in the way. */
        readonly unpriced?: string;
      }
    | {
        readonly type: 'model.done';
        readonly model: string;
        readonly tokensIn: number;
        readonly tokensOut: number;
        /** null = unknown price. */
        readonly costUsd: number | null;
        readonly ms: number;
      }
    | {
        readonly type: 'model.failed';
        readonly model: string;
        readonly code: string;
        readonly kind: string;
        readonly detail: string;
        /** What the operator can do. Default: that of the code. */
        readonly hint?: string;
        readonly ms: number;
      }
    /** A call that a policy or a person refused; `key` of the config, where one decided. It never began. */
    | {
        readonly type: 'tool.denied';
        readonly tool: string;
        readonly callId: string;
        readonly reason: string;
        readonly key?: string;
      }
    /** A call waits for the yes of a person. */
    | {
        readonly type: 'tool.asked';
        readonly tool: string;
        readonly callId: string;
        readonly reason: string;
        readonly key?: string;
      }
    | { readonly type: 'tool.started'; readonly tool: string; readonly callId: string }
    /**
     * What the call says of how far it is, in one bounded line. For who watches: neither logged nor recorded.
     */
    | { readonly type: 'tool.progress'; readonly tool: string; readonly callId: string; readonly text: string }
    | { readonly type: 'tool.done'; readonly tool: string; readonly callId: string; readonly ok: boolean; readonly ms: number }
    /**
     * Text that speaks to the model as its operator would: `tool` = redacted from what a call brought in,
     * `input` = in what was asked, which stays as it is. Never the words.
     */
    | {
        readonly type: 'guard.found';
        readonly from: 'tool' | 'input';
        readonly tool?: string;
        readonly callId?: string;
        readonly labels: readonly string[];
      }
    | { readonly type: 'tool.unknown'; readonly tool: string; readonly callId: string }
    | { readonly type: 'finished'; readonly outcome: string; readonly ms: number }
    /** The run waits, for so many things of these kinds. */
    | { readonly type: 'parked'; readonly waits: number; readonly kinds: string; readonly ms: number }
    /** One of its waits is over. */
    | { readonly type: 'settled'; readonly callId: string; readonly by: string }
    | { readonly type: 'failed'; readonly code: string; readonly detail: string }
    | { readonly type: 'part.sent'; readonly key: string; readonly ms: number }
    | { readonly type: 'part.retry'; readonly key: string; readonly reason: string; readonly waitMs: number }
    | { readonly type: 'part.unknown' | 'part.dead' | 'part.expired'; readonly key: string; readonly reason: string }
    | { readonly type: 'session.damaged'; readonly lines: number; readonly quarantine: string }
    | { readonly type: 'channel'; readonly state: ChannelHealth; readonly detail?: string }
    /**
     * A due time of a job that began no run, with the reason. `skipped`: it was late and the job skips such
     * times, or earlier runs are not over. `refused`: a channel that it needs is not there. `disabled`: it
     * will not fire any more.
     */
    | { readonly type: 'job'; readonly job: string; readonly state: 'skipped' | 'refused' | 'disabled'; readonly reason: string }
    | { readonly type: 'journal'; readonly state: 'ok' | 'failing'; readonly code?: string }
    /**
     * The platform of the channel is asked to hold its messages, because so much waits: told every ten
     * minutes.
     */
    | { readonly type: 'intake.held'; readonly code: string; readonly reason: string }
    /** Its messages are taken again. */
    | { readonly type: 'intake.resumed' }
  );

export type Emit = (event: RunEvent) => void;

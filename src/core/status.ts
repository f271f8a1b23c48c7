/**
 * What `GET /status` of a running daemon answers and `gatehouse status --json` prints. Holds no secret and no
 * content.
 */
import type { JobCounts } from './job.ts';
import type { JournalCounts } from './journal.ts';
import type { KeyChange } from './reload.ts';
import type { ChannelStatus } from './turn.ts';

/** Requests that an adapter did not believe, at one address for a platform. Times are epoch ms. */
export interface WebhookStatus {
  readonly path: string;
  readonly refused: number;
  readonly refusedAt: number;
  /** When it last took one; absent = it took none. */
  readonly takenAt?: number;
}

export interface StatusDocument {
  readonly version: string;
  readonly pid: number;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly uptimeSec: number;
  /** `id` is `provider/model`; `demo` true means no real model answers. */
  readonly model: {
    readonly id: string;
    readonly demo: boolean;
    readonly lastLatencyMs?: number;
    /** What answers in place of `id`, which its provider does not have any more. */
    readonly replacedBy?: string;
    /**
     * What is wrong with the catalog or with what it says of the models in use; a sentence each. Absent =
     * nothing.
     */
    readonly warnings?: readonly string[];
  };
  /** Absent before the first call, and in what an earlier version tells. */
  readonly modelHealth?: ModelHealth;
  /** What waits for at least 5 s because a provider or a platform asked for it. As above. */
  readonly holds?: readonly HoldStatus[];
  /**
   * By how many ms the clock of the machine was set while the daemon ran: behind is negative. Absent: by less
   * than a minute.
   */
  readonly clockMovedMs?: number;
  /** By how many ms the clock is behind the newest record. Absent: by less than a minute, or not at all. */
  readonly clockBehindMs?: number;
  /**
   * Of the disk of the data directory: below `reserveMb` no file is taken, MiB; `syncMs` is how long it takes
   * now to keep what was written, absent before that is known. Absent in what an earlier version tells.
   */
  readonly disk?: { readonly freeMb: number; readonly reserveMb: number; readonly syncMs?: number };
  /** Those that stand by for each other, the main one first; empty where there is only one. */
  readonly models: readonly SlotStatus[];
  /** Today's limit on spending; absent = none. */
  readonly budget?: { readonly spentUsd: number; readonly limitUsd: number };
  readonly channels: readonly ChannelStatus[];
  /**
   * Channels that are in the config no more, and how many parts of answers wait for them until they expire.
   * Absent, like `config`, from a daemon of an earlier version that still runs.
   */
  readonly removedChannels?: readonly { readonly name: string; readonly waiting: number }[];
  readonly config?: ConfigStatus;
  /**
   * Addresses for platforms at which requests were refused since the start. Absent, too, in what an earlier
   * version tells.
   */
  readonly webhooks?: readonly WebhookStatus[];
  /** Absent, too, in what an earlier version tells. */
  readonly mcp?: readonly McpStatus[];
  /** Absent, too, in what an earlier version tells. */
  readonly plugins?: readonly PluginStatus[];
  readonly journal: JournalCounts;
  /** What programs of tools run in. Absent: no section `sandbox` in the config, or an earlier version. */
  readonly sandbox?: SandboxStatus;
  /** Absent in what an earlier version tells. */
  readonly jobs?: JobCounts;
  /** `ofPerson`: turns that one person may have at once. Absent in what an earlier version tells. */
  readonly lanes: { readonly running: number; readonly waiting: number; readonly ofPerson?: number };
  /** Since midnight of the daemon's time zone. */
  readonly usageToday: {
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly calls: number;
    /** Of the calls whose price is known. */
    readonly costUsd: number;
    /** How many calls are not in it. */
    readonly unpriced: number;
  };
  /** Newest first; `at` in epoch ms. */
  readonly lastErrors: readonly { readonly at: number; readonly code: string; readonly detail: string }[];
  /** What works less well than configured, e.g. `model:demo`, `channel:telegram`. Empty = all well. */
  readonly degraded: readonly string[];
}

/** What the last calls of models came to. */
export interface ModelHealth {
  /** Calls that failed since the last answer, those that people stopped left out. */
  readonly failedInARow: number;
  /** Epoch ms of the first of them. */
  readonly since?: number;
  /** The newest of them. */
  readonly last?: {
    readonly model: string;
    readonly code: string;
    readonly kind: string;
    readonly detail: string;
    /** What the operator can do, where it is not what its code says. */
    readonly hint?: string;
  };
  /** Epoch ms. */
  readonly lastAnswerAt?: number;
}

export interface HoldStatus {
  /** `model`, or the name of a channel. */
  readonly what: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly until: number;
}

/** The config file and what runs. */
export interface ConfigStatus {
  /** Absent: there is none, and the defaults apply. */
  readonly file?: string;
  /** Keys whose value in the file holds from the next start of the daemon on. */
  readonly needsRestart: readonly string[];
  /** The last change that was taken into use. `at` in epoch ms. */
  readonly applied?: { readonly at: number; readonly changes: readonly KeyChange[] };
  /** Why the file as it was last seen is not in use. Absent: it is. */
  readonly problem?: { readonly at: number; readonly code: string; readonly detail: string; readonly hint: string };
}

/** A server of `mcp_servers` that is not turned off. */
export interface McpStatus {
  readonly server: string;
  /** login: it works again once a person has run `gatehouse mcp login`. */
  readonly state: 'starting' | 'up' | 'down' | 'login';
  /** Why it is not up, or what of its list was not read. */
  readonly detail?: string;
  /** Names of the tools that are offered. */
  readonly offered: readonly string[];
  /** Tools that are not offered until they are approved. */
  readonly waiting: readonly { readonly tool: string; readonly standing: 'new' | 'changed' }[];
  /** Tools that are not offered at all, as the server names them. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** A directory of `plugins/`, or what was approved and is there no more. */
export interface PluginStatus {
  readonly plugin: string;
  /** new: never approved. changed: its files are not those that were approved. disabled: turned off. */
  readonly state: 'enabled' | 'disabled' | 'new' | 'changed' | 'broken';
  /** Why it is broken. */
  readonly detail?: string;
  /** Names of the tools that are offered while programs can be run. */
  readonly offered: readonly string[];
}

export type SandboxStatus =
  | {
      readonly mode: 'bwrap' | 'macos' | 'docker' | 'none';
      readonly network: boolean /** Why a tool is left out. */;
      readonly missing?: string;
    }
  | { readonly mode: 'off' }
  /** The tools that run programs are left out. */
  | { readonly problem: string; readonly hint: string };

/** One of several models: how it does and how it is rated. */
export interface SlotStatus {
  /** `Model.id`. */
  readonly id: string;
  /** open: left alone after failures. half-open: one call tries it again. */
  readonly circuit: 'closed' | 'open' | 'half-open';
  readonly consecutiveFailures: number;
  readonly successes: number;
  readonly failures: number;
  /** 0..1, of the last 64 calls. */
  readonly errorRate: number;
  /** Moving averages and 95th percentile in ms; null before the first sample. */
  readonly latencyMs: number | null;
  readonly p95Ms: number | null;
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
  /** Lower wins. */
  readonly score: number;
  /** Ms since the last call began; null = never used. */
  readonly idleMs: number | null;
}

/** `<dataDir>/daemon.json`, written by a daemon that is ready and removed when it stops. */
export interface DaemonRecord {
  readonly pid: number;
  readonly port: number;
  readonly host: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly version: string;
  /**
   * Sent as `Authorization: Bearer …` to read `/status`. The file is its owner's alone (0600), so no other
   * user of the machine can. Absent in what an earlier version wrote, which asks for none.
   */
  readonly token?: string;
}

/** The headers with which a caller that can read the daemon's file asks for `/status`. */
export function statusHeaders({ token }: Pick<DaemonRecord, 'token'>): Readonly<Record<string, string>> {
  return { connection: 'close', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
}

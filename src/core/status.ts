/** What `GET /status` of a running daemon answers and `gatehouse status --json` prints. Holds no secret and no content. */
import type { JournalCounts } from './journal.ts';
import type { ChannelStatus } from './turn.ts';

export interface StatusDocument {
  readonly version: string;
  readonly pid: number;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly uptimeSec: number;
  /** `id` is `provider/model`; `demo` true means no real model answers. */
  readonly model: { readonly id: string; readonly demo: boolean; readonly lastLatencyMs?: number };
  readonly channels: readonly ChannelStatus[];
  readonly journal: JournalCounts;
  readonly lanes: { readonly running: number; readonly waiting: number };
  /** Since midnight of the daemon's time zone. */
  readonly usageToday: { readonly tokensIn: number; readonly tokensOut: number; readonly calls: number };
  /** Newest first; `at` in epoch ms. */
  readonly lastErrors: readonly { readonly at: number; readonly code: string; readonly detail: string }[];
  /** What works less well than configured, e.g. `model:demo`, `channel:telegram`. Empty = all well. */
  readonly degraded: readonly string[];
}

/** `<dataDir>/daemon.json`, written by a daemon that is ready and removed when it stops. */
export interface DaemonRecord {
  readonly pid: number;
  readonly port: number;
  readonly host: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly version: string;
}

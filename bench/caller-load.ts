/** What the benchmark asks of a process that calls a model, and what that answers. */
export type CallerKind = 'bare' | 'wire' | 'stack';

export interface CallerLoad {
  /** One after the other. */
  readonly calls: number;
}

export interface CallerAnswer {
  /** Of each call, from asking to the end of its answer; for the stack to the answer being in the ledger. */
  readonly latenciesMs: readonly number[];
  /** User and system time of the process, per call. */
  readonly cpuMs: number;
  /** Of the answer, per call: all subjects must have read the same. */
  readonly characters: number;
}

export type WireName = 'openai' | 'openai-responses' | 'anthropic' | 'gemini';

/** What a process with one provider has loaded after its first call. */
export interface LoadedPackages {
  /** Names, sorted. */
  readonly packages: readonly string[];
  /** Type of the call's last event. */
  readonly end: string;
  /** Resident memory before the call and after it. MB of 10^6 bytes. */
  readonly beforeMb: number;
  readonly residentMb: number;
}

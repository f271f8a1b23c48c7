export interface SimulateOptions {
  /** Type of the channel whose platform is played. */
  readonly channel: string;
  /** Of the page and its API on 127.0.0.1; 0 = any free one. */
  readonly port: number;
  /** What goes wrong from the beginning. */
  readonly faults: readonly { readonly kind: string; readonly times: number }[];
  /** No person is let in before the operator does it. */
  readonly strangers: boolean;
  /** Also start a daemon on it. */
  readonly run: boolean;
  /** That daemon logs more. */
  readonly verbose: boolean;
}

/** A simulated platform that can be talked to. */
export interface SimulatorInfo {
  readonly url: string;
  /** For the config of a daemon, and a file and an empty data directory that go with it. */
  readonly config: unknown;
  readonly configFile: string;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
  /** Messages from before the daemon's first start are rightly not answered. */
  readonly needsFirstStart: boolean;
}

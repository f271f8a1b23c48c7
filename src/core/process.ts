/** Programs that run on behalf of a call, or of the daemon itself: see `src/sandbox`. */

/** One program. Plain data but for what it calls, so that another process may run it. */
export interface Spawn {
  /** Program and arguments; no shell ever sees them. */
  readonly argv: readonly string[];
  /** Absolute. Of a sandboxed program the only directory that it may write to, beside a `/tmp` of its own. */
  readonly cwd: string;
  /**
   * Absolute: a directory that holds the program itself. A sandboxed program may read it, beside what the
   * config names; `argv[0]` lies below it.
   */
  readonly home?: string;
  /**
   * The whole environment of the child; nothing is inherited. Names that make programs load code are left
   * out. A program of a tool has as HOME its own directory where HOME names that, else an empty one that ends
   * with it: files that a model wrote must not configure other programs than its shell.
   */
  readonly env: Readonly<Record<string, string>>;
  /**
   * `tool`: shut in with its directory. `isolated`: shut in without one, so that nothing that it writes
   * stays; `cwd` counts only where no sandbox is in force. `trusted`: a program of ours or of the operator.
   */
  readonly sandbox: 'tool' | 'isolated' | 'trusted';
  /**
   * What an `isolated` program may read beside the system, absolute; what the config allows others, it may
   * not.
   */
  readonly readable?: readonly string[];
  readonly network: boolean;
  readonly stdin?: string | Uint8Array;
  readonly limits: {
    readonly timeoutMs: number;
    /** Of each stream; the middle of what is longer is discarded and counted. */
    readonly outputBytes: number;
    /** Of each process; of a program with sandbox `tool` also of all that it started together. */
    readonly memoryBytes?: number;
    readonly pids?: number;
  };
  readonly owner: { readonly run: string; readonly callId: string } | 'daemon';
  readonly onLine?: (stream: 'out' | 'err', line: string) => void;
  /**
   * In place of `onLine`: a line of standard error, two a second at most. The others are dropped where it
   * runs.
   */
  readonly onProgress?: (line: string) => void;
  /** All of the output as it comes. While what it returns has not resolved, the program may have to wait. */
  readonly onOutput?: (bytes: Uint8Array) => Promise<void>;
  /**
   * Called once when the program begins: what is written comes to its standard input, behind `stdin`, which
   * stays open until the program ends. There is no back pressure: the caller bounds what is under way.
   */
  readonly onInput?: (write: (bytes: Uint8Array) => void) => void;
}

/** How a program ended. */
export interface Exit {
  /** Null = a signal ended it: its own, or ours when its time was over. */
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly out: string;
  readonly err: string;
  /** Bytes of both streams that were discarded. */
  readonly cut: number;
}

export interface Spawner {
  /**
   * Settles when the program and its process group are gone. The program begins after its row is on disk.
   * Rejects with the reason of the signal, with GH2010 when the program cannot be started, with GH2011 when
   * the process that runs it ended, with GH2014 when it held too much memory, and as a write of the journal
   * does.
   */
  run(spec: Spawn, signal: AbortSignal): Promise<Exit>;
  /** At start, before anything runs: ends what an earlier boot left behind. Returns how many. */
  reap(): Promise<number>;
}

/** A process group that runs, so that a later start can end it. */
export interface ProcessRow {
  readonly id: string;
  /** Absent = the daemon's own. */
  readonly owner?: { readonly run: string; readonly callId: string };
  /** Its process id, and that of its group. */
  readonly pgid: number;
  /** What tells it from a later process of the same id: see `kernel-process.ts`. */
  readonly started: string;
  readonly program: string;
}

/** Rows of processes; they are written by `Commits.commit`. */
export interface Processes {
  /** Those of earlier boots. */
  left(): Promise<readonly ProcessRow[]>;
}

/** A program of a tool. Its sandbox and its bounds on memory are those of the config. */
export interface ToolProgram extends Pick<Spawn, 'argv' | 'cwd' | 'home' | 'stdin' | 'onLine' | 'onProgress' | 'onOutput'> {
  /** Its directory is its HOME, as of a shell that works there. Default: an empty one that ends with it. */
  readonly isHome?: true;
  /** Beside PATH, HOME, LANG and TERM, which stay as they are. Default: nothing. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: as the config says for all programs. */
  readonly network?: boolean;
  /** It writes what it likes: the room on the disk is watched while it runs. */
  readonly writes?: true;
  readonly callId: string;
  readonly timeoutMs: number;
  readonly outputBytes: number;
}

/** What holds a program of a tool, as the config says. A yes to a program is a yes to it within these. */
export interface Bounds {
  /** `none`: nothing does. */
  readonly mode: 'bwrap' | 'macos' | 'docker' | 'none';
  readonly network: boolean;
  /** Directories that it may read beside its own and the system, absolute. */
  readonly readable: readonly string[];
  /** Of containers. */
  readonly image?: string;
}

/** Runs programs for the calls of one run. */
export interface RunSpawner {
  /** Of a program that does not name others. */
  readonly bounds: Bounds;
  /** Whether what it runs reaches and changes nothing but its workspace. */
  readonly isContained: boolean;
  /** Of the programs that tools are made of, those that are installed. */
  readonly programs: ReadonlySet<string>;
  /** As `Spawner.run`. */
  run(program: ToolProgram, signal: AbortSignal): Promise<Exit>;
}

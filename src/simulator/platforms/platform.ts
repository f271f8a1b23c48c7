import type { ChildProcess } from 'node:child_process';

/**
 * A platform with people on it, for programs that run the whole daemon against it: the sweep, the load of all
 * channels, the simulator. Each is one file here, made of the servers that the adapter's own tests use. No
 * daemon loads any of it.
 */

/** What can go wrong at a platform's side. Each kind is explained where it is asked for: `Platform.fault`. */
export const FAULT_KINDS = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** A message of the bot as people see it now: an edit changes the text of the one that is there. */
export interface SeenMessage {
  /** The person it was for: the number given to `write`; in a group, the number of that. */
  readonly person: number;
  /** It was said in the group with the number `person`. */
  readonly inGroup?: true;
  readonly text: string;
  /** Epoch ms at which it appeared; an edit does not change it. */
  readonly at: number;
}

/** A file of a person. */
export interface SentFile {
  readonly name: string;
  /** Media type; '' where it is not known. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** The part of a process that a terminal has to do with. */
export interface TerminalOwner extends Pick<ChildProcess, 'stdin' | 'stdout' | 'stderr'> {
  once(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}

export interface PlatformOptions {
  /** Port of the daemon's webhooks: a platform that pushes calls `http://127.0.0.1:<port>/hooks/<type>`. */
  readonly webhookPort: number;
}

export interface Platform extends AsyncDisposable {
  /** The channel's type, and the name of its instance. */
  readonly type: string;
  /** One entry of `gateway.channels` that lets everybody in. */
  readonly channel: { readonly type: string; readonly [key: string]: unknown };
  /** The daemon's environment: secrets. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * True when messages from before the first start are rightly not answered, so that one undisturbed start
   * comes first.
   */
  readonly needsFirstStart: boolean;
  /** How many people there can be, the first being number 0. Absent: any number. */
  readonly people?: number;
  /**
   * A new daemon with this empty data directory comes: what earlier ones were told and said is over. Links
   * the account where that is a file.
   */
  begin(dataDir: string): Promise<void>;
  /**
   * For the platform that is the daemon's own terminal: each of its processes as it starts, with pipes for
   * its three streams. Absent: the daemon gets neither input nor output.
   */
  attach?(daemon: TerminalOwner): void;
  /** A person writes to the bot in a private chat. Resolves once the platform, not the bot, has it. */
  write(person: number, text: string): Promise<void>;
  /** The same in a group, addressed to the bot unless told otherwise. Absent: it plays no groups. */
  writeInGroup?(person: number, group: number, text: string, addressed?: boolean): Promise<void>;
  /** A person sends a file to the bot, with words below it. Absent: it plays no files. */
  sendFile?(person: number, file: SentFile, text: string): Promise<void>;
  /** What people can see of the bot since `begin`, oldest first. */
  seen(): Promise<readonly SeenMessage[]>;
  /**
   * Answers that people saw grow since `begin`. Present where that is what is looked at: the model is then to
   * take some seconds for each. Absent: it may answer at once.
   */
  grown?(): number;
  /**
   * Messages since `begin` that the platform would still deliver: not acknowledged, or in its history behind
   * the bot's cursor. 0 where it cannot say.
   */
  waiting(): Promise<number>;
  /** People who see now that the bot is typing. Omit where the platform or its double has no such thing. */
  typing?(): readonly number[];
  /**
   * Texts since `begin` that were handed over, never acknowledged, and will not be handed over again. The bot
   * may have stored one all the same: then it must be answered. Absent: the platform offers everything until
   * it is acknowledged, or has a history to ask.
   */
  notOffered?(): Promise<readonly string[]>;
  /**
   * Messages that people send by themselves as soon as a daemon has begun, whose answers `seen` leaves out;
   * absent = none. The first start has to answer them.
   */
  readonly greetings?: number;
  /** How many ways to ask there are, one for each person in turn; absent = one. The sweep asks by each. */
  readonly doors?: number;
  /** The faults that this platform can play. */
  readonly faults: readonly FaultKind[];
  /**
   * `limit`: the next `times` sends are answered with "too many requests". `lose-reply`: they are accepted
   * and the connection breaks. `duplicate`: the next messages of people are delivered twice. `reorder`: the
   * next `times` + 1 messages are delivered in reverse. `slow`: the next answers to sends take 3 s.
   * `disconnect`: the bot's connections break now (`times` is ignored).
   */
  fault(kind: FaultKind, times: number): void;
}

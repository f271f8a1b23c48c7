import type { ModelAccess } from './ask-model.ts';
import type { Asking } from './asking.ts';
import type { Authority } from './authority.ts';
import type { BrowserPort } from './browser.ts';
import type { Documents } from './document.ts';
import type { Egress, WebSearch } from './egress.ts';
import type { JobBook } from './job.ts';
import type { Address, Choice, Json, OutboundFile } from './message.ts';
import type { Mailer, Messages } from './messages.ts';
import type { ModelBook } from './model-book.ts';
import type { ReadPage } from './page.ts';
import type { ClaimDisk, Clock } from './ports.ts';
import type { RunSpawner } from './process.ts';
import type { SubAgents } from './sub-agents.ts';
import type { TaskMaker } from './task-request.ts';
import type { ToolSettings } from './tool-settings.ts';
import type { Wanted } from './wait.ts';

/**
 * What a call changes. `none`: nothing, so it may run again after a crash. `workspace`: files of the
 * session's own directory. `outside`: other people or systems can see it.
 */
export type Effect = 'none' | 'workspace' | 'outside';

/**
 * Where a call reaches, which modes and the taint gate tell apart. `none`: it changes nothing. `look`: nor
 * does this, but what is looked at can tell what of it was, and pass that on. `files`: the session's own
 * directory. `home`: words, files and signs that belong to the answer of its run. `program`: it runs one.
 * `network`: other systems. `chat`: other chats. `task`: work in the background that may do what this run
 * may, and no more. `job`, `memory`, `skill`, `setting`: what later runs act on.
 */
export type Act =
  | 'none'
  | 'look'
  | 'files'
  | 'home'
  | 'program'
  | 'network'
  | 'chat'
  | 'job'
  | 'task'
  | 'memory'
  | 'skill'
  | 'setting';

/** What a yes to a call covers beside its name and its arguments. */
export interface ApprovalFacts {
  /** Goes into the digest: directory, environment, digests of the files that the call runs or sends. */
  readonly digest: Json;
  /** The same for people, one fact a line; shown below the arguments. */
  readonly shown: string;
  /**
   * The rule in words that a yes for the whole session allows. Absent = this call can be allowed once only.
   */
  readonly rule?: string;
}

/**
 * The call that a tool runs for. What the tool needs beside it is bound when the tool is made, see `ToolKit`.
 */
export interface ToolContext {
  /** Id of the call, the same on every attempt. */
  readonly callId: string;
  /**
   * Unique over all runs, and the same on every attempt at the call. A tool that hands it on is safe to run
   * again after a crash.
   */
  readonly idempotencyKey: string;
  /** Absolute path of the session's own directory: the only place file tools may touch. */
  readonly workspace: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Bits of what the run has read by now (`authority.ts`). Default 0. */
  readonly taint?: number;
  /** Names of the tools that the model which asked for the call may use. Absent = it is not known. */
  readonly mayUse?: () => readonly string[];
  /**
   * Says in one line how far the call is, to the chat that waits for it. Of text that comes from elsewhere a
   * tool takes out secrets, bounds the length, and calls at most twice a second. Absent = no chat watches.
   */
  readonly progress?: (text: string) => void;
  /**
   * How long the call may still take. A tool that has to end something and to say so keeps some of it. Absent
   * = it is not known. ms.
   */
  readonly leftMs?: () => number;
  /** Aborts when the call is over, however it ended. */
  readonly signal: AbortSignal;
}

/**
 * What tools may know of the run they are made for, and reach on its behalf. The same on every attempt at the
 * run.
 */
export interface RunScope {
  readonly session: string;
  /** On whose account the run acts; `principal` is who asked. */
  readonly authority: Authority;
  /** Bits of what the run was given to read (runs.md M4). Absent = 0. */
  readonly taint?: number;
  /** As `channelOf`. */
  readonly channel: string;
  /** Where the answer goes. Absent = no chat is told. */
  readonly origin?: Address;
  /** What may be added to the answer. Absent = no chat is told. */
  readonly answer?: AnswerScope;
  /**
   * Whom a tool may ask for words. Absent = no message of a person began the run, or its channel does not
   * prove who answers.
   */
  readonly asks?: Asker;
  /** Absent = there are no schedules. */
  readonly jobs?: JobBook;
  /** Absent = the run is in the background itself. */
  readonly tasks?: TaskMaker;
  /** Called before a file of the workspace grows by so many bytes. Absent = no limit. */
  readonly claimDisk?: ClaimDisk;
  /** Absent = programs are not run here: no sandbox is configured, or none works. */
  readonly spawner?: RunSpawner;
  /** Absent = tools reach no other machine. */
  readonly egress?: Egress;
  /** Absent = no search engine is configured. */
  readonly webSearch?: WebSearch;
  /** Absent = pages of HTML are not read. */
  readonly readPage?: ReadPage;
  /** Absent = nothing is sent beside the answer. */
  readonly messages?: Messages;
  /** Absent = no person is asked. */
  readonly asking?: Asking;
  /** Absent = no channel writes mail. */
  readonly mailer?: Mailer;
  /** Absent = the packages for documents are not installed. */
  readonly documents?: Documents;
  /** Absent = no sandbox holds a browser here, or what it needs is not installed. */
  readonly browser?: BrowserPort;
  /** Absent = tools ask no model. */
  readonly models?: ModelAccess;
  /** Absent = no message began the run. */
  readonly modelBook?: ModelBook;
  /**
   * What is opened for this attempt at the run alone, and ends with it. Absent = sessions of MCP servers are
   * those of the daemon.
   */
  readonly held?: Pick<AsyncDisposableStack, 'use'>;
  /** Absent = the run may begin no others. */
  readonly subAgents?: SubAgents;
  readonly toolSettings?: ToolSettings;
}

/** The person whom a run works for. */
export interface Asker {
  readonly principal: string;
  /** The chat in which they wrote. */
  readonly to: Address;
}

/** What a tool may add to the answer of its run, beside the text. */
export interface AnswerScope {
  /**
   * A private copy of a file, for `ToolResult.files`. `path` is opened as it is given, never resolved: it may
   * lead through an open descriptor (`/proc/self/fd/N`), which keeps the file from being swapped. Rejects
   * with the reason of the signal once that is aborted, with GH1504 when the channel takes no file of that
   * size, or with the system's error.
   */
  attach(file: { readonly path: string; readonly name: string }, signal: AbortSignal): Promise<OutboundFile>;
  /**
   * Whether the gateway itself answers to these words (`/new`, "cancel"), so that no choice may be called so.
   */
  isReserved(words: string): boolean;
  /**
   * Puts an emoji under the message that is being answered. Rejects with the platform's reason. Absent = the
   * channel has no reactions, or no message is being answered.
   */
  readonly react?: (emoji: string, signal: AbortSignal) => Promise<void>;
}

/**
 * Tools for one run, bound to what they need of it. A tool that cannot work there, such as one that reacts on
 * a channel without reactions, is left out: the model is not told of it. The same kind of scope gives the
 * same list, because providers cache what is unchanged in a conversation.
 */
export type ToolKit = (scope: RunScope) => readonly Tool[];

/** A file that a tool adds to the answer of its run. */
export interface AttachedFile {
  readonly file: OutboundFile;
  readonly caption?: string;
}

export interface ToolResult {
  readonly ok: boolean;
  /** What the model reads. A failure starts with `Error: `. */
  readonly output: string;
  /** Whose words they are (see `principalOf`): of an answer of a person for whom the run does not work. */
  readonly by?: string;
  /** Bits of `authority.ts` that this result brings in beside those of `Tool.reads`. Absent = none. */
  readonly taint?: number;
  /**
   * The file of the workspace, as a path relative to it, with all that the tool said, where `output` is head
   * and tail of so many bytes. Absent = `output` is all there is.
   */
  readonly stored?: { readonly path: string; readonly bytes: number };
  /** Pictures of the workspace that the model is shown with the result, as paths relative to it. */
  readonly media?: readonly string[];
  /**
   * In place of a result: the run parks, and the value of this wait becomes the result, or goes to `resume`.
   * A tool without `resume` may wait only if it has no effect, or is idempotent: after a crash before the
   * park it runs again.
   */
  readonly wait?: Wanted;
  /** Sent with the answer. Those of a failed call are left out: the model may repeat it. */
  readonly files?: readonly AttachedFile[];
  /**
   * Shown below the answer, in place of what an earlier call of the run offered. Those of a failed call are
   * left out.
   */
  readonly choices?: readonly Choice[];
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
  readonly effect: Effect;
  /**
   * A second run of the same call changes nothing more than the first did, so it may run again after a crash.
   * Without it, a call with an effect is then reported as of unknown outcome.
   */
  readonly idempotent?: true;
  /**
   * Where it reaches, or where this call does. Default: as far as `effect` lets it (`none`, `files`,
   * `network`). Called with arguments that nothing has checked: must not throw.
   */
  readonly act?: Act | ((args: unknown) => Act);
  /**
   * What no config allows without a yes, or at all; undefined = nothing of that. Called as `act` is. `reason`
   * goes behind "it is not allowed: " and before ".".
   */
  readonly rule?: (args: unknown) => { readonly kind: 'deny' | 'ask'; readonly reason: string } | undefined;
  /**
   * Of the calls of one answer that `of` is true of, only the first is made; the others fail with `refusal`,
   * a clause without a full stop. Called as `act` is.
   */
  readonly single?: { readonly of: (args: unknown) => boolean; readonly refusal: string };
  /** No config opens it to members or guests. */
  readonly ownerOnly?: true;
  /** The program that it is offered with alone, see `RunSpawner.programs`; a shell is always there. */
  readonly needs?: 'sh' | 'rg' | 'git' | 'chromium';
  /** Bits of `authority.ts` that its results bring in. Default 0. */
  readonly reads?: number;
  /**
   * Called before a person is asked, and again before the call runs: where the answers differ, the yes counts
   * no more. Changes nothing. Absent = the arguments are all there is. Rejects = the call is refused.
   */
  readonly approval?: (args: unknown, call: Pick<ToolContext, 'workspace' | 'signal'>) => Promise<ApprovalFacts>;
  /**
   * A yes covers the files of the workspace as `approval` found them: from before that is compared until all
   * that the call started has ended, no other call writes there.
   */
  readonly bindsWorkspace?: true;
  /** Longest output in bytes before head and tail are kept around an omission mark (spec C4). */
  readonly outputBytes: number;
  /**
   * Takes the parsed arguments object; validates it itself and answers invalid ones with a failed result. May
   * throw: a failed result then.
   */
  run(args: unknown, context: ToolContext): Promise<ToolResult>;
  /**
   * Goes on with a call that began, in place of `run`: when the wait that it returned is settled, and after a
   * crash. `values`: what its waits came to, oldest first; none = it was cut off before the first was
   * settled. Called with the same values again where it was cut off since. May return a further wait.
   * Undefined = this process knows nothing of the call, so its outcome is unknown.
   */
  resume?(values: readonly ToolResult[], args: unknown, context: ToolContext): Promise<ToolResult | undefined>;
}

/** A tool without its work: what policies judge. */
export type ToolFacts = Omit<Tool, 'run' | 'resume'>;

/** What people ask of an agent, and how a model would go about it: played by `errands.e2e.test.ts`. */

export interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a model knows when it goes on. */
export interface Known {
  /** Path of the file that came with the message. */
  readonly upload: string;
  /** Results of its calls, in order. */
  readonly told: readonly string[];
}

/** Words end the turn. */
type Move = Call | string;

/** What came of it. */
export interface Outcome {
  readonly told: readonly string[];
  /** What the person reads, in order. */
  readonly texts: readonly string[];
  /** Files that arrived: their names, and where each lies now. */
  readonly files: readonly { readonly name: string; readonly path: string }[];
  readonly workspace: string;
  /** Labels below the last message. */
  readonly choices: readonly string[];
  readonly reactions: readonly string[];
  /** What Ben reads, who has written once and asks for nothing. */
  readonly toBen: readonly string[];
  /** Mail that reached people. */
  readonly mails: readonly { readonly to: string; readonly raw: string }[];
  /** Names of all jobs. */
  readonly jobs: readonly string[];
  /** What LibreOffice reads in the first file that arrived, which is a docx. */
  readonly words: () => Promise<string>;
  /** Output of a program of this machine. Rejects when it fails. */
  readonly run: (program: string, ...args: readonly string[]) => Promise<string>;
}

export interface Errand {
  readonly title: string;
  readonly say: string;
  /** Comes with the message. */
  readonly file?: { readonly name: string; readonly mime: string; readonly content: string | Uint8Array };
  readonly moves: readonly (Move | ((known: Known) => Move))[];
  /** Throws when something else came of it. */
  readonly check: (outcome: Outcome) => void | Promise<void>;
  /** The person is asked, and says yes: their mode is `guarded`. */
  readonly asks?: true;
  /** Runs that it begins beside its own. Absent = none. */
  readonly begins?: number;
  /** Programs of this machine that the check or the sandbox needs. */
  readonly needs?: readonly string[];
}

/** The chat of Ben. */
export const BEN = 900;

export const call = (name: string, args: Readonly<Record<string, unknown>>): Call => ({ name, arguments: args });
export const write = (path: string, content: string): Call => call('write_file', { path, content });
export const shell = (command: string, more: Readonly<Record<string, unknown>> = {}): Call => call('shell', { command, ...more });
export const send = (path: string, caption?: string): Call =>
  call('send_file', { file_path: path, ...(caption === undefined ? {} : { caption }) });
export const fetch = (url: string): Call => call('web_fetch', { url });

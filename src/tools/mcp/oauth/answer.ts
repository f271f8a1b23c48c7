/** What the browser brings back: to the listener of this machine, or pasted by the person. */
import type { CallbackServer } from '../../../lib/callback-server.ts';
import { equalSecrets } from '../../../lib/equal-secrets.ts';
import { linkedSignal } from '../../../lib/linked-signal.ts';
import { printable } from '../../../lib/printable.ts';
import { type ServerMetadata, sameIssuer } from './discover.ts';
import { loginFailed } from './fetch.ts';

export interface LoginUi {
  /** Called once. What is in it may be shown on a terminal as it is. */
  show(about: {
    /** Origin of the MCP server. */
    readonly server: string;
    readonly issuer: string;
    readonly scopes: readonly string[];
    /** What the person has to open. */
    readonly link: string;
  }): void;
  /** What the person types meanwhile, line by line; ends with the signal. Default: nothing is typed. */
  lines?(signal: AbortSignal): AsyncIterable<string>;
  /** What was typed is of no use, for this reason. */
  refuse?(why: string): void;
}

export interface Answer {
  readonly code: string;
  /** Shows the person in the browser how it ended. */
  done(ok: boolean): void;
}

interface AnswerOptions {
  readonly listener: CallbackServer;
  readonly ui: LoginUi;
  readonly state: string;
  readonly metadata: ServerMetadata | undefined;
  readonly issuer: string;
  readonly signal: AbortSignal;
}

/** The first answer that belongs to this login. Rejects with GH2201 for a no, or one of another server. */
export async function answerOf(options: AnswerOptions): Promise<Answer> {
  using over = linkedSignal(options.signal);
  try {
    return await Promise.race([fromBrowser(options, over.signal), fromPerson(options, over.signal)]);
  } finally {
    over.abort(new Error('the login has its answer'));
  }
}

async function fromBrowser(options: AnswerOptions, signal: AbortSignal): Promise<Answer> {
  const callback = await options.listener.callback(signal);
  try {
    return { code: codeIn(callback.url, options), done: callback.answer };
  } catch (error) {
    callback.answer(false);
    throw error;
  }
}

async function fromPerson(options: AnswerOptions, signal: AbortSignal): Promise<Answer> {
  const { ui, state, metadata } = options;
  for await (const line of ui.lines?.(signal) ?? []) {
    const text = line.trim();
    if (text === '') continue;
    const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    if (url && equalSecrets(url.searchParams.get('state') ?? '', state))
      return { code: codeIn(url, options), done: () => undefined };
    if (url) ui.refuse?.('this is not the answer to this login');
    else if (!/^[\x21-\x7e]{1,4000}$/.test(text)) ui.refuse?.('this is neither an address nor a code');
    // The address says who answered; a code alone does not (RFC 9207).
    else if (metadata?.authorization_response_iss_parameter_supported) ui.refuse?.('paste the whole address, not the code alone');
    else return { code: text, done: () => undefined };
  }
  return await new Promise<never>(() => undefined);
}

/** RFC 9207 2.4: a code of another server must not be sent to this one. */
function codeIn({ searchParams }: URL, { metadata, issuer }: AnswerOptions): string {
  const from = searchParams.get('iss');
  if (from === null ? metadata?.authorization_response_iss_parameter_supported : !sameIssuer(from, issuer))
    throw loginFailed('the answer is not from the authorization server that was asked');
  const error = searchParams.get('error');
  if (error === 'access_denied') throw loginFailed('the login was refused in the browser');
  if (error !== null) throw loginFailed(`the authorization server refused: ${printable(error).slice(0, 100)}`);
  const code = searchParams.get('code') ?? '';
  if (code === '') throw loginFailed('the answer of the authorization server holds no code');
  return code;
}

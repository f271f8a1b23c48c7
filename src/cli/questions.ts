import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Stdio } from '../app/run-options.ts';
import { GatehouseError } from '../core/errors.ts';
import type { CommandContext } from './context.ts';

/**
 * Lets `use` ask questions on the terminal; prompts go to stderr, answers come trimmed. Rejects with GH1010
 * at Ctrl-C, and with GH1001 when the input ends (Ctrl-D) before an answer: readline alone would wait for
 * ever. `option`: of the command, with which it asks nothing.
 */
export async function withQuestions<T>(
  stdio: Stdio,
  use: (question: (text: string) => Promise<string>) => Promise<T>,
  option = '--yes',
): Promise<T> {
  const terminal = createInterface({ input: stdio.stdin, output: stdio.stderr });
  const ended = new AbortController();
  const error = new GatehouseError('GH1001', 'the input ended before all questions were answered; nothing was written', {
    hint: `use \`${option}\` to be asked nothing`,
  });
  terminal.once('SIGINT', () => ended.abort(leftError()));
  terminal.once('close', () => ended.abort(error));
  try {
    return await use(async (text) => {
      try {
        return (await terminal.question(text, { signal: ended.signal })).trim();
      } catch (thrown) {
        throw ended.signal.aborted ? ended.signal.reason : thrown;
      }
    });
  } finally {
    terminal.close();
  }
}

function leftError(): GatehouseError {
  return new GatehouseError('GH1010', 'cancelled at a question; nothing more was done');
}

/** Longest secret taken from a pipe; more is a wrong file. */
const MAX_SECRET = 65_536;

/**
 * A key or token: typed unseen on a terminal, else all of standard input; without the blanks around it.
 * Rejects with GH1001 when it is empty, too long, or there is no way to ask, and with GH1010 at Ctrl-C;
 * `pipe` is the command the hint shows.
 */
export async function readSecret(stdio: Stdio, prompt: string, pipe: string, mayBeEmpty = false): Promise<string> {
  const wrong = (message: string): GatehouseError => new GatehouseError('GH1001', message, { hint: `pipe it in: \`${pipe}\`` });
  const { stdin, stderr } = stdio;
  if (stdin.isTTY === true && stderr.isTTY !== true) throw wrong('there is no terminal to ask on');
  const typed = stdin.isTTY === true ? await askUnseen(stdio, prompt) : await readAll(stdin);
  // Ctrl-D is no answer, also where an empty one is.
  if (typed === undefined && mayBeEmpty) throw wrong('the input ended; nothing was written');
  const secret = (typed ?? '').trim();
  if (secret === '' && !mayBeEmpty) throw wrong('no key was given; nothing was written');
  if (secret.length > MAX_SECRET) throw wrong('this is too long to be a key; nothing was written');
  return secret;
}

/**
 * Readline echoes what is typed; here into nothing. Undefined: the input ended before an answer. Rejects with
 * GH1010 at Ctrl-C.
 */
async function askUnseen({ stdin, stderr }: Stdio, prompt: string): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  try {
    const left = new Promise<never>((_, reject) => terminal.once('SIGINT', () => reject(leftError())));
    const ended = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)));
    const answer = terminal.question('');
    // Asked only now: an answer that comes at once finds its reader.
    stderr.write(prompt);
    return await Promise.race([left, answer, ended]);
  } finally {
    terminal.close();
    stderr.write('\n');
  }
}

async function readAll(stdin: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > MAX_SECRET) break;
  }
  return text;
}

/** A yes to what cannot be undone. Rejects with GH1005 where there is no terminal to ask on. */
export async function confirmed({ deps, out }: CommandContext, question: string): Promise<boolean> {
  if (deps.stdio.stdin.isTTY !== true)
    throw new GatehouseError('GH1005', 'what is deleted cannot be had back', {
      hint: `look at ${out.json ? 'what it is about' : 'what is shown above'}, then add \`--yes\``,
    });
  const isYes = /^y(?:es)?$/i.test(await withQuestions(deps.stdio, (ask) => ask(`${question} [y/N] `)));
  if (!isYes) out.say('nothing was deleted');
  return isYes;
}

// what setup asks on a terminal: by @clack/prompts where the terminal can draw, else line by line
import type { Readable, Writable } from 'node:stream';
import type { Stdio } from '../app/run-options.ts';
import { GatehouseError } from '../core/errors.ts';
import { readSecret, withQuestions } from './questions.ts';

export interface Answer<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** What is typed for it where it is no list. */
  readonly letter: string;
}

/** Each rejects with GH1001 when the input ends before an answer, and with GH1010 at Ctrl-C. */
export interface Prompts {
  /** Typed unseen. '' = left out. `pipe`: the command that the hint shows. */
  secret(message: string, pipe: string): Promise<string>;
  /** Enter alone is a no. */
  isYes(message: string): Promise<boolean>;
  /** Enter alone is the first. Asked when everything is written. */
  choose<Value extends string>(message: string, answers: readonly Answer<Value>[]): Promise<Value>;
}

/** `env`: of the terminal. */
export function promptsOn(stdio: Stdio, env: Readonly<Record<string, string | undefined>>): Prompts {
  // Without raw mode no key is heard before Enter, and a dumb terminal cannot draw over what stands there.
  const canDraw = 'setRawMode' in stdio.stdin && env['TERM'] !== 'dumb';
  return canDraw ? new DrawnPrompts(stdio) : new PlainPrompts(stdio);
}

class DrawnPrompts implements Prompts {
  readonly #places: { readonly input: Readable; readonly output: Writable };

  constructor({ stdin, stderr }: Stdio) {
    this.#places = { input: stdin as Readable, output: stderr as Writable };
  }

  async secret(message: string): Promise<string> {
    const { password, isCancel } = await import('@clack/prompts');
    const typed = await password({ message, ...this.#places });
    if (isCancel(typed)) throw left();
    return (typed ?? '').trim();
  }

  async isYes(message: string): Promise<boolean> {
    const { confirm, isCancel } = await import('@clack/prompts');
    const answer = await confirm({ message, initialValue: false, ...this.#places });
    if (isCancel(answer)) throw left();
    return answer;
  }

  async choose<Value extends string>(message: string, answers: readonly Answer<Value>[]): Promise<Value> {
    const { select, isCancel } = await import('@clack/prompts');
    const options = answers.map(({ value, label }) => ({ value: value as string, label }));
    const chosen = await select<string>({ message, options, showInstructions: false, ...this.#places });
    const answer = answers.find(({ value }) => value === chosen);
    if (isCancel(chosen) || !answer) throw left();
    return answer.value;
  }
}

class PlainPrompts implements Prompts {
  readonly #stdio: Stdio;

  constructor(stdio: Stdio) {
    this.#stdio = stdio;
  }

  secret(message: string, pipe: string): Promise<string> {
    return readSecret(this.#stdio, `${message}: `, pipe, true);
  }

  async isYes(message: string): Promise<boolean> {
    return /^y(es)?$/i.test(await this.#ask(`${message} [y/N] `));
  }

  async choose<Value extends string>(message: string, answers: readonly Answer<Value>[]): Promise<Value> {
    const list = answers.map(({ letter, label }) => `${letter}: ${label}`).join(', ');
    const typed = (await this.#ask(`${message} [${list}] `)).toLowerCase();
    const answer = answers.find(({ letter }) => typed !== '' && typed.startsWith(letter)) ?? answers[0];
    if (!answer) throw new Error('a question without answers');
    return answer.value;
  }

  #ask(text: string): Promise<string> {
    return withQuestions(this.#stdio, (question) => question(text), '--owner ID');
  }
}

/** Before the last question nothing is written; see `choose`. */
function left(): GatehouseError {
  return new GatehouseError('GH1010', 'cancelled; nothing was written', { hint: 'run `gatehouse setup` again' });
}

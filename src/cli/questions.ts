import { createInterface } from 'node:readline/promises';
import type { Stdio } from '../app/run-gateway.ts';
import { GatehouseError } from '../core/errors.ts';

/**
 * Lets `use` ask questions on the terminal; prompts go to stderr, answers come trimmed. Rejects with GH1001 when the input ends
 * (Ctrl-D, Ctrl-C) before an answer: readline alone would wait for ever.
 */
export async function withQuestions<T>(
  stdio: Stdio,
  use: (question: (text: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const terminal = createInterface({ input: stdio.stdin, output: stdio.stderr });
  const ended = new AbortController();
  const error = new GatehouseError('GH1001', 'the input ended before all questions were answered; nothing was written', {
    hint: 'use `--defaults` to be asked nothing',
  });
  terminal.once('close', () => ended.abort(error));
  try {
    return await use(async (text) => {
      try {
        return (await terminal.question(text, { signal: ended.signal })).trim();
      } catch (thrown) {
        throw ended.signal.aborted ? error : thrown;
      }
    });
  } finally {
    terminal.close();
  }
}

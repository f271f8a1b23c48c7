// A model server with one long answer. Arguments: BYTES of made-up text, WORDS in one event (default 1). It
// writes all events at once: a reader that is faster than the server is woken for each event, and would look
// dearer than one that lags behind. Prints its URL.
import { startModelServer, stream, textPieces } from '../src/testing/model-server.ts';

const [bytes = '100000', wordsPerPiece = '1'] = process.argv.slice(2);
const pieces = textPieces(...texts(Number(bytes), Number(wordsPerPiece)));
const server = await startModelServer({ script: () => stream([pieces.join('')]), record: false });
process.once('SIGTERM', () => void server[Symbol.asyncDispose]());
process.stdout.write(`${server.url}\n`);

/** Made-up words of two to nine letters with some line breaks, `bytes` in all. The same at each start. */
function texts(bytes: number, words: number): string[] {
  const all: string[] = [];
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const word = (): string => Array.from({ length: 2 + next(8) }, () => String.fromCharCode(97 + next(26))).join('');
  for (let left = bytes; left > 0; ) {
    let piece = '';
    for (let count = 0; count < words; count += 1) piece += `${word()}${next(12) === 0 ? '.\n' : ' '}`;
    all.push(piece.slice(0, left));
    left -= piece.length;
  }
  return all;
}

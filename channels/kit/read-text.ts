/** The code of the error that `readText` rejects with when an answer is longer than any can be. */
const TOO_LARGE = 'ANSWER_TOO_LARGE';

/**
 * Reads a whole answer of a platform as UTF-8. Rejects when it breaks off, and as soon as it exceeds
 * `maxBytes`; both close it.
 */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of body) {
    total += part.byteLength;
    // Leaving the loop closes the body, and with it the connection.
    if (total > maxBytes) throw Object.assign(new Error('the answer is too large'), { code: TOO_LARGE });
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

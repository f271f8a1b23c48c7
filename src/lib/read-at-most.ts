/**
 * The first `maxBytes` of a body; `complete` = there was no more. As soon as more arrives, the body is
 * cancelled. Rejects as the body does.
 */
export async function readAtMost(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer<ArrayBuffer>; readonly complete: boolean }> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), complete: total <= maxBytes };
}

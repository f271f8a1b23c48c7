/**
 * The messages of the bot as they stand in the end, and texts that the emulator counts otherwise than the
 * platform.
 */
import type { ProxyCall } from './records.ts';
import type { JsonObject } from './wire.ts';

const POST = /^POST \/channels\/\d+\/messages$/;
const ONE = /^(PATCH|DELETE) \/channels\/\d+\/messages\/(\d+)$/;
/** The emulator refuses more UTF-16 code units; the platform counts code points. */
const EMULATOR_UNITS = 2_000;

/** Texts of the messages that were sent and not deleted, oldest first, each as it was edited last. */
export function standingMessages(calls: readonly ProxyCall[]): readonly string[] {
  const messages = new Map<string, string>();
  for (const { call, body, answer = {}, accepted } of calls) {
    const [, method, id = ''] = ONE.exec(call) ?? [];
    if (!accepted) continue;
    if (POST.test(call)) messages.set(String(answer['id']), String(body['content'] ?? ''));
    else if (method === 'DELETE') messages.delete(id);
    else if (messages.has(id) && typeof body['content'] === 'string') messages.set(id, body['content']);
  }
  return [...messages.values()];
}

/** The request as the emulator takes it: a longer text is cut for it alone. */
export function withinEmulator(raw: Buffer, body: JsonObject): Uint8Array<ArrayBuffer> {
  const { content } = body;
  const isCut = typeof content === 'string' && content.length > EMULATOR_UNITS && raw[0] === 0x7b;
  return new Uint8Array(isCut ? Buffer.from(JSON.stringify({ ...body, content: content.slice(0, EMULATOR_UNITS) })) : raw);
}

/** The control API of the test server: what a separate process uses to play the people on the platform. */
import type { IncomingMessage } from 'node:http';
import type { TelegramFault } from './records.ts';
import { type JsonObject, num, obj, readAll, str } from './wire.ts';

/** The server, as far as people on the platform can act on it. */
export interface ControlledServer {
  readonly sends: readonly unknown[];
  readonly calls: readonly string[];
  readonly unconfirmed: number;
  readonly hook: { url: string };
  inject(message: JsonObject): number;
  injectUpdate(update: JsonObject): number;
  fault(fault: TelegramFault): void;
  clearFaults(): void;
  addFile(fileId: string, bytes: Buffer, size?: number): void;
}

/**
 * - `POST inject` `{messages: [message…]}` or `{count, message}` → `{messageIds}`
 * - `POST updates` `{updates: [update…]}` → `{updateIds}`
 * - `GET sends?after=N` → `{sends}` with `seq >= N`
 * - `POST fault` one fault; `POST clear-faults`
 * - `POST file` `{file_id, base64, size?}`
 * - `POST webhook` `{url}`, as if another program had set it
 * - `GET stats` → counts
 */
export async function handleControl(server: ControlledServer, action: string, request: IncomingMessage): Promise<unknown> {
  const raw = await readAll(request);
  const body = raw.length === 0 ? {} : obj(JSON.parse(raw.toString()));
  switch (action) {
    case 'inject':
      return { messageIds: messagesOf(body).map((message) => server.inject(message)) };
    case 'updates':
      return { updateIds: list(body['updates']).map((update) => server.injectUpdate(update)) };
    case 'sends': {
      const after = num(new URL(request.url ?? '/', 'http://localhost').searchParams.get('after')) ?? 0;
      return { sends: server.sends.slice(after) };
    }
    case 'fault':
      server.fault(body as unknown as TelegramFault);
      return {};
    case 'clear-faults':
      server.clearFaults();
      return {};
    case 'file':
      server.addFile(str(body['file_id']) ?? '', Buffer.from(str(body['base64']) ?? '', 'base64'), num(body['size']));
      return {};
    case 'webhook':
      server.hook.url = str(body['url']) ?? '';
      return {};
    case 'stats':
      return { sends: server.sends.length, unconfirmed: server.unconfirmed, calls: server.calls.length };
    default:
      throw new Error(`no control action "${action}"`);
  }
}

function messagesOf(body: JsonObject): readonly JsonObject[] {
  const count = num(body['count']);
  if (count === undefined) return list(body['messages']);
  const message = obj(body['message']);
  const text = str(message['text']) ?? 'message';
  return Array.from({ length: count }, (_, index) => ({ ...message, text: `${text} ${index}` }));
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(obj) : [];
}

/** Bodies of REST calls and of their answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A file of a form, with the name and the type that the form states. */
export interface UploadedFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly mime: string;
}

/** The JSON of a call and the files sent with it, from JSON or a form. */
export async function parseBody(
  raw: Buffer,
  type: string | undefined,
): Promise<{ readonly body: JsonObject; readonly files: readonly UploadedFile[] }> {
  if (raw.length === 0) return { body: {}, files: [] };
  if (!type?.startsWith('multipart/')) return { body: JSON.parse(raw.toString()) as JsonObject, files: [] };
  const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData();
  const payload = form.get('payload_json');
  const files: UploadedFile[] = [];
  for (const value of form.values()) {
    if (typeof value !== 'string') {
      files.push({ name: value.name, bytes: Buffer.from(await value.arrayBuffer()), mime: value.type });
    }
  }
  return { body: typeof payload === 'string' ? (JSON.parse(payload) as JsonObject) : {}, files };
}

/** The whole body of a request. */
export async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Answers with `body`: undefined as an empty answer, text as the HTML page that a host in front of the
 * platform shows, everything else as JSON.
 */
export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  response.writeHead(status, { ...(text !== '' && { 'content-type': type }), ...headers });
  response.end(text);
}

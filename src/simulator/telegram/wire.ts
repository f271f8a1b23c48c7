/** Bodies of Bot API calls as they come over the wire. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parseMultipart } from '../multipart.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** An uploaded file: enough to tell that the right bytes arrived under the right name. */
export interface Uploaded {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function obj(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function num(value: unknown): number | undefined {
  const number = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

export function str(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

export async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** Parameters of a call, from JSON or a form; files by the parameter that points to them. `keep` gets all. */
export function parseBody(
  body: Buffer,
  contentType: string,
  keep?: (file: Uploaded, content: Buffer) => void,
): { params: JsonObject; files: ReadonlyMap<string, Uploaded> } {
  if (!contentType.startsWith('multipart/')) {
    return { params: body.length === 0 ? {} : obj(JSON.parse(body.toString())), files: new Map() };
  }
  const parts = parseMultipart(body, contentType);
  const params: Record<string, unknown> = {};
  const files = new Map<string, Uploaded>();
  for (const part of parts) if (part.filename === undefined) params[part.name] = fromForm(part.bytes.toString());
  for (const [name, value] of Object.entries(params)) {
    const source = typeof value === 'string' && value.startsWith('attach://') ? value.slice(9) : name;
    const part = parts.find((candidate) => candidate.filename !== undefined && candidate.name === source);
    if (!part) continue;
    const file = { name: part.filename ?? '', bytes: part.bytes.length, sha256: sha256(part.bytes) };
    keep?.(file, part.bytes);
    files.set(name, file);
  }
  return { params, files };
}

/** Objects travel as JSON text inside a form. */
function fromForm(value: string): unknown {
  return /^[{[]/.test(value) ? obj(JSON.parse(value)) : value;
}

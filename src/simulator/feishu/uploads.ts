import { parseMultipart } from '../multipart.ts';
import { ApiError } from './posts.ts';

export interface Upload {
  readonly name?: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** `kind`: image or file. Throws `ApiError` for an empty one. */
export function readUpload(kind: string, body: Buffer, contentType: string): Upload {
  const parts = parseMultipart(body, contentType);
  const field = (name: string): string => parts.find((part) => part.name === name)?.bytes.toString() ?? '';
  const file = parts.find((part) => part.name === kind);
  if (!file || file.bytes.length === 0) throw new ApiError(234010, "File's size can't be 0.");
  const name = field('file_name');
  return { type: field(`${kind}_type`), bytes: file.bytes, ...(name !== '' && { name }) };
}

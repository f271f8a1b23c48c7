/** Reads `multipart/form-data` as lenient platforms do: headers in any case, file names quoted or not. */

export interface MultipartPart {
  readonly name: string;
  readonly filename?: string;
  readonly bytes: Buffer;
}

/** Throws on a body without the boundary its type names. */
export function parseMultipart(body: Buffer, contentType: string): readonly MultipartPart[] {
  const boundary = /boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) throw new Error('multipart without a boundary');
  const mark = Buffer.from(`--${boundary}`);
  const parts: MultipartPart[] = [];
  let at = body.indexOf(mark);
  if (at === -1) throw new Error('multipart boundary not found');
  for (;;) {
    const start = at + mark.length;
    if (body.subarray(start, start + 2).toString() === '--') return parts;
    const next = body.indexOf(Buffer.from(`\r\n--${boundary}`), start);
    if (next === -1) throw new Error('multipart body is not closed');
    parts.push(parsePart(body.subarray(start + 2, next)));
    at = next + 2;
  }
}

function parsePart(part: Buffer): MultipartPart {
  const split = part.indexOf('\r\n\r\n');
  const headers = part.subarray(0, split).toString();
  const disposition = /content-disposition:\s*form-data;(.*)/i.exec(headers)?.[1] ?? '';
  const name = /(?:^|[\s;])name="([^"]*)"/i.exec(disposition)?.[1] ?? '';
  const filename = /filename="?([^";]*)"?/i.exec(disposition)?.[1];
  return { name, ...(filename !== undefined && { filename }), bytes: part.subarray(split + 4) };
}

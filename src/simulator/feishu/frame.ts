/** The binary frame of the long connection (protobuf, message `Frame` of pbbp2.proto), by field numbers. */

export interface FeishuFrame {
  readonly sequence: bigint;
  readonly log: bigint;
  readonly service: number;
  /** 0 control, 1 data. */
  readonly method: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

const HEADERS = 5;
const PAYLOAD = 8;

export function encodeFrame(frame: FeishuFrame): Buffer {
  return Buffer.concat([
    number(1, frame.sequence),
    number(2, frame.log),
    number(3, BigInt(frame.service)),
    number(4, BigInt(frame.method)),
    ...Object.entries(frame.headers).map(([key, value]) =>
      bytes(HEADERS, Buffer.concat([bytes(1, Buffer.from(key)), bytes(2, Buffer.from(value))])),
    ),
    bytes(PAYLOAD, frame.payload),
  ]);
}

/** Throws on anything but a frame. */
export function decodeFrame(source: Buffer): FeishuFrame {
  const fields = read(source);
  const numberOf = (field: number): bigint => {
    const value = fields.find((entry) => entry.field === field)?.value;
    return typeof value === 'bigint' ? value : 0n;
  };
  const headers = fields.filter(({ field }) => field === HEADERS).map(({ value }) => toHeader(value));
  const payload = fields.find(({ field }) => field === PAYLOAD)?.value;
  return {
    sequence: numberOf(1),
    log: numberOf(2),
    service: Number(numberOf(3)),
    method: Number(numberOf(4)),
    headers: Object.fromEntries(headers),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.alloc(0),
  };
}

function toHeader(value: bigint | Buffer): readonly [string, string] {
  if (!Buffer.isBuffer(value)) throw new Error('a header is no message');
  const [key, text] = read(value).map((entry) => entry.value.toString());
  return [key ?? '', text ?? ''];
}

function varint(value: bigint): Buffer {
  const out: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...out, Number(rest)]);
    out.push(Number(rest & 127n) | 128);
  }
}

function number(field: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(field << 3)), varint(value)]);
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(BigInt((field << 3) | 2)), varint(BigInt(value.length)), value]);
}

function read(source: Buffer): readonly { readonly field: number; readonly value: bigint | Buffer }[] {
  const fields: { field: number; value: bigint | Buffer }[] = [];
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = source[at];
      if (byte === undefined || shift > 63n) throw new Error('a torn frame');
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < source.length) {
    const tag = Number(next());
    const field = tag >> 3;
    if ((tag & 7) === 0) fields.push({ field, value: next() });
    else if ((tag & 7) === 2) {
      const length = Number(next());
      if (at + length > source.length) throw new Error('a torn frame');
      fields.push({ field, value: source.subarray(at, at + length) });
      at += length;
    } else throw new Error(`an unexpected kind of field: ${tag & 7}`);
  }
  return fields;
}
